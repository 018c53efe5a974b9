"""Make rankings: entries of the same task, ranked by each metric, and their averages over sports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spotball_core.errors import OptionError, unknown_name
from spotball_core.leaderboard.columns import CEILING_SCORE, MetricColumn, column
from spotball_core.leaderboard.entries import Entry, ScoredTask, TaskEntries, collect
from spotball_core.leaderboard.ranks import Estimate, Goal, Rank, ranks
from spotball_core.leaderboard.reports import Collection, SourceReport
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import Interval, MetricValue, Signature, short_form
from spotball_core.schema.response import Kind
from spotball_core.text.words import listed, plural


@dataclass(frozen=True)
class RankTable:
    """Comparable entries with the ranks of the models, or of the baselines if there are no models.

    Attributes:
        number: number of the ranking on the page, from 1.
        tasks: the task of the entries; if values are averaged over sports, one task per sport.
        entries: all entries.
        ranks: for each metric, the rank of each ranked entry, by the entry's position in `entries`.
        ranked: the kind of entries with ranks: models, or baselines if there are no models.
        uniform: scores of uniform guessing, by metric.
        columns: description of every metric, by the metric's key.
        differs: how the task differs from those of other rankings of the same sports; empty if there are none.
    """

    number: int
    tasks: tuple[ScoredTask, ...]
    entries: tuple[Entry, ...]
    ranks: dict[str, dict[int, Rank]]
    ranked: Kind
    uniform: dict[str, float]
    columns: dict[str, MetricColumn]
    differs: str = ""

    @property
    def policy(self) -> ScorePolicy:
        """The policy of all entries."""
        return self.tasks[0].policy

    @property
    def sports(self) -> tuple[str | None, ...]:
        """The sports of the tasks."""
        return tuple(task.sport for task in self.tasks)

    @property
    def is_average(self) -> bool:
        """Whether values are means over sports."""
        return len(self.tasks) > 1

    @property
    def n_images(self) -> int:
        """The number of images that the entries are scored on."""
        return sum(task.n_images for task in self.tasks)

    @property
    def title(self) -> str:
        """The heading: the sport, or over how many sports the values are averaged."""
        if self.is_average:
            return f"Average over {plural(len(self.tasks), 'sport')}"
        return self.tasks[0].sport or "All images"

    @property
    def signature(self) -> str:
        """The properties that all entries share, in the short form of a signature."""
        first = self.tasks[0]
        grids = list(dict.fromkeys(task.grid for task in self.tasks))
        shared = Signature(
            version=first.version,
            data="",
            grid="+".join(grids),
            policy=first.policy,
            n_images=self.n_images,
            dropped={},
            parse_policies=first.parse_policies,
        )
        own = {"v": first.version, "scenes": "+".join(task.scenes[:8] for task in self.tasks)}
        if first.reference is not None:
            own["refdata"] = "+".join(str(task.reference)[:8] for task in self.tasks)
        return short_form(own | {key: value for key, value in shared.fields().items() if key not in ("v", "data")})

    def order(self, key: str) -> list[int]:
        """Return the positions of the entries sorted by a metric, the best first; entries without a value are last."""
        goal = self.goal(key) or "lower"

        def place(position: int) -> tuple[float, str, str]:
            entry = self.entries[position]
            value = value_of(entry, key)
            if value is None:
                loss = math.inf
            elif isinstance(goal, Estimate):
                loss = abs(value - goal.value)
            else:
                loss = -value if goal == "higher" else value
            return loss, entry.respondent, entry.prompt or ""

        return sorted(range(len(self.entries)), key=place)

    def goal(self, key: str) -> Goal | None:
        """Return which values of a metric are better; None if the metric cannot be ranked."""
        return _goal(self.columns[key], self.entries)


@dataclass(frozen=True)
class Leaderboard:
    """The rankings that are made from a collection of reports.

    Attributes:
        rankings: averages over sports first, then one sport after the other.
        reports: the sources of the entries.
        notes: sentences about entries that were skipped or merged.
    """

    rankings: tuple[RankTable, ...]
    reports: tuple[SourceReport, ...]
    notes: tuple[str, ...]

    @property
    def metrics(self) -> list[str]:
        """The keys of all metrics that have a value, in the order of the tables."""
        keys = {key for ranking in self.rankings for entry in ranking.entries for key in entry.metrics}
        keys = {key for key in keys if any(has_value(ranking, key) for ranking in self.rankings)}
        return _in_order(keys)


def has_value(ranking: RankTable, key: str) -> bool:
    """Return whether any entry of a ranking has a value of a metric."""
    return any(value_of(entry, key) is not None for entry in ranking.entries)


def value_of(entry: Entry, key: str) -> float | None:
    """Return an entry's value of a metric; None if there is none."""
    return entry.metrics[key].value if key in entry.metrics else None


