"""Convert the arguments of metric functions to arrays, and check them.

**One truth is one image; a list of truths is a list of images.**

A truth is a label, a set of labels (a ball that covers several cells), a Scene, a GroundTruth, or one true/false value
per cell. With a list or a column of truths, guesses have one item per image: a label (one guess), a list of labels, a
mapping from labels to counts, or one number per cell. In metrics without a truth, a flat list of labels is the guesses
for one image, and a list of lists is several images. Players follow the rule of truths: a Scene or a list of boxes is
one image, a list of them is several images.

Arrays have the cells on the last axis, and their other axes broadcast. A missing label (None, NaN or an empty text) is
an unparsed answer. Arrays may be columns or frames of other libraries (`spotball_core.interchange`).

In NumPy's masked arrays, a fully masked row is missing: an image without answers, an unknown truth, or padding instead
of a box. Partly masked rows raise an error, and a masked label is an unparsed answer.

The grid is the scene's grid if there is a scene, else the `grid` argument, else the grid from the paper.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set as AbstractSet, ValuesView
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spotball_core.errors import DistributionError, GridError
from spotball_core.grid import Grid
from spotball_core.interchange import ArrowFrame, array_of_tensor, boxes_of_frame, is_foreign, is_missing, values_of
from spotball_core.masked import without_mask
from spotball_core.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from spotball_core.schema.outline import Outline
    from spotball_core.schema.response import PredictionDistribution
    from spotball_core.schema.scene import GridShape, GroundTruth, PlayerBox, Scene

ArrayValues: TypeAlias = ArrayLike | Sequence[str | None] | ArrowFrame
"""Numbers, or labels (None: unparsed): an array, a list, a column, a frame or a tensor."""

CountsByLabel: TypeAlias = Mapping[str, float] | Mapping[str | None, float]
"""Counts or probabilities of one image by label. The key None counts unparsed answers."""

Labels: TypeAlias = Sequence[str | None]
"""Labels of cells, with None for an unparsed answer."""

Guesses: TypeAlias = Union[
    ArrayValues,
    CountsByLabel,
    "PredictionDistribution",
    Sequence[Union[str, Labels, CountsByLabel, "PredictionDistribution", ArrayLike, ArrowFrame, None]],
]
"""Guesses for one image, or for several: an array, or a list with one item per image."""

Truth: TypeAlias = Union[
    ArrayValues,
    AbstractSet[str],
    "Scene",
    "GroundTruth",
    Sequence[Union[Collection[str], "Scene", "GroundTruth", ArrayLike, None]],
]
"""The ball's position in one image, or a list with one truth per image."""

Players: TypeAlias = Union[
    ArrayValues, Sequence["PlayerBox"], "Scene", Sequence["Scene"], Sequence[Sequence["PlayerBox"] | ArrayValues]
]
"""Players' boxes: numbers of shape (..., n_boxes, 4), a frame with the columns x1, y1, x2, y2, or records."""

Numbers: TypeAlias = Sequence[float] | Sequence[np.number[Any]] | Sequence[np.bool_]
"""A list of numbers. Lists of lists are excluded, and so are arrays, whose type does not state the number of axes."""

ImageGuesses: TypeAlias = Union[Labels, Numbers, CountsByLabel, "PredictionDistribution"]
"""Types of guesses for one image. A metric of these guesses is one number."""

ImageTruth: TypeAlias = Union[str, AbstractSet[str], Numbers, "Scene", "GroundTruth"]
"""Types of truth for one image."""

ImagePlayers: TypeAlias = Union[Sequence[Sequence[float]], ArrowFrame, Sequence["PlayerBox"], "Scene"]
"""Types of players' boxes for one image."""

ImageSetGuesses: TypeAlias = ImageGuesses | Sequence[Sequence[float]] | Sequence[Sequence[str | None]] | ArrowFrame
"""Types of guesses for one image or one set of images. A metric of the set is one number."""

AnyArray: TypeAlias = NDArray[Any]

