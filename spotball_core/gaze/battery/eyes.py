r"""Run Test 3 (whether the eyes affect choices) and Test 4 (whether choices look like coin flips between the targets).

Test 3 runs `distance.grows_with_distance` on DistToHeadTarget, the distance between choice and head target.

Test 4 uses congruent and incongruent photos, separately for three and four objects. Its model is
$\mathrm{logit}\,P(\text{head}) = \mathrm{DistEyeHead}_d * \mathrm{proximity} + \mathrm{view} + \mathrm{place} + u$,
with a separate effect of each distance d between gaze target and head target (DistEyeHead), random intercepts $u$, and
$a * b$ for the effects of a and b and their interaction. The test compares the marginal means of all pairs of
distances. Holm's method adjusts the p values jointly over the pairs for three and for four objects. For each number of
objects, the comparisons support one type:

- eye-head ambivalent: the mean at distance 0 is significantly above every other mean, and no two other means differ
  significantly;
- head-dominant: the type is not eye-head ambivalent, at least one mean is significantly below a mean at a smaller
  distance, and no mean is significantly above a mean at a smaller distance;
- neither: all other cases. Head-dominant is also changed to neither if the head target is chosen significantly less
  often than by chance when the eyes look at another object.

A nonsignificant difference does not show that two means are equal. Each pair of means therefore also has an equivalence
test (two one-sided tests, TOST) of whether the difference is within `MARGIN` on the scale of log odds, or within
`SHARE_MARGIN` for shares. A note is added if Test 4 supports `eye-head ambivalent` but the means at distances above 0
are not shown to be equal, or if Test 4 does not support it but these means are shown to be equal. The note does not
change the verdict, which follows the paper.

If one number of objects supports a type and the other supports neither, the result is that type. If they support
different types, the result is head-dominant: under coin flips, head choices cannot become less frequent as the eyes
look farther from the head target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from spotball_core.gaze.battery.distance import Distance, grows_with_distance, with_place
from spotball_core.gaze.battery.findings import QUESTIONS, Finding, Method, Model, Supports, no_answer
from spotball_core.gaze.battery.modeling import Modeled, by_stimulus, indicators, model
from spotball_core.gaze.mixed import marginal_means, pairwise
from spotball_core.gaze.plain_tests import equivalence_p, one_sample, regression_slope
from spotball_core.stats.permutation import holm

if TYPE_CHECKING:
    import polars as pl

SIZES = (3, 4)

MARGIN: Final = 0.5
"""Largest difference of log odds that counts as equal: the odds then differ by at most a factor of 1.65."""

SHARE_MARGIN: Final = 0.1
"""Largest difference of shares that counts as equal; used if a t-test replaces the model."""

TO_HEAD = Distance("3", "dist_to_head", "head_reach", "expected_dist_to_head", "head", "distance to the head target")


def gaze_responsiveness(rows: pl.DataFrame, *, alpha: float = 0.05, printed: bool = False) -> Finding:
    """Test whether choices are farther from the head target if the eyes look farther from it (Test 3).

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the likelihood-ratio test of the interactions, which decides whether the reported coefficients
            include them. The p value of the finding does not depend on it.
        printed: whether to use the model as printed in the paper: without place and dispersion.
    """
    return grows_with_distance(rows, TO_HEAD, alpha=alpha, printed=printed)


@dataclass(frozen=True)
class Pair:
    """Comparison of choices of the head target at two distances between gaze target and head target.

    Attributes:
        n_objects: number of objects.
        near: the smaller distance, in steps between objects.
        far: the larger distance, in steps between objects.
        drop: log odds of choosing the head target at the smaller distance minus those at the larger; a difference of
            shares if a t-test replaces the model.
        p: two-sided p value of the difference; `coin_flipping` replaces it with the adjusted p value.
        p_equal: p value of the equivalence test, small if the difference is within the margin.
    """

    n_objects: int
    near: int
    far: int
    drop: float
    p: float
    p_equal: float = 1.0


def supported(pairs: Sequence[Pair], alpha: float) -> Supports:
    """Return the type that the comparisons of all pairs of distances support, for one number of objects.

    Examples:
        >>> supported([Pair(3, 0, 1, 2.0, 0.01), Pair(3, 0, 2, 2.1, 0.01), Pair(3, 1, 2, 0.1, 0.6)], 0.05)
        'eye-head ambivalent'
        >>> supported([Pair(3, 0, 1, 0.1, 0.6), Pair(3, 0, 2, 1.0, 0.01), Pair(3, 1, 2, 0.9, 0.02)], 0.05)
        'head-dominant'
    """
    clear = [pair for pair in pairs if pair.p < alpha]
    falls, rises = [pair for pair in clear if pair.drop > 0], [pair for pair in clear if pair.drop < 0]
    from_zero = [pair for pair in pairs if pair.near == 0]
    flat = not [pair for pair in clear if pair.near > 0]
    if flat and from_zero and all(pair in falls for pair in from_zero):
        return "eye-head ambivalent"
    return "head-dominant" if falls and not rises else "neither"


def together(supports: Sequence[Supports]) -> Supports:
    """Combine the type that photos with three objects support and the type that photos with four support.

    Examples:
        >>> together(["neither", "head-dominant"]), together(["eye-head ambivalent", "head-dominant"])
        ('head-dominant', 'head-dominant')
    """
    decided = set(supports) - {"neither"}
    if not decided:
        return "neither"
    return "head-dominant" if "head-dominant" in decided else "eye-head ambivalent"


@dataclass(frozen=True)
class _Set:
    """Results for photos with `n_objects` objects: means, pairs of means with unadjusted p values, and models."""

    n_objects: int
    means: list[dict[str, Any]]
    pairs: list[Pair]
    method: Method
    problem: str
    models: tuple[Model, ...]


def coin_flipping(rows: pl.DataFrame, *, alpha: float = 0.05, printed: bool = False) -> Finding:
    """Test whether choices look like coin flips between gaze and head target (Test 4). Exclude unmatched choices.

    Args:
        rows: a respondent's trials of all conditions, from `measures.with_measures`.
        alpha: level of the comparisons between distances, after the adjustment of their p values.
        printed: whether to use the models as printed in the paper: without place.
    """
    import polars as pl

    controlled = rows.filter((pl.col("condition") != "natural") & pl.col("n_objects").is_in(SIZES))
    matched = with_place(controlled.filter(pl.col("choice").is_not_null()), "head")
    counts: dict[str, Any] = {
        "n_trials": len(matched),
        "n_left_out": len(controlled) - len(matched),
        "n_stimuli": matched["stimulus_id"].n_unique(),
    }
    sets = []
    for n_objects in SIZES:
        of_size = matched.filter(n_objects=n_objects)
        if of_size["dist_eye_head"].n_unique() > 2 and 0.0 in of_size["dist_eye_head"]:
            sets.append(_set(of_size, n_objects, alpha, ("view",) if printed else ("view", "place")))
    sets = [photo_set for photo_set in sets if photo_set.pairs]
    if not sets:
        return no_answer(
            "4",
            (
                "neither the photos with three objects nor those with four have three distances between eyes and head "
                "target, including 0"
            ),
            **counts,
        )
    raw = [pair for photo_set in sets for pair in photo_set.pairs]
    adjusted = [replace(pair, p=p) for pair, p in zip(raw, holm([pair.p for pair in raw]), strict=True)]
    by_size: dict[int, Supports] = {}
    for photo_set in sets:
        n = photo_set.n_objects
        support = supported([pair for pair in adjusted if pair.n_objects == n], alpha)
        avoided = support == "head-dominant" and _avoids_head(matched.filter(n_objects=n), alpha)
        by_size[n] = "neither" if avoided else support
    verdict = together(list(by_size.values()))
    shares = matched.group_by("n_objects", "dist_eye_head").agg(share=pl.col("is_head").mean(), n=pl.len())
    shares_text = "; ".join(
        f"{n} objects, chance {1 / n:.0%}: "
        + ", ".join(f"{row['share']:.0%}" for row in shares.filter(n_objects=n).sort("dist_eye_head").to_dicts())
        for n in by_size
    )
    problems = [f"{photo_set.n_objects} objects: {photo_set.problem}" for photo_set in sets if photo_set.problem]
    return Finding(
        verdict=verdict == "eye-head ambivalent",
        question=QUESTIONS["4"],
        says="The respondent chose the head target with these frequencies, by increasing distance between eyes and "
        f"head target: {shares_text}. Conclusion: {verdict}.",
        supports=verdict,
        method="t-test" if problems else sets[0].method,
        reason="; ".join(problems),
        notes=notes(verdict, adjusted, alpha),
        numbers={
            "by_objects": {
                str(photo_set.n_objects): {
                    "supports": by_size[photo_set.n_objects],
                    "method": photo_set.method,
                    "equivalence_margin": SHARE_MARGIN if photo_set.method == "t-test" else MARGIN,
                    "means": photo_set.means,
                    "pairs": [
                        {
                            "near": pair.near,
                            "far": pair.far,
                            "drop": pair.drop,
                            "p_adjusted": pair.p,
                            "p_equal": pair.p_equal,
                        }
                        for pair in adjusted
                        if pair.n_objects == photo_set.n_objects
                    ],
                }
                for photo_set in sets
            },
            "shares": shares.sort("n_objects", "dist_eye_head").to_dicts(),
        },
        models=tuple(model for photo_set in sets for model in photo_set.models),
        **counts,
    )


def notes(verdict: Supports, pairs: Sequence[Pair], alpha: float) -> tuple[str, ...]:
    """Return a note if the verdict and the equivalence tests of distances above 0 disagree; else an empty tuple.

    Args:
        verdict: the type that Test 4 supports.
        pairs: pairs of distances for all numbers of objects.
        alpha: level of the equivalence tests.
    """
    apart = [pair for pair in pairs if pair.near > 0]
    equal = all(pair.p_equal < alpha for pair in apart)
    if verdict == "eye-head ambivalent" and not equal:
        return (
            (
                "the shares of head-target choices do not differ significantly between distances above 0, but the "
                "equivalence test does not show that they are equal"
            ),
        )
    if verdict != "eye-head ambivalent" and apart and equal:
        return (
            (
                "the shares of head-target choices at distances above 0 are equal within the margin of the equivalence "
                "test, as for a random choice between eyes and head"
            ),
        )
    return ()


def _avoids_head(rows: pl.DataFrame, alpha: float) -> bool:
    """Return whether the head target is chosen significantly less often than by chance when the eyes look elsewhere.

    In this case, the head target is chosen less often at larger distances because choices are near the gaze target, not
    because the head dominates.
    """
    import polars as pl

    photos = by_stimulus(rows.filter(pl.col("dist_eye_head") > 0), share=pl.col("is_head"))
    mean = one_sample(photos["share"] - 1 / photos["n_objects"])
    return mean is not None and mean.estimate < 0 and mean.p < alpha


def _set(rows: pl.DataFrame, n_objects: int, alpha: float, others: tuple[str, ...]) -> _Set:
    fitted = model(
        rows,
        "is_head",
        ("C(dist_eye_head)*center(proximity)", *others),
        ("C(dist_eye_head)", "center(proximity)", *others),
        alpha=alpha,
    )
    if fitted.fit is None or fitted.problem:
        return _plain(rows, n_objects, fitted, "place" in others)
    means = marginal_means(fitted.fit, ["dist_eye_head"])
    pairs = [
        Pair(
            n_objects,
            int(float(row["first"])),
            int(float(row["second"])),
            row["estimate"],
            row["p"],
            equivalence_p(row["estimate"], row["se"], MARGIN),
        )
        for row in pairwise(means, adjust="none").to_dicts()
    ]
    return _Set(n_objects, means.table.to_dicts(), pairs, fitted.method, "", fitted.records)


def _plain(rows: pl.DataFrame, n_objects: int, fitted: Modeled, place: bool) -> _Set:
    """Compare the shares of head choices at all pairs of distances by t-tests over photos, with or without `place`."""
    import polars as pl

    photos = by_stimulus(rows, share=pl.col("is_head"))
    distances = [int(value) for value in photos["dist_eye_head"].unique().sort()]
    pairs = []
    for near, far in combinations(distances, 2):
        two = photos.filter(pl.col("dist_eye_head").is_in([float(near), float(far)]))
        is_far = (two["dist_eye_head"] == far).cast(pl.Float64)
        slope = regression_slope(is_far, two["share"], indicators(two["place"]) if place else ())
        if slope is not None:
            equal = equivalence_p(slope.estimate, slope.se, SHARE_MARGIN, slope.df)
            pairs.append(Pair(n_objects, near, far, -slope.estimate, slope.p, equal))
    means = photos.group_by("dist_eye_head").agg(estimate=pl.col("share").mean(), n=pl.len()).sort("dist_eye_head")
    return _Set(n_objects, means.to_dicts(), pairs, "t-test", fitted.problem, fitted.records)
