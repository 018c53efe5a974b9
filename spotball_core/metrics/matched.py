"""Compute matched metrics: estimates that do not depend on the number of responses.

Each function corrects the metric of the same name for sampling noise, with a method from
`spotball_core.metrics.sampling`. Use matched metrics to compare respondents with different numbers of responses per
image; the metrics from the paper are unchanged. A matched value is an estimate: if the true value is at an end of its
range, the estimate may lie slightly outside.

Arrays have images on the second-to-last axis and cells on the last. Counts must be integers; other numbers are
probabilities, which have no sampling noise. Unparsed answers are excluded.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics import sampling, scoring_rules, strategy, task
from spotball_core.metrics.alignment import Unit, wasserstein, wasserstein_1d
from spotball_core.metrics.inputs import (
    Guesses,
    ImageGuesses,
    ImageSetGuesses,
    ImageTruth,
    Truth,
    arguments,
    grid_for,
    mass_of,
    pair_of,
    ratio,
    unwrap,
)
from spotball_core.metrics.metric import Additive
from spotball_core.typing import BoolArray, FloatArray


@overload
def wasserstein_matched(
    guesses: ImageSetGuesses,
    reference: ImageSetGuesses,
    *,
    unit: Unit = ...,
    grid: Grid | None = ...,
    seed: int = ...,
    draws: int = ...,
) -> float: ...


@overload
def wasserstein_matched(
    guesses: Guesses,
    reference: Guesses,
    *,
    unit: Unit = ...,
    grid: Grid | None = ...,
    seed: int = ...,
    draws: int = ...,
) -> FloatArray: ...


def wasserstein_matched(
    guesses: Guesses,
    reference: Guesses,
    *,
    unit: Unit = "px",
    grid: Grid | None = None,
    seed: int = 0,
    draws: int = sampling.DRAWS,
) -> float | FloatArray:
    r"""Estimate the mean Wasserstein distance over images, independent of both sides' numbers of responses.

    The distance between counted distributions is too large: two samples of the same people have a distance of 18 px if
    each has 150 responses per image, and of 48 px if one has 10 and the other 150. The mean over images is corrected by

    $$\hat W^2 = W_n^2 - \frac{W_{n/2}^2 - W_n^2}{\rho - 1}$$

    with W(n/2) the distance between random halves of both sides' responses. The ratio rho, about 2, is measured on the
    reference (`spotball_core.metrics.sampling`). The error depends on the spread of the guesses, the number of
    responses and the distance. It is a few pixels for distances above 40 px and at least 20 responses per image, but
    can exceed the distance if that is short and guesses are widely spread; `docs/explanation/statistics.md` has tables.

    Args:
        guesses: a list with one item per image (a list of labels, or one count or probability per cell), or an array
            of shape (..., n_images, n_cells). A flat list of labels is one image.
        reference: the distributions to compare with, in the same forms, without leading axes.
        unit: as for `wasserstein`.
        grid: the grid (default: the grid from the paper).
        seed: seed of the random halves.
        draws: number of random pairs of halves.

    Returns:
        Shape (...), lower is closer. It is near 0, possibly below 0, for a respondent that answers like the reference.
        Images with fewer than 2 responses, or fewer than 4 of the reference, are excluded. NaN if no image remains.

    Raises:
        DistributionError: in the same cases as `wasserstein`.
        OptionError: for an unknown unit, or draws below 1.

    Examples:
        >>> people = np.random.default_rng(0).multinomial(40, [0.5, 0.3, 0.2], size=200)
        >>> others = np.random.default_rng(1).multinomial(8, [0.2, 0.3, 0.5], size=200)
        >>> grid = Grid(1, 3, 300, 100)  # the true distance is 60
        >>> float(wasserstein(others, people, grid=grid).mean().round(1))
        64.0
        >>> float(wasserstein_matched(others, people, grid=grid).round(1))
        58.4
    """
    grid = grid_for(grid)
    p, q = map(_rows, pair_of(guesses, reference, grid))
    sums, combine = wasserstein_additive(p, q, unit=unit, grid=grid, seed=seed, draws=draws)
    return unwrap(combine(sums.sum(axis=-2)))


@overload
def wasserstein_1d_matched(
    guesses: ImageSetGuesses, reference: ImageSetGuesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> float: ...


@overload
def wasserstein_1d_matched(
    guesses: Guesses, reference: Guesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


def wasserstein_1d_matched(
    guesses: Guesses, reference: Guesses, *, grid: Grid | None = None, seed: int = 0, draws: int = sampling.DRAWS
) -> float | FloatArray:
    """Estimate the mean one-dimensional Wasserstein distance, independent of both sides' numbers of responses.

    The correction is the same as in `wasserstein_matched`.

    Args:
        guesses: a list with one item per image (a list of labels, or one count or probability per cell), or an array
            of shape (..., n_images, n_cells). A flat list of labels is one image.
        reference: the distributions to compare with, in the same forms, without leading axes.
        grid: the grid (default: the grid from the paper).
        seed: seed of the random halves.
        draws: number of random pairs of halves.

    Returns:
        Shape (...), in pixels, lower is closer. NaN if no image has enough responses (see `wasserstein_matched`).

    Raises:
        DistributionError: in the same cases as `wasserstein_1d`.
        OptionError: for draws below 1.

    Examples:
        >>> float(wasserstein_1d_matched([[0.5, 0.5]], [[0.5, 0.5]], grid=Grid(1, 2, 200, 100)))
        0.0
    """
    grid = grid_for(grid)
    p, q = map(_rows, pair_of(guesses, reference, grid))
    sums, combine = wasserstein_1d_additive(p, q, grid=grid, seed=seed, draws=draws)
    return unwrap(combine(sums.sum(axis=-2)))


@overload
def normalized_entropy_matched(
    guesses: ImageSetGuesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> float: ...


@overload
def normalized_entropy_matched(
    guesses: Guesses, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


def normalized_entropy_matched(
    guesses: Guesses, *, grid: Grid | None = None, seed: int = 0, draws: int = sampling.DRAWS
) -> float | FloatArray:
    """Estimate the normalized entropy of guesses pooled over images, independent of the number of responses.

    The correction compares all responses with random halves of each image's responses. A respondent that always gives
    the same answer to an image therefore gets no correction.

    Args:
        guesses: a list with one item per image (a list of labels, or one count or probability per cell), or an array
            of shape (..., n_images, n_cells). A flat list of labels is one image.
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
    sums, combine = normalized_entropy_additive(_rows(mass_of(guesses, grid)[0]), seed=seed, draws=draws)
    return unwrap(combine(sums.sum(axis=-2)))


