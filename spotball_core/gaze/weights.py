"""Fit the cue model to all respondents, and define the result of `spotball gaze analyze --only weights`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from spotball_core.errors import OptionError
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.mechanism.records import Estimate, Mechanism
from spotball_core.gaze.mechanism.run import mechanism_or_reason
from spotball_core.schema.record import Record
from spotball_core.service.parallel import in_processes
from spotball_core.service.progress import OnProgress, counted, ignore_progress
from spotball_core.text.numbers import interval, number
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION: Final = 1


class RespondentWeights(Record):
    """The cue model of one respondent, or the reason why there is none.

    Attributes:
        respondent: name of the respondent.
        n_trials: number of the respondent's trials; `mechanism` states how many the cue model uses.
        mechanism: the fitted cue model; None if it was not fitted.
        reason: why the cue model was not fitted; None if it was.
    """

    respondent: str
    n_trials: int
    mechanism: Mechanism | None
    reason: str | None = None


class GazeWeights(Record):
    """The cue models of all respondents.

    Attributes:
        respondents: the cue models of the respondents, in the order of the file.
        warnings: one text per respondent without a cue model, with the reason.
        signature: version, data and seed.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    respondents: tuple[RespondentWeights, ...]
    warnings: tuple[str, ...]
    signature: str


@dataclass(frozen=True)
class _WeightsTask:
    respondent: str
    rows: pl.DataFrame
    seed: int


def estimate_weights(
    trials: Trials, *, seed: int = 0, jobs: int = 1, on_progress: OnProgress = ignore_progress
) -> GazeWeights:
    """Fit the cue model to each respondent's trials.

    Args:
        trials: trials of one or more respondents.
        seed: seed of the folds of the cross-validation and of the simulations in the check.
        jobs: number of processes.
        on_progress: called with the number of finished respondents, and their total.

    Raises:
        OptionError: if there are no trials.
    """
    from spotball_core.version import version

    names = trials.respondents
    if not names:
        raise OptionError(
            "the files contain only attention checks. Add other trials"
            if trials.n_checks
            else "the files contain no trials. Add trials",
            code="no-data",
        )
    tasks = [_WeightsTask(name, trials.of(name), seed) for name in names]
    results = tuple(counted(in_processes(_weights, tasks, jobs), len(tasks), on_progress))
    return GazeWeights(
        respondents=results,
        warnings=tuple(f"{result.respondent}: {result.reason}" for result in results if result.reason),
        signature=f"spotball-gaze-weights|v:{version()}|data:{trials.digest()[:8]}|seed:{seed}",
    )


def _weights(task: _WeightsTask) -> RespondentWeights:
    mechanism, reason = mechanism_or_reason(task.rows, seed=task.seed)
    return RespondentWeights(respondent=task.respondent, n_trials=len(task.rows), mechanism=mechanism, reason=reason)


def weights_as_text(weights: GazeWeights, *, to_terminal: bool = False) -> str:
    """Return the cue models as text tables.

    Args:
        weights: the cue models of all respondents.
        to_terminal: whether tables use the width of the terminal, if standard output is a terminal.
    """
    return tables_as_text(_tables(weights), "\n".join(_foot(weights)), to_terminal=to_terminal)


def weights_as_markdown(weights: GazeWeights) -> str:
    """Return the cue models as Markdown tables, followed by the signature."""
    return tables_as_markdown(_tables(weights), "\n".join(_foot(weights)))


def mechanism_table(named: list[tuple[str, Mechanism | None]]) -> Titled:
    """Return the table of the cue models, with one row per respondent.

    Args:
        named: names of respondents with their cue models; None for a respondent without a cue model.
    """
    heads = ["respondent", "mechanism", "head's weight w (%)", "one cue alone q (%)", "noise (steps)", "lapses (%)"]
    rows = [
        [
            name,
            cue_model.kind,
            _percent(cue_model.w),
            _percent(cue_model.q),
            _steps(cue_model.noise),
            _percent(cue_model.lapse),
        ]
        if cue_model
        else [name, "-", "-", "-", "-", "-"]
        for name, cue_model in named
    ]
    return "Cue model", 2, heads, rows


def _tables(weights: GazeWeights) -> Iterator[Titled]:
    yield mechanism_table([(result.respondent, result.mechanism) for result in weights.respondents])


def _foot(weights: GazeWeights) -> Iterator[str]:
    for one in weights.respondents:
        if one.mechanism:
            yield f"{one.respondent}: {one.mechanism.says}"
    yield from (f"warning: {warning}" for warning in weights.warnings)
    yield "Brackets show 95% profile likelihood intervals. A dash (-) means that the choices do not determine a value."
    yield weights.signature


def _percent(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    return f"{number(estimate.value, 'share')}\n{interval(estimate.ci95, 'share')}"


def _steps(estimate: Estimate) -> str:
    if estimate.value is None or estimate.ci95 is None:
        return "-"
    bound = " (at bound)" if estimate.at_bound else ""
    return f"{estimate.value:.2f}{bound}\n[{estimate.ci95[0]:.2f}, {estimate.ci95[1]:.2f}]"
