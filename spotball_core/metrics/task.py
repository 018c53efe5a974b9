"""Compute task performance: how often the ball is found, and how far off the guesses are (Spot the Ball, section 4.5).

Arrays have the cells on the last axis, and guesses are counts or probabilities. Distances are in pixels between cell
centers. `spotball_core.metrics.inputs` describes the other forms of each argument.
"""

from __future__ import annotations

from functools import partial
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import (
    Guesses,
    ImageGuesses,
    ImageTruth,
    Truth,
    arguments,
    checked_numbers,
    common_shape,
    ratio,
    share,
    where_known,
)
from spotball_core.metrics.matched import FEW, matched
from spotball_core.metrics.metric import MeanOverResponses, metric
from spotball_core.typing import BoolArray, FloatArray


@overload
def accuracy(guesses: ImageGuesses, truth: ImageTruth, *, unparsed: float = ..., grid: Grid | None = ...) -> float: ...


@overload
def accuracy(guesses: Guesses, truth: Truth, *, unparsed: ArrayLike = ..., grid: Grid | None = ...) -> FloatArray: ...


@metric(
    title="Accuracy",
    symbol="Acc",
    unit="share",
    direction="higher",
    equation="1",
    needs=("truth",),
    family="task",
    highest=1.0,
    over=partial(MeanOverResponses, counts_unparsed=True),
    options=lambda data: {"unparsed": data.unparsed},
)
def accuracy(guesses: Guesses, truth: Truth, *, unparsed: ArrayLike = 0.0, grid: Grid | None = None) -> FloatArray:
    r"""Compute the share of answers that name a cell with the ball (eq. 1).

    $$\text{Accuracy} = \frac{1}{N} \sum_{i=1}^{N} \mathbb{1}[\hat{y}_i \in \mathcal{G}_i]$$

    An unparsed answer counts as wrong: it is included in N.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        unparsed: number of unparsed answers that `guesses` does not include, shape (...).
        grid: needed for labels of a grid that differs from the scene's and the paper's.

    Returns:
        Shape (...), in [0, 1], higher is better. NaN without answers, or if the truth is not known.

    Raises:
        DistributionError: for `guesses` or `unparsed` that are negative, not finite or of the wrong shape.
        GridError: for a label outside the grid.

    Examples:
        >>> accuracy(["D5", "E6", "C2", None], {"C2", "C3"}).item()  # one image, whose ball covers two cells
        0.25
        >>> accuracy(["D5", "C2", None], ["D5", "D6", "A1"]).tolist()  # one guess for each of three images
        [1.0, 0.0, 0.0]
    """
    given = arguments(guesses, truth, grid)
    extra = checked_numbers(unparsed, "unparsed")
    common_shape(extra, given.unparsed)
    hits = share(given.mass, given.truth, also=extra + given.unparsed)
    return where_known(hits, given.truth.any(axis=-1))


@metric(
    title="Euclidean error",
    symbol="d",
    unit="px",
    direction="lower",
    equation="2",
    needs=("truth",),
    family="task",
    published_with_controls=True,
    options=lambda data: {"grid": data.grid},
)
def euclidean_error(guesses: Guesses, truth: Truth, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the mean distance from the guessed cells to the nearest ball cell (eq. 2), in pixels.

    $$d_i = \min_{g \in \mathcal{G}_i} \lVert c(\hat{y}_i) - c(g) \rVert_2$$

    Unparsed answers are excluded.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), in [0, diagonal], lower is better. NaN without parsed answers, or if the truth is not known.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(euclidean_error(["D5", "D6"], "D4"))  # 1 and 2 cells of 64 pixels
        96.0
        >>> euclidean_error(["A1", "F10"], ["A2", "F10"]).tolist()  # two images
        [64.0, 0.0]
    """
    return arguments(guesses, truth, grid, in_pixels=True).each(_mean_distance)


def _mean_distance(mass: FloatArray, mask: BoolArray, grid: Grid) -> FloatArray:
    known = np.asarray(mask.any(axis=-1))
    return where_known(share(mass, np.where(known[..., None], truth_distances(mask, grid), 0.0)), known)


@metric(
    title="Expected error",
    symbol="E‖X-Y‖",
    unit="px",
    direction="lower",
    needs=("truth",),
    family="task",
    options=lambda data: {"grid": data.grid},
)
def expected_error(guesses: Guesses, truth: Truth, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the mean distance from the guessed cells to all ball cells, in pixels: $E\lVert X - Y\rVert$.

    X is drawn from the guesses, Y uniformly from the ball's cells. For a ball that spans several cells,
    `euclidean_error` measures to the nearest cell, while this metric measures to all of them. It is the first term of
    `energy_score`.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), in [0, diagonal], lower is better. NaN without parsed answers, or if the truth is not known.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(expected_error("D4", {"D4", "D5"}))  # 0 and 64 pixels, equally likely
        32.0
    """
    return arguments(guesses, truth, grid, in_pixels=True).each(
        lambda mass, mask, grid: share(mass, ratio(grid.distance_sums(mask), mask.sum(axis=-1, keepdims=True)))
    )