@overload
def image_entropy_matched(guesses: ImageSetGuesses, *, grid: Grid | None = ...) -> float: ...


@overload
def image_entropy_matched(guesses: Guesses, *, grid: Grid | None = ...) -> FloatArray: ...


def image_entropy_matched(guesses: Guesses, *, grid: Grid | None = None) -> float | FloatArray:
    """Estimate the mean normalized entropy per image, independent of the number of responses.

    The entropy of n counted responses is too low by about (occupied cells - 1) / 2n nats. The estimator of Chao, Wang
    and Jost (2013) also accounts for cells that were not named yet.

    Args:
        guesses: a list with one item per image (a list of labels, or one count or probability per cell), or an array
            of shape (..., n_images, n_cells). A flat list of labels is one image.
        grid: needed for labels of a grid that differs from the paper's.

    Returns:
        Shape (...), roughly in [0, 1]. Images with fewer than 2 responses are excluded. NaN if no image remains.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.

    Examples:
        >>> float(image_entropy_matched([[0.5, 0.5, 0, 0], [1, 0, 0, 0]]))  # probabilities need no correction
        0.25
    """
    values = image_entropies_matched(_rows(mass_of(guesses, grid)[0]))
    known = np.isfinite(values)
    return ratio(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1))


def image_entropies_matched(mass: FloatArray) -> FloatArray:
    """Estimate each image's normalized entropy, independent of its number of responses, shape (..., n_images)."""
    values: FloatArray = sampling.entropy(mass) / max(np.log(mass.shape[-1]), np.log(2))
    return values


@overload
def top_k_accuracy_matched(
    guesses: ImageGuesses,
    truth: ImageTruth,
    *,
    k: int = ...,
    grid: Grid | None = ...,
    seed: int = ...,
    draws: int = ...,
) -> float: ...


