"""Shares and means over rationales, and differences between categories, with intervals that draw images.

Rationales for one image are not independent: what can be seen on it decides what is spoken of. So the bootstrap draws
images with all their rationales, as it does everywhere else in this project.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spotball_core.schema.report import Interval, MetricValue
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.typing import BoolArray, FloatArray, IntArray

Weights = Callable[[int], FloatArray]
"""How often each of n images is drawn, shape (resamples, n)."""


def drawn_images(resamples: int, seed: int) -> Weights:
    """The draws of any number of images; the same number gets the same draws."""
    return lru_cache(maxsize=None)(lambda n: resample_weights(n, resamples, seed))


def ratios_of_sums(above: FloatArray, below: FloatArray, draws: Weights) -> list[MetricValue]:
    """Sums over another sum, all over images, with the intervals of their resamples.

    Args:
        above: each image's part of each sum, shape (n_sums, n_images).
        below: each image's part of what they are divided by; images with 0 are none of the group's. One at least is
            above 0.
        draws: of images.

    Examples:
        >>> (share,) = ratios_of_sums(np.array([[1.0, 0.0, 0.0]]), np.array([2.0, 2.0, 0.0]), drawn_images(0, 0))
        >>> share.value, share.n_images
        (0.25, 2)
    """
    included = below > 0
    parts = np.concatenate([above, below[None]])[:, included]
    sums, resampled = parts.sum(axis=1), draws(int(included.sum())) @ parts.T
    ratios = resampled[:, :-1] / resampled[:, -1:]
    return [
        MetricValue(value=float(total / sums[-1]), ci95=percentile_interval(values), n_images=int(included.sum()))
        for total, values in zip(sums[:-1], ratios.T, strict=True)
    ]


def sums_by(group: IntArray, image: IntArray, shape: tuple[int, int], values: FloatArray) -> FloatArray:
    """Values, shape (n,), summed by group and image; the shape given."""
    flat = np.bincount(group * shape[1] + image, weights=values, minlength=shape[0] * shape[1])
    return flat.astype(float).reshape(shape)


@dataclass(frozen=True)
class Stratified:
    """The means of two kinds of rationales, compared within strata.

    Attributes:
        a: weighted mean over strata of the mean of the first kind.
        b: that of the second.
        ci95: interval of a - b; None without resamples.
        n_a: rationales of the first kind in strata that have both.
        n_b: of the second.
        n_strata: how many strata have both.
        n_images: how many images those rationales are for.
    """

    a: float
    b: float
    ci95: Interval | None
    n_a: int
    n_b: int
    n_strata: int
    n_images: int


def stratified_difference(
    value: FloatArray, is_a: BoolArray, is_b: BoolArray, stratum: IntArray, image: IntArray, draws: Weights
) -> Stratified | None:
    r"""The difference between two kinds of rationales, within strata, weighted over them.

    A stratum with $n_a$ and $n_b$ of the two weighs $n_a n_b / (n_a + n_b)$: as the inverse of the variance of its
    difference does where all values vary alike (Cochran's weights). Strata with one kind alone say nothing. Each
    resample of the images has its own counts, means and weights.

    Args:
        value: what is compared, shape (n,); NaN is left out.
        is_a: which rationales are of the first kind.
        is_b: which are of the second.
        stratum: each rationale's stratum, from 0.
        image: the image it is for, from 0.
        draws: of images.

    Returns:
        None where no stratum has both kinds.
    """
    used = np.isfinite(value) & (is_a | is_b)
    value, is_a, stratum, image = value[used], is_a[used], stratum[used], image[used]
    if not len(value):
        return None
    present, image = np.unique(image, return_inverse=True)
    shape = (int(stratum.max()) + 1, len(present))
    counts, sums = [], []
    for kind in (is_a, ~is_a):
        counts.append(sums_by(stratum, image, shape, kind.astype(float)))
        sums.append(sums_by(stratum, image, shape, np.where(kind, value, 0.0)))
    has_both = (counts[0].sum(axis=1) > 0) & (counts[1].sum(axis=1) > 0)
    if not has_both.any():
        return None
    n_a, n_b, sum_a, sum_b = (table[has_both] for table in (*counts, *sums))
    (a,), (b,) = _weighted(*(table.sum(axis=1)[None] for table in (n_a, n_b, sum_a, sum_b)))
    has_either = (n_a + n_b).sum(axis=0) > 0
    weights = draws(int(has_either.sum()))
    many_a, many_b = _weighted(*(weights @ table[:, has_either].T for table in (n_a, n_b, sum_a, sum_b)))
    ci95 = percentile_interval(many_a - many_b) if len(weights) else None
    return Stratified(
        a=float(a),
        b=float(b),
        ci95=ci95,
        n_a=int(n_a.sum()),
        n_b=int(n_b.sum()),
        n_strata=int(has_both.sum()),
        n_images=int(has_either.sum()),
    )


def _weighted(n_a: FloatArray, n_b: FloatArray, sum_a: FloatArray, sum_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both weighted means, shape (m,), of tables of shape (m, n_strata); NaN where no stratum has both kinds."""
    has_both = (n_a > 0) & (n_b > 0)
    safe_a, safe_b = np.where(has_both, n_a, 1.0), np.where(has_both, n_b, 1.0)
    weight = np.where(has_both, safe_a * safe_b / (safe_a + safe_b), 0.0)
    total = weight.sum(axis=1)
    total[total == 0] = np.nan
    return (weight * sum_a / safe_a).sum(axis=1) / total, (weight * sum_b / safe_b).sum(axis=1) / total