def make_leaderboard(
    collection: Collection, *, sports: Sequence[str] | None = None, prompts: Sequence[str] | None = None
) -> Leaderboard:
    """Build a leaderboard: collect the comparable entries of reports in rankings, and rank them.

    Args:
        collection: the reports.
        sports: the sports to include (default: all).
        prompts: the prompts to include (default: all). The reference is always included, with all its prompts.

    Raises:
        OptionError: for a sport or a prompt that no report has, or if there is nothing to rank.
    """
    tasks, notes = collect(collection.reports)
    if not tasks:
        why = notes or ["They contain no respondent with scored images. Score some responses first"]
        raise OptionError(" ".join(["none of the reports can be ranked.", *why]), code="no-data")
    tasks = _only(tasks, sports, prompts)
    averages, more = _averages(tasks)
    drafts = [*averages, *(((task,), entries) for task, entries in _by_sport(tasks))]
    rankings = [_ranking(number, of, entries) for number, (of, entries) in enumerate(drafts, start=1)]
    return Leaderboard(
        tuple(_with_differences(rankings)),
        collection.reports,
        (*collection.notes, *notes, *more),
    )


def _only(
    tasks: Mapping[ScoredTask, TaskEntries], sports: Sequence[str] | None, prompts: Sequence[str] | None
) -> dict[ScoredTask, TaskEntries]:
    """Return only the tasks of the selected sports, with only the entries of the selected prompts and the reference."""
    known_sports = {str(task.sport) for task in tasks}
    known_prompts = {str(entry.prompt) for of_task in tasks.values() for entry in of_task.entries}
    for option, wanted, known in (("--sport", sports, known_sports), ("--prompt", prompts, known_prompts)):
        if unknown := [name for name in wanted or () if name not in known]:
            raise OptionError(
                unknown_name(option.removeprefix("--"), unknown[0], sorted(known)),
                code="unknown-name",
                field=option,
            )
    kept = {}
    for task, of_task in tasks.items():
        entries = [e for e in of_task.entries if prompts is None or e.is_reference or str(e.prompt) in prompts]
        if entries and (sports is None or str(task.sport) in sports):
            kept[task] = TaskEntries(entries, of_task.uniform)
    return kept


def _by_sport(tasks: Mapping[ScoredTask, TaskEntries]) -> list[tuple[ScoredTask, TaskEntries]]:
    """Sort tasks by sport. Within a sport, tasks with more entries come first."""
    return sorted(tasks.items(), key=lambda item: (item[0].sport or "", -len(item[1].entries)))


def _ranking(number: int, tasks: tuple[ScoredTask, ...], of_tasks: TaskEntries) -> RankTable:
    entries = tuple(of_tasks.entries)
    keys = _in_order({key for entry in entries for key in entry.metrics})
    columns = {key: column(key, tasks[0].policy) for key in keys}
    ranked: Kind = "model" if any(entry.is_model for entry in entries) else "baseline"
    competing = [
        place
        for place, candidate in enumerate(entries)
        if (candidate.is_model if ranked == "model" else candidate.kind == ranked)
    ]
    return RankTable(
        number=number,
        tasks=tasks,
        entries=entries,
        ranks={key: dict(_ranks(columns[key], entries, competing)) for key in keys},
        ranked=ranked,
        uniform=of_tasks.uniform,
        columns=columns,
    )


def _ranks(by: MetricColumn, entries: Sequence[Entry], competing: Iterable[int]) -> Iterator[tuple[int, Rank]]:
    goal = _goal(by, entries)
    if goal is None:
        return
    estimates = {place: estimate for place in competing if (estimate := _estimate(entries[place], by))}
    yield from zip(estimates, ranks(list(estimates.values()), goal), strict=True)


