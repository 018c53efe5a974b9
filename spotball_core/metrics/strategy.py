"""Compute behavioral strategies: closeness to players and center, spread of guesses (Spot the Ball, section 4.5).

Arrays have the cells on the last axis, and guesses are counts or probabilities. `spotball_core.metrics.inputs`
describes the other forms of each argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.geometry import outline_distances, outline_shares
from spotball_core.grid import Grid
from spotball_core.metrics import sampling
from spotball_core.metrics.inputs import (
    Guesses,
    ImageSetGuesses,
    Players,
    Second,
    Truth,
    arguments,
    at_place,
    boxes_of,
    grid_for,
    is_scene,
    mass_of,
    outlines_of,
    players_of_images,
    ratio,
    share,
    unwrap,
    where_known,
)
from spotball_core.metrics.metric import Additive, MeanOverImages, MeanOverResponses, MetricInput, Pooled, Sums, metric
from spotball_core.typing import BoolArray, FloatArray

Window = tuple[tuple[int, int], tuple[int, int]]

PAPER_WINDOW: Window = ((2, 4), (3, 7))
"""First and last row, first and last column of the center window from the paper (section 4.5)."""


@metric(
    title="Near-player rate",
    symbol="NR",
    unit="share",
    direction="like the reference",
    equation="4, 5",
    needs=("players",),
    family="strategy",
    highest=1.0,
    published_with_controls=True,
    aggregate=MeanOverResponses(lambda data: where_known(share(data.mass, data.near), data.has_players)),
)
def near_player_rate(guesses: Guesses, players: Players, *, tau: float = 0.08, grid: Grid | None = None) -> FloatArray:
    r"""Compute the share of guesses within tau image diagonals of a player (eq. 4 and 5).

    $$NR = \frac{1}{\sum_i T_i} \sum_{i,t} \mathbb{1}\Big[\min_{b \in \mathcal{B}_i}
    \text{dist}(p_{i,t}, b) \le \tau D\Big]$$

    with p the guessed cell's center, dist its distance to a player's box (0 inside), and D the diagonal. For the rate
    over several images, weight each image by its number of parsed guesses. Unparsed answers are excluded.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        players: boxes in pixels, shape (n_boxes, 4), PlayerBoxes, or a Scene, whose outlines replace boxes if it has
            them; for several images, a list, or an array (..., n_boxes, 4) that is padded with rows of NaN.
        tau: share of the diagonal, in (0, 1].
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), in [0, 1]. NaN without parsed answers or without players.

    Raises:
        OptionError: for tau outside (0, 1].
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for invalid boxes, or a label outside the grid.

    Examples:
        >>> float(near_player_rate(["A1", "F10"], [[0, 0, 50, 100]]))
        0.5
    """
    grid = grid_for(grid, players)
    near, known = near_player_mask(players, grid, tau=tau)
    second = Second("players", near.shape, players_of_images(players) is not None)
    return where_known(share(mass_of(guesses, grid, second=second)[0], near), known)


@metric(
    title="Overlap rate",
    symbol="OR",
    unit="share",
    direction="like the reference",
    equation="6",
    needs=("players",),
    family="strategy",
    highest=1.0,
    published_with_controls=True,
    aggregate=MeanOverResponses(lambda data: where_known(share(data.mass, data.overlap), data.has_players)),
)
def overlap_rate(guesses: Guesses, players: Players, *, theta: float = 0.02, grid: Grid | None = None) -> FloatArray:
    r"""Compute the share of guesses whose cell is covered by a player's box over at least theta of its area (eq. 6).

    $$OR = \frac{1}{\sum_i T_i} \sum_{i,t} \mathbb{1}\Big[\max_{b \in \mathcal{B}_i}
    \frac{\text{area}(c(\hat{y}_{i,t}) \cap b)}{\text{area}(c(\hat{y}_{i,t}))} \ge \theta\Big]$$

    For the rate over several images, weight each image by its number of parsed guesses. Unparsed answers are excluded.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        players: boxes in pixels, shape (n_boxes, 4), PlayerBoxes, or a Scene, whose outlines replace boxes if it has
            them; for several images, a list, or an array (..., n_boxes, 4) that is padded with rows of NaN.
        theta: share of the cell's area, in (0, 1].
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), in [0, 1]. NaN without parsed answers or without players.

    Raises:
        OptionError: for theta outside (0, 1].
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for invalid boxes, or a label outside the grid.

    Examples:
        >>> float(overlap_rate(["A1", "B1", "F10"], [[0, 0, 64, 90]], theta=0.5))  # all of A1, half of B1
        0.6666666666666666
    """
    grid = grid_for(grid, players)
    overlap, known = overlap_mask(players, grid, theta=theta)
    second = Second("players", overlap.shape, players_of_images(players) is not None)
    return where_known(share(mass_of(guesses, grid, second=second)[0], overlap), known)


@metric(
    title="Center ratio",
    symbol="CR",
    unit="ratio",
    direction="1 = no center bias, above 1 = center bias",
    equation="7",
    needs=("truth",),
    family="strategy",
    published_with_controls=True,
    no_value="no parsed responses, or no ground truth in the center window",
    aggregate=Pooled(lambda data: _center_ratio(data)),
)
def center_ratio(
    guesses: Guesses, truth: Truth, *, window: Window | None = None, grid: Grid | None = None
) -> FloatArray:
    r"""Compute the ratio of the guesses' mass to the truth's mass in the center window (eq. 7).

    $$CR = \frac{\sum_{j \in \mathcal{S}} p_j}{\sum_{j \in \mathcal{S}} q_j}$$

    Above 1, the guesses are nearer to the center than the ball is. Pass pooled guesses and the pooled truth: q is the
    benchmark's prior, in which each ball cell counts once. The window from the paper, rows 2-4 and columns 3-7 of 6 x
    10, lies half a cell left of and above the image's center; `symmetric_center_bias` avoids this offset.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or a list of them; or the number of images with the ball in each cell,
            shape (..., n_cells).
        window: first and last row, first and last column (default: the window from the paper, for a 6 x 10 grid only).
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), at least 0. NaN without parsed answers, or if the truth has no mass in the window.

    Raises:
        OptionError: for a window outside the grid, or no window for a grid that is not 6 x 10.
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> round(float(center_ratio(["C5", "D5", "F1"], {"C5", "F1"})), 3)  # two thirds over a half
        1.333
    """
    given = arguments(guesses, truth, grid, in_pixels=True, counts=True)
    inside = window_mask(given.grids[0], window)
    return ratio(share(given.mass, inside), share(given.truth, inside))


def _center_ratio(data: MetricInput) -> Callable[[FloatArray, FloatArray], FloatArray]:
    window, grid = data.options.window, data.grid
    window_mask(grid, window)  # This raises the error for a window that is not defined for the grid.
    return lambda p, q: center_ratio(p, q, window=window, grid=grid)


@metric(
    title="Symmetric center bias",
    symbol="SCB",
    unit="ratio",
    direction="1 = no center bias, below 1 = center bias",
    needs=("truth",),
    family="strategy",
    no_value="no parsed responses, or the ball is at the image's center in all images",
    aggregate=Pooled(lambda data: _pooled_center_bias(data)),
)
def symmetric_center_bias(guesses: Guesses, truth: Truth, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the ratio of the guesses' to the truth's mean distance from the image's center.

    $$\frac{\sum_j p_j\, \lVert c_j - m \rVert}{\sum_j q_j\, \lVert c_j - m \rVert}$$

    with m the image's center. Below 1, the guesses are nearer to the center than the ball is. The metric needs no
    window and treats all directions alike; prefer it to `center_ratio`. Pass pooled guesses and the pooled truth.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or a list of them; or the number of images with the ball in each cell,
            shape (..., n_cells).
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), at least 0. NaN without parsed answers, or if the truth is unknown or entirely at the exact center.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(symmetric_center_bias("A1", "F10"))  # opposite corners are equally far from the center
        1.0
    """
    return arguments(guesses, truth, grid, in_pixels=True, counts=True).each(
        lambda mass, prior, grid: ratio(share(mass, grid.center_distances), share(prior, grid.center_distances))
    )