_ONE_IMAGE = {
    "truth": 'a set such as {"C2", "C3"}',
    "players": "a Scene or one list of boxes",
    "images": "one id or Scene",
}
"""Forms of an argument that are one image, for messages."""

T = TypeVar("T")


@dataclass(frozen=True)
class Arguments:
    """Guesses and the truth as arrays.

    Attributes:
        mass: counts or probabilities, shape (..., n_cells).
        unparsed: number of unparsed answers, shape (...).
        truth: true where the ball is, shape (..., n_cells); all false if it is not known. Numbers of images with the
            ball in each cell, if they were requested.
        grids: the grids of the images: one for all, or one per image if scenes differ in size.
    """

    mass: FloatArray
    unparsed: FloatArray
    truth: AnyArray
    grids: tuple[Grid, ...]

    def each(self, compute: Callable[[FloatArray, AnyArray, Grid], FloatArray]) -> FloatArray:
        """Return the values that `compute` returns for mass, truth and grid. It is called once per size of image."""
        if len(set(self.grids)) == 1:
            return unwrap(compute(self.mass, self.truth, self.grids[0]))
        mass = np.broadcast_to(self.mass, common_shape(self.mass, self.truth))
        values = np.empty(mass.shape[:-1])
        for grid in dict.fromkeys(self.grids):
            images = np.flatnonzero([other == grid for other in self.grids])
            values[..., images] = compute(mass[..., images, :], self.truth[images], grid)
        return values


@dataclass(frozen=True)
class Second:
    """The second argument of a metric, for which the guesses must have one item per image if it has several images.

    Attributes:
        name: its name in error messages.
        shape: the shape of its array over the cells, (..., n_cells).
        is_list: whether it is a list of images, with which arrays do not broadcast either.
    """

    name: str
    shape: tuple[int, ...]
    is_list: bool

    @property
    def n_images(self) -> int | None:
        """The number of images; None for a single image."""
        return self.shape[-2] if len(self.shape) > 1 else None

    def check(self, found: int | None, name: str) -> None:
        """Raise DistributionError unless the guesses have this number of images (None: one image)."""
        if found == self.n_images:
            return
        has = "one image" if found is None else f"{found} item{'s' * (found != 1)}"
        raise DistributionError(
            f"found {has}, but {self.name} has {self.n_images}. For several images, pass one item per image in "
            f"both, such as a label or a list of labels. For one image, pass {self.name} as {_ONE_IMAGE[self.name]}",
            code="wrong-shape",
            field=name,
        )


def arguments(
    guesses: Guesses, truth: Truth, grid: Grid | None, *, in_pixels: bool = False, counts: bool = False
) -> Arguments:
    """Return guesses and truth as arrays, by the rule of this module.

    Args:
        guesses: the guesses.
        truth: the truth.
        grid: the grid; None for the scene's, or else the grid from the paper.
        in_pixels: whether the metric measures distances. Arrays must then have the cells of the grid.
        counts: whether the truth may also be the number of images with the ball in each cell.

    Raises:
        DistributionError: for guesses or truth that are not valid, or numbers of images that differ.
        GridError: for a label outside the grid, or scenes whose grids differ from `grid`.
    """
    truth = plain_values(truth, grid)
    grids = grids_of(truth, grid)
    if grids:
        grid = grids[0]
    elif grid is None and not in_pixels and (shape := _grid_of_ground_truth(truth)):
        grid = Grid(shape.rows, shape.cols, width=shape.cols, height=shape.rows)  # Labels need no size of the image.
    elif grid is None and (in_pixels or not _are_numbers(truth)):
        grid = Grid.standard()
    mask = truth_mass(truth, grid) if counts else truth_of(truth, grid)
    mass, unparsed = mass_of(guesses, grid, second=Second("truth", mask.shape, isinstance(truth, list)))
    check_cells(mass, mask)
    return Arguments(mass, unparsed, mask, grids or (grid or Grid.standard(),))


