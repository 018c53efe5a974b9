"""Compute what changed from an earlier run to a later one: paired differences of the groups in both runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.comparison.matched import Matched, matched
from spotball_core.comparison.pairs import MetricPair
from spotball_core.counting.counts import Counts
from spotball_core.errors import OptionError
from spotball_core.metrics.registry import METRICS
from spotball_core.report.numbers.change_records import (
    Change,
    ChangedScene,
    ComparedGroup,
    GroupKey,
    ImageChanges,
    NotCompared,
    RunChanges,
)
from spotball_core.report.numbers.records import HEADLINE
from spotball_core.report.numbers.standings import PERMUTATIONS
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import PARTS, Group, Scoring
from spotball_core.stats.bootstrap import bootstrap_interval, resample_weights
from spotball_core.stats.permutation import Swaps, holm
from spotball_core.text.numbers import ALPHA

_BEFORE, _AFTER = "1:", "2:"
"""Prefixes that distinguish the respondents of the two runs when the counts of both are scored in one table."""

_SCORED_FIELDS = {"ball_cells": "ball cells", "grid": "grid", "width": "size", "height": "size", "control": "control"}
"""The scene fields that affect a headline metric, and their names in the report."""

ImageKey = tuple[str, str]


def run_changes(before: Scoring, after: Scoring) -> RunChanges:
    """Compare two runs: compute how the headline metrics of the groups in both runs changed on the same images.

    A group is compared on the images that it is scored on in the later run, that it answered in the earlier run, and
    whose scene is the same in both. P values come from permutation tests that swap the runs' labels within
    images, as in `spotball compare`. Holm's adjustment covers all changes of a metric, except those of groups with the
    same answers in both runs. Intervals come from a bootstrap over images.

    Args:
        before: the earlier run. Its responses and scenes are used, but not its reference or its choice of images.
        after: the later run. Both runs are scored under its policy and against its reference's responses.

    Raises:
        OptionError: if the runs' grids differ, if a run is not grouped by sport, respondent and prompt, or if no group
            has an image that can be compared.
    """
    for name, run in (("earlier", before), ("later", after)):
        if tuple(run.policy.by) != PARTS:
            by = ", ".join(run.policy.by)
            raise OptionError(
                f"the {name} run is grouped by {by}. Group both runs by {', '.join(PARTS)} to compare them",
                code="incompatible-data",
            )
    grids = [f"{run.counts.rows} x {run.counts.cols}" for run in (before, after)]
    if grids[0] != grids[1]:
        raise OptionError(
            f"the grids of the two runs differ ({grids[0]} before, {grids[1]} after), so the runs cannot be compared. "
            "Use runs with the same grid",
            code="different-grids",
        )
    images, same = _images(before, after)
    groups_before, groups_after = _by_key(before), _by_key(after)
    common = [key for key in groups_after if key in groups_before]
    both = _scored_together(before, after, same) if same else None
    compared: list[_ComparedPair] = []
    not_compared: list[NotCompared] = []
    for key in common:
        pair = _both_groups(both, key) if both else None
        scenes = _scenes(both, after, groups_after[key], pair) if both and pair else []
        if both and pair and scenes:
            answers = matched(both, {"before": [pair[0]], "after": [pair[1]]}, scenes)
            compared.append(_ComparedPair(groups_after[key], scenes, answers))
        else:
            reason = "no scored image has answers in both runs and the same scene in both"
            not_compared.append(NotCompared(**_parts(key), metric=None, reason=reason))
    if not compared:
        raise OptionError(
            "the runs cannot be compared, because no respondent and prompt answered the same image with the same scene "
            "in both runs. Check the names: respondents, prompts, sports and images are matched by name",
            code="no-data",
        )
    groups = [_compared_group(pair) for pair in compared]
    changes, pairs, undefined = _changes(after, compared)
    tested = _tested(changes, groups)
    return RunChanges(
        changes=tuple(_adjusted(changes, pairs, tested)),
        groups=tuple(groups),
        not_compared=(*not_compared, *undefined),
        only_before=tuple(GroupKey(**_parts(key)) for key in groups_before if key not in groups_after),
        only_after=tuple(GroupKey(**_parts(key)) for key in groups_after if key not in groups_before),
        n_images=len(set().union(*(pair.scenes for pair in compared))),
        images=images,
        same_reference=_same_reference(both, after) if both else None,
        n_tests={metric: len(places) for metric, places in tested.items()},
        smallest_p=_smallest_p(tested, compared),
        permutations=PERMUTATIONS,
        data_before=before.signature().data,
        parse_policies_before=tuple(sorted(before.counts.parse_policies)),
        warnings_before=tuple(map(str, before.counts.warnings)),
    )


@dataclass(frozen=True)
class _ComparedPair:
    """A group of the later run with its answers in both runs.

    Attributes:
        group: the group of the later run.
        scenes: positions of the images among the scenes of both runs.
        answers: answers of the earlier run and of the later run, on these images.
    """

    group: Group
    scenes: Sequence[int]
    answers: Matched


_Key = tuple[str | None, str | None, str | None]


def _key(group: Group | GroupKey) -> _Key:
    return group.sport, group.respondent, group.prompt


def _by_key(scoring: Scoring) -> dict[_Key, Group]:
    return {_key(group): group for group in scoring.groups}


def _parts(key: _Key) -> dict[str, str | None]:
    return dict(zip(PARTS, key, strict=True))


# Images and answers of both runs -------------------------------------------------------------------------------


def _images(before: Scoring, after: Scoring) -> tuple[ImageChanges, list[ImageKey]]:
    """Return the differences in the answered images, and the keys of the images that can be compared."""
    earlier, later = _answered(before), _answered(after)
    if after.policy.controls == "out":
        # An image that became a control, or stopped being one, is listed as a changed scene.
        controls = {key for run in (earlier, later) for key, scene in run.items() if scene.control}
        unscored = {key for key in controls if all(run[key].control for run in (earlier, later) if key in run)}
        earlier, later = ({key: run[key] for key in run if key not in unscored} for run in (earlier, later))
    excluded: list[ChangedScene] = []
    other_players: list[str] = []
    same: list[ImageKey] = []
    for key, scene in later.items():
        if key not in earlier:
            continue
        fields = {name: None for field, name in _SCORED_FIELDS.items() if _differ(earlier[key], scene, field)}
        if fields:
            excluded.append(ChangedScene(sport=key[0], image=key[1], fields=tuple(fields)))
            continue
        same.append(key)
        if any(_differ(earlier[key], scene, field) for field in ("players", "player_outlines")):
            other_players.append("/".join(key))
    images = ImageChanges(
        n_before=len(earlier),
        n_after=len(later),
        only_before=tuple("/".join(key) for key in earlier if key not in later),
        only_after=tuple("/".join(key) for key in later if key not in earlier),
        excluded=tuple(excluded),
        other_players=tuple(other_players),
    )
    return images, same


def _answered(scoring: Scoring) -> dict[ImageKey, Scene]:
    places = sorted({place for group in scoring.groups for place in group.answered})
    return {scoring.arrays.keys[place]: scoring.arrays.scenes[place] for place in places}


def _differ(earlier: Scene, other: Scene, field: str) -> bool:
    return bool(getattr(earlier, field) != getattr(other, field))


def _scored_together(before: Scoring, after: Scoring, same: Sequence[ImageKey]) -> Scoring:
    """Score both runs' responses to the given images, as if the runs had different respondents."""
    import polars as pl

    kept = pl.DataFrame(list(same), schema={"sport": pl.String, "image": pl.String}, orient="row")

    def renamed(run: Scoring, prefix: str) -> pl.DataFrame:
        table = run.counts.pooled().table.join(kept, on=["sport", "image"], how="semi", maintain_order="left")
        return table.with_columns(respondent=pl.lit(prefix) + pl.col("respondent"))

    table = pl.concat([renamed(before, _BEFORE), renamed(after, _AFTER)])
    reference = None if after.policy.reference is None else _AFTER + after.policy.reference
    if reference not in table["respondent"]:
        reference = None
    wanted = set(same)
    return Scoring(
        Counts.of(table, rows=after.counts.rows, cols=after.counts.cols),
        [scene for scene in after.arrays.scenes if scene.key in wanted],
        after.policy.model_copy(update={"reference": reference}),
    )


