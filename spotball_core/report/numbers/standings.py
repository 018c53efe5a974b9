"""Compute differences from the reference, ranks, and means over sports, with their uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.comparison.matched import matched
from spotball_core.metrics.registry import METRICS
from spotball_core.report.numbers.records import HEADLINE, PairedDifference, Standing, compared
from spotball_core.schema.report import GroupScore, MetricValue
from spotball_core.scoring.estimates import Draws
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.stats.bootstrap import bootstrap_interval, rank_intervals, resample_weights
from spotball_core.stats.permutation import Swaps, holm
from spotball_core.typing import FloatArray

PERMUTATIONS = 10_000


@dataclass(frozen=True)
class ScoredGroup:
    """A group with its scores, and the bootstrap resamples of each metric, by the metric's key."""

    group: Group
    score: GroupScore
    draws: Mapping[str, Draws]


def paired_differences(scoring: Scoring, group: Group) -> list[PairedDifference]:
    """Compare a group with the reference of its sport, on the images that both answered.

    The metrics are the headline metrics that do not themselves compare with the reference. P values come from
    permutation tests that swap labels within images, as in `spotball compare`. Intervals come from a bootstrap over
    images.
    """
    reference = scoring.policy.reference
    references = [other for other in scoring.groups if other.sport == group.sport and other.respondent == reference]
    answered = set().union(*(scoring.images(other) for other in references))
    scenes = sorted(answered & set(scoring.images(group)))
    if reference is None or group.respondent == reference or not scenes:
        return []
    paired: list[PairedDifference] = []
    both = matched(scoring, {reference: references, group.name: [group]}, scenes)
    for key in HEADLINE:
        if "reference" in METRICS[key].needs:
            continue
        pair = both.pair(METRICS[key])
        of_reference, value = (float(total) for total in pair.totals)
        if not np.isfinite((of_reference, value)).all():
            continue
        drawn = _difference(pair.drawn(_times(scoring, len(scenes)))) if scoring.policy.bootstrap else None
        left_out = _difference(pair.left_out())
        difference = value - of_reference
        paired.append(
            PairedDifference(
                sport=group.sport,
                respondent=group.respondent,
                prompt=group.prompt,
                metric=key,
                value=value,
                reference=of_reference,
                difference=difference,
                ci95=None if drawn is None else bootstrap_interval(difference, drawn, left_out),
                p=pair.p_value(Swaps(len(scenes), PERMUTATIONS, scoring.policy.seed)),
                n_images=int(pair.enters.sum()),
            )
        )
    return paired


def _difference(values: FloatArray) -> FloatArray:
    difference: FloatArray = values[1] - values[0]
    return difference


def _times(scoring: Scoring, n: int) -> FloatArray:
    return resample_weights(n, scoring.policy.bootstrap, scoring.policy.seed)


