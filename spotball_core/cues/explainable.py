"""Estimate how well a respondent's guesses can be predicted at best, from the respondent's other guesses."""

from __future__ import annotations

import numpy as np

from spotball_core.cues.mixture_weights import fit_weights
from spotball_core.grid import Grid
from spotball_core.typing import FloatArray

SPREADS = (0.5, 1.0)
"""Standard deviations of the Gaussians that smooth a respondent's other guesses to an image, in cells."""


def explainable_gain(mass: FloatArray, grid: Grid) -> FloatArray:
    """Estimate how well guesses are predicted by the same respondent's other guesses to the same image.

    Each guess is predicted by a mixture of five distributions that exclude it: the other guesses to the image; these
    guesses, smoothed by Gaussians with standard deviations of 0.5 and of 1 cell; the guesses to all other images; and
    the uniform distribution. The mixture has one set of weights for all images, chosen by maximum likelihood. For
    people, all guesses of a participant are predicted by those of the other participants.

    The result is a lower bound of the explainable gain, because a small number of other guesses predicts worse than the
    respondent's true distribution would. The bound rises with the number of guesses per image.

    Args:
        mass: counts of cells named by each unit, shape (n_units, n_images, n_cells). A unit is a participant, whose
            guesses are held out together. If there is only one unit, one guess at a time is held out.
        grid: the grid of the cells.

    Returns:
        The gain over uniform guessing, summed over each image's guesses, in bits, shape (n_images,).

    Examples:
        On each of two images, all guesses name one of the two cells. The ceiling is close to 1 bit per guess:

        >>> grid = Grid(1, 2, 20, 10)
        >>> mass = np.array([[[100.0, 0.0], [0.0, 100.0]]])
        >>> (explainable_gain(mass, grid) / 100).round(2).tolist()
        [1.0, 1.0]
    """
    total = mass.sum(axis=0)
    unit, image, cell = np.nonzero(mass)
    counts = mass[unit, image, cell]
    held_out: FloatArray = mass.sum(axis=-1)[unit, image] if len(mass) > 1 else np.minimum(1.0, counts)
    n_cells, n_others = mass.shape[-1], total.sum(axis=-1)[image] - held_out
    elsewhere = (total.sum(axis=0) - total)[image, cell]
    n_elsewhere = (total.sum() - total.sum(axis=-1))[image]
    if len(mass) > 1:
        elsewhere -= (mass.sum(axis=1, keepdims=True) - mass)[unit, image, cell]
        n_elsewhere -= (mass.sum(axis=(1, 2))[:, None] - mass.sum(axis=-1))[unit, image]
    parts = [np.full(len(cell), 1 / n_cells), _share(elsewhere, n_elsewhere, n_cells)]
    for spread in (0.0, *SPREADS):
        kernel = np.eye(n_cells) if spread == 0 else np.exp(-((grid.cell_distances / spread) ** 2) / 2)
        kernel /= kernel.sum(axis=-1, keepdims=True)
        own = (mass @ kernel)[unit, image, cell] if len(mass) > 1 else held_out * kernel[cell, cell]
        parts.append(_share((total @ kernel)[image, cell] - own, n_others, n_cells))
    table = np.stack(parts, axis=-1)
    weights, _ = fit_weights(counts[None], table, np.ones((1, table.shape[1]), dtype=bool))
    bits = counts * np.log2(n_cells * (table @ weights[0]))
    return np.bincount(image, weights=bits, minlength=mass.shape[1]).astype(float)


def _share(mass: FloatArray, total: FloatArray, n_cells: int) -> FloatArray:
    """Return each mass divided by its total, or uniform shares if the total is 0.

    Negative rounding errors are set to 0.
    """
    some = total > 1e-9
    shares: FloatArray = np.where(some, np.maximum(mass, 0.0) / np.where(some, total, 1.0), 1 / n_cells)
    return shares
