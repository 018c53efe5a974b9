"""All respondents of a file through the battery: the contract of `spotball gaze analyze --format json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from spotball_core.errors import OptionError
from spotball_core.gaze import checks as one_respondent
from spotball_core.gaze.battery.findings import Finding, Key
from spotball_core.gaze.battery.run import TestPolicy, run_battery
from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.fleet import (
    FleetAgainstChance,
    ModelFacts,
    Trend,
    TwoRespondents,
    against_chance,
    compare_two,
    trends,
)
from spotball_core.gaze.measures import Share, accuracy_by_objects, share, with_measures
from spotball_core.gaze.mechanism.records import Mechanism
from spotball_core.gaze.mechanism.run import mechanism_or_reason
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.service.parallel import in_processes

if TYPE_CHECKING:
    import polars as pl

SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Where kinds of response times begin; the first takes shorter ones, too."""

SCHEMA_VERSION: Final = 1
HUMAN: Final = "human"


class Cell(Record):
    """A mean over some of a respondent's trials.

    Attributes:
        measure: `accuracy`, `wrongness` (among matched trials) or `head`, the share that chose the head target.
        by: what the trials have in common. `seconds_from`: response times from there to twice as long, from 0.25 (and
            less) to 64 (and more).
        value: the mean.
        ci95: its interval over photos; None without resamples.
        chance: what guessing gives on the same trials.
        n_trials: how many.
        n_stimuli: photos among them.
    """

    measure: Literal["accuracy", "wrongness", "head"]
    by: dict[str, str]
    value: float
    ci95: Interval | None
    chance: float
    n_trials: int
    n_stimuli: int


class Checks(Record):
    """The paper's other checks, as far as the trials allow them.

    Attributes:
        sites: wrongness by where photos were taken.
        response_time: whether slower answers are less often right.
        hint: whether the prompts named have another accuracy.
    """

    sites: tuple[one_respondent.Effect, ...] = ()
    response_time: one_respondent.Effect | None = None
    hint: one_respondent.Effect | None = None


class RespondentResult(Record):
    """One respondent.

    Attributes:
        respondent: its name.
        n_trials: how many, in all conditions.
        n_unmatched: how many whose reply could not be matched; they are wrong.
        summary: one sentence on its type and mechanism.
        accuracy: by number of objects, over the trials of `accuracy_of` (Table 1).
        accuracy_ci95: their intervals.
        accuracy_trials: how many trials each of them rests on.
        accuracy_of: `natural`, the condition of Table 1, or `all` where there is none of it.
        tests: by key.
        type: what they lead to.
        mechanism: the cue model; None if the trials do not allow one.
        no_mechanism: why there is none.
        cells: means by condition, view, proximity, DistEyeHead, offset (place of the head target less that of the gaze
            target) and response time.
        checks: the rest.
    """

    respondent: str
    n_trials: int
    n_unmatched: int
    summary: str
    accuracy: dict[str, float]
    accuracy_ci95: dict[str, Interval | None]
    accuracy_trials: dict[str, int]
    accuracy_of: Literal["natural", "all"]
    tests: dict[Key, Finding]
    type: Type
    mechanism: Mechanism | None
    no_mechanism: str | None = None
    cells: tuple[Cell, ...]
    checks: Checks


class GazeSignature(Record):
    """Where the numbers come from, in full. `str()` of it is the short form for a table's foot.

    Attributes:
        version: of spotball-core.
        data: SHA-256 over all trials, whatever order they came in.
        people: respondent that Test 1 compares with; None for the published people.
        policy: alpha and multiplicity.
        bootstrap: resamples of the photos, for intervals of means.
        seed: of what is drawn.
        dropped: trials left out, by reason.
    """

    version: str
    data: str
    people: str | None
    policy: TestPolicy
    bootstrap: int
    seed: int
    dropped: dict[str, int]

    def __str__(self) -> str:
        fields = {
            "v": self.version,
            "data": self.data[:8],
            "people": self.people or "published",
            "alpha": f"{self.policy.alpha:g}",
            "multiplicity": self.policy.multiplicity,
            "boot": self.bootstrap,
            "seed": self.seed,
        }
        return "|".join(["spotball-gaze", *(f"{key}:{value}" for key, value in fields.items())])


class Fleet(Record):
    """All respondents together.

    Attributes:
        against_chance: accuracy against guessing, each of them.
        trends: accuracy against release date and size, where these are known.
        compared: two of them, where that was asked for.
    """

    against_chance: FleetAgainstChance
    trends: tuple[Trend, ...] = ()
    compared: TwoRespondents | None = None


