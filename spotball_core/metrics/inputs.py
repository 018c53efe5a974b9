"""What metric functions take, brought to arrays once and checked there.

Guesses come as an array of counts or probabilities with the cells on the last axis, or, for one image, as labels
(`["D5", "E6", None]`, None an unparsed answer), as `{"D5": 0.4, ...}`, or as a PredictionDistribution. Truth comes as
a boolean array over the cells, as labels, or as a Scene or GroundTruth. Arrays may be columns or frames of other
libraries (`spotball_core.interchange`). In NumPy's masked arrays, a row that is masked as a whole is missing: an image
without answers, an unknown truth, or no box. Rows that are masked in part are errors, and a masked label is an unparsed
answer. Where geometry is needed, the grid is the scene's if there is one, else the `grid` that was passed, else the
paper's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spotball_core.errors import DistributionError, GridError
from spotball_core.grid import Grid
from spotball_core.interchange import ArrowFrame, array_of_tensor, boxes_of_frame, is_foreign, values_of
from spotball_core.masked import without_mask
from spotball_core.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from spotball_core.schema.outline import Outline
    from spotball_core.schema.response import PredictionDistribution
    from spotball_core.schema.scene import GroundTruth, PlayerBox, Scene

ArrayValues: TypeAlias = ArrayLike | Sequence[str | None] | ArrowFrame
"""Numbers of images, or one label per image (None: unparsed): an array, a list, a column, a frame or a tensor."""

Guesses: TypeAlias = Union[ArrayValues, Mapping[str, float], "PredictionDistribution"]
"""Guesses for images: numbers per cell, labels, labels with their numbers, or a record."""

Truth: TypeAlias = Union[ArrayValues, "Scene", "GroundTruth"]
"""Where the ball is: true or 1 on its cells, labels of its cells, or a record."""

Players: TypeAlias = Union[ArrayValues, Sequence["PlayerBox"], "Scene"]
"""Players' boxes: numbers of shape (..., n_boxes, 4), a frame with the columns x1, y1, x2, y2, or records."""

Numbers: TypeAlias = Sequence[float] | Sequence[np.number[Any]] | Sequence[np.bool_]
"""A list of numbers, but neither a list of lists nor an array, whose type does not tell its number of axes."""

ImageGuesses: TypeAlias = Union[Sequence[str | None], Numbers, Mapping[str, float], "PredictionDistribution"]
"""Guesses whose type says that they are for one image, so that the result is one number."""

ImageTruth: TypeAlias = Union[Sequence[str | None], Numbers, "Scene", "GroundTruth"]
"""Truth whose type says that it is of one image."""

ImagePlayers: TypeAlias = Union[Sequence[Sequence[float]], ArrowFrame, Sequence["PlayerBox"], "Scene"]
"""Players' boxes whose type says that they are of one image."""

ImageSetGuesses: TypeAlias = ImageGuesses | Sequence[Sequence[float]] | ArrowFrame
"""Guesses whose type says that they are for one image or one set of images: metrics of sets return one number."""

AnyArray: TypeAlias = NDArray[Any]


def grid_given(grid: Grid | None, *others: object) -> Grid | None:
    """The scene's grid if there is a scene, else the one passed, if any; GridError if the two disagree.

    A GroundTruth knows rows and columns, enough to read labels by: without another grid, its cells are taken as square.
    """
    for other in others:
        if is_scene(other):
            if grid is not None and grid != other.layout:
                raise GridError(f"the scene's grid is {other.layout}, the one passed {grid}")
            return other.layout
        if is_ground_truth(other) and grid is None:
            return Grid(other.grid.rows, other.grid.cols, width=other.grid.cols, height=other.grid.rows)
    return grid


def grid_for(grid: Grid | None, *others: object) -> Grid:
    """The grid to measure on: the scene's, the one passed, or the paper's where none is given; as `grid_given`."""
    return grid_given(grid, *(other for other in others if is_scene(other))) or Grid.standard()


