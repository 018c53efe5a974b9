"""Estimate metrics so that they do not depend on the number of responses.

A distribution counted from few responses looks more concentrated, and farther from any other distribution, than it is:
20 responses cannot spread over more than 20 cells. If one respondent has 20 responses per image and another has 150,
a metric of their distributions mostly shows this difference. The functions of this module remove the dependence:

- `extrapolated`: with n responses, the Brier and energy scores have an error of exactly c / n, with a constant c. The
  value from n / 2 responses differs by the same amount from the value from n, which is measured on random halves.
- `distance_at_any_size`: sampling noise adds to the square of a distance, d(n)^2 = d^2 + c / n. This noise is also
  measured on random halves.
- `entropy`: the estimator of Chao, Wang and Jost (2013), which accounts for cells that were not named yet.
- `of_few`: top-k accuracy and the log score depend on rarely named cells, about which few responses give no
  information. They are therefore always computed from 8 random responses.

All arrays have images on the second-to-last axis and cells on the last. Counts are integers. If any image has a number
that is not an integer, all the respondent's images are treated as probabilities, which have no sampling noise.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.metrics.inputs import check_cells, ratio
from spotball_core.typing import BoolArray, FloatArray, IntArray

DRAWS = 8
"""Number of random splits into halves. With 50 images, the splits' noise is a fifth of the responses' noise."""

FEW = 8
"""Number of responses per image that `of_few` draws. Of 10 samples per image, about 8 remain if some are unparsed."""

LEAST, LEAST_REFERENCE = 2, 4
"""Minimum numbers of responses per image, of a respondent and of the reference. The reference's are split twice."""

COLUMNS = 7
"""Number of values per image that `distance_sums` returns."""

_ONE_BY_ONE = 8
"""Maximum number of responses that are added or removed one by one to get a sample of a given size."""

_TABULATED = 10_000
"""Harmonic numbers up to this one are summed. Larger ones follow from an expansion that is exact to the last digit."""

_BATCH = 20_000_000
"""Approximate size of the draws that are made at once, in bytes."""

_LEAST_RATIO = 1.2
"""Lower bound for the squared noise of half of the responses, divided by that of all. This is 2 with many responses."""


Drawn = TypeVar("Drawn")

Seed = int | tuple[int, ...]
"""A seed, or several numbers that are a seed together."""

Pair = tuple[FloatArray, FloatArray]


class SharedDraws:
    """A cache of random draws from responses, so that several metrics of these responses use the same draws.

    Equal responses and seeds give equal draws, so a metric has the same value with and without sharing.

    Args:
        most: approximate maximum size of a cached result in bytes. Larger results are not cached but drawn again for
            each metric.
        noise: the reference's noise by its responses (see `distance_sums`), which several respondents share.
    """

    def __init__(self, most: int = 100_000_000, noise: dict[object, FloatArray] | None = None) -> None:
        self._most = most
        self._kept: dict[object, list[Any]] = {}
        self.noise: dict[object, FloatArray] = {} if noise is None else noise

    def of(self, draw: Callable[..., Iterator[Drawn]], *arrays: FloatArray, seed: Seed, draws: int) -> Iterable[Drawn]:
        """Return the result of `draw` for these arguments, from the cache if possible."""
        if 2 * draws * sum(array.nbytes for array in arrays) > self._most:
            return draw(*arrays, seed=seed, draws=draws)
        key = draw, seed, draws, *((array.shape, array.tobytes()) for array in arrays)
        if key not in self._kept:
            self._kept[key] = list(draw(*arrays, seed=seed, draws=draws))
        return self._kept[key]


def drawn_once(
    shared: SharedDraws | None,
    draw: Callable[..., Iterator[Drawn]],
    *arrays: FloatArray,
    seed: Seed,
    draws: int,
) -> Iterable[Drawn]:
    """Return the result of `draw`, from the cache `shared` if one is given; raise OptionError for draws below 1."""
    if draws < 1:
        raise OptionError(f"found {draws}, expected at least 1", field="draws")
    if shared is None:
        return draw(*arrays, seed=seed, draws=draws)
    return shared.of(draw, *arrays, seed=seed, draws=draws)


def are_counts(mass: FloatArray) -> BoolArray:
    """Return whether each distribution consists of integer counts, shape (...).

    If any image has other numbers, all images are probabilities: (1, 0, 0) is then a certainty, not one response.
    """
    is_integer = (mass == np.floor(mass)).all(axis=-1)
    if is_integer.ndim:
        is_integer = np.broadcast_to(is_integer.all(axis=-1, keepdims=True), is_integer.shape)
    return np.asarray(is_integer)