def _goal(by: MetricColumn, entries: Sequence[Entry]) -> Goal | None:
    if by.better == "one":
        return Estimate(1.0, (1.0, 1.0), 1)
    if by.better == "reference":
        estimates = [estimate for entry in entries if entry.is_reference and (estimate := _estimate(entry, by))]
        # A reference with several prompts would be several targets.
        return estimates[0] if len(estimates) == 1 else None
    return by.better


def _estimate(entry: Entry, by: MetricColumn) -> Estimate | None:
    score = entry.metrics.get(by.key)
    if score is None or score.value is None:
        return None
    return Estimate(score.value, score.ci95, score.n_images or entry.n_images, by.bounds)


def _in_order(keys: Iterable[str]) -> list[str]:
    """Sort keys of metrics by the order of the tables."""
    places = {key: place for place, key in enumerate((*METRICS, CEILING_SCORE))}
    return sorted(keys, key=lambda key: (places.get(key, len(places)), key))


# Averages over sports -----------------------------------------------------------------------------------------


Average = tuple[tuple[ScoredTask, ...], TaskEntries]
"""Entries that are averaged over several tasks, one per sport."""


def _averages(tasks: Mapping[ScoredTask, TaskEntries]) -> tuple[list[Average], list[str]]:
    """Return averages of the entries with scores in every sport, and sentences about entries without averages."""
    by_setting: dict[object, dict[ScoredTask, TaskEntries]] = {}
    for task, of_task in tasks.items():
        if task.sport is not None:
            by_setting.setdefault(task.setting, {})[task] = of_task
    averages: list[Average] = []
    notes: dict[str, None] = {}
    for of_setting in by_setting.values():
        sports = sorted({str(task.sport) for task in of_setting})
        if len(sports) < 2:
            continue
        of_setting_averages, ambiguous = _averages_over(sports, of_setting)
        averages += of_setting_averages
        if not of_setting_averages:
            reason = f"No respondent has scores for all of {listed(sports)}, so there is no average over these sports."
            notes[f"{reason} Select fewer sports with `--sport`."] = None
        notes |= {
            f"{name} has several scores for one sport, so it has no average over sports.": None for name in ambiguous
        }
    averages.sort(key=lambda average: -len(average[1].entries))
    return averages, list(notes)


def _averages_over(sports: Sequence[str], tasks: Mapping[ScoredTask, TaskEntries]) -> tuple[list[Average], list[str]]:
    """Return averages over tasks of the same setting, and respondents excluded for several scores in a sport."""
    of_respondents: dict[tuple[str, str | None], dict[ScoredTask, list[Entry]]] = {}
    for task, of_task_entries in tasks.items():
        for entry in of_task_entries.entries:
            of_respondents.setdefault((entry.respondent, entry.prompt), {}).setdefault(task, []).append(entry)
    together: dict[tuple[ScoredTask, ...], list[Entry]] = {}
    several = []
    for name, of_task in of_respondents.items():
        by_sport = sorted(of_task, key=lambda task: str(task.sport))
        if {str(task.sport) for task in of_task} != set(sports):
            continue
        if len(by_sport) > len(sports):
            several.append(name)
        elif parts := _one_each(of_task, by_sport):
            together.setdefault(tuple(by_sport), []).append(_average(parts, by_sport))
        else:
            several.append(name)
    together = {averaged: entries for averaged, entries in together.items() if not all(e.is_reference for e in entries)}
    ambiguous = []
    for name in several:
        # The reference may be part of several averages, because different entries were scored with each version of it.
        fits = False
        for averaged, entries in together.items():
            if parts := _one_each(of_respondents[name], averaged):
                entries.append(_average(parts, averaged))
                fits = True
        if not fits:
            ambiguous.append(name[0])
    averages = [
        (averaged, TaskEntries(entries, _mean_uniform([tasks[task] for task in averaged])))
        for averaged, entries in together.items()
    ]
    return averages, ambiguous


def _one_each(entries: Mapping[ScoredTask, list[Entry]], tasks: Sequence[ScoredTask]) -> list[Entry]:
    """Return a respondent's entry in each task; empty if it has no entry or several entries in a task."""
    by_task = [entries.get(task, []) for task in tasks]
    return [entry for (entry,) in by_task] if all(len(of_task) == 1 for of_task in by_task) else []