def _both_groups(both: Scoring, key: _Key) -> tuple[Group, Group] | None:
    """Return the earlier and the later run's group with this key; None if either answered no comparable image."""
    sport, respondent, prompt = key
    both_groups = [
        group
        for prefix in (_BEFORE, _AFTER)
        for group in both.groups
        if _key(group) == (sport, f"{prefix}{respondent}", prompt)
    ]
    return (both_groups[0], both_groups[1]) if len(both_groups) == 2 else None


def _scenes(both: Scoring, after: Scoring, group: Group, pair: tuple[Group, Group]) -> list[int]:
    """Return the positions of the images that a group of the later run is compared on."""
    scored = {after.arrays.keys[place] for place in after.images(group)}
    return sorted(place for place in pair[0].answered & pair[1].answered if both.arrays.keys[place] in scored)


def _same_reference(both: Scoring, after: Scoring) -> bool | None:
    import polars as pl

    if after.policy.reference is None:
        return None
    columns = ["sport", "image", "prompt", "cell", "n", "parts"]
    earlier, later = (
        both.counts.table.filter(pl.col("respondent") == prefix + after.policy.reference).select(columns)
        for prefix in (_BEFORE, _AFTER)
    )
    return earlier.equals(later)


# Differences ---------------------------------------------------------------------------------------------------