def mass_of(guesses: Guesses, grid: Grid | None) -> tuple[FloatArray, FloatArray]:
    """Mass over the cells, shape (..., n_cells), and the number of unparsed answers, shape (...)."""
    if _is_prediction(guesses):
        return guesses.mass(grid or Grid.standard()), np.zeros(())
    if isinstance(guesses, Mapping):
        grid = grid or Grid.standard()
        indices = [grid.index(label) for label in guesses]
        mass = np.zeros((len(indices), grid.n_cells))
        # Checked before they are added up: another spelling of the same cell could hide a negative number.
        mass[np.arange(len(indices)), indices] = checked_numbers(list(guesses.values()), "mass")
        return checked_mass(mass.sum(axis=0), grid), np.zeros(())
    guesses = [guesses] if isinstance(guesses, str) else values_of(guesses, grid)  # type: ignore[assignment]
    if are_labels(guesses):
        grid = grid or Grid.standard()
        named = [grid.index(label) for label in guesses if label is not None]
        mass = np.bincount(named, minlength=grid.n_cells).astype(float)
        return mass, np.asarray(float(len(guesses) - len(named)))
    mass = checked_mass(guesses, grid)
    return mass, np.zeros(mass.shape[:-1])


def checked_mass(values: object, grid: Grid | None) -> FloatArray:
    """An array of mass with the cells on the last axis: finite, nowhere negative, as long as the grid has cells.

    Raises:
        DistributionError: for anything else, for rows that are masked in part, and for mass whose sum is not finite.
    """
    mass = checked_numbers(without_mask(values, "mass", DistributionError, missing=0), "mass")
    if mass.ndim == 0 or mass.shape[-1] == 0:
        raise DistributionError(f"expected one number a cell, found shape {mass.shape}")
    _check_length(mass, grid, "mass")
    with np.errstate(over="ignore"):
        if not np.isfinite(mass.sum(axis=-1)).all():
            raise DistributionError("mass is too large to add up")
    return mass


def checked_numbers(values: object, what: str) -> FloatArray:
    """An array of numbers, finite, nowhere negative and nowhere masked; DistributionError for anything else."""
    values = without_mask(array_of_tensor(values), what, DistributionError)
    try:
        # Neither text nor complex numbers, which NumPy would turn into floats.
        numbers = np.asarray(values).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"{what}: expected labels or an array of numbers, found {values!r:.80}") from error
    if not np.isfinite(numbers).all():
        raise DistributionError(f"{what} is not finite everywhere")
    if (numbers < 0).any():
        raise DistributionError(f"{what} is negative: {numbers.min():g}")
    return numbers


def truth_of(truth: Truth, grid: Grid | None) -> BoolArray:
    """Boolean array over the cells, shape (..., n_cells); nowhere true where the truth is not known."""
    if is_scene(truth):
        return truth.layout.mask(truth.ball_cells or ())
    if is_ground_truth(truth):
        if grid is not None and (grid.rows, grid.cols) != (truth.grid.rows, truth.grid.cols):
            raise GridError(f"the truth's grid is {truth.grid.rows}x{truth.grid.cols}, the one measured on {grid}")
        return truth.mask
    truth = [truth] if isinstance(truth, str) else values_of(truth, grid)  # type: ignore[assignment]
    if are_labels(truth):
        return (grid or Grid.standard()).mask(label for label in truth if label is not None)
    expected = "expected cell labels or a true/false value a cell"
    try:
        mask = np.asarray(without_mask(truth, "truth", DistributionError, missing=False))
    except DistributionError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"{expected}, found {truth!r:.80}") from error
    if mask.ndim == 0 or mask.dtype.kind not in "biuf":
        raise DistributionError(f"{expected}, found {truth!r:.80}")
    _check_length(mask, grid, "truth")
    if not np.isin(mask, (0, 1)).all():
        raise DistributionError("truth holds values other than 0 and 1")
    return mask.astype(bool)