def grids_of(values: object, grid: Grid | None) -> tuple[Grid, ...]:
    """Return the grids of a scene or a list of scenes: one, or one per image if they differ; empty without a scene.

    Raises:
        GridError: if grids differ in rows or columns, or from `grid`.
    """
    items = values if isinstance(values, list) else [values]
    layouts = [item.layout for item in items if is_scene(item)]
    if 0 < len(layouts) < len(items):
        raise GridError(
            f"found {len(layouts)} scenes among {len(items)} items. Pass scenes only, or no scenes",
            code="wrong-type",
            field="scenes",
        )
    if layouts:
        shapes = {(layout.rows, layout.cols): layout for layout in layouts}
        if len(shapes) > 1:
            raise GridError(
                f"scenes have grids of different sizes: {', '.join(map(str, shapes.values()))}. Score the scenes of "
                "each grid separately",
                code="different-grids",
            )
        for layout in layouts:
            if grid not in (None, layout):
                raise GridError(
                    f"found {grid}, but the scene's grid is {layout}. Pass only one of them",
                    code="different-grids",
                    field="grid",
                )
        return tuple(layouts) if len(set(layouts)) > 1 else (layouts[0],)
    return ()


def _grid_of_ground_truth(values: object) -> GridShape | None:
    items = values if isinstance(values, list) else [values]
    return next((item.grid for item in items if is_ground_truth(item)), None)


def grid_for(grid: Grid | None, *others: object) -> Grid:
    """Return the grid to use: the scene's, else `grid`, else the paper's; errors are those of `grids_of`."""
    return next((layouts[0] for other in others if (layouts := grids_of(other, grid))), grid) or Grid.standard()


# Guesses ------------------------------------------------------------------------------------------------------


def mass_of(
    guesses: Guesses, grid: Grid | None, *, second: Second | None = None, name: str = "guesses"
) -> tuple[FloatArray, FloatArray]:
    """Return the mass over the cells, shape (..., n_cells), and the number of unparsed answers, shape (...).

    Args:
        guesses: the guesses.
        grid: the grid; None for the grid from the paper, and for arrays of any number of cells.
        second: the argument with the truth or the players; None without one.
        name: name of the guesses in error messages.

    Raises:
        DistributionError: for guesses that are not valid, or whose number of images differs from `second`.
        GridError: for a label outside the grid.
    """
    values = plain_values(guesses, grid)
    n_images = second.n_images if second else None
    form = _form(values)
    if form == "labels" and n_images is not None:
        values = [values] if isinstance(values, str) else values
        found: int | None = len(values)
        mass, unparsed = _one_guess_each(values, grid or Grid.standard())
    elif form == "items":
        several = [at_place(place, name, _of_image, item, grid) for place, item in enumerate(values)]
        mass, unparsed = (np.array(arrays, dtype=float) for arrays in zip(*several, strict=True))
        found = len(values)
    elif form == "labels":
        mass, unparsed = _of_labels(values, grid)
        found = None
    else:
        mass, unparsed = (_of_numbers if form == "numbers" else _of_image)(values, grid, name)
        found = mass.shape[-2] if mass.ndim > 1 else None
    is_strict = form != "numbers" or (second is not None and second.is_list)
    if second is not None and n_images is not None and is_strict:
        second.check(found, name)
    return mass, unparsed


