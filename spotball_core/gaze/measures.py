r"""Compute measures of single trials, and shares of many trials with confidence intervals.

With n objects in a row, the gaze target at position g, the head target at h and the choice at c (all from 0):

- correct: c = g. An unmatched choice is wrong.
- reach: the largest possible distance from g, $r = \max(g, n - 1 - g)$.
- wrongness: $|c - g| / r$; undefined for an unmatched choice.
- expected wrongness under uniform guessing: the mean of $|c - g| / r$ over all n choices.
- DistEyeHead: $|h - g|$.
- DistToHeadTarget: $|c - h|$ divided by the largest possible distance from h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.stats.bootstrap import CONFIDENCE, percentile_interval, weight_blocks
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.schema.report import Interval

_BLOCK: Final = 2_000_000
"""Maximum number of bootstrap weights that are in memory at the same time."""


def reach(n_objects: ArrayLike, place: ArrayLike) -> IntArray:
    """Return the largest possible distance from a position in a row of objects, in steps between objects.

    Args:
        n_objects: number of objects.
        place: the position from which distances are measured; the first object is at 0.

    Examples:
        >>> reach([4, 4, 3], [0, 1, 1]).tolist()
        [3, 2, 1]
    """
    n, at = np.asarray(n_objects), np.asarray(place)
    return np.asarray(np.maximum(at, n - 1 - at))


def wrongness(n_objects: ArrayLike, gaze: ArrayLike, choice: ArrayLike) -> FloatArray:
    """Return the distance of the choice from the target, divided by the largest possible distance: 0 (correct) to 1.

    Args:
        n_objects: number of objects.
        gaze: position of the target, from 0.
        choice: position of the chosen object, from 0. For an unmatched choice, pass NaN; the result is then NaN.

    Examples:
        The second of four objects is correct, the third was chosen:

        >>> wrongness(4, 1, 2).tolist()
        0.5
    """
    away = np.abs(np.asarray(choice, dtype=float) - np.asarray(gaze))
    return np.asarray(away / reach(n_objects, gaze))


def expected_wrongness(n_objects: ArrayLike, gaze: ArrayLike) -> FloatArray:
    """Return the expected wrongness under uniform guessing: the mean wrongness over all objects.

    Args:
        n_objects: number of objects.
        gaze: position of the target, from 0.

    Examples:
        For a target in the middle of three, two of the three choices have the maximum wrongness:

        >>> [round(float(value), 3) for value in expected_wrongness([2, 3, 3, 4, 4], [0, 0, 1, 0, 1])]
        [0.5, 0.5, 0.667, 0.5, 0.5]
    """
    n, at = np.asarray(n_objects), np.asarray(gaze)
    # The sum of the distances to both ends of the row.
    total = at * (at + 1) / 2 + (n - 1 - at) * (n - at) / 2
    return np.asarray(total / n / reach(n, at))


def with_measures(trials: pl.DataFrame) -> pl.DataFrame:
    """Add the measures of single trials to a table of trials.

    Args:
        trials: trials with `n_objects`, `gaze`, `head` and `choice`, as in `Trials.frame`.

    Returns:
        The same rows with the columns `correct` (0 or 1), `reach`, `wrongness` and `expected_wrongness`, and with
        `dist_eye_head`, `head_reach`, `dist_to_head`, `expected_dist_to_head` and `is_head`, which are null in the
        natural condition.
    """
    import polars as pl

    n, gaze = trials["n_objects"].to_numpy(), trials["gaze"].to_numpy()
    head, choice = (trials[name].cast(pl.Float64).to_numpy() for name in ("head", "choice"))
    faces = np.where(np.isnan(head), 0, head).astype(int)
    has_head = np.isfinite(head)

    def here(values: FloatArray) -> pl.Series:
        return pl.Series(np.where(has_head, values, np.nan), nan_to_null=True)

    return trials.with_columns(
        correct=pl.Series((choice == gaze).astype(float)),
        reach=pl.Series(reach(n, gaze)),
        wrongness=pl.Series(wrongness(n, gaze, choice), nan_to_null=True),
        expected_wrongness=pl.Series(expected_wrongness(n, gaze)),
        dist_eye_head=here(np.abs(head - gaze)),
        head_reach=here(reach(n, faces).astype(float)),
        dist_to_head=here(wrongness(n, faces, choice)),
        expected_dist_to_head=here(expected_wrongness(n, faces)),
        is_head=here((choice == head).astype(float)),
    )


@dataclass(frozen=True)
class Share:
    """A share with its confidence interval.

    Attributes:
        value: the share, from 0 to 1.
        ci95: 95% confidence interval; None without resamples.
        n_trials: number of trials.
        n_stimuli: number of photos.
        interval: the method of the interval: `bootstrap` over photos, or `wilson` if each photo has one trial or all
            photos have the same share.
    """

    value: float
    ci95: Interval | None
    n_trials: int
    n_stimuli: int
    interval: str


def wilson(successes: float, n: int) -> tuple[float, float]:
    r"""Return Wilson's 95% score interval of a share.

    $\frac{\hat p + z^2 / 2n \pm z \sqrt{\hat p (1 - \hat p) / n + z^2 / 4n^2}}{1 + z^2 / n}$

    Args:
        successes: number of successes; it may be fractional if trials are partly successful.
        n: number of trials; at least 1.

    Examples:
        >>> [round(end, 3) for end in wilson(8, 10)]
        [0.49, 0.943]
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = successes / n
    middle = share + z * z / (2 * n)
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)
    return max(0.0, float(low)), min(1.0, float(high))