def drawn(mass: FloatArray, n: IntArray, generator: np.random.Generator, draws: int) -> FloatArray:
    """Draw n responses of each distribution without replacement, several times.

    Args:
        mass: counts, shape (..., n_cells).
        n: number of responses to draw, shape (...), at most the number available.
        generator: the random generator.
        draws: number of repetitions.

    Returns:
        Counts, shape (draws, ..., n_cells).

    Examples:
        >>> mass = np.array([[4.0, 4.0], [0.0, 2.0]])
        >>> drawn(mass, np.array([3, 2]), np.random.default_rng(0), draws=2).sum(axis=-1)
        array([[3., 2.],
               [3., 2.]])
    """
    counts = np.broadcast_to(mass.astype(np.int64), (draws, *mass.shape))
    sizes = np.broadcast_to(n, counts.shape[:-1])
    chosen = _chosen(counts.reshape(-1, mass.shape[-1]), sizes.reshape(-1).astype(np.int64), generator)
    return chosen.reshape(counts.shape).astype(float)


def _chosen(counts: IntArray, n: IntArray, generator: np.random.Generator) -> IntArray:
    """Draw n responses of each row of counts without replacement. The time does not depend on the number of responses.

    Each response is first chosen with the same probability, independently of the others. Given their number, the chosen
    responses are a random subset. Random responses are then added or removed until there are n.
    """
    chosen = np.zeros_like(counts)
    rows, cells = np.nonzero(counts)
    chosen[rows, cells] = generator.binomial(counts[rows, cells], ratio(n, counts.sum(axis=-1))[rows])
    missing = n - chosen.sum(axis=-1)
    while (at := np.flatnonzero(missing)).size:
        sign = np.sign(missing[at])
        pool = np.where(sign[:, None] > 0, counts[at] - chosen[at], chosen[at])
        size = np.abs(missing[at])
        if (many := size > _ONE_BY_ONE).any():
            at, sign, size = at[many], sign[many], size[many]
            chosen[at] += sign[:, None] * _chosen(pool[many], size, generator)
            missing[at] = 0
        else:
            chosen[at, _one_of(pool, generator)] += sign
            missing[at] -= sign
    return chosen


def _one_of(counts: IntArray, generator: np.random.Generator) -> IntArray:
    """Draw one response of each distribution, shape (..., n_cells), and return its cell, shape (...)."""
    number = generator.integers(0, counts.sum(axis=-1))
    cell: IntArray = (counts.cumsum(axis=-1) > number[..., None]).argmax(axis=-1)
    return cell


