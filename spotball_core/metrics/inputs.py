"""Convert the arguments of metric functions to arrays, and check them.

Guesses are an array of counts or probabilities with the cells on the last axis. For one image they can also be labels
(`["D5", "E6", None]`, where None is an unparsed answer), a mapping `{"D5": 0.4, ...}`, or a PredictionDistribution. The
truth is a boolean array over the cells, labels, a Scene or a GroundTruth. Arrays may be columns or frames of other
libraries (`spotball_core.interchange`).

In NumPy's masked arrays, a fully masked row is missing: an image without answers, an unknown truth, or padding instead
of a box. Partly masked rows raise an error, and a masked label is an unparsed answer.

The grid is the scene's grid if there is a scene, else the `grid` argument, else the grid from the paper.
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
"""Numbers for images, or one label per image (None: unparsed): an array, a list, a column, a frame or a tensor."""

Guesses: TypeAlias = Union[ArrayValues, Mapping[str, float], "PredictionDistribution"]
"""Guesses for images: numbers per cell, labels, a mapping from labels to numbers, or a record."""

Truth: TypeAlias = Union[ArrayValues, "Scene", "GroundTruth"]
"""The ball's position: true or 1 on its cells, labels of its cells, or a record."""

Players: TypeAlias = Union[ArrayValues, Sequence["PlayerBox"], "Scene"]
"""Players' boxes: numbers of shape (..., n_boxes, 4), a frame with the columns x1, y1, x2, y2, or records."""

Numbers: TypeAlias = Sequence[float] | Sequence[np.number[Any]] | Sequence[np.bool_]
"""A list of numbers. Lists of lists are excluded, and so are arrays, whose type does not state the number of axes."""

ImageGuesses: TypeAlias = Union[Sequence[str | None], Numbers, Mapping[str, float], "PredictionDistribution"]
"""Types of guesses for one image. A metric of these guesses is one number."""

ImageTruth: TypeAlias = Union[Sequence[str | None], Numbers, "Scene", "GroundTruth"]
"""Types of truth for one image."""

ImagePlayers: TypeAlias = Union[Sequence[Sequence[float]], ArrowFrame, Sequence["PlayerBox"], "Scene"]
"""Types of players' boxes for one image."""

ImageSetGuesses: TypeAlias = ImageGuesses | Sequence[Sequence[float]] | ArrowFrame
"""Types of guesses for one image or one set of images. A metric of the set is one number."""

AnyArray: TypeAlias = NDArray[Any]


def grid_given(grid: Grid | None, *others: object) -> Grid | None:
    """Return the scene's grid if there is a scene, else `grid`; raise GridError if the two differ.

    If both are missing, return a grid of square cells with a GroundTruth's rows and columns, which is enough to read
    labels, or None without a GroundTruth.
    """
    for other in others:
        if is_scene(other):
            if grid is not None and grid != other.layout:
                raise GridError(f"grid: found {grid}, but the scene's grid is {other.layout}. Pass only one of them")
            return other.layout
        if is_ground_truth(other) and grid is None:
            return Grid(other.grid.rows, other.grid.cols, width=other.grid.cols, height=other.grid.rows)
    return grid


def grid_for(grid: Grid | None, *others: object) -> Grid:
    """Return the grid to use: the scene's, else `grid`, else the paper's. It raises the same errors as `grid_given`."""
    return grid_given(grid, *(other for other in others if is_scene(other))) or Grid.standard()


def mass_of(guesses: Guesses, grid: Grid | None) -> tuple[FloatArray, FloatArray]:
    """Return the mass over the cells, shape (..., n_cells), and the number of unparsed answers, shape (...)."""
    if _is_prediction(guesses):
        return guesses.mass(grid or Grid.standard()), np.zeros(())
    if isinstance(guesses, Mapping):
        grid = grid or Grid.standard()
        indices = [grid.index(label) for label in guesses]
        mass = np.zeros((len(indices), grid.n_cells))
        # Check the numbers before adding them: a second spelling of the same cell could hide a negative number.
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
    """Return an array of mass with the cells on the last axis, after checking its values and its length.

    Raises:
        DistributionError: for values that are negative, not finite or not numbers, a wrong number of cells, partly
            masked rows, or a sum that is not finite.
    """
    mass = checked_numbers(without_mask(values, "mass", DistributionError, missing=0), "mass")
    if mass.ndim == 0 or mass.shape[-1] == 0:
        raise DistributionError(f"mass has shape {mass.shape}, expected (..., n_cells): one number per cell")
    _check_length(mass, grid, "mass")
    with np.errstate(over="ignore"):
        if not np.isfinite(mass.sum(axis=-1)).all():
            raise DistributionError("mass: the sum over cells is infinite. Pass smaller counts")
    return mass