def _compared_group(pair: _ComparedPair) -> ComparedGroup:
    mass, unparsed = pair.answers.mass, pair.answers.unparsed
    responses = mass.sum(axis=(1, 2)) + unparsed.sum(axis=1)
    return ComparedGroup(
        sport=pair.group.sport,
        respondent=pair.group.respondent,
        prompt=pair.group.prompt,
        kind=pair.group.kind,
        n_images=len(pair.scenes),
        responses_before=float(responses[0]),
        responses_after=float(responses[1]),
        unparsed_before=float(unparsed[0].sum()),
        unparsed_after=float(unparsed[1].sum()),
        same_answers=bool((mass[0] == mass[1]).all() and (unparsed[0] == unparsed[1]).all()),
    )


def _changes(
    after: Scoring, compared: Iterable[_ComparedPair]
) -> tuple[list[Change], list[MetricPair], list[NotCompared]]:
    """Return the changes of all groups, with unadjusted p values, their pairs, and metrics that cannot be compared."""
    changes: list[Change] = []
    pairs: list[MetricPair] = []
    undefined: list[NotCompared] = []
    reference, bootstrap, seed = after.policy.reference, after.policy.bootstrap, after.policy.seed
    for compared_pair in compared:
        group = _parts(_key(compared_pair.group))
        for key in HEADLINE:
            metric = METRICS[key]
            if "reference" in metric.needs and reference in (None, compared_pair.group.respondent):
                continue
            pair = compared_pair.answers.pair(metric)
            before_value, after_value = (float(total) for total in pair.totals)
            if not np.isfinite((before_value, after_value)).all():
                undefined.append(NotCompared(**group, metric=key, reason=_why_undefined(compared_pair.answers, key)))
                continue
            ci95 = None
            difference = after_value - before_value
            if bootstrap:
                drawn, left_out = (
                    pair.drawn(resample_weights(len(compared_pair.scenes), bootstrap, seed)),
                    pair.left_out(),
                )
                ci95 = bootstrap_interval(difference, drawn[1] - drawn[0], left_out[1] - left_out[0])
            p = pair.p_value(Swaps(len(compared_pair.scenes), PERMUTATIONS, seed))
            n_images = int(pair.enters.sum())
            pairs.append(pair)
            changes.append(
                Change(
                    **group,
                    metric=key,
                    before=before_value,
                    after=after_value,
                    difference=difference,
                    ci95=ci95,
                    p=p,
                    p_holm=p,
                    real=False,
                    n_images=n_images,
                    detectable=None,
                )
            )
    return changes, pairs, undefined


def _why_undefined(answers: Matched, key: str) -> str:
    """Return the reason why a metric does not have comparable values in both runs."""
    if "reference" in METRICS[key].needs and answers.policy.reference is None:
        return "the reference answered none of the images"
    values = [estimator.estimate(METRICS[key]) for estimator in answers.estimators]
    reasons = {
        name: value.reason for name, value in zip(("before", "after"), values, strict=True) if value.value is None
    }
    if not reasons:
        return "no image has a value in both runs"
    if len(reasons) == 2 and len(set(reasons.values())) == 1:
        return str(reasons["before"])
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


def _tested(changes: Sequence[Change], groups: Iterable[ComparedGroup]) -> dict[str, list[int]]:
    """Return, for each metric, the indices of the changes that Holm's adjustment includes.

    Groups with the same answers in both runs are excluded; the p values of their changes are 1. Swapping the runs does
    not change which groups are excluded, so the other groups' p values stay valid.
    """
    unchanged = {_key(group) for group in groups if group.same_answers}
    tested: dict[str, list[int]] = {}
    for place, change in enumerate(changes):
        if _key(change) not in unchanged:
            tested.setdefault(change.metric, []).append(place)
    return tested


def _adjusted(
    changes: Sequence[Change], pairs: Sequence[MetricPair], tested: Mapping[str, Sequence[int]]
) -> Iterator[Change]:
    """Adjust the p values of each metric, and set `real` and `detectable`. The changes keep their order."""
    adjusted: dict[int, float] = {}
    for places in tested.values():
        adjusted |= zip(places, holm([changes[place].p for place in places]), strict=True)
    for place, change in enumerate(changes):
        p_holm = adjusted.get(place, 1.0)
        excludes_0 = change.ci95 is None or change.ci95[0] > 0 or change.ci95[1] < 0
        real = p_holm <= ALPHA and excludes_0 and change.difference != 0
        swaps, tests = Swaps(pairs[place].sums.shape[1], PERMUTATIONS), len(tested.get(change.metric, ()))
        detectable = pairs[place].detectable(swaps, tests) if place in adjusted else None
        yield change.model_copy(update={"p_holm": p_holm, "real": real, "detectable": detectable})


def _smallest_p(tested: Mapping[str, Sequence[int]], compared: Sequence[_ComparedPair]) -> dict[str, float]:
    """Return, for each metric, the smallest adjusted p value that a group with the most images could have."""
    most = Swaps(max(len(pair.scenes) for pair in compared), PERMUTATIONS)
    smallest = 2 / len(most) if most.exact else 1 / (1 + len(most))
    return {metric: min(1.0, smallest * len(places)) for metric, places in tested.items()}