def share(values: ArrayLike, stimulus: ArrayLike, *, resamples: int = 1000, seed: int = 0) -> Share:
    """Return the mean of values between 0 and 1, with a 95% confidence interval from a bootstrap over photos.

    Trials with the same photo are not independent, so the bootstrap draws photos with all their trials. If each photo
    has one trial, or all photos have the same share, the interval is Wilson's.

    Args:
        values: shape (n,), at least one value.
        stimulus: the photo of each value.
        resamples: number of bootstrap resamples; 0 for no interval.
        seed: seed of all random draws.
    """
    values, stimulus = np.asarray(values, dtype=float), np.asarray(stimulus)
    if not len(values):
        raise OptionError("found none, expected at least one value", code="no-data", field="values")
    _, place = np.unique(stimulus, return_inverse=True)
    sizes = np.bincount(place).astype(float)
    sums = np.bincount(place, weights=values)
    n, value = len(values), float(values.mean())
    if len(sizes) == n:
        ends = wilson(float(values.sum()), n) if resamples else None
        return Share(value, ends, n, n, "wilson")
    if resamples and np.all(sums == value * sizes):
        # All photos have the same share, so resamples do not vary: use Wilson's interval with photos instead of trials.
        return Share(value, wilson(value * len(sizes), len(sizes)), n, len(sizes), "wilson")
    totals = np.stack([sums, sizes], axis=-1)
    blocks = weight_blocks(len(sizes), resamples, seed, block=max(1, _BLOCK // len(sizes)))
    resampled = [np.divide(*(weights @ totals).T) for weights in blocks]
    ci95 = percentile_interval(np.concatenate(resampled)) if resampled else None
    return Share(value, ci95, n, len(sizes), "bootstrap")


def accuracy_by_objects(trials: pl.DataFrame, *, resamples: int = 1000, seed: int = 0) -> dict[int, Share]:
    """Return the accuracy by number of objects, as in Table 1 of the gaze paper.

    Args:
        trials: trials from `with_measures`.
        resamples: number of bootstrap resamples of the photos.
        seed: seed of all random draws.
    """
    import polars as pl

    by_size = {}
    for n_objects in trials["n_objects"].unique().sort().to_list():
        rows = trials.filter(pl.col("n_objects") == n_objects)
        by_size[n_objects] = share(rows["correct"], rows["stimulus_id"], resamples=resamples, seed=seed)
    return by_size