def pair_of(guesses: Guesses, reference: Guesses, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return the mass of guesses and of a reference, whose leading axes broadcast.

    Raises:
        DistributionError: also if one side is a flat list of labels, which is one image, and the other has several.
    """
    values = {"guesses": plain_values(guesses, grid), "reference": plain_values(reference, grid)}
    masses = {name: mass_of(value, grid, name=name)[0] for name, value in values.items()}
    for name, other in (("guesses", "reference"), ("reference", "guesses")):
        if _form(values[name]) == "labels" and masses[other].ndim > 1:
            raise DistributionError(
                f"found a list of labels, which is one image, but {other} has {masses[other].shape[-2]} images."
                ' Pass one list per image, such as [["D5"], ["D6", "E6"]]',
                code="wrong-shape",
                field=name,
            )
    check_cells(masses["guesses"], masses["reference"])
    return masses["guesses"], masses["reference"]


def plain_values(values: Any, grid: Grid | None) -> Any:
    """Return values of other libraries as an array or a list (`interchange.values_of`), other sequences as a list."""
    if _is_array_of_numbers(values) or _is_record(values):
        return values
    values = values_of(values, grid)
    is_sequence = isinstance(values, (Sequence, ValuesView, Iterator)) and not isinstance(values, (str, list))
    return list(values) if is_sequence else values


Form = Literal["labels", "numbers", "items", "other"]


def _form(values: object) -> Form:
    """Return the form of plain values: labels, numbers, one item per image, or one image in another form."""
    if isinstance(values, list):
        if all(isinstance(value, str) or is_missing(value) for value in values):
            return "labels"
        return "numbers" if _are_numbers(values) else "items"
    if _is_array_of_numbers(values):
        return "numbers"
    if isinstance(values, str):
        return "labels"
    return "other" if isinstance(values, (Mapping, AbstractSet)) or _is_record(values) else "numbers"


def _are_numbers(values: object) -> bool:
    """Return whether values are an array or numbers, or lists of numbers without other items."""
    if _is_array_of_numbers(values):
        return True
    if not isinstance(values, (list, tuple)):
        return not isinstance(values, (str, Mapping, AbstractSet)) and not _is_record(values)
    if {type(value) for value in values} <= {int, float, bool}:
        return not all(is_missing(value) for value in values)
    are_numbers = False
    for value in values:
        if value is None or isinstance(value, (str, Mapping, AbstractSet)) or _is_record(value):
            return False
        if not are_numbers:
            are_numbers = _leads_with_number([value])
    return are_numbers


def _is_array_of_numbers(values: object) -> TypeGuard[AnyArray]:
    """Return whether values are a plain array of numbers, the most common form, without slower checks of types."""
    return type(values) is np.ndarray and values.dtype.kind in "biuf"


def _is_nested(value: object) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def _leads_with_number(values: Any) -> bool:
    """Return whether the first value of nested lists that is not missing is a number."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind not in "OUT"
    for value in values:
        if _is_nested(value):
            if len(value):
                return _leads_with_number(value)
        elif not is_missing(value):
            return isinstance(value, (Number, np.generic)) and not isinstance(value, str)
    return False


def _of_image(values: Any, grid: Grid | None, name: str = "guesses") -> tuple[FloatArray, FloatArray]:
    """Return the mass of one image's guesses, shape (n_cells,), and the number of unparsed answers, shape ()."""
    if _is_prediction(values):
        return values.mass(grid or Grid.standard()), np.zeros(())
    if isinstance(values, Mapping):
        return _of_mapping(values, grid or Grid.standard(), name)
    values = plain_values(values, grid)
    if values is None or is_missing(values):
        values = [None]
    if _form(values) == "labels":
        return _of_labels(values, grid)
    mass, unparsed = _of_numbers(values, grid, name)
    if mass.ndim > 1:
        raise DistributionError(
            f"found shape {mass.shape}, expected one number per cell, or labels", code="wrong-shape", field=name
        )
    return mass, unparsed


def _of_labels(values: str | Sequence[str | None], grid: Grid | None) -> tuple[FloatArray, FloatArray]:
    grid = grid or Grid.standard()
    labels = [values] if isinstance(values, str) else values
    named = [grid.index(label) for label in labels if not is_missing(label)]  # type: ignore[arg-type]
    mass = np.bincount(named, minlength=grid.n_cells).astype(float)
    return mass, np.asarray(float(len(labels) - len(named)))


def _of_mapping(values: Mapping[Any, Any], grid: Grid, name: str) -> tuple[FloatArray, FloatArray]:
    # Check the numbers before adding them: a second spelling of the same cell could hide a negative number.
    numbers = checked_numbers(list(values.values()), name)
    unparsed = np.array([is_missing(label) for label in values], dtype=bool)
    indices = [grid.index(label) for label in values if not is_missing(label)]
    mass = np.zeros(grid.n_cells)
    np.add.at(mass, indices, numbers[~unparsed])
    return checked_mass(mass, grid, name), np.asarray(numbers[unparsed].sum())


def _of_numbers(values: object, grid: Grid | None, name: str) -> tuple[FloatArray, FloatArray]:
    mass = checked_mass(values, grid, name)
    return mass, np.zeros(mass.shape[:-1])


def _one_guess_each(labels: Sequence[str | None], grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return the mass and the unparsed answers of images with one guess each."""
    missing = np.array([is_missing(label) for label in labels], dtype=bool)
    mass = np.zeros((len(labels), grid.n_cells))
    mass[np.flatnonzero(~missing), [grid.index(label) for label in labels if not is_missing(label)]] = 1.0  # type: ignore[arg-type]
    return mass, missing.astype(float)


def at_place(place: int, name: str, read: Callable[..., T], item: object, grid: Grid | None) -> T:
    """Return what `read` returns for an item of a list. The message of an error names the item's place."""
    try:
        return read(item, grid)
    except (DistributionError, GridError) as error:
        # Errors of one image name the argument, or nothing.
        raise type(error)(error.message, code=error.code, field=f"{name}[{place}]") from error


def checked_mass(values: object, grid: Grid | None, name: str = "guesses") -> FloatArray:
    """Return an array of mass with the cells on the last axis, after checking its values and its length.

    Raises:
        DistributionError: for values that are negative, not finite or not numbers, a wrong number of cells, partly
            masked rows, or a sum that is not finite.
    """
    mass = checked_numbers(without_mask(values, name, DistributionError, missing=0), name)
    if mass.ndim == 0 or mass.shape[-1] == 0:
        raise DistributionError(
            f"found shape {mass.shape}, expected (..., n_cells): one number per cell", code="wrong-shape", field=name
        )
    _check_length(mass, grid, name)
    with np.errstate(over="ignore"):
        if not np.isfinite(mass.sum(axis=-1)).all():
            raise DistributionError("the sum over cells is infinite. Pass smaller counts", field=name)
    return mass


def checked_numbers(values: object, what: str) -> FloatArray:
    """Return an array of finite, nonnegative, unmasked numbers; raise DistributionError for any other value."""
    values = without_mask(array_of_tensor(values), what, DistributionError)
    try:
        # Reject text and complex numbers, which NumPy would convert to floats.
        numbers = np.asarray(values).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"found {values!r:.80}, expected labels or an array of numbers", field=what) from error
    if not np.isfinite(numbers).all():
        raise DistributionError(
            "found NaN or infinity. Use 0 for cells without answers, and mask missing images", field=what
        )
    if (numbers < 0).any():
        raise DistributionError(
            f"found {numbers.min():g}, expected counts or probabilities of at least 0. Convert log probabilities with "
            "numpy.exp",
            field=what,
        )
    return numbers


# Truth and players --------------------------------------------------------------------------------------------


def truth_of(truth: Truth, grid: Grid | None) -> BoolArray:
    """Return a boolean array over the cells, shape (..., n_cells); all false if the truth is not known."""
    values = plain_values(truth, grid)
    if isinstance(values, list) and not _are_numbers(values):
        known = [set() if is_missing(item) else item for item in values]
        masks = [at_place(place, "truth", _truth_of_image, item, grid) for place, item in enumerate(known)]
        if len({len(mask) for mask in masks}) > 1:
            raise DistributionError(
                "the items have different numbers of cells. Use the same grid for all",
                code="wrong-shape",
                field="truth",
            )
        return np.array(masks, dtype=bool).reshape(len(masks), -1 if masks else (grid or Grid.standard()).n_cells)
    return _truth_of_image(values, grid)


def _truth_of_image(values: Any, grid: Grid | None) -> BoolArray:
    if is_scene(values):
        return values.layout.mask(values.ball_cells or ())
    if is_ground_truth(values):
        if grid is not None and (grid.rows, grid.cols) != (values.grid.rows, values.grid.cols):
            raise GridError(
                f"found {grid}, but `truth` has a grid of {values.grid.rows}x{values.grid.cols}. Pass the same grid",
                code="different-grids",
                field="grid",
            )
        return values.mask
    if isinstance(values, str):
        values = {values}
    elif not isinstance(values, AbstractSet):
        values = plain_values(values, grid)
    if isinstance(values, AbstractSet) or _form(values) == "labels":
        return (grid or Grid.standard()).mask(label for label in values if not is_missing(label))
    expected = "expected a label such as C2, a set of labels, a Scene, or one true/false value per cell"
    try:
        mask = np.asarray(without_mask(values, "truth", DistributionError, missing=False))
    except DistributionError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"found {values!r:.80}, {expected}", field="truth") from error
    if mask.ndim == 0 or mask.dtype.kind not in "biuf":
        raise DistributionError(f"found {values!r:.80}, {expected}", field="truth")
    _check_length(mask, grid, "truth")
    if mask.dtype.kind != "b" and not np.isin(mask, (0, 1)).all():
        raise DistributionError(
            "found values other than 0 and 1. Pass 1 for cells with the ball, else 0", field="truth"
        )
    return mask.astype(bool)