def _average(parts: Sequence[Entry], tasks: Sequence[ScoredTask]) -> Entry:
    """Return an entry with a respondent's unweighted means over sports, from its entry in each task."""
    first = parts[0]
    shared = [key for key in first.metrics if all(key in part.metrics for part in parts)]
    # Participants answer images of several sports, so resamples of participants are not independent.
    independent = tasks[0].policy.cluster == "image"
    return Entry(
        respondent=first.respondent,
        prompt=first.prompt,
        kind=first.kind if all(part.kind == first.kind for part in parts) else None,
        is_reference=first.is_reference,
        n_images=sum(part.n_images for part in parts),
        n_responses=sum(part.n_responses for part in parts),
        n_unparsed=sum(part.n_unparsed for part in parts),
        metrics={key: _mean_value(parts, tasks, key, independent=independent) for key in shared},
        sources=tuple(dict.fromkeys(source for part in parts for source in part.sources)),
        signatures=tuple(dict.fromkeys(signature for part in parts for signature in part.signatures)),
        data=frozenset().union(*(part.data for part in parts)),
    )


def _mean_value(parts: Sequence[Entry], tasks: Sequence[ScoredTask], key: str, *, independent: bool) -> MetricValue:
    scores = [part.metrics[key] for part in parts]
    missing = [str(task.sport) for task, score in zip(tasks, scores, strict=True) if score.value is None]
    if missing:
        return MetricValue(value=None, reason=f"no value in {listed(missing)}")
    values = [score.value for score in scores if score.value is not None]
    ends = [score.ci95 for score in scores if score.ci95 is not None]
    return MetricValue(
        value=sum(values) / len(values),
        ci95=mean_interval(values, ends) if independent and len(ends) == len(values) else None,
        n_images=min(score.n_images or part.n_images for score, part in zip(scores, parts, strict=True)),
        reference=scores[0].reference,
    )


def mean_interval(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Compute the interval of the mean of independent estimates from their intervals.

    The distance of each end from the value is combined over the estimates like a standard error, separately for the
    lower and the upper end (Zou and Donner, 2008).

    Examples:
        >>> mean_interval([1.0, 2.0], [(0.4, 1.3), (1.2, 2.4)])
        (1.0, 1.75)
    """
    mean = sum(values) / len(values)
    below = math.hypot(*(value - low for value, (low, _) in zip(values, intervals, strict=True)))
    above = math.hypot(*(high - value for value, (_, high) in zip(values, intervals, strict=True)))
    return mean - below / len(values), mean + above / len(values)


def _mean_uniform(parts: Sequence[TaskEntries]) -> dict[str, float]:
    shared = [key for key in parts[0].uniform if all(key in part.uniform for part in parts)]
    return {key: sum(part.uniform[key] for part in parts) / len(parts) for key in shared}


# Differences between rankings ----------------------------------------------------------------------------------


def _with_differences(rankings: Sequence[RankTable]) -> Iterator[RankTable]:
    """Yield the rankings, each with a sentence on how it differs from other rankings of the same sports."""
    alike: dict[tuple[str | None, ...], list[tuple[int, dict[str, str]]]] = {}
    for ranking in rankings:
        alike.setdefault(ranking.sports, []).append((ranking.number, _attributes(ranking)))
    for ranking in rankings:
        same_sports = alike[ranking.sports]
        own = dict(same_sports)[ranking.number]
        others = [number for number, _ in same_sports if number != ranking.number]
        different = [name for name, value in own.items() if any(other[name] != value for _, other in same_sports)]
        yield replace(ranking, differs=_sentence(others, {name: own[name] for name in different}) if others else "")


def _sentence(others: Sequence[int], different: Mapping[str, str]) -> str:
    numbers = listed([str(number) for number in others])
    reasons = "; ".join(f"{name} (in this ranking: {value})" for name, value in different.items())
    return (
        f"Do not compare this ranking with ranking{'s' if len(others) > 1 else ''} {numbers}. They differ "
        f"in: {reasons}."
    )


def _attributes(ranking: RankTable) -> dict[str, str]:
    """Return the properties that must agree for comparable entries: the name and the value of each, as text."""
    policy = ranking.policy.model_dump(mode="json")
    tasks = ranking.tasks
    return {
        "version": tasks[0].version,
        **{f"policy's {name}": str(value) for name, value in policy.items()},
        "parse policies": ", ".join(tasks[0].parse_policies) or "none recorded",
        "scored images": f"{ranking.n_images}, {' '.join(task.scenes[:8] for task in tasks)}",
        "reference's responses": " ".join(str(task.reference)[:8] for task in tasks),
    }