def halves(mass: FloatArray, generator: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
    """Split each distribution's responses into two random halves, several times.

    If a distribution has an odd number of responses, one random response is dropped.

    Returns:
        Two arrays of shape (draws, *mass.shape): the counts of the first and of the second halves. Probabilities are
        not split: both arrays contain them unchanged.
    """
    counts = are_counts(mass)
    integers = np.where(counts[..., None], mass, 0.0)
    total = integers.sum(axis=-1).astype(np.int64)
    first = drawn(integers, total // 2, generator, draws)
    second = integers - first
    odd = np.nonzero(np.broadcast_to(total % 2, first.shape[:-1]))
    second[(*odd, _one_of(second[odd].astype(np.int64), generator))] -= 1
    return np.where(counts[..., None], first, mass), np.where(counts[..., None], second, mass)


def splits(mass: FloatArray, *, seed: Seed, draws: int) -> Iterator[Pair]:
    """Yield random halves of each distribution's responses, several times; see `halves`."""
    generator = np.random.default_rng(seed)
    for some in _in_batches(draws, mass):
        yield from zip(*halves(mass, generator, some), strict=True)


def _in_batches(draws: int, mass: FloatArray) -> Iterator[int]:
    """Yield the sizes of batches of draws that fit into memory."""
    size = max(1, _BATCH // max(mass.nbytes, 1))
    for start in range(0, draws, size):
        yield min(size, draws - start)


def extrapolated(
    function: Callable[[FloatArray], FloatArray],
    mass: FloatArray,
    *,
    seed: Seed = 0,
    draws: int = DRAWS,
    shared: SharedDraws | None = None,
) -> FloatArray:
    """Estimate a function of a distribution without its sampling error, which must be c / n with n responses.

    Args:
        function: from distributions, shape (..., n_cells), to values, shape (...).
        mass: shape (..., n_cells).
        seed: seed of the splits.
        draws: number of splits.
        shared: cache that shares the splits with other metrics of the same responses.

    Returns:
        Shape (...). NaN for counts of fewer than 2 responses, which cannot be split.

    Examples:
        >>> def repeats(mass):  # the probability that two responses agree: 1/2, but 3/4 counted from two on average
        ...     return ((mass / mass.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
        >>> samples = np.random.default_rng(0).multinomial(2, [0.5, 0.5], size=5000).astype(float)
        >>> [round(float(values.mean()), 2) for values in (repeats(samples), extrapolated(repeats, samples))]
        [0.75, 0.51]
    """
    n = np.where(are_counts(mass), mass.sum(axis=-1), np.inf)
    with np.errstate(invalid="ignore"):
        size = np.where(np.isinf(n), np.inf, n // 2)
        weight = np.where(np.isinf(n), 0.0, ratio(size, n - size))
    all_responses = function(mass)
    parts = drawn_once(shared, splits, mass, seed=seed, draws=draws)
    half = np.mean([[function(part) for part in pair] for pair in parts], axis=(0, 1))
    value: FloatArray = np.where(np.isinf(n), all_responses, all_responses + weight * (all_responses - half))
    return np.where(n < LEAST, np.nan, value)


def of_few(
    function: Callable[[FloatArray], FloatArray],
    mass: FloatArray,
    *,
    seed: Seed = 0,
    draws: int = DRAWS,
    shared: SharedDraws | None = None,
) -> FloatArray:
    """Compute the mean of a function over random draws of `FEW` responses, independent of the number of responses.

    Args:
        function: from distributions, shape (..., n_cells), to values, shape (...).
        mass: shape (..., n_cells). Responses are drawn without replacement from counts, and with replacement from
            probabilities.
        seed: seed of the draws.
        draws: the function makes four times this number of random draws, because each draw is cheap.
        shared: cache that shares the draws with other metrics of the same responses.

    Returns:
        Shape (...). NaN for counts of fewer than `FEW` responses.

    Examples:
        >>> def mode(mass):
        ...     return mass.max(axis=-1) / mass.sum(axis=-1)
        >>> of_few(mode, np.array([[12.0, 0.0], [3.0, 3.0]]))
        array([ 1., nan])
    """
    usable = _has_few(mass)
    values = np.full(mass.shape[:-1], np.nan)
    if not usable.any():
        return values
    means = np.zeros(mass.shape[:-1])
    for few in drawn_once(shared, _few_of, mass, seed=seed, draws=4 * draws):
        means += function(few) / (4 * draws)
    return np.where(usable, means, np.nan)


def _has_few(mass: FloatArray) -> BoolArray:
    """Return whether `FEW` responses can be drawn from each distribution."""
    total = mass.sum(axis=-1)
    usable: BoolArray = np.where(are_counts(mass), total >= FEW, total > 0)
    return usable


def _few_of(mass: FloatArray, *, seed: Seed, draws: int) -> Iterator[FloatArray]:
    """Yield the counts of `FEW` random responses per distribution, `draws` times; if it has fewer, arbitrary counts."""
    generator = np.random.default_rng(seed)
    counts, usable = are_counts(mass), _has_few(mass)
    safe = np.where(usable[..., None], mass, 1.0)
    shares = safe / safe.sum(axis=-1, keepdims=True)
    countable = np.where((counts & usable)[..., None], mass, float(FEW))
    for some in _in_batches(draws, mass):
        without = drawn(countable, np.asarray(FEW), generator, some)
        if not counts.all():
            with_replacement = generator.multinomial(FEW, shares, size=(some, *counts.shape))
            without = np.where(counts[..., None], without, with_replacement)
        yield from without


def entropy(mass: FloatArray) -> FloatArray:
    r"""Estimate the entropy of the distribution behind the responses, in nats (Chao, Wang and Jost, 2013).

    $$\hat H = \sum_{x_j > 0} \frac{x_j}{n} \sum_{k=x_j}^{n-1} \frac1k + \frac{f_1}{n} (1 - A)^{1-n}
    \Big[-\log A - \sum_{r=1}^{n-1} \frac{(1-A)^r}{r}\Big], \quad A = \frac{2 f_2}{(n-1) f_1 + 2 f_2}$$

    with x_j the number of responses that name cell j, n the number of responses, and f1 and f2 the numbers of cells
    named once and twice. The first term accounts for sampling of the named cells, the second for cells that were not
    named yet.

    Args:
        mass: counts, shape (..., n_cells). For probabilities, the result is their entropy, uncorrected.

    Returns:
        Shape (...). NaN for counts of fewer than 2 responses, and if there is no mass.

    Examples:
        >>> entropy(np.array([[4.0, 0.0], [0.5, 0.5], [1.0, 0.0]])).round(3)  # the others make (1, 0) probabilities
        array([0.   , 0.693, 0.   ])
        >>> entropy(np.array([[2.0, 1.0, 1.0]])).round(3)
        array([1.587])
    """
    total = mass.sum(axis=-1, keepdims=True)
    p = ratio(mass, total)
    if not are_counts(mass).all():
        plain = -(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1) + 0.0
        return np.where(total[..., 0] > 0, plain, np.nan)
    x, n = mass.astype(np.int64), total[..., 0].astype(np.int64)
    named = _harmonic(np.maximum(n - 1, 0))[..., None] - _harmonic(np.maximum(x - 1, 0))
    once, twice = (x == 1).sum(axis=-1), (x == 2).sum(axis=-1)
    # If no cell was named twice, f2 and f1 are set as if one more response had been drawn (Chao et al., eq. 7).
    a = np.where(
        twice > 0,
        ratio(2 * twice, (n - 1) * once + 2 * twice),
        ratio(2, (n - 1) * np.maximum(once - 1, 0) + 2),
    )
    some = (once > 0) & (a < 1) & (n >= LEAST)
    unseen = np.zeros(n.shape)
    unseen[some] = once[some] / n[some] * _tail(a[some], n[some])
    return np.where(n >= LEAST, np.where(x > 0, p * named, 0.0).sum(axis=-1) + unseen, np.nan)


def _harmonic(n: IntArray) -> FloatArray:
    """Return 1 + 1/2 + ... + 1/n for each n."""
    table = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, min(n.max(initial=0), _TABULATED) + 1))])
    large = np.maximum(n, _TABULATED).astype(float)
    expansion = np.log(large) + np.euler_gamma + 1 / (2 * large) - 1 / (12 * large**2)
    values: FloatArray = np.where(n < len(table), table[np.minimum(n, len(table) - 1)], expansion)
    return values