@overload
def top_k_accuracy_matched(
    guesses: Guesses, truth: Truth, *, k: int = ..., grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


def top_k_accuracy_matched(
    guesses: Guesses,
    truth: Truth,
    *,
    k: int = 3,
    grid: Grid | None = None,
    seed: int = 0,
    draws: int = sampling.DRAWS,
) -> float | FloatArray:
    """Compute top-k accuracy from 8 random responses, for each image.

    Args:
        guesses: the guesses for one image (labels, or one count or probability per cell), or a list with one item per
            image; arrays have the shape (..., n_cells).
        truth: the ball in one image (a label, a set of labels, a Scene, or one true/false value per cell), or a list
            with one truth per image; arrays have the shape (..., n_cells).
        k: number of cells, at least 1.
        grid: needed for labels of a grid that differs from the scene's and the paper's.
        seed: seed of the draws.
        draws: the function makes four times this number of random draws.

    Returns:
        Shape (...), in [0, 1], higher is better. NaN with fewer than 8 responses.

    Raises:
        OptionError: for k or draws below 1.
        DistributionError: in the same cases as `top_k_accuracy`.

    Examples:
        >>> float(top_k_accuracy_matched([20, 10, 0, 0], [True, False, False, False]))
        1.0
    """
    given = arguments(guesses, truth, grid)
    _check(draws)
    return unwrap(
        sampling.of_few(lambda m: task.top_k_accuracy(m, given.truth, k=k), given.mass, seed=seed, draws=draws)
    )


@overload
def log_score_matched(
    guesses: ImageGuesses,
    truth: ImageTruth,
    *,
    smoothing: float = ...,
    grid: Grid | None = ...,
    seed: int = ...,
    draws: int = ...,
) -> float: ...


@overload
def log_score_matched(
    guesses: Guesses,
    truth: Truth,
    *,
    smoothing: float = ...,
    grid: Grid | None = ...,
    seed: int = ...,
    draws: int = ...,
) -> FloatArray: ...


def log_score_matched(
    guesses: Guesses,
    truth: Truth,
    *,
    smoothing: float = 0.01,
    grid: Grid | None = None,
    seed: int = 0,
    draws: int = sampling.DRAWS,
) -> float | FloatArray:
    """Compute the log score from 8 random responses, for each image.

    Args:
        guesses: the guesses for one image (labels, or one count or probability per cell), or a list with one item per
            image; arrays have the shape (..., n_cells).
        truth: the ball in one image (a label, a set of labels, a Scene, or one true/false value per cell), or a list
            with one truth per image; arrays have the shape (..., n_cells).
        smoothing: weight of the uniform distribution, in (0, 1].
        grid: needed for labels of a grid that differs from the scene's and the paper's.
        seed: seed of the draws.
        draws: the function makes four times this number of random draws.

    Returns:
        Shape (...), in nats, lower is better. NaN with fewer than 8 responses.

    Raises:
        OptionError: for a smoothing outside (0, 1], or draws below 1.
        DistributionError: in the same cases as `log_score`.

    Examples:
        >>> round(float(log_score_matched([20, 0], [True, False])), 3)
        0.005
    """
    given = arguments(guesses, truth, grid)
    _check(draws)

    def score(mass: FloatArray) -> FloatArray:
        return scoring_rules.log_score(mass, given.truth, smoothing=smoothing)

    return unwrap(sampling.of_few(score, given.mass, seed=seed, draws=draws))


@overload
def brier_score_matched(
    guesses: ImageGuesses, truth: ImageTruth, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> float: ...


@overload
def brier_score_matched(
    guesses: Guesses, truth: Truth, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


def brier_score_matched(
    guesses: Guesses, truth: Truth, *, grid: Grid | None = None, seed: int = 0, draws: int = sampling.DRAWS
) -> float | FloatArray:
    """Estimate the Brier score of each image, independent of the number of responses.

    Args:
        guesses: the guesses for one image (labels, or one count or probability per cell), or a list with one item per
            image; arrays have the shape (..., n_cells).
        truth: the ball in one image (a label, a set of labels, a Scene, or one true/false value per cell), or a list
            with one truth per image; arrays have the shape (..., n_cells).
        grid: needed for labels of a grid that differs from the scene's and the paper's.
        seed: seed of the random halves.
        draws: number of random pairs of halves.

    Returns:
        Shape (...), lower is better. NaN with fewer than 2 responses.

    Raises:
        OptionError: for draws below 1.
        DistributionError: in the same cases as `brier_score`.

    Examples:
        >>> float(brier_score_matched([20, 0], [True, False]))
        0.0
    """
    given = arguments(guesses, truth, grid)
    _check(draws)
    return unwrap(
        sampling.extrapolated(lambda m: scoring_rules.brier_score(m, given.truth), given.mass, seed=seed, draws=draws)
    )


@overload
def energy_score_matched(
    guesses: ImageGuesses, truth: ImageTruth, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> float: ...


@overload
def energy_score_matched(
    guesses: Guesses, truth: Truth, *, grid: Grid | None = ..., seed: int = ..., draws: int = ...
) -> FloatArray: ...


def energy_score_matched(
    guesses: Guesses, truth: Truth, *, grid: Grid | None = None, seed: int = 0, draws: int = sampling.DRAWS
) -> float | FloatArray:
    """Estimate the energy score of each image, independent of the number of responses.

    Args:
        guesses: the guesses for one image (labels, or one count or probability per cell), or a list with one item per
            image; arrays have the shape (..., n_cells).
        truth: the ball in one image (a label, a set of labels, a Scene, or one true/false value per cell), or a list
            with one truth per image; arrays have the shape (..., n_cells).
        grid: the grid (default: the scene's, else the paper's).
        seed: seed of the random halves.
        draws: number of random pairs of halves.

    Returns:
        Shape (...), in pixels, lower is better. NaN with fewer than 2 responses.

    Raises:
        OptionError: for draws below 1.
        DistributionError: in the same cases as `energy_score`.

    Examples:
        >>> float(energy_score_matched([20, 0], [True, False], grid=Grid(1, 2, 200, 100)))
        0.0
    """
    _check(draws)

    def estimate(mass: FloatArray, mask: BoolArray, grid: Grid) -> FloatArray:
        return sampling.extrapolated(
            lambda m: scoring_rules.energy_score(m, mask, grid=grid), mass, seed=seed, draws=draws
        )

    return arguments(guesses, truth, grid, in_pixels=True).each(estimate)


# What each image adds to a sum ---------------------------------------------------------------------------------


def wasserstein_additive(
    mass: FloatArray,
    reference: FloatArray,
    *,
    unit: Unit,
    grid: Grid | None,
    seed: sampling.Seed,
    draws: int = sampling.DRAWS,
    shared: sampling.SharedDraws | None = None,
) -> Additive:
    """Compute the numbers that each image adds to `wasserstein_matched`."""
    _check(draws)
    sums = sampling.distance_sums(
        lambda p, q: wasserstein(p, q, unit=unit, grid=grid),
        *(mass, reference),
        seed=seed,
        draws=draws,
        shared=shared,
        name=("wasserstein", unit, grid),
    )
    return sums, sampling.distance_at_any_size


def wasserstein_1d_additive(
    mass: FloatArray,
    reference: FloatArray,
    *,
    grid: Grid | None,
    seed: sampling.Seed,
    draws: int,
    shared: sampling.SharedDraws | None = None,
) -> Additive:
    """Compute the numbers that each image adds to `wasserstein_1d_matched`."""
    _check(draws)
    sums = sampling.distance_sums(
        lambda p, q: wasserstein_1d(p, q, grid=grid),
        *(mass, reference),
        seed=seed,
        draws=draws,
        shared=shared,
        name=("wasserstein_1d", grid),
    )
    return sums, sampling.distance_at_any_size


def normalized_entropy_additive(
    mass: FloatArray, *, seed: sampling.Seed, draws: int, shared: sampling.SharedDraws | None = None
) -> Additive:
    """Compute the numbers that each image adds to `normalized_entropy_matched`.

    These numbers are, in this order: the image's counts, the counts in both halves of each random split, the number of
    responses, the number of responses in a half, and 1, whose sum is the number of images. For probabilities, both
    numbers of responses are 0. All numbers are 0 for an image with fewer than 2 responses.
    """
    _check(draws)
    n_cells = mass.shape[-1]
    counts, total = sampling.are_counts(mass), mass.sum(axis=-1)
    halves = sampling.drawn_once(shared, sampling.splits, mass, seed=seed, draws=draws)
    parts = [mass, *(half for pair in halves for half in pair)]
    sizes = [np.where(counts, total, 0.0), np.where(counts, total // 2, 0.0), np.ones_like(total)]
    usable = np.where(counts, total >= sampling.LEAST, total > 0)
    sums = np.concatenate([*parts, np.stack(sizes, axis=-1)], axis=-1) * usable[..., None]

    def combine(added: FloatArray) -> FloatArray:
        n_all, half, images = np.moveaxis(added[..., -3:], -1, 0)
        entropies = strategy.normalized_entropy(added[..., :-3].reshape(*added.shape[:-1], -1, n_cells))
        weight = np.where(n_all > half, ratio(half, n_all - half), 0.0)
        value: FloatArray = entropies[..., 0] + weight * (entropies[..., 0] - entropies[..., 1:].mean(axis=-1))
        return np.where(images > 0, value, np.nan)

    return sums, combine


def _rows(mass: FloatArray) -> FloatArray:
    """Return the mass with an axis for images; if there is only one image, this axis is added."""
    return mass if mass.ndim > 1 else mass[None]


def _check(draws: int) -> None:
    if draws < 1:
        raise OptionError(f"found {draws}, expected at least 1", field="draws")