def truth_mass(truth: Truth, grid: Grid | None) -> FloatArray:
    """Return the number of images with the ball in each cell. Labels and records are the truth of one image each."""
    values = plain_values(truth, grid)
    return checked_mass(values, grid, "truth") if _are_numbers(values) else truth_of(values, grid).astype(float)


def players_of_images(players: Players) -> list[Any] | None:
    """Return the players of each image if they are a list of scenes, or of boxes of several images; else None."""
    if is_scene(players) or not isinstance(players, (list, tuple)) or not players:
        return None
    first: Any = next((item for item in players if item is not None and not (_is_nested(item) and not len(item))), [])
    if is_scene(first) or is_foreign(first) or any(item is None for item in players):
        return list(players)
    if _is_nested(first) and (not len(first) or _is_nested(first[0]) or _is_player_box(first[0])):
        return list(players)
    return None


def boxes_of(players: Players) -> FloatArray:
    """Return players' boxes, shape (..., n_boxes, 4). Rows of NaN pad images with fewer players."""
    if is_scene(players):
        return players.boxes
    if is_foreign(players):
        players = boxes_of_frame(players)
    corners: object = (
        [box.corners if _is_player_box(box) else box for box in players] if isinstance(players, Sequence) else players
    )
    corners = without_mask(array_of_tensor(corners), "boxes", GridError, missing=np.nan)
    try:
        boxes: FloatArray = np.asarray(corners, dtype=float)
    except (TypeError, ValueError, RuntimeError) as error:
        raise GridError(
            f"found {players!r:.80}, expected boxes [[x1, y1, x2, y2], ...]", code="invalid-boxes", field="players"
        ) from error
    if boxes.size == 0:
        boxes = boxes.reshape(*boxes.shape[:-2], 0, 4) if boxes.ndim >= 2 else np.empty((0, 4))
    if boxes.ndim < 2 or boxes.shape[-1] != 4:
        raise GridError(
            f"boxes have shape {boxes.shape}, expected (..., n_boxes, 4): x1, y1, x2, y2 per box",
            code="invalid-boxes",
            field="players",
        )
    return boxes