def boxes_of(players: Players) -> FloatArray:
    """Players' boxes, shape (..., n_boxes, 4); rows of NaN pad images that have fewer players than others."""
    if is_scene(players):
        return players.boxes
    if is_foreign(players):
        players = boxes_of_frame(players)
    corners: object = (
        [box.corners if _is_player_box(box) else box for box in players] if isinstance(players, Sequence) else players
    )
    corners = without_mask(array_of_tensor(corners), "a box", GridError, missing=np.nan)
    try:
        boxes: FloatArray = np.asarray(corners, dtype=float)
    except (TypeError, ValueError, RuntimeError) as error:
        raise GridError(f"expected boxes (x1, y1, x2, y2), found {players!r:.80}") from error
    if boxes.size == 0:
        boxes = boxes.reshape(*boxes.shape[:-2], 0, 4) if boxes.ndim >= 2 else np.empty((0, 4))
    if boxes.ndim < 2 or boxes.shape[-1] != 4:
        raise GridError(f"boxes have shape {boxes.shape}, expected (..., n_boxes, 4)")
    return boxes


def outlines_of(players: Players) -> tuple[list[int], list[Outline]]:
    """Which players of a scene have an outline, and their outlines; both empty where no scene is passed."""
    outlines = (players.player_outlines if is_scene(players) else None) or ()
    known = [(number, outline) for number, outline in enumerate(outlines) if outline is not None]
    return [number for number, _ in known], [outline for _, outline in known]


def share(mass: FloatArray, weights: ArrayLike, also: ArrayLike = 0.0) -> FloatArray:
    """Weighted mean over the cells, sum(mass * weights) / (sum(mass) + also); NaN where nothing was answered."""
    weights, total, also = np.asarray(weights, dtype=float), mass.sum(axis=-1), np.asarray(also, dtype=float)
    check_cells(mass, weights)
    common_shape(total, also)
    return ratio(np.einsum("...c,...c->...", mass, weights), total + also)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Quotient with NaN, and no warning, where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    out = np.full(common_shape(numerator, denominator), np.nan)
    return unwrap(np.divide(numerator, denominator, out=out, where=denominator != 0))


def where_known(values: FloatArray, known: ArrayLike) -> FloatArray:
    """The values, NaN where `known` is false."""
    return unwrap(np.where(known, values, np.nan))


def unwrap(values: FloatArray) -> FloatArray:
    """The array; a NumPy float, which prints and compares as a number, where it has no axes."""
    result: FloatArray = values[()]
    return result


def check_cells(first: AnyArray, second: AnyArray) -> None:
    """DistributionError unless both have the same number of cells on the last axis and the other axes broadcast."""
    if first.shape[-1] != second.shape[-1]:
        raise DistributionError(f"{first.shape[-1]} cells in one argument, {second.shape[-1]} in the other")
    common_shape(first, second)


def common_shape(first: AnyArray, second: AnyArray) -> tuple[int, ...]:
    """The shape that two arrays broadcast to; DistributionError if they do not."""
    try:
        return np.broadcast_shapes(first.shape, second.shape)
    except ValueError as error:
        raise DistributionError(f"shapes {first.shape} and {second.shape} do not broadcast") from error


def _check_length(array: AnyArray, grid: Grid | None, what: str) -> None:
    if grid is not None and array.shape[-1] != grid.n_cells:
        raise DistributionError(
            f"{what} has {array.shape[-1]} values on the last axis, the grid {grid} has {grid.n_cells} cells"
        )


def is_scene(value: object) -> TypeGuard[Scene]:
    """Whether this is a scene's record."""
    return _is_record(value, "scene", "Scene")


def is_ground_truth(value: object) -> TypeGuard[GroundTruth]:
    """Whether this is a record of where the ball is."""
    return _is_record(value, "scene", "GroundTruth")


def _is_player_box(value: object) -> TypeGuard[PlayerBox]:
    return _is_record(value, "scene", "PlayerBox")


def _is_prediction(value: object) -> TypeGuard[PredictionDistribution]:
    return _is_record(value, "response", "PredictionDistribution")


def _is_record(value: object, module: str, name: str) -> bool:
    # Who has a record has loaded its module; pydantic, which that takes, is half of what importing a metric would cost.
    record = getattr(sys.modules.get(f"spotball_core.schema.{module}"), name, None)
    return record is not None and isinstance(value, record)


def are_labels(values: object) -> TypeGuard[Sequence[str | None]]:
    """Whether these are labels (None: unparsed) rather than numbers; a list of nothing is no labels."""
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and all(value is None or isinstance(value, str) for value in values)
    )