@metric(
    title="Top-k accuracy",
    symbol="Acc@k",
    unit="share",
    direction="higher",
    needs=("truth",),
    family="task",
    highest=1.0,
    by_size=True,
    options=lambda data: {"k": data.options.top_k},
)
def top_k_accuracy(guesses: Guesses, truth: Truth, *, k: int = 3, grid: Grid | None = None) -> FloatArray:
    r"""Compute the probability that the ball is in one of the k most named cells, with ties broken at random.

    A cell that was never named is not among the k, even if fewer than k cells were named. With $a$ cells named more
    often than the k-th, $m$ cells tied with it of which $g$ hold the ball, and no ball in the $a$ cells, the value is
    $1 - \binom{m-g}{k-a} / \binom{m}{k-a}$.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        k: number of cells, at least 1.
        grid: needed for labels of a grid that differs from the scene's and the paper's.

    Returns:
        Shape (...), in [0, 1], higher is better. NaN without parsed answers, or if the truth is not known.

    Raises:
        OptionError: for k below 1.
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> round(float(top_k_accuracy(["D5", "D5", "E6", "C2"], "C2", k=2)), 3)  # E6 and C2 tie for second
        0.5
    """
    if k < 1:
        raise OptionError(f"found {k}, expected at least 1", field="k")
    given = arguments(guesses, truth, grid)
    mass, mask = np.broadcast_arrays(given.mass, given.truth)
    k = min(k, mass.shape[-1])
    threshold = np.sort(mass, axis=-1)[..., -k, None]
    above = mass > threshold
    tied = (mass == threshold) & (threshold > 0)
    places = k - above.sum(axis=-1)
    n_tied, n_tied_true = tied.sum(axis=-1), (tied & mask).sum(axis=-1)
    miss = np.ones(mass.shape[:-1])
    for place in range(k):
        factor = ratio(n_tied - n_tied_true - place, n_tied - place)
        miss = np.where((place < places) & (n_tied > place), miss * factor, miss)
    hit = np.where((above & mask).any(axis=-1), 1.0, 1.0 - miss)
    return where_known(hit, mask.any(axis=-1) & (mass.sum(axis=-1) > 0))


top_k_accuracy_matched = matched(top_k_accuracy, by=FEW)
"""Compute `top_k_accuracy` from 8 random responses per image, independent of the number of responses.

Arguments: those of `top_k_accuracy`, and `seed` and `draws` of the random draws. NaN with fewer than 8
responses.
"""


def truth_distances(mask: BoolArray, grid: Grid) -> FloatArray:
    """Return the distance from each cell's center to the nearest center of a ball cell, in pixels (eq. 2).

    Args:
        mask: true where the ball is, shape (..., n_cells).
        grid: the grid.

    Returns:
        Shape (..., n_cells); infinite if no cell holds the ball.

    Examples:
        >>> grid = Grid(1, 4, 40, 10)
        >>> truth_distances(grid.mask(["A2", "A4"]), grid).tolist()
        [10.0, 0.0, 10.0, 0.0]
    """
    flat = mask.reshape(-1, grid.n_cells)
    out = np.full(flat.shape, np.inf)
    for cell in np.flatnonzero(flat.any(axis=0)):
        rows = flat[:, cell]
        out[rows] = np.minimum(out[rows], grid.distances_from(int(cell)))
    return out.reshape(mask.shape)