class GazeReport(Record):
    """Everything the analysis has to say.

    Attributes:
        respondents: in the order of the file.
        fleet: all of them together.
        n_stimuli: photos, by condition and number of objects.
        chance: accuracy of uniform guessing by condition, the mean over respondents.
        warnings: what to bear in mind.
        signature: of all numbers, short.
        provenance: the same in full.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    respondents: tuple[RespondentResult, ...]
    fleet: Fleet
    n_stimuli: dict[str, dict[str, int]]
    chance: dict[str, float]
    warnings: tuple[str, ...]
    signature: str
    provenance: GazeSignature


@dataclass(frozen=True)
class GazeOptions:
    """What is asked of an analysis.

    Attributes:
        policy: alpha and multiplicity.
        people: respondent whose responses Test 1 compares with; None for `human` if it is there, else the published
            people.
        hinted: prompts with a hint.
        models: what is known of models beside their answers.
        compare: two respondents whose accuracies are compared.
        bootstrap: resamples for intervals of means.
        seed: of what is drawn.
        jobs: processes.
    """

    policy: TestPolicy = field(default_factory=TestPolicy)
    people: str | None = None
    hinted: tuple[str, ...] = ()
    models: Mapping[str, ModelFacts] | None = None
    compare: tuple[str, str] | None = None
    bootstrap: int = 1000
    seed: int = 0
    jobs: int = 1


@dataclass(frozen=True)
class _RespondentTask:
    rows: pl.DataFrame
    people: pl.DataFrame | None
    options: GazeOptions


def analyze(
    trials: Trials, options: GazeOptions | None = None, *, on_progress: Callable[[str], None] = lambda name: None
) -> GazeReport:
    """Run the battery and all checks for each respondent.

    Args:
        trials: of one respondent or several.
        options: the choices.
        on_progress: called with each respondent's name when it is done.

    Raises:
        OptionError: for names of people, prompts or respondents that the trials do not have, or no trials.
    """
    from spotball_core.version import version

    options = options or GazeOptions()
    names = trials.respondents
    if not names:
        raise OptionError("there are no trials but attention checks" if trials.n_checks else "there are no trials")
    for name in [*([options.people] if options.people else []), *(options.compare or ())]:
        if name not in names:
            raise OptionError(f"there is no respondent {name}; there are {', '.join(names[:20])}")
    people = options.people or (HUMAN if HUMAN in names else None)
    rows = with_measures(trials.frame)
    reference = rows.filter(respondent=people) if people else None
    tasks = [
        _RespondentTask(rows.filter(respondent=name), None if name == people else reference, options) for name in names
    ]
    results = []
    for result in in_processes(_respondent, tasks, options.jobs):
        on_progress(result.respondent)
        results.append(result)
    provenance = GazeSignature(
        version=version(),
        data=trials.digest(),
        people=people,
        policy=options.policy,
        bootstrap=options.bootstrap,
        seed=options.seed,
        dropped={"attention checks": trials.n_checks},
    )
    return GazeReport(
        respondents=tuple(results),
        fleet=_fleet(rows, options),
        n_stimuli=_n_stimuli(rows),
        chance=_chance(results),
        warnings=tuple(_warnings(rows, results, people)),
        signature=str(provenance),
        provenance=provenance,
    )


def _respondent(task: _RespondentTask) -> RespondentResult:
    import polars as pl

    rows, options = task.rows, task.options
    tests, kind = run_battery(rows, options.policy, people=task.people)
    natural = rows.filter(condition="natural")
    accuracy_of: Literal["natural", "all"] = "all" if natural.is_empty() else "natural"
    accuracy = accuracy_by_objects(
        rows if natural.is_empty() else natural, resamples=options.bootstrap, seed=options.seed
    )
    hinted = [prompt for prompt in options.hinted if prompt in set(rows["prompt_id"])]
    if options.hinted and not hinted:
        raise OptionError(f"none of the prompts {', '.join(options.hinted)} is among the trials")
    timed = rows["response_time"].null_count() < len(rows)
    mechanism, no_mechanism = mechanism_or_reason(rows, seed=options.seed)
    return RespondentResult(
        respondent=rows["respondent"][0],
        n_trials=len(rows),
        n_unmatched=rows.select(pl.col("choice").null_count()).item(),
        summary=summary(kind, mechanism),
        accuracy={str(n): mean.value for n, mean in accuracy.items()},
        accuracy_ci95={str(n): mean.ci95 for n, mean in accuracy.items()},
        accuracy_trials={str(n): mean.n_trials for n, mean in accuracy.items()},
        accuracy_of=accuracy_of,
        tests=tests,
        type=kind,
        mechanism=mechanism,
        no_mechanism=no_mechanism,
        cells=tuple(_cells(rows, options)),
        checks=Checks(
            sites=one_respondent.site_effect(rows),
            response_time=one_respondent.response_time_effect(rows) if timed else None,
            hint=one_respondent.hint_effect(rows, hinted) if hinted else None,
        ),
    )


def summary(kind: Type, mechanism: Mechanism | None) -> str:
    """Return one sentence on a respondent: its type and what the cue model says.

    Args:
        kind: its type.
        mechanism: its cue model.
    """
    says = mechanism.says if mechanism else "There is no cue model."
    return f"Type {kind}. {says}"


def _cells(rows: pl.DataFrame, options: GazeOptions) -> list[Cell]:
    """The means that tables and figures show."""
    import polars as pl

    matched = rows.filter(pl.col("wrongness").is_not_null())
    facing = rows.filter(pl.col("condition") != "natural")
    agreeing = matched.filter(pl.col("condition") != "incongruent")
    rows = rows.with_columns(chance=1 / pl.col("n_objects"))
    facing = facing.with_columns(chance=1 / pl.col("n_objects"), offset=pl.col("head") - pl.col("gaze"))
    measures: Sequence[tuple[Literal["accuracy", "wrongness", "head"], str, str, pl.DataFrame, tuple[str, ...]]] = (
        ("accuracy", "correct", "chance", rows, ("condition",)),
        ("accuracy", "correct", "chance", rows, ("condition", "n_objects")),
        ("accuracy", "correct", "chance", rows, ("condition", "view")),
        ("accuracy", "correct", "chance", rows, ("condition", "proximity")),
        ("wrongness", "wrongness", "expected_wrongness", matched, ("condition",)),
        ("wrongness", "wrongness", "expected_wrongness", agreeing, ("proximity",)),
        ("wrongness", "wrongness", "expected_wrongness", agreeing, ("view", "proximity")),
        ("head", "is_head", "chance", facing, ("n_objects", "dist_eye_head")),
        ("head", "is_head", "chance", facing, ("n_objects", "offset")),
        ("accuracy", "correct", "chance", _timed(rows), ("seconds_from",)),
    )
    cells = []
    for measure, column, chance, of_these, keys in measures:
        for values, group in sorted(of_these.group_by(keys, maintain_order=True), key=lambda pair: str(pair[0])):
            mean = share(group[column], group["stimulus_id"], resamples=options.bootstrap, seed=options.seed)
            cells.append(_cell(measure, dict(zip(keys, values, strict=True)), mean, group[chance]))
    return cells


def _timed(rows: pl.DataFrame) -> pl.DataFrame:
    """Trials with a response time, and its kind, one of `SECONDS`."""
    import numpy as np
    import polars as pl

    timed = rows.filter(pl.col("response_time") > 0)
    kinds = np.searchsorted(SECONDS, timed["response_time"].to_numpy(), side="right") - 1
    return timed.with_columns(seconds_from=pl.Series(np.take(SECONDS, np.maximum(kinds, 0)), dtype=pl.Float64))


def _cell(
    measure: Literal["accuracy", "wrongness", "head"], by: Mapping[str, object], mean: Share, chance: pl.Series
) -> Cell:
    labels = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in by.items()}
    return Cell(
        measure=measure,
        by=labels,
        value=mean.value,
        ci95=mean.ci95,
        chance=float(chance.to_numpy().mean()),
        n_trials=mean.n_trials,
        n_stimuli=mean.n_stimuli,
    )


def _fleet(rows: pl.DataFrame, options: GazeOptions) -> Fleet:
    chance_tests = against_chance(rows, alpha=options.policy.alpha)
    accuracy = {result.respondent: result.accuracy for result in chance_tests.respondents}
    return Fleet(
        against_chance=chance_tests,
        trends=trends(accuracy, options.models) if options.models else (),
        compared=compare_two(rows, *options.compare) if options.compare else None,
    )


def _n_stimuli(rows: pl.DataFrame) -> dict[str, dict[str, int]]:
    import polars as pl

    counts = rows.group_by("condition", "n_objects").agg(pl.col("stimulus_id").n_unique()).sort("n_objects")
    by_condition: dict[str, dict[str, int]] = {}
    for condition, n_objects, n in counts.iter_rows():
        by_condition.setdefault(condition, {})[str(n_objects)] = n
    return by_condition


def _chance(results: Sequence[RespondentResult]) -> dict[str, float]:
    chances: dict[str, list[float]] = {}
    for cell in (cell for result in results for cell in result.cells):
        if cell.measure == "accuracy" and cell.by.keys() == {"condition"}:
            chances.setdefault(cell.by["condition"], []).append(cell.chance)
    return {condition: sum(values) / len(values) for condition, values in chances.items()}


def _warnings(rows: pl.DataFrame, results: Sequence[RespondentResult], people: str | None) -> list[str]:
    warnings = []
    for result in results:
        name = result.respondent
        if result.n_unmatched > 0.05 * result.n_trials:
            warnings.append(
                f"{name}: {result.n_unmatched / result.n_trials:.0%} of the choices are unmatched, and wrong"
            )
        if result.no_mechanism:
            warnings.append(f"{name}: no cue model, since {result.no_mechanism}")
        for key, test in result.tests.items():
            if test.reason and test.verdict is not None:
                warnings.append(f"{name}, Test {key}: a t-test stands in, since {test.reason}")
            warnings += [f"{name}, Test {key}: {note}" for note in test.notes]
    photos_of = {
        name: set(rows.filter(respondent=name)["stimulus_id"]) for name in {result.respondent for result in results}
    }
    if len({frozenset(photos) for photos in photos_of.values()}) > 1:
        warnings.append("respondents answered different photos: their accuracies are not of the same")
    if people is None:
        warnings.append("Test 1 compares with the published people, who saw the pilot's photos")
    return warnings
