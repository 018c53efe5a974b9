"""Test whether two respondents differ on the same images, for every metric.

A benchmark's images are a sample, so intervals resample images with all their answers, and tests swap the respondents'
labels within images. If participants are counted separately, they are a second sample, and the interval resamples them
as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from spotball_core.comparison.matched import Matched, matched
from spotball_core.comparison.pairs import MetricPair
from spotball_core.comparison.record import Comparison, Contrast
from spotball_core.comparison.wording import ContrastNumbers, Narrator
from spotball_core.errors import OptionError, unknown_name
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.report import Interval, MetricValue, sport_prefix
from spotball_core.scoring import sides
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.stats.bootstrap import CONFIDENCE, bootstrap_interval
from spotball_core.stats.permutation import Swaps, holm
from spotball_core.text.numbers import ALPHA, in_unit, unit_of
from spotball_core.text.words import plural
from spotball_core.typing import FloatArray

PERMUTATIONS = 10_000


def compare(
    scoring: Scoring,
    a: str,
    b: str,
    *,
    permutations: int = PERMUTATIONS,
    margins: Mapping[str, float] = MappingProxyType({}),
) -> Comparison:
    """Compare two respondents, or two prompts of one respondent, on the images that both are scored on.

    For each metric, the result has both values, their difference a - b, its 95% bootstrap interval, a permutation p
    value, and the p value after Holm's adjustment over the metrics. A metric uses the images on which it has a value
    for both respondents.

    - The interval draws images with replacement, the same for both respondents. If a respondent's participants are
      counted separately (`load_counts(..., participants=True)`), it also draws participants, independently of the
      images. The weight of an answer is the number of times its image was drawn, multiplied by the number of times its
      participant was drawn. For two prompts of the same people, the same participants are drawn.
    - The p value comes from swapping the two labels within images. If there are at most `permutations` ways to swap,
      all are used; otherwise `permutations` random ways are used. The null hypothesis is that the answers of both to an
      image have the same distribution. Swapped answers are rescaled to the number of answers they replace, so that a
      different number of answers is not itself a difference. Participants are not permuted.

    Args:
        scoring: the scored groups. Its policy sets the number of resamples, the seed and the reference.
        a: a respondent (all its prompts pooled), or respondent/prompt.
        b: the respondent or respondent/prompt to compare with.
        permutations: maximum number of ways of swapping, at least 1.
        margins: for some metrics, the largest difference that counts as equal: in points for shares, else in the
            metric's unit. Two respondents are equivalent if two one-sided tests at the level 0.05, divided by the
            number of margins, exclude larger differences, which an interval of the difference shows.

    Raises:
        OptionError: if a name has no responses, both names include the same answers, no image is scored for both,
            `permutations` is below 1, or a margin is not above 0, for an unknown metric, or without resamples.

    Examples:
        >>> from spotball_core import Counts, ScorePolicy, baseline_responses, read_counts, synthetic_scenes
        >>> scenes = synthetic_scenes(12)
        >>> counts = read_counts(baseline_responses(scenes, ["oracle", "uniform"]), scenes)
        >>> found = compare(Scoring(counts, scenes, ScorePolicy.standard()), "oracle", "uniform")
        >>> found.contrasts[-1].metrics["accuracy"].direction
        'a is better'
    """
    limits = _checked(margins, scoring)
    groups = {name: sides.groups_named(scoring, name) for name in (a, b)}
    if a == b or {group.number for group in groups[a]} & {group.number for group in groups[b]}:
        raise OptionError(
            f"{a} and {b} contain the same answers. Name two different respondents or prompts with --a and --b"
        )
    common = sorted(_scenes(scoring, groups[a]) & _scenes(scoring, groups[b]))
    if not common:
        raise OptionError(
            f"{a} and {b} have no scored images in common. Compare respondents that answered the same images",
            code="no-data",
        )
    names = scoring.arrays.sports
    split = "sport" in scoring.policy.by
    sports = list(dict.fromkeys(names[scene] for scene in common)) if split else []
    contrasts = [
        _contrast(scoring, groups, sport, [scene for scene in common if names[scene] == sport], permutations, limits)
        for sport in sports
    ]
    if len(sports) != 1:
        contrasts.append(_contrast(scoring, groups, None, common, permutations, limits))
    provenance = scoring.signature()
    return Comparison(
        signature=f"{provenance}|perm:{permutations}",
        provenance=provenance,
        policy=scoring.policy,
        a=a,
        b=b,
        prompts_a=_prompts(groups[a]),
        prompts_b=_prompts(groups[b]),
        warnings=(
            *map(str, scoring.counts.warnings),
            *_warnings(scoring, groups, set(common)),
            *_too_few(contrasts),
        ),
        contrasts=tuple(contrasts),
    )


def _checked(margins: Mapping[str, float], scoring: Scoring) -> dict[str, float]:
    """Return the margins in the units of the metrics."""
    for key, margin in margins.items():
        if key not in METRICS:
            raise OptionError(unknown_name("metric", key, METRICS), code="unknown-name", field="margin")
        if METRICS[key].by_size:
            raise OptionError(
                f"{key} depends on the number of responses and is not compared. Give its matched version",
                field="margin",
            )
        if not 0 < margin < math.inf:
            raise OptionError(f"found {key}={margin:g}, expected a number above 0", field="margin")
    if margins and not scoring.policy.bootstrap:
        raise OptionError(
            "margins need intervals. Use at least 1 bootstrap resample", code="conflicting-options", field="margin"
        )
    return {key: in_unit(margin, unit_of(key, scoring.policy)) for key, margin in margins.items()}


def _scenes(scoring: Scoring, groups: Sequence[Group]) -> set[int]:
    return set().union(*(scoring.images(group) for group in groups))


def _prompts(groups: Sequence[Group]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.prompt for group in groups if group.prompt is not None))


def _warnings(scoring: Scoring, groups: dict[str, list[Group]], common: set[int]) -> list[str]:
    sports, control = scoring.arrays.sports, scoring.arrays.control
    warnings = []
    for name, own_groups in groups.items():
        if len(prompts := _prompts(own_groups)) > 1:
            warnings.append(
                f"{name} combines the prompts {', '.join(prompts)}; to compare one of them, name it, such as "
                f"{name}/{prompts[0]}"
            )
        answered = {scene for group in own_groups for scene in group.answered if not control[scene]}
        for sport in dict.fromkeys(sports[scene] for scene in sorted(answered)):
            of_sport = {scene for scene in answered if sports[scene] == sport}
            if left := len(of_sport - common):
                warnings.append(
                    f"{left} of the {len(of_sport)} {sport_prefix(sport, ' ')}images that {name} answered are not "
                    "compared, because they are not scored for both respondents"
                )
    return warnings


def _too_few(contrasts: Sequence[Contrast]) -> Iterator[str]:
    for contrast in contrasts:
        tests = sum(metric.p is not None for metric in contrast.metrics.values())
        least = (2 if contrast.exact else 1) / (contrast.permutations + (not contrast.exact)) * tests
        if least > ALPHA:
            cause = (
                plural(contrast.n_images, "image") if contrast.exact else plural(contrast.permutations, "permutation")
            )
            yield (
                f"{sport_prefix(contrast.sport)}with only {cause}, no p value corrected for {tests} tests can be below "
                f"{min(least, 1):.2g}"
            )


def _contrast(
    scoring: Scoring,
    groups: dict[str, list[Group]],
    sport: str | None,
    scenes: list[int],
    permutations: int,
    margins: Mapping[str, float],
) -> Contrast:
    pair_data = matched(scoring, groups, scenes)
    first, second = pair_data.estimators
    of_a, of_b = (estimator.estimates(METRICS.values()) for estimator in (first, second))
    alone = {key: (of_a[key], of_b[key]) for key in METRICS}
    pairs = {
        key: pair_data.pair(METRICS[key])
        for key, values in alone.items()
        if all(value.value is not None for value in values) and not METRICS[key].by_size
    }
    pairs = {key: pair for key, pair in pairs.items() if np.isfinite(pair.totals).all()}
    swaps = Swaps(len(scenes), permutations, scoring.policy.seed)
    p_values = {key: pair.p_value(swaps) for key, pair in pairs.items()}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    resampled = pair_data.drawn(pairs)
    narrator = Narrator(
        *pair_data.names, policy=scoring.policy, tests=len(pairs), floor=2 / len(swaps) if swaps.exact else 0.0
    )
    metrics = {}
    for key, metric in METRICS.items():
        if key in pairs:
            pair, drawn = pairs[key], resampled.get(key)
            numbers = replace(
                _found(pair, drawn, p_values[key], adjusted[key]),
                detectable=pair.detectable(swaps, len(pairs), drawn if any(pair_data.people) else None),
                margin=margins.get(key),
                margin_ci=_interval(pair, drawn, 1 - 2 * ALPHA / len(margins)) if key in margins else None,
            )
            metrics[key] = narrator.tell(metric, numbers)
        else:
            a, b = alone[key]
            metrics[key] = narrator.tell_nothing(metric, a.value, b.value, _why_not(pair_data, metric, (a, b)))
    return Contrast(
        sport=sport,
        n_images=len(scenes),
        resampled="images and participants" if any(pair_data.people) else "images",
        exact=swaps.exact,
        permutations=len(swaps),
        metrics=metrics,
    )


def _found(pair: MetricPair, resampled: FloatArray | None, p: float, p_holm: float) -> ContrastNumbers:
    a, b = (float(total) for total in pair.totals)
    return ContrastNumbers(
        a=a,
        b=b,
        ci95=_interval(pair, resampled, CONFIDENCE),
        p=p,
        p_holm=p_holm,
        n_images=int(pair.enters.sum()),
        effect_size=pair.effect_size,
        reason=_to_mind(pair),
    )


def _interval(pair: MetricPair, resampled: FloatArray | None, confidence: float) -> Interval | None:
    """Return the bootstrap interval of the difference a - b; None without resamples."""
    if resampled is None:
        return None
    (a, b), left_out = pair.totals, pair.left_out()
    return bootstrap_interval(
        float(a - b), resampled[0] - resampled[1], left_out[0] - left_out[1], confidence=confidence
    )


def _why_not(pair_data: Matched, metric: Metric, values: tuple[MetricValue, MetricValue]) -> str:
    """Return the reason why a metric's difference between the two respondents is missing."""
    reasons = {name: value.reason for name, value in zip(pair_data.names, values, strict=True) if value.value is None}
    for name, reason in reasons.items():
        if reason == "is the reference":
            return f"{name} is the reference"
    if not reasons and metric.by_size:
        is_estimated = any(other.estimates == metric.key for other in METRICS.values())
        instead = "; its matched version is compared instead" if is_estimated else ""
        return f"the metric depends on the number of responses{instead}"
    if not reasons:
        return "no image has values for both respondents"
    if len(reasons) == 2 and len(set(reasons.values())) == 1:
        return str(reasons[pair_data.names[0]])
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _to_mind(pair: MetricPair) -> str | None:
    left = int((~pair.enters).sum())
    if not left:
        return None
    return (
        f"{plural(left, 'image')} {'are' if left > 1 else 'is'} excluded, because one or both respondents have no value"
    )