def adjusted(paired: Sequence[PairedDifference]) -> Iterator[PairedDifference]:
    """Yield the differences by metric, with p values after Holm's adjustment over all differences of a metric."""
    for key in HEADLINE:
        tested = [
            (difference, difference.p) for difference in paired if difference.metric == key and difference.p is not None
        ]
        for (difference, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
            yield difference.model_copy(update={"p_holm": p})


def overall_differences(
    means: Sequence[GroupScore], mean_draws: Mapping[tuple[str, str], Mapping[str, Draws]], reference: str | None
) -> Iterator[PairedDifference]:
    """Yield the differences between respondents' means over all sports and the reference's means.

    If the reference has several prompts, or no means, there are no differences. A difference has an interval only if
    both means use the same number of images.
    """
    references = [score for score in means if score.respondent == reference]
    if len(references) != 1:
        return
    (people,) = references
    for score in means:
        for key in HEADLINE:
            if score is people or key not in score.metrics or key not in people.metrics:
                continue
            value, of_reference = float(score.metrics[key].value or 0.0), float(people.metrics[key].value or 0.0)
            own, theirs = (mean_draws[g.respondent or "", g.prompt or ""].get(key) for g in (score, people))
            paired = own is not None and theirs is not None and len(own.left_out) == len(theirs.left_out)
            yield PairedDifference(
                sport=None,
                respondent=score.respondent,
                prompt=score.prompt,
                metric=key,
                value=value,
                reference=of_reference,
                difference=value - of_reference,
                ci95=bootstrap_interval(
                    value - of_reference, own.resampled - theirs.resampled, own.left_out - theirs.left_out
                )
                if paired and own and theirs
                else None,
                n_images=score.n_images,
            )


def overall(scored: Sequence[ScoredGroup]) -> tuple[tuple[GroupScore, ...], dict[tuple[str, str], dict[str, Draws]]]:
    """Average each respondent and prompt over sports, with equal weight for each sport.

    A respondent without a value in one of the sports has no average. Sports are resampled independently of each other.

    Returns:
        The averages, and their resampled values by respondent and prompt, then by metric; both empty for fewer than two
        sports.
    """
    sports = list(dict.fromkeys(scored_group.group.sport for scored_group in scored))
    by_name: dict[tuple[str, str], list[ScoredGroup]] = {}
    for scored_group in scored:
        by_name.setdefault((scored_group.group.respondent or "", scored_group.group.prompt or ""), []).append(
            scored_group
        )
    scores: list[GroupScore] = []
    draws: dict[tuple[str, str], dict[str, Draws]] = {}
    for name, parts in by_name.items():
        if len(sports) < 2 or len(parts) != len(sports):
            continue
        metrics: dict[str, MetricValue] = {}
        for key in HEADLINE:
            values = [value for part in parts if (value := part.score.metrics[key].value) is not None]
            if len(values) == len(sports):
                metrics[key] = _mean(values, [part.draws[key] for part in parts if key in part.draws])
        draws[name] = {
            key: _pooled([part.draws[key] for part in parts])
            for key in metrics
            if all(key in part.draws for part in parts)
        }
        first = parts[0].group
        scores.append(
            GroupScore(
                sport=None,
                respondent=first.respondent,
                kind=first.kind,
                prompt=first.prompt,
                n_images=sum(part.score.n_images for part in parts),
                n_responses=sum(part.score.n_responses for part in parts),
                n_unparsed=sum(part.score.n_unparsed for part in parts),
                metrics=metrics,
            )
        )
    return tuple(scores), draws


def _mean(values: Sequence[float], draws: Sequence[Draws]) -> MetricValue:
    value = float(np.mean(values))
    if len(draws) < len(values):
        return MetricValue(value=value)
    pooled = _pooled(draws)
    return MetricValue(value=value, ci95=bootstrap_interval(value, pooled.resampled, pooled.left_out))


def _pooled(draws: Sequence[Draws]) -> Draws:
    """Return resampled values of a mean over sports; shift the sports' resamples so that they are independent."""
    n = len(draws)
    resampled = np.mean([np.roll(d.resampled, i * len(d.resampled) // n) for i, d in enumerate(draws)], axis=0)
    center = float(np.mean([d.left_out.mean() for d in draws]))
    # Leaving an image out changes its sport's value, and the mean by a share of this change.
    left_out = np.concatenate([center + (d.left_out - d.left_out.mean()) / n for d in draws])
    return Draws(resampled, left_out)


def standings(
    scored: Sequence[ScoredGroup],
    means: Sequence[GroupScore],
    mean_draws: Mapping[tuple[str, str], Mapping[str, Draws]],
    reference: str | None,
) -> tuple[Standing, ...]:
    """Rank respondents by each headline metric: in each sport, and by their means over all sports.

    Baselines are ranked only if, apart from the reference, all respondents are baselines. Groups of a sport that are
    scored on different numbers of images are resampled independently, which makes their rank intervals wider than
    necessary.
    """
    ranked_groups: list[Standing] = []
    for sport in dict.fromkeys(scored_group.group.sport for scored_group in scored):
        some = [scored_group for scored_group in scored if scored_group.group.sport == sport]
        draws = {
            (scored_group.score.respondent, scored_group.score.prompt): scored_group.draws for scored_group in some
        }
        ranked_groups += _ranked(sport, [scored_group.score for scored_group in some], draws, reference)
    by_name = {
        (scored_group.respondent, scored_group.prompt): mean_draws[
            scored_group.respondent or "", scored_group.prompt or ""
        ]
        for scored_group in means
    }
    return (*ranked_groups, *_ranked(None, means, by_name, reference))


def _ranked(
    sport: str | None,
    scores: Sequence[GroupScore],
    draws: Mapping[tuple[str | None, str | None], Mapping[str, Draws]],
    reference: str | None,
) -> Iterator[Standing]:
    people = [score for score in scores if score.respondent == reference]
    ranked = [*people, *compared(scores, reference)]
    for key in HEADLINE:
        metric = METRICS[key]
        known = [(s, value) for s in ranked if key in s.metrics and (value := s.metrics[key].value) is not None]
        if len(known) < 2:
            continue
        some = [draws[s.respondent, s.prompt].get(key) for s, _ in known]
        resampled = [draw.resampled for draw in some if draw is not None]
        n_units = min((len(draw.left_out) for draw in some if draw is not None), default=1)
        complete = len(resampled) == len(known)
        places = rank_intervals(
            np.array([value for _, value in known]),
            np.stack(resampled) if complete else np.empty((len(known), 0)),
            highest_first=metric.direction == "higher",
            n_units=n_units,
        )
        for place, (score, _) in enumerate(known):
            interval = int(places.low[place]), int(places.high[place])
            yield Standing(
                sport=sport,
                respondent=score.respondent,
                prompt=score.prompt,
                metric=key,
                rank=int(places.rank[place]),
                rank_ci95=interval if complete else None,
                n_ranked=len(known),
            )