def _pooled_center_bias(data: MetricInput) -> Callable[[FloatArray, FloatArray], FloatArray]:
    if len(data.grids) > 1:
        raise OptionError(
            "images differ in size, so distances from their centers cannot be pooled. Score the images of each size "
            "separately",
            code="different-grids",
        )
    grid = data.grid  # The function must not keep the data of all images.
    return lambda p, q: symmetric_center_bias(p, q, grid=grid)


@metric(
    title="Normalized entropy",
    symbol="Ĥ",
    unit="ratio",
    direction="like the reference",
    equation="8",
    family="strategy",
    highest=1.0,
    by_size=True,
    published_with_controls=True,
    aggregate=Pooled(lambda _: lambda p, _q: _normalized_entropy(p)),
)
def normalized_entropy(guesses: Guesses, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the entropy of a distribution over the cells, as a share of the maximum (eq. 8).

    $$\hat{H}(p) = \frac{-\sum_j p_j \log p_j}{\log n}$$

    The paper's table reports this for guesses pooled over images. It measures how a respondent spreads guesses over the
    benchmark; `image_entropy` measures the uncertainty about one image. Unparsed answers are excluded.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        grid: needed for labels of a grid that differs from the paper's.

    Returns:
        Shape (...), in [0, 1]; 0 for a single cell, 1 for the uniform distribution. NaN without parsed answers; 0 on a
        grid of one cell.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(normalized_entropy([1, 1, 0, 0]))
        0.5
    """
    return unwrap(_normalized_entropy(mass_of(guesses, grid)[0]))


def _normalized_entropy(mass: FloatArray) -> FloatArray:
    p = ratio(mass, mass.sum(axis=-1, keepdims=True))
    terms = np.log(np.where(p > 0, p, 1.0))  # Three times as fast as a logarithm with `where`.
    terms *= p
    entropy: FloatArray = -terms.sum(axis=-1) / max(np.log(p.shape[-1]), np.log(2))
    return np.clip(entropy, 0.0, 1.0) + 0.0


@overload
def image_entropy(guesses: ImageSetGuesses, *, grid: Grid | None = ...) -> float: ...


@overload
def image_entropy(guesses: Guesses, *, grid: Grid | None = ...) -> FloatArray: ...


@metric(
    title="Image entropy",
    symbol="Ĥ_i",
    unit="ratio",
    direction="like the reference",
    equation="8",
    family="strategy",
    highest=1.0,
    by_size=True,
    aggregate=MeanOverImages(lambda data: _normalized_entropy(data.mass)),
)
def image_entropy(guesses: Guesses, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the mean over images of each image's normalized entropy (eq. 8), the uncertainty about one image.

    $$\frac{1}{N} \sum_{i=1}^{N} \hat{H}(p_i)$$

    Args:
        guesses: one item per image, or an array (..., n_images, n_cells). A flat list of labels is one image.
        grid: needed for labels of a grid that differs from the paper's.

    Returns:
        Shape (...), in [0, 1]. Images without a parsed answer are excluded; NaN if no image remains. The value is
        biased downward if an image has few answers: with n answers, it is at most log n / log n_cells.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(image_entropy([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]))
        0.25
    """
    return _mean(np.atleast_1d(normalized_entropy(guesses, grid=grid)))


@overload
def normalized_entropy_matched(
    guesses: ImageSetGuesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> float: ...


@overload
def normalized_entropy_matched(
    guesses: Guesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


@metric(
    title="Normalized entropy, matched",
    symbol="Ĥ*",
    unit="ratio",
    direction="like the reference",
    family="strategy",
    lowest=None,
    estimates="normalized_entropy",
    least_responses=sampling.LEAST,
    aggregate=Sums(
        lambda data: _pooled_entropies(data.mass, seed=data.options.seed, draws=data.options.draws, shared=data.shared),
        "pool",
        grows=-1,
    ),
)
def normalized_entropy_matched(
    guesses: Guesses, *, grid: Grid | None = None, seed: int = 0, draws: int = sampling.DRAWS
) -> float | FloatArray:
    """Estimate the normalized entropy of guesses pooled over images, independent of the number of responses.

    The correction compares all responses with random halves of each image's responses. A respondent that always gives
    the same answer to an image therefore gets no correction.

    Args:
        guesses: one item per image, or an array (..., n_images, n_cells). A flat list of labels is one image.
        grid: needed for labels of a grid that differs from the paper's.
        seed: seed of the random halves.
        draws: number of random pairs of halves.

    Returns:
        Shape (...), roughly in [0, 1]. Images with fewer than 2 responses are excluded. NaN if no image remains.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        OptionError: for draws below 1.

    Examples:
        >>> float(normalized_entropy_matched([[20, 0, 0, 0], [0, 20, 0, 0]]))
        0.5
    """
    sums, combine = _pooled_entropies(_rows(mass_of(guesses, grid)[0]), seed=seed, draws=draws)
    return unwrap(combine(sums.sum(axis=-2)))


def _pooled_entropies(
    mass: FloatArray, *, seed: sampling.Seed, draws: int, shared: sampling.SharedDraws | None = None
) -> Additive:
    """Return the numbers that each image adds to `normalized_entropy_matched`, and the function of their sums.

    The numbers are: the image's counts, the counts in both halves of each random split, the number of
    responses, the number of responses in a half, and 1, whose sum is the number of images. For probabilities, both
    numbers of responses are 0. All numbers are 0 for an image with fewer than 2 responses.
    """
    n_cells = mass.shape[-1]
    counts, total = sampling.are_counts(mass), mass.sum(axis=-1)
    halves = sampling.drawn_once(shared, sampling.splits, mass, seed=seed, draws=draws)
    parts = [mass, *(half for pair in halves for half in pair)]
    sizes = [np.where(counts, total, 0.0), np.where(counts, total // 2, 0.0), np.ones_like(total)]
    usable = np.where(counts, total >= sampling.LEAST, total > 0)
    sums = np.concatenate([*parts, np.stack(sizes, axis=-1)], axis=-1) * usable[..., None]

    def combine(added: FloatArray) -> FloatArray:
        n_all, half, images = np.moveaxis(added[..., -3:], -1, 0)
        entropies = normalized_entropy(added[..., :-3].reshape(*added.shape[:-1], -1, n_cells))
        weight = np.where(n_all > half, ratio(half, n_all - half), 0.0)
        value: FloatArray = entropies[..., 0] + weight * (entropies[..., 0] - entropies[..., 1:].mean(axis=-1))
        return np.where(images > 0, value, np.nan)

    return sums, combine


@overload
def image_entropy_matched(guesses: ImageSetGuesses, *, grid: Grid | None = ...) -> float: ...


@overload
def image_entropy_matched(guesses: Guesses, *, grid: Grid | None = ...) -> FloatArray: ...


@metric(
    title="Image entropy, matched",
    symbol="Ĥ_i*",
    unit="ratio",
    direction="like the reference",
    family="strategy",
    lowest=None,
    estimates="image_entropy",
    least_responses=sampling.LEAST,
    aggregate=MeanOverImages(lambda data: _entropies(data.mass)),
)
def image_entropy_matched(guesses: Guesses, *, grid: Grid | None = None) -> float | FloatArray:
    """Estimate the mean normalized entropy per image, independent of the number of responses.

    The entropy of n counted responses is too low by about (occupied cells - 1) / 2n nats. The estimator of Chao, Wang
    and Jost (2013) also accounts for cells that were not named yet.

    Args:
        guesses: one item per image, or an array (..., n_images, n_cells). A flat list of labels is one image.
        grid: needed for labels of a grid that differs from the paper's.

    Returns:
        Shape (...), roughly in [0, 1]. Images with fewer than 2 responses are excluded. NaN if no image remains.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.

    Examples:
        >>> float(image_entropy_matched([[0.5, 0.5, 0, 0], [1, 0, 0, 0]]))  # probabilities need no correction
        0.25
    """
    return _mean(_entropies(_rows(mass_of(guesses, grid)[0])))


def _entropies(mass: FloatArray) -> FloatArray:
    """Estimate each image's normalized entropy, independent of its number of responses, shape (..., n_images)."""
    values: FloatArray = sampling.entropy(mass) / max(np.log(mass.shape[-1]), np.log(2))
    return values


def _rows(mass: FloatArray) -> FloatArray:
    """Return the mass with an axis for images; if there is only one image, this axis is added."""
    return mass if mass.ndim > 1 else mass[None]


def _mean(values: FloatArray) -> FloatArray:
    known = np.isfinite(values)
    return ratio(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1))


def near_player_mask(players: Players, grid: Grid, *, tau: float = 0.08) -> tuple[BoolArray, BoolArray]:
    """Return which cells are near a player (eq. 5), shape (..., n_cells), and which images have players, shape (...).

    Raises:
        OptionError: for tau outside (0, 1].
    """
    _check_share("tau", tau)

    def mask(players: Players, grid: Grid) -> tuple[BoolArray, BoolArray]:
        distance = player_distances(players, grid)
        return distance <= tau * grid.diagonal, np.asarray(np.isfinite(distance).any(axis=-1))

    return _of_images(mask, players, grid)


def overlap_mask(players: Players, grid: Grid, *, theta: float = 0.02) -> tuple[BoolArray, BoolArray]:
    """Return which cells overlap a player (eq. 6), shape (..., n_cells), and which images have players.

    Raises:
        OptionError: for theta outside (0, 1].
    """
    _check_share("theta", theta)

    def mask(players: Players, grid: Grid) -> tuple[BoolArray, BoolArray]:
        known = np.isfinite(boxes_of(players)).all(axis=-1).any(axis=-1)
        return player_shares(players, grid) >= theta, np.asarray(known)

    return _of_images(mask, players, grid)


def _of_images(
    mask: Callable[[Players, Grid], tuple[BoolArray, BoolArray]], players: Players, grid: Grid
) -> tuple[BoolArray, BoolArray]:
    """Return a mask of the players in one image, or those of the images in a list, each with its scene's grid."""
    several = players_of_images(players)
    if several is None:
        return mask(players, grid)
    masks = [
        at_place(place, "players", mask, () if item is None else item, item.layout if is_scene(item) else grid)
        for place, item in enumerate(several)
    ]
    near, known = zip(*masks, strict=True)
    return np.stack(near), np.stack(known)


def player_distances(players: Players, grid: Grid) -> FloatArray:
    """Return the distance from each cell's center to the nearest player in pixels, 0 inside (eq. 4).

    Args:
        players: the players in one image: PlayerBoxes, a Scene, or boxes in pixels, shape (..., n_boxes, 4), padded
            with rows of NaN.
        grid: the grid.

    Returns:
        Shape (..., n_cells); infinite if there are no players.
    """
    distances = grid.box_distances(boxes_of(players))
    which, outlines = outlines_of(players)
    if outlines:
        distances[which] = outline_distances(outlines, grid)
    nearest: FloatArray = np.min(distances, axis=-2, initial=np.inf)
    return nearest


def player_shares(players: Players, grid: Grid) -> FloatArray:
    """Return the largest share of each cell's area that a single player covers (eq. 6).

    Args:
        players: the players in one image: PlayerBoxes, a Scene, or boxes in pixels, shape (..., n_boxes, 4), padded
            with rows of NaN.
        grid: the grid.

    Returns:
        Shape (..., n_cells), in [0, 1]; 0 if there are no players.
    """
    shares = grid.box_shares(boxes_of(players))
    which, outlines = outlines_of(players)
    if outlines:
        shares[which] = outline_shares(outlines, grid)
    largest: FloatArray = np.max(shares, axis=-2, initial=0.0)
    return largest


def window_mask(grid: Grid, window: Window | None = None) -> BoolArray:
    """Return a boolean array over the cells, true in the center window (eq. 7); errors are those of `center_ratio`."""
    if window is None:
        if (grid.rows, grid.cols) != (6, 10):
            raise OptionError(
                f"the center window from the paper is defined for a 6 x 10 grid, but this grid is {grid}. In Python, "
                "pass `window`",
                code="different-grids",
            )
        window = PAPER_WINDOW
    (top, bottom), (left, right) = window
    if not (1 <= top <= bottom <= grid.rows and 1 <= left <= right <= grid.cols):
        raise OptionError(f"{window} is not inside the grid of {grid.rows} x {grid.cols} cells", field="window")
    rows, cols = np.divmod(np.arange(grid.n_cells), grid.cols)
    return (rows >= top - 1) & (rows < bottom) & (cols >= left - 1) & (cols < right)


def _check_share(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise OptionError(f"found {value}, expected more than 0 and at most 1", field=name)
