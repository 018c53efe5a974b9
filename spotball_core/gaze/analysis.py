"""Run all tests for all respondents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from spotball_core.errors import OptionError, unknown_name
from spotball_core.gaze import checks as one_respondent
from spotball_core.gaze.battery.chance import at_chance
from spotball_core.gaze.battery.findings import Finding
from spotball_core.gaze.battery.run import TestPolicy, run_battery
from spotball_core.gaze.battery.stability import Stability, stability
from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.cautions import cautions, remarks
from spotball_core.gaze.cells import cells_of
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.fleet import ModelFacts, against_chance, compare_two, trends
from spotball_core.gaze.measures import accuracy_by_objects, with_measures
from spotball_core.gaze.mechanism.constant import Constant, constant_choice
from spotball_core.gaze.mechanism.records import Mechanism
from spotball_core.gaze.mechanism.run import mechanism_or_reason
from spotball_core.gaze.result import Checks, Fleet, GazeReport, GazeSignature, RespondentResult
from spotball_core.service.parallel import in_processes

if TYPE_CHECKING:
    import polars as pl

HUMAN: Final = "human"


@dataclass(frozen=True)
class GazeOptions:
    """Options of `analyze`.

    Attributes:
        policy: alpha and the correction for multiple tests.
        people: the respondent that stands for people in Test 1. With None, this is the respondent `human` if the trials
            have one; else Test 1 uses the published accuracies of people.
        hinted: IDs of the prompts that contain a hint; if empty, the effect of hints is not tested.
        models: release dates and sizes of models, by respondent; None for no trends.
        compare: two respondents whose accuracies are compared; None for no comparison.
        bootstrap: number of resamples of the photos, for intervals of means.
        stability: number of bootstrap samples of the scenes for the stability of types; 0 to skip the estimate.
        seed: seed of all random draws.
        jobs: number of processes.
    """

    policy: TestPolicy = field(default_factory=TestPolicy)
    people: str | None = None
    hinted: tuple[str, ...] = ()
    models: Mapping[str, ModelFacts] | None = None
    compare: tuple[str, str] | None = None
    bootstrap: int = 1000
    stability: int = 0
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
    """Run the battery of tests and all checks for each respondent, and return the report.

    Args:
        trials: trials of one or more respondents.
        options: options of the analysis (default: `GazeOptions()`).
        on_progress: called with each respondent's name when it is finished.

    Raises:
        OptionError: if there are no trials, if `options.people` or `options.compare` names a respondent without trials,
            if the two compared respondents have no photo in common, or if `options.hinted` is not empty and contains
            none or all of a respondent's prompts.
    """
    from spotball_core.version import version

    options = options or GazeOptions()
    names = trials.respondents
    if not names:
        raise OptionError(
            "the files contain only attention checks. Add other trials"
            if trials.n_checks
            else "the files contain no trials. Add trials",
            code="no-data",
        )
    for name in [*([options.people] if options.people else []), *(options.compare or ())]:
        if name not in names:
            raise OptionError(unknown_name("respondent", name, names[:20]), code="unknown-name")
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
        warnings=tuple(cautions(rows, results, people)),
        remarks=tuple(remarks(results)),
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
        raise OptionError(
            f"no trial has the prompt {' or '.join(options.hinted)}. Check the column `prompt_id`",
            code="unknown-name",
            field="--hinted",
        )
    timed = rows["response_time"].null_count() < len(rows)
    stable = (
        stability(
            rows,
            kind,
            resamples=options.stability,
            policy=options.policy,
            people=task.people,
            seed=options.seed,
        )
        if options.stability
        else None
    )
    mechanism, no_mechanism = mechanism_or_reason(rows, seed=options.seed)
    constant = constant_choice(rows)
    return RespondentResult(
        respondent=rows["respondent"][0],
        n_trials=len(rows),
        n_unmatched=rows.select(pl.col("choice").null_count()).item(),
        summary=summary(kind, stable, constant or mechanism or no_mechanism, tests["1"]),
        accuracy={str(n): mean.value for n, mean in accuracy.items()},
        accuracy_ci95={str(n): mean.ci95 for n, mean in accuracy.items()},
        accuracy_trials={str(n): mean.n_trials for n, mean in accuracy.items()},
        accuracy_of=accuracy_of,
        tests=tests,
        type=kind,
        constant=constant,
        at_chance=at_chance(rows, alpha=options.policy.alpha),
        stability=stable,
        mechanism=mechanism,
        no_mechanism=no_mechanism,
        cells=tuple(cells_of(rows, resamples=options.bootstrap, seed=options.seed)),
        checks=Checks(
            sites=one_respondent.site_effect(rows),
            response_time=one_respondent.response_time_effect(rows) if timed else None,
            hint=one_respondent.hint_effect(rows, hinted) if hinted else None,
        ),
    )


def summary(kind: Type, stable: Stability | None, mechanism: Constant | Mechanism | str | None, gap: Finding) -> str:
    """Describe a respondent: its constant choice or the result of the cue model, and then the type.

    Args:
        kind: the respondent's type.
        stable: the stability of the type; None if it was not estimated.
        mechanism: the respondent's constant choice or cue model, or why the cue model was not fitted.
        gap: the finding of Test 1.
    """
    if isinstance(mechanism, Mechanism):
        says = mechanism.says
    elif isinstance(mechanism, Constant):
        says = f"{mechanism.says.capitalize()}."
    else:
        says = f"The cue model was not fitted: {mechanism}."
    often = f" (also in {stable.share:.0%} of {stable.resamples} resamples)" if stable else ""
    type_says = f"The type by the paper's tests is {kind}{often}."
    if kind == "no gap shown":
        seen = 100 * gap.numbers["detectable"]
        type_says += (
            f" It is not distinguishable from people with these data; a gap of {seen:.0f} points would be seen."
        )
    return f"{says} {type_says}"


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