def outlines_of(players: Players) -> tuple[list[int], list[Outline]]:
    """Return the indices of a scene's players with outlines, and the outlines; both are empty without a scene."""
    outlines = (players.player_outlines if is_scene(players) else None) or ()
    known = [(number, outline) for number, outline in enumerate(outlines) if outline is not None]
    return [number for number, _ in known], [outline for _, outline in known]


def share(mass: FloatArray, weights: ArrayLike, also: ArrayLike = 0.0) -> FloatArray:
    """Return the weighted mean over the cells, sum(mass * weights) / (sum(mass) + also); NaN if there is no answer."""
    weights, total, also = np.asarray(weights, dtype=float), mass.sum(axis=-1), np.asarray(also, dtype=float)
    check_cells(mass, weights)
    common_shape(total, also)
    return ratio(np.einsum("...c,...c->...", mass, weights), total + also)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Return the quotient, with NaN and no warning if the denominator is 0."""
    numerator, denominator = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    out = np.full(common_shape(numerator, denominator), np.nan)
    return unwrap(np.divide(numerator, denominator, out=out, where=denominator != 0))


def where_known(values: FloatArray, known: ArrayLike) -> FloatArray:
    """Return the values, with NaN where `known` is false."""
    return unwrap(np.where(known, values, np.nan))


def unwrap(values: FloatArray) -> FloatArray:
    """Return the array, or a NumPy float if it has no axes."""
    result: FloatArray = values[()]
    return result


def check_cells(first: AnyArray, second: AnyArray) -> None:
    """Raise DistributionError unless the last axes have equal length and the other axes broadcast."""
    if first.shape[-1] != second.shape[-1]:
        raise DistributionError(
            f"the arguments have {first.shape[-1]} and {second.shape[-1]} cells on "
            "the last axis. Use the same grid for both",
            code="wrong-shape",
        )
    common_shape(first, second)


def common_shape(first: AnyArray, second: AnyArray) -> tuple[int, ...]:
    """Return the shape that two arrays broadcast to; raise DistributionError if they do not broadcast."""
    if first.shape == second.shape:
        return first.shape
    try:
        return np.broadcast_shapes(first.shape, second.shape)
    except ValueError as error:
        raise DistributionError(
            f"the arguments have shapes {first.shape} and {second.shape}, which do not broadcast. Pass the same number "
            "of images to both",
            code="wrong-shape",
        ) from error


def _check_length(array: AnyArray, grid: Grid | None, what: str) -> None:
    if grid is None or array.shape[-1] == grid.n_cells:
        return
    has = f"found {array.shape[-1]} values on the last axis, but the grid {grid} has {grid.n_cells} cells."
    if array.shape[-1] == 2:
        raise DistributionError(
            f"{has} If these are points in pixels, convert each to its cell: grid.cell_at(x, y)",
            code="wrong-shape",
            field=what,
        )
    if array.ndim == 1 and array.dtype.kind in "iuf" and (array == np.floor(array)).all() and array.max() > 1:
        raise DistributionError(
            f"{has} Pass one value per cell, row by row. If these are indices of cells, convert each to its label: "
            "grid.label(index)",
            code="wrong-shape",
            field=what,
        )
    raise DistributionError(
        f"{has} Pass one value per cell, row by row{_reshaped(array, grid)}, or another grid",
        code="wrong-shape",
        field=what,
    )


def _reshaped(array: AnyArray, grid: Grid) -> str:
    """Return advice on how to convert an array of rows and columns to an array of cells; empty for other arrays."""
    is_rows_and_cols = array.ndim >= 2 and array.shape[-2:] == (grid.rows, grid.cols)
    return f" (use .reshape({'-1, ' if array.ndim > 2 else ''}{grid.n_cells}))" if is_rows_and_cols else ""


def is_scene(value: object) -> TypeGuard[Scene]:
    """Return whether the value is a Scene."""
    return _is_a(value, "scene", "Scene")


def is_ground_truth(value: object) -> TypeGuard[GroundTruth]:
    """Return whether the value is a GroundTruth."""
    return _is_a(value, "scene", "GroundTruth")


def _is_player_box(value: object) -> TypeGuard[PlayerBox]:
    return _is_a(value, "scene", "PlayerBox")


def _is_prediction(value: object) -> TypeGuard[PredictionDistribution]:
    return _is_a(value, "response", "PredictionDistribution")


def _is_record(value: object) -> bool:
    """Return whether the value is one of the package's records."""
    return is_scene(value) or is_ground_truth(value) or _is_prediction(value)


def _is_a(value: object, module: str, name: str) -> bool:
    # Do not import pydantic here: it takes half of a metric's import time, and a record's module is already loaded.
    record = getattr(sys.modules.get(f"spotball_core.schema.{module}"), name, None)
    return record is not None and isinstance(value, record)