def checked_numbers(values: object, what: str) -> FloatArray:
    """Return an array of finite, nonnegative, unmasked numbers; raise DistributionError for any other value."""
    values = without_mask(array_of_tensor(values), what, DistributionError)
    try:
        # Reject text and complex numbers, which NumPy would convert to floats.
        numbers = np.asarray(values).astype(float, casting="same_kind", copy=False)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"{what}: found {values!r:.80}, expected labels or an array of numbers") from error
    if not np.isfinite(numbers).all():
        raise DistributionError(
            f"{what} contains NaN or infinity. Use 0 for cells without answers, and mask missing images"
        )
    if (numbers < 0).any():
        raise DistributionError(
            f"{what} contains {numbers.min():g}, expected counts or probabilities of at least 0. Convert log "
            "probabilities with numpy.exp"
        )
    return numbers


def truth_of(truth: Truth, grid: Grid | None) -> BoolArray:
    """Return a boolean array over the cells, shape (..., n_cells); all false if the truth is not known."""
    if is_scene(truth):
        return truth.layout.mask(truth.ball_cells or ())
    if is_ground_truth(truth):
        if grid is not None and (grid.rows, grid.cols) != (truth.grid.rows, truth.grid.cols):
            raise GridError(
                f"grid: found {grid}, but `truth` has a grid of {truth.grid.rows}x{truth.grid.cols}. Pass the same grid"
            )
        return truth.mask
    truth = [truth] if isinstance(truth, str) else values_of(truth, grid)  # type: ignore[assignment]
    if are_labels(truth):
        return (grid or Grid.standard()).mask(label for label in truth if label is not None)
    expected = "expected labels such as C2, a Scene, or one true/false value per cell"
    try:
        mask = np.asarray(without_mask(truth, "truth", DistributionError, missing=False))
    except DistributionError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(f"truth: found {truth!r:.80}, {expected}") from error
    if mask.ndim == 0 or mask.dtype.kind not in "biuf":
        raise DistributionError(f"truth: found {truth!r:.80}, {expected}")
    _check_length(mask, grid, "truth")
    if not np.isin(mask, (0, 1)).all():
        raise DistributionError("truth contains values other than 0 and 1. Pass 1 for cells with the ball, else 0")
    return mask.astype(bool)


def boxes_of(players: Players) -> FloatArray:
    """Return players' boxes, shape (..., n_boxes, 4). Rows of NaN pad images with fewer players."""
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
        raise GridError(f"players: found {players!r:.80}, expected boxes [[x1, y1, x2, y2], ...]") from error
    if boxes.size == 0:
        boxes = boxes.reshape(*boxes.shape[:-2], 0, 4) if boxes.ndim >= 2 else np.empty((0, 4))
    if boxes.ndim < 2 or boxes.shape[-1] != 4:
        raise GridError(f"players: boxes have shape {boxes.shape}, expected (..., n_boxes, 4): x1, y1, x2, y2 per box")
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
            "the last axis. Use the same grid for both"
        )
    common_shape(first, second)


def common_shape(first: AnyArray, second: AnyArray) -> tuple[int, ...]:
    """Return the shape that two arrays broadcast to; raise DistributionError if they do not broadcast."""
    try:
        return np.broadcast_shapes(first.shape, second.shape)
    except ValueError as error:
        raise DistributionError(
            f"the arguments have shapes {first.shape} and {second.shape}, which do not broadcast. Pass the same number "
            "of images to both"
        ) from error


def _check_length(array: AnyArray, grid: Grid | None, what: str) -> None:
    if grid is not None and array.shape[-1] != grid.n_cells:
        raise DistributionError(
            f"{what} has {array.shape[-1]} values on the last axis, but the grid {grid} has {grid.n_cells} cells. Pass "
            f"one value per cell, row by row{_reshaped(array, grid)}, or another grid"
        )


def _reshaped(array: AnyArray, grid: Grid) -> str:
    """Return advice on how to convert an array of rows and columns to an array of cells; empty for other arrays."""
    is_rows_and_cols = array.ndim >= 2 and array.shape[-2:] == (grid.rows, grid.cols)
    return f" (use .reshape({'-1, ' if array.ndim > 2 else ''}{grid.n_cells}))" if is_rows_and_cols else ""


def is_scene(value: object) -> TypeGuard[Scene]:
    """Return whether the value is a Scene."""
    return _is_record(value, "scene", "Scene")


def is_ground_truth(value: object) -> TypeGuard[GroundTruth]:
    """Return whether the value is a GroundTruth."""
    return _is_record(value, "scene", "GroundTruth")


def _is_player_box(value: object) -> TypeGuard[PlayerBox]:
    return _is_record(value, "scene", "PlayerBox")


def _is_prediction(value: object) -> TypeGuard[PredictionDistribution]:
    return _is_record(value, "response", "PredictionDistribution")


def _is_record(value: object, module: str, name: str) -> bool:
    # Do not import pydantic here: it takes half of a metric's import time, and a record's module is already loaded.
    record = getattr(sys.modules.get(f"spotball_core.schema.{module}"), name, None)
    return record is not None and isinstance(value, record)


def are_labels(values: object) -> TypeGuard[Sequence[str | None]]:
    """Return whether these are labels (None: unparsed) rather than numbers; an empty list counts as labels."""
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and all(value is None or isinstance(value, str) for value in values)
    )