def _tail(a: FloatArray, n: IntArray) -> FloatArray:
    """Return the sum of b^(r - n + 1) / r over all r >= n, with b = 1 - a, for a in (0, 1).

    The sum equals the integral of b e^-s / (1 - b e^(-s/n)) ds/n over all s > 0. With s = e^u, the integrand is smooth
    and vanishes at both ends, so the trapezoidal rule is as exact as rounding permits.
    """
    step = 0.25
    out: FloatArray = np.zeros(a.shape)
    log_b = np.log1p(-a)
    for s in np.exp(np.arange(-44, 4, step)).tolist():
        out -= s * math.exp(-s) / np.expm1(log_b - s / n)
    return out * step * (1 - a) / n


def distance_sums(
    distance: Callable[[FloatArray, FloatArray], FloatArray],
    mass: FloatArray,
    reference: FloatArray,
    *,
    seed: Seed = 0,
    draws: int = DRAWS,
    shared: SharedDraws | None = None,
    name: object = None,
) -> FloatArray:
    """Compute seven numbers per image; `distance_at_any_size` converts their sums over images to a distance.

    Args:
        distance: function from two distributions, each of shape (..., n_cells), to their distance, shape (...).
        mass: shape (..., n_images, n_cells).
        reference: the distribution to compare with, shape (n_images, n_cells).
        seed: seed of the draws.
        draws: number of draws.
        shared: cache that shares the draws with other metrics of the same responses, and the reference's noise with
            other respondents.
        name: identifies `distance` in the cache; None if the reference's noise is not shared.

    Returns:
        Shape (..., n_images, 7). Columns 1 and 2 are the distance between all responses and between halves of them.
        Columns 3 and 4 are the same for two disjoint draws from the reference; the first draw has as many responses as
        the respondent, if possible. Columns 5 and 6 are 1/n + 1/k for both pairs, with the numbers of responses n and k
        of the two sides. Column 7 is 1. A row is all 0 if the respondent has fewer than `LEAST` responses or the
        reference fewer than `LEAST_REFERENCE`.
    """
    check_cells(mass, reference)
    shape = np.broadcast_shapes(mass.shape, reference.shape)
    mass, reference = np.broadcast_to(mass, shape), np.broadcast_to(reference, shape)
    n, k = (np.where(are_counts(m), m.sum(axis=-1), np.inf) for m in (mass, reference))
    usable = (n >= LEAST) & (k >= LEAST_REFERENCE) & mass.any(axis=-1) & reference.any(axis=-1)
    usable &= np.isfinite(mass).all(axis=-1) & np.isfinite(reference).all(axis=-1)
    sums = np.zeros((*shape[:-1], COLUMNS))
    p, q, n, k = mass[usable], reference[usable], n[usable], k[usable]
    if not len(p):
        return sums
    # The sides have different seeds: the halves of equal responses must differ, too.
    of_reference = (*(seed if isinstance(seed, tuple) else (seed, 0)), 1)
    halved = zip(
        drawn_once(shared, splits, p, seed=seed, draws=draws),
        drawn_once(shared, splits, q, seed=of_reference, draws=draws),
        strict=True,
    )
    pairs = [(p, q), *(pair for both in halved for pair in zip(*both, strict=True))]
    # If neither side has noise, there is nothing to measure, and the smallest draw is enough.
    size = np.where(np.isinf(k), np.where(np.isinf(n), LEAST_REFERENCE, n), np.minimum(n, np.floor(k / 2)))
    key = name, of_reference, draws, q.shape, hashlib.sha256(q.tobytes() + size.tobytes()).digest()
    noise = shared.noise.get(key) if shared and name else None
    if noise is None:
        pairs += _reference_pairs(q, size, (*of_reference, 1), draws)
    # Give the solver all draws as one batch.
    full, *others = distance(*(np.stack(side) for side in zip(*pairs, strict=True)))
    if noise is None:
        between = others[2 * draws :]
        noise = np.stack([np.mean(between[:draws], axis=0), np.mean(between[draws:], axis=0)])
        if shared and name:
            shared.noise[key] = noise
    size_0 = 1 / size + np.where(np.isinf(k), 0.0, 1 / (k - size))
    numbers = [full, np.mean(others[: 2 * draws], axis=0), *noise, 1 / n + 1 / k, size_0]
    sums[usable] = np.stack([*numbers, np.ones(len(p))], axis=-1)
    return sums


