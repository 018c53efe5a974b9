r"""Run Test 1: whether the respondent is less accurate than people.

The gap is $\sum_n w_n (h_n - a_n)$, where $w_n$ is the share of the respondent's trials in the natural condition that
show n objects, and $a_n$ and $h_n$ are the accuracies of the respondent and of people on photos with n objects. The
test statistic is $z$ = gap / standard error. Trials with the same photo are not independent, and neither are one
person's trials. The variance is therefore clustered by photo, and also by person if several people answered (two-way
clustering, Cameron, Gelbach and Miller 2011).

A nonsignificant gap does not show that the respondent is as accurate as people. A one-sided noninferiority test
therefore tests whether the gap is smaller than a margin, with the same standard error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.gaze.battery.findings import Finding, no_answer, tested
from spotball_core.stats.power import smallest_difference
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl

PUBLISHED: Final[Mapping[int, float]] = {2: 0.94, 3: 0.88, 4: 0.76}
"""People's accuracy in the pilot study, by number of objects (gaze paper, Table 1)."""

PUBLISHED_TRIALS: Final[Mapping[int, int]] = {2: 1605, 3: 552, 4: 498}
"""Approximate number of pilot trials behind each accuracy in `PUBLISHED`, by number of objects.

In the pilot study, 59 people answered 45 trials each. The numbers assume that these trials are distributed over 2, 3
and 4 objects like the 900 photos of the pilot study.
"""


def performance_gap(rows: pl.DataFrame, people: pl.DataFrame | None = None, *, margin: float = 0.05) -> Finding:
    """Test whether the respondent is less accurate than people (Test 1).

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        people: people's trials, from `measures.with_measures`; None to use `PUBLISHED`.
        margin: the gap that the one-sided noninferiority test excludes if it is significant.

    Returns:
        The finding. Its estimate is people's accuracy minus the respondent's, over the numbers of objects for which
        both accuracies are known. Its numbers contain `p_margin`, the p value of the noninferiority test, and
        `detectable`, the gap that Test 1 detects with a power of 80%.
    """
    import polars as pl

    natural = rows.filter(condition="natural")
    if natural.is_empty():
        return no_answer("1", "there are no trials in the natural condition")
    people_natural = people.filter(condition="natural") if people is not None else None
    known_sizes = set(people_natural["n_objects"]) if people_natural is not None else set(PUBLISHED)
    sizes = sorted(set(natural["n_objects"]) & known_sizes)
    if not sizes:
        return no_answer("1", "the accuracy of people is unknown for photos with these numbers of objects")
    natural = natural.filter(pl.col("n_objects").is_in(sizes))
    weights = {n: float((natural["n_objects"] == n).mean() or 0.0) for n in sizes}
    parts = [_influence(natural, weights, -1.0)]
    accuracy = {n: _accuracy(natural, n) for n in sizes}
    if people_natural is not None:
        people_natural = people_natural.filter(pl.col("n_objects").is_in(sizes))
        reference = {n: _accuracy(people_natural, n) for n in sizes}
        parts.append(_influence(people_natural, weights, 1.0))
        known_variance = 0.0
    else:
        reference = {n: PUBLISHED[n] for n in sizes}
        known_variance = sum(weights[n] ** 2 * reference[n] * (1 - reference[n]) / PUBLISHED_TRIALS[n] for n in sizes)
    pieces = pl.concat(parts)
    if pieces["stimulus_id"].n_unique() < 2:
        return no_answer("1", "there is only one photo")
    gap = sum(weights[n] * (reference[n] - accuracy[n]) for n in sizes)
    se = float(np.sqrt(_clustered(pieces) + known_variance))
    z = gap / se if se > 0 else None
    p = _two_sided(z, gap)
    ends = (gap - 1.959963984540054 * se, gap + 1.959963984540054 * se)
    whom = "people" if people_natural is not None else "people in the paper"
    direction = "lower" if gap > 0 else "higher"
    return tested(
        "1",
        f"In the natural condition, accuracy is {100 * abs(gap):.1f} percentage points {direction} than that of {whom} "
        f"(95% interval of the gap: {100 * ends[0]:.1f} to {100 * ends[1]:.1f} points).",
        estimate=gap,
        ci95=ends,
        scale="accuracy of people minus accuracy of the respondent",
        p=p,
        method="z-test",
        n_trials=len(natural),
        n_stimuli=natural["stimulus_id"].n_unique(),
        numbers={
            "z": z,
            "se": se,
            "margin": margin,
            "p_margin": _below(gap, se, margin),
            "detectable": smallest_difference(se),
            "people": "responses" if people_natural is not None else "published",
            "by_objects": {
                str(n): {"respondent": accuracy[n], "people": reference[n], "weight": weights[n]} for n in sizes
            },
        },
    )


def _accuracy(rows: pl.DataFrame, n_objects: int) -> float:
    return float(rows.filter(n_objects=n_objects)["correct"].mean() or 0.0)  # type: ignore[arg-type]


def _influence(rows: pl.DataFrame, weights: Mapping[int, float], sign: float) -> pl.DataFrame:
    """Return each trial's contribution to the error of the gap: its weighted deviation from a mean accuracy."""
    import polars as pl

    weight = pl.col("n_objects").replace_strict(dict(weights), return_dtype=pl.Float64)
    away = pl.col("correct") - pl.col("correct").mean().over("n_objects")
    return rows.select(
        "stimulus_id",
        side=pl.lit(sign),
        person="participant",
        part=sign * weight * away / pl.len().over("n_objects"),
    )


def _clustered(pieces: pl.DataFrame) -> float:
    """Return the variance of the sum of `part`, clustered by photo, and also by person if several people answered."""
    import polars as pl

    def by(rows: pl.DataFrame, *keys: str) -> float:
        sums: FloatArray = rows.group_by(keys, maintain_order=True).agg(pl.col("part").sum())["part"].to_numpy()
        return float((sums**2).sum()) * len(sums) / (len(sums) - 1)

    variance = by_photo = by(pieces, "stimulus_id")
    for side in pieces.filter(pl.col("person").is_not_null()).partition_by("side"):
        if side["person"].n_unique() > 1:
            variance += by(side, "person") - by(side, "stimulus_id", "person")
    return max(variance, by_photo)


def _below(gap: float, se: float, margin: float) -> float:
    from scipy.stats import norm

    return float(norm.cdf((gap - margin) / se)) if se > 0 else float(gap >= margin)


def _two_sided(z: float | None, estimate: float) -> float:
    from scipy.stats import norm

    if z is None:
        return 0.0 if estimate else 1.0
    return float(2 * norm.sf(abs(z)))
