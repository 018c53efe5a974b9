"""What metric functions take, brought to arrays once and checked there.

Guesses come as an array of counts or probabilities with the cells on the last axis, or, for one image, as labels
(`["D5", "E6", None]`, None an unparsed answer), as `{"D5": 0.4, ...}`, or as a PredictionDistribution. Truth comes as
a boolean array over the cells, as labels, or as a Scene or GroundTruth. Where geometry is needed, the grid is the
scene's if there is one, else the `grid` that was passed, else the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import DistributionError, GridError
from spotball_core.grid import BoolArray, FloatArray, Grid
from spotball_core.schema.response import PredictionDistribution
from spotball_core.schema.scene import GroundTruth, PlayerBox, Scene

Guesses: TypeAlias = ArrayLike | Sequence[str | None] | Mapping[str, float] | PredictionDistribution
Truth: TypeAlias = ArrayLike | Sequence[str] | Scene | GroundTruth
Players: TypeAlias = ArrayLike | Sequence[PlayerBox] | Scene


def grid_given(grid: Grid | None, *others: object) -> Grid | None:
    """The scene's grid if there is a scene, else the one passed, if any; GridError if the two disagree."""
    scene = next((other for other in others if isinstance(other, Scene)), None)
    if scene is None:
        return grid
    if grid is not None and grid != scene.layout:
        raise GridError(f"the scene's grid is {scene.layout}, the one passed {grid}")
    return scene.layout


def grid_for(grid: Grid | None, *others: object) -> Grid:
    """The grid to measure on: as `grid_given`, and the paper's where none is given."""
    return grid_given(grid, *others) or Grid.standard()


def mass_of(guesses: Guesses, grid: Grid | None) -> tuple[FloatArray, FloatArray]:
    """Mass over the cells, shape (..., n_cells), and the number of unparsed answers, shape (...)."""
    if isinstance(guesses, PredictionDistribution):
        return guesses.mass(grid or Grid.standard()), np.zeros(())
    if isinstance(guesses, Mapping):
        grid = grid or Grid.standard()
        mass = np.zeros(grid.n_cells)
        np.add.at(mass, [grid.index(label) for label in guesses], list(guesses.values()))
        return checked_mass(mass, grid), np.zeros(())
    if isinstance(guesses, str):
        guesses = [guesses]
    if _are_labels(guesses):
        grid = grid or Grid.standard()
        named = [grid.index(label) for label in guesses if label is not None]
        mass = np.bincount(named, minlength=grid.n_cells).astype(float)
        return mass, np.asarray(float(len(guesses) - len(named)))
    mass = checked_mass(guesses, grid)
    return mass, np.zeros(mass.shape[:-1])


def checked_mass(values: object, grid: Grid | None) -> FloatArray:
    """An array of mass with the cells on the last axis: finite, nowhere negative, as long as the grid has cells.

    Raises:
        DistributionError: for anything else.
    """
    try:
        mass = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DistributionError(
            f"expected labels, or numbers with the cells on the last axis, found {values!r:.80}"
        ) from error
    if mass.ndim == 0:
        raise DistributionError("expected one number a cell, found a single number")
    _check_length(mass, grid, "mass")
    if not np.isfinite(mass).all():
        raise DistributionError("mass is not finite everywhere")
    if (mass < 0).any():
        raise DistributionError(f"mass is negative: {mass.min():g}")
    return mass


def truth_of(truth: Truth, grid: Grid | None) -> BoolArray:
    """Boolean array over the cells, shape (..., n_cells); nowhere true where the truth is not known."""
    if isinstance(truth, Scene):
        return truth.layout.mask(truth.ball_cells or ())
    if isinstance(truth, GroundTruth):
        return truth.mask
    if isinstance(truth, str):
        truth = [truth]
    if _are_labels(truth):
        return (grid or Grid.standard()).mask(label for label in truth if label is not None)
    mask = np.asarray(truth)
    if mask.ndim == 0 or mask.dtype.kind not in "biuf":
        raise DistributionError(f"expected cell labels or a true/false value a cell, found {truth!r:.80}")
    _check_length(mask, grid, "truth")
    if not np.isin(mask, (0, 1)).all():
        raise DistributionError("truth holds values other than 0 and 1")
    return mask.astype(bool)


def boxes_of(players: Players) -> FloatArray:
    """Players' boxes, shape (..., n_boxes, 4); rows of NaN pad images that have fewer players than others."""
    if isinstance(players, Scene):
        return players.boxes
    if isinstance(players, Sequence) and players and isinstance(players[0], PlayerBox):
        players = [box.corners for box in players if isinstance(box, PlayerBox)]
    boxes = np.asarray(players, dtype=float)
    if boxes.size == 0:
        boxes = boxes.reshape(*boxes.shape[:-2], 0, 4) if boxes.ndim >= 2 else np.empty((0, 4))
    if boxes.ndim < 2 or boxes.shape[-1] != 4:
        raise GridError(f"boxes have shape {boxes.shape}, expected (..., n_boxes, 4)")
    return boxes


def share(mass: FloatArray, weights: ArrayLike, also: ArrayLike = 0.0) -> FloatArray:
    """Weighted mean over the cells, sum(mass * weights) / (sum(mass) + also); NaN where nothing was answered."""
    total = mass.sum(axis=-1) + np.asarray(also, dtype=float)
    return ratio(np.einsum("...c,...c->...", *_broadcast(mass, weights)), total)


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """Quotient with NaN, and no warning, where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    out = np.full(shape, np.nan)
    return unwrap(np.divide(numerator, denominator, out=out, where=denominator != 0))


def where_known(values: FloatArray, known: ArrayLike) -> FloatArray:
    """The values, NaN where `known` is false."""
    return unwrap(np.where(known, values, np.nan))


def unwrap(values: FloatArray) -> FloatArray:
    """The array; a NumPy float, which prints and compares as a number, where it has no axes."""
    result: FloatArray = values[()]
    return result


def _broadcast(mass: FloatArray, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    weights = np.asarray(weights, dtype=float)
    if mass.shape[-1] != weights.shape[-1]:
        raise DistributionError(f"{mass.shape[-1]} cells in one argument, {weights.shape[-1]} in the other")
    try:
        np.broadcast_shapes(mass.shape, weights.shape)
    except ValueError as error:
        raise DistributionError(f"shapes {mass.shape} and {weights.shape} do not broadcast") from error
    return mass, weights


def _check_length(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], grid: Grid | None, what: str) -> None:
    if grid is not None and array.shape[-1] != grid.n_cells:
        raise DistributionError(
            f"{what} has {array.shape[-1]} values on the last axis, the grid {grid} has {grid.n_cells} cells"
        )


def _are_labels(values: object) -> TypeGuard[Sequence[str | None]]:
    return (
        isinstance(values, Sequence)
        and not isinstance(values, str)
        and all(value is None or isinstance(value, str) for value in values)
    )