def _reference_pairs(reference: FloatArray, size: FloatArray, seed: Seed, draws: int) -> Iterator[Pair]:
    """Yield two disjoint draws from the reference's responses, several times, and then random halves of these draws.

    If the reference is given as probabilities, the first draw is from them, and the second is the reference itself.

    Args:
        reference: shape (n_images, n_cells).
        size: number of responses of the first draw, shape (n_images,).
        seed: seed of the draws.
        draws: number of repetitions.
    """
    generator = np.random.default_rng(seed)
    if are_counts(reference).all():
        first = drawn(reference, size.astype(np.int64), generator, draws)
        second = reference - first
    else:
        shares = reference / reference.sum(axis=-1, keepdims=True)
        first = generator.multinomial(size.astype(np.int64), shares, size=(draws, len(size))).astype(float)
        second = np.broadcast_to(reference, first.shape)
    yield from zip(first, second, strict=True)
    for a, b in zip(halves(first, generator, 1), halves(second, generator, 1), strict=True):
        yield from zip(a[0], b[0], strict=True)


def distance_at_any_size(sums: FloatArray) -> FloatArray:
    r"""Estimate a mean distance over images, independent of the respondent's and the reference's numbers of responses.

    $$\hat d^2 = d_n^2 - \frac{d_{n/2}^2 - d_n^2}{\rho - 1}$$

    with the mean distances between all responses, $d_n$, and between halves, $d_{n/2}$. $\rho$ is the squared noise of
    half of the responses, divided by that of all responses: 2 with many responses, less with few. It is measured
    between two disjoint draws from the reference, whose true distance is 0, and adjusted to the given sizes by $2 -
    \rho \propto 1/n + 1/k$.

    Args:
        sums: sums over images of the numbers from `distance_sums`, shape (..., 7).

    Returns:
        Shape (...). An estimate near 0 may be negative, because estimates of a value near 0 scatter to both sides: a
        negative square is returned as minus its root. NaN if no image has enough responses.
    """
    images = sums[..., 6]
    full, half, full_0, half_0, size, size_0 = (ratio(sums[..., i], images) for i in range(6))
    measured = np.where(full_0 > 0, ratio(half_0, full_0) ** 2, 2.0)
    rho = np.clip(2 - (2 - measured) * np.where(size_0 > 0, ratio(size, size_0), 0.0), _LEAST_RATIO, 2.0)
    square = full**2 - (half**2 - full**2) / (rho - 1)
    value: FloatArray = np.where(size > 0, np.sign(square) * np.sqrt(np.abs(square)), full)
    return np.where(images > 0, value, np.nan)
