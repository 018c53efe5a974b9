"""Collect the entries of a leaderboard: the scores of each respondent and prompt, by the task they were scored on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from spotball_core.leaderboard.columns import CEILING_SCORE
from spotball_core.leaderboard.reports import SourceReport
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import GroupScore, ImageSet, MetricValue, ScoreReport
from spotball_core.schema.response import Kind
from spotball_core.text.words import plural


@dataclass(frozen=True, slots=True)
class ScoredTask:
    """The properties that must agree for two groups of responses to be in the same ranking.

    Attributes:
        version: version of spotball-core.
        policy: the scoring policy.
        parse_policies: the policies that model replies were parsed under.
        sport: the sport; None if the report's groups are not split by sport.
        scenes: SHA-256 of the scored scenes.
        reference: SHA-256 of the reference's responses to these scenes; None without a reference.
        grid: the grid's name in the signature. It is not compared, because it covers all sports of a report.
        n_images: number of images. It is not compared, because it follows from the scenes.
    """

    version: str
    policy: ScorePolicy
    parse_policies: tuple[str, ...]
    sport: str | None
    scenes: str
    reference: str | None
    grid: str = field(compare=False)
    n_images: int = field(compare=False)

    @property
    def setting(self) -> tuple[str, ScorePolicy, tuple[str, ...]]:
        """The version, the policy and the parse policies, which do not depend on the sport."""
        return self.version, self.policy, self.parse_policies

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of all properties that must agree."""
        parts = [self.version, self.policy.model_dump(mode="json"), self.parse_policies]
        return hashlib.sha256(json.dumps([*parts, self.sport, self.scenes, self.reference]).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A respondent's scores with one prompt.

    Attributes:
        is_reference: whether this is the respondent that others are compared with.
        sources: the files with these scores.
        signatures: signatures of the reports in these files.
        data: SHA-256 of the data of each of these reports.
        is_one_of_several: whether other files have different scores of this respondent and prompt.
    """

    respondent: str
    prompt: str | None
    kind: Kind | None
    is_reference: bool
    n_images: int
    n_responses: int
    n_unparsed: int
    metrics: dict[str, MetricValue]
    sources: tuple[str, ...]
    signatures: tuple[str, ...]
    data: frozenset[str]
    is_one_of_several: bool = False

    @property
    def is_model(self) -> bool:
        """Whether the respondent is a model: neither people nor a baseline."""
        return self.kind not in ("human", "baseline")


@dataclass
class TaskEntries:
    """The entries that were scored on one task, and the scores of uniform guessing on its images, by metric."""

    entries: list[Entry]
    uniform: dict[str, float]


def collect(reports: Sequence[SourceReport]) -> tuple[dict[ScoredTask, TaskEntries], list[str]]:
    """Collect the entries of each task, in the order of the reports.

    An entry that occurs in several reports is counted once, with all its sources. If its scores differ, each version is
    a separate entry.

    Returns:
        The entries by task, and sentences about reports and groups that are excluded.
    """
    tasks: dict[ScoredTask, TaskEntries] = {}
    notes = []
    for source in reports:
        report = source.report
        if "respondent" not in report.policy.by:
            notes.append(
                f"{source.source} does not score each respondent separately, so it cannot be ranked. Run `spotball "
                "score` again with `respondent` in `--by`."
            )
            continue
        images = {place: images for images in report.image_sets for place in images.groups}
        names = Counter(group.name for group in report.groups)
        n_unknown = 0
        for place, group in enumerate(report.groups):
            if not group.n_images or group.respondent is None:
                continue
            if place not in images:
                n_unknown += 1
                continue
            scored_on = images[place]
            scores = dict(_scores(report, group, is_named_once=names[group.name] == 1))
            task_entries = tasks.setdefault(_task(report, group, scored_on), TaskEntries([], scored_on.uniform))
            _add(task_entries.entries, _entry(source, group, scores))
        if n_unknown:
            notes.append(
                f"{source.source} is from an older version and does not record the scored images of "
                f"{plural(n_unknown, 'group')}. {'This group is' if n_unknown == 1 else 'These groups are'} excluded. "
                f"Run `spotball score` again to include {'it' if n_unknown == 1 else 'them'}."
            )
    return tasks, notes


def _task(report: ScoreReport, group: GroupScore, images: ImageSet) -> ScoredTask:
    provenance = report.provenance
    return ScoredTask(
        version=provenance.version,
        policy=report.policy,
        parse_policies=provenance.parse_policies,
        sport=group.sport,
        scenes=images.scenes,
        reference=images.reference,
        grid=provenance.grid,
        n_images=group.n_images,
    )


def _scores(report: ScoreReport, group: GroupScore, *, is_named_once: bool) -> Iterator[tuple[str, MetricValue]]:
    yield from group.metrics.items()
    for ceiling in report.ceilings:
        # A ceiling's groups are identified by name, which may be ambiguous because names may contain slashes.
        if is_named_once and ceiling.sport == group.sport and group.name in ceiling.score:
            yield CEILING_SCORE, ceiling.score[group.name]


def _entry(source: SourceReport, group: GroupScore, scores: dict[str, MetricValue]) -> Entry:
    return Entry(
        respondent=str(group.respondent),
        prompt=group.prompt,
        kind=group.kind,
        is_reference=group.respondent == source.report.policy.reference,
        n_images=group.n_images,
        n_responses=group.n_responses,
        n_unparsed=group.n_unparsed,
        metrics=scores,
        sources=(source.source,),
        signatures=(source.report.signature,),
        data=frozenset([source.report.provenance.data]),
    )


def _add(entries: list[Entry], new: Entry) -> None:
    """Add an entry, or add its source to an entry with the same scores."""
    rivals = [
        place for place, old in enumerate(entries) if (old.respondent, old.prompt) == (new.respondent, new.prompt)
    ]
    for place in rivals:
        if _agree(entries[place], new):
            entries[place] = replace(
                entries[place],
                metrics={**new.metrics, **entries[place].metrics},
                sources=tuple(dict.fromkeys((*entries[place].sources, *new.sources))),
                signatures=tuple(dict.fromkeys((*entries[place].signatures, *new.signatures))),
                data=entries[place].data | new.data,
            )
            return
    for place in rivals:
        entries[place] = replace(entries[place], is_one_of_several=True)
    entries.append(replace(new, is_one_of_several=bool(rivals)))


def _agree(first: Entry, second: Entry) -> bool:
    """Return whether two entries of a respondent and prompt have the same scores."""
    if first.data & second.data:
        # Task, scenes and responses are equal. Numbers may differ in the last digits if the order of scenes differs.
        return True
    counts = [(entry.kind, entry.n_responses, entry.n_unparsed) for entry in (first, second)]
    shared = first.metrics.keys() & second.metrics.keys()
    return counts[0] == counts[1] and all(first.metrics[key] == second.metrics[key] for key in shared)
