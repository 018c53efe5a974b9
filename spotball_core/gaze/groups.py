r"""Compare groups of participants, and estimate each participant's weight of the head.

The cue model is fitted to the trials of each group. Differences between two groups have intervals from the intervals of
both groups (Zou and Donner 2008): with the values $a, b$ and their intervals $[l_a, u_a], [l_b, u_b]$, the interval of
$a - b$ is from $a - b - \sqrt{(a - l_a)^2 + (u_b - b)^2}$ to $a - b + \sqrt{(u_a - a)^2 + (b - l_b)^2}$.

One participant has too few trials for a cue model. The weight of each participant is therefore estimated by empirical
Bayes: all parameters except w are those of the group, and w has a beta distribution over the participants of the group,
whose mean and variance maximize the likelihood of all choices. The estimate is the mean of the posterior distribution.
Its shrinkage is the variance of the posterior divided by that of the beta distribution: near 0, the participant's own
trials determine the estimate, and near 1, the group does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.gaze.data.trials import GROUP, Trials
from spotball_core.gaze.measures import share, with_measures
from spotball_core.gaze.mechanism.counts import count_choices
from spotball_core.gaze.mechanism.kernels import Kernel
from spotball_core.gaze.mechanism.likelihood import CueLikelihood
from spotball_core.gaze.mechanism.records import Estimate, Mechanism
from spotball_core.gaze.mechanism.run import mechanism_or_reason
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.service.parallel import in_processes
from spotball_core.service.progress import OnProgress, counted, ignore_progress
from spotball_core.text.tables import Titled
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl

SCHEMA_VERSION: Final = 1

MOST_LEVELS: Final = 6
"""Numbers with more different values, such as ages, are split into two groups at their median."""

Quantity = Literal["accuracy", "w", "noise"]

_GRID: Final[FloatArray] = (np.arange(100) + 0.5) / 100
"""Values of w at which posterior distributions are computed."""

_MEANS: Final[FloatArray] = (np.arange(50) + 0.5) / 50
_SIZES: Final[FloatArray] = np.geomspace(1, 1000, 31)
"""Means and sizes (a + b) of the beta distributions of which the most likely one is used."""


class ParticipantWeight(Record):
    """One participant's weight of the head.

    Attributes:
        participant: label of the participant.
        n_trials: number of trials that the cue model uses.
        w: mean of the posterior distribution of the weight.
        ci95: interval with 95% of the posterior distribution.
        shrinkage: variance of the posterior divided by that of the group's distribution.
    """

    participant: str
    n_trials: int
    w: float
    ci95: Interval
    shrinkage: float


class GroupResult(Record):
    """The results of one group of a respondent.

    Attributes:
        respondent: name of the respondent.
        group: the value of the column that defines the groups.
        n_trials: number of trials.
        n_participants: number of participants; 0 if they are unknown.
        accuracy: accuracy over all conditions, with a bootstrap interval over participants (photos if there are fewer
            than two participants).
        w: weight of the head.
        noise: noise from trial to trial, in steps between objects.
        kind: the mechanism; None without a cue model.
        participants: weights of the participants; empty if they are unknown, or if the choices do not depend on eyes
            and head.
        reason: why the cue model was not fitted, or None if it was.
    """

    respondent: str
    group: str
    n_trials: int
    n_participants: int
    accuracy: Estimate
    w: Estimate
    noise: Estimate
    kind: str | None
    participants: tuple[ParticipantWeight, ...] = ()
    reason: str | None = None


class GroupDifference(Record):
    """Difference of a quantity between two groups of a respondent, `a` minus `b`, with its 95% interval."""

    respondent: str
    a: str
    b: str
    quantity: Quantity
    difference: float
    ci95: Interval


class GazeGroups(Record):
    """A comparison of groups of participants.

    Attributes:
        by: the column that defines the groups.
        groups: the results of each respondent's groups.
        differences: differences between each two groups of a respondent, for the quantities that both have.
        warnings: one text per group without a cue model, and the number of trials without a group.
        signature: version, data, column and seed.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    by: str
    groups: tuple[GroupResult, ...]
    differences: tuple[GroupDifference, ...]
    warnings: tuple[str, ...]
    signature: str


@dataclass(frozen=True)
class _GroupTask:
    group: str
    rows: pl.DataFrame
    bootstrap: int
    seed: int


def compare_groups(
    trials: Trials,
    by: str,
    *,
    bootstrap: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> GazeGroups:
    """Fit the cue model to each group of each respondent, and compare the groups.

    Args:
        trials: trials that were read with `by`.
        by: the column that defines the groups, as the result names it.
        bootstrap: number of resamples, for intervals of accuracies.
        seed: seed of all random draws.
        jobs: number of processes.
        on_progress: called with the number of finished groups, and their total.

    Raises:
        OptionError: if no respondent has trials of two groups.
    """
    import polars as pl

    from spotball_core.version import version

    rows = with_measures(trials.frame).with_columns(_levels(trials.frame[GROUP]).alias(GROUP))
    tasks = [
        _GroupTask(group, part, bootstrap, seed)
        for name in trials.respondents
        for group in rows.filter(pl.col("respondent") == name)[GROUP].drop_nulls().unique().sort()
        for part in [rows.filter(pl.col("respondent") == name, pl.col(GROUP) == group)]
    ]
    counts = [task.rows["respondent"][0] for task in tasks]
    if len(counts) == len(set(counts)):
        raise OptionError(
            f"found {len(tasks)} groups, expected trials of two groups of a respondent. Check the column {by!r}",
            code="no-data",
            field="--by",
        )
    groups = tuple(counted(in_processes(_group, tasks, jobs), len(tasks), on_progress))
    warnings = [f"{one.respondent}, {one.group}: {one.reason}" for one in groups if one.reason]
    if without := int(rows[GROUP].null_count()):
        warnings.append(f"{without:,} trials have no value in the column {by!r} and are excluded")
    return GazeGroups(
        by=by,
        groups=groups,
        differences=tuple(_differences(groups)),
        warnings=tuple(warnings),
        signature=f"spotball-gaze-groups|v:{version()}|data:{trials.digest()[:8]}|by:{by}|boot:{bootstrap}|seed:{seed}",
    )


def difference(a: Estimate, b: Estimate) -> tuple[float, Interval] | None:
    """Return the difference between two estimates with its 95% interval; None if one has no interval.

    Examples:
        >>> value, ends = difference(Estimate(value=0.7, ci95=(0.6, 0.8)), Estimate(value=0.4, ci95=(0.3, 0.5)))
        >>> round(value, 3), [round(end, 3) for end in ends]
        (0.3, [0.159, 0.441])
    """
    if a.value is None or b.value is None or a.ci95 is None or b.ci95 is None:
        return None
    value = a.value - b.value
    low = value - float(np.hypot(a.value - a.ci95[0], b.ci95[1] - b.value))
    return value, (low, value + float(np.hypot(a.ci95[1] - a.value, b.value - b.ci95[0])))


def participant_weights(likelihoods: Mapping[str, FloatArray]) -> dict[str, tuple[float, Interval, float]]:
    """Return each participant's weight, its 95% interval and its shrinkage, by empirical Bayes.

    Args:
        likelihoods: log likelihood of each participant's choices at the values `_GRID` of w.
    """
    logs = np.stack(list(likelihoods.values()))
    own = np.exp(logs - logs.max(axis=1, keepdims=True))
    a, b = (np.outer(_SIZES, part).ravel()[:, None] for part in (_MEANS, 1 - _MEANS))
    shape = (a - 1) * np.log(_GRID) + (b - 1) * np.log(1 - _GRID)
    priors = np.exp(shape - shape.max(axis=1, keepdims=True))
    priors /= priors.sum(axis=1, keepdims=True)
    prior = priors[np.log(own @ priors.T).sum(axis=0).argmax()]
    posterior = own * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    mean = posterior @ _GRID
    variance = posterior @ _GRID**2 - mean**2
    spread = float(prior @ _GRID**2 - (prior @ _GRID) ** 2)
    ends = [[float(np.interp(tail, np.cumsum(row), _GRID)) for tail in (0.025, 0.975)] for row in posterior]
    return {
        name: (float(mean[n]), (ends[n][0], ends[n][1]), min(1.0, float(variance[n]) / spread))
        for n, name in enumerate(likelihoods)
    }


def _levels(column: pl.Series) -> pl.Series:
    """Return the groups: the values, or for many different numbers whether they are above the median."""
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    middle = numbers.unique().median()
    is_number = numbers.null_count() == column.null_count()
    if not is_number or column.n_unique() <= MOST_LEVELS or not isinstance(middle, float):
        return column
    low, high = f"up to {middle:g}", f"above {middle:g}"
    return pl.select(pl.when(numbers <= middle).then(pl.lit(low)).when(numbers > middle).then(pl.lit(high))).to_series()


def _group(task: _GroupTask) -> GroupResult:
    rows = task.rows
    mechanism, reason = mechanism_or_reason(rows, seed=task.seed)
    people = rows["participant"]
    n_people = people.n_unique() if people.null_count() == 0 else 0
    unit = people if n_people > 1 else rows["stimulus_id"]
    mean = share(rows["correct"], unit, resamples=task.bootstrap, seed=task.seed)
    missing = Estimate(value=None, ci95=None, reason=reason)
    return GroupResult(
        respondent=rows["respondent"][0],
        group=task.group,
        n_trials=len(rows),
        n_participants=n_people,
        accuracy=Estimate(value=mean.value, ci95=mean.ci95),
        w=mechanism.w if mechanism else missing,
        noise=mechanism.noise if mechanism else missing,
        kind=mechanism.kind if mechanism else None,
        participants=tuple(_participants(rows, mechanism)) if mechanism and n_people > 1 else (),
        reason=reason,
    )


def _participants(rows: pl.DataFrame, mechanism: Mechanism) -> Iterator[ParticipantWeight]:
    import polars as pl

    if mechanism.noise.value is None:
        return
    known = rows.filter(pl.col("head").is_not_null() & pl.col("choice").is_not_null())
    counts = {str(name): count_choices(part) for (name,), part in known.group_by("participant", maintain_order=True)}
    photo = mechanism.photo_noise.value or 0.0
    likelihoods = {}
    for name, data in counts.items():
        # If no photo is repeated, the noise per photo is part of the noise per trial.
        noise = mechanism.noise.value if data.repeated else float(np.hypot(mechanism.noise.value, photo))
        fixed = (mechanism.q.value or 0.0, np.log(noise), *_logs(mechanism.closeness, mechanism.side))
        rest = (*fixed, np.log(max(photo, 1e-6)), mechanism.lapse.value or 0.0)
        model = CueLikelihood(data, Kernel(mechanism.shape, mechanism.ends))
        likelihoods[name] = np.array([model.per_photo(np.array([w, *rest])).sum() for w in _GRID])
    for name, (w, ends, shrinkage) in participant_weights(likelihoods).items():
        yield ParticipantWeight(participant=name, n_trials=counts[name].n_trials, w=w, ci95=ends, shrinkage=shrinkage)


def _logs(*factors: Estimate) -> list[float]:
    return [float(np.log(factor.value)) if factor.value else 0.0 for factor in factors]


def _differences(groups: Sequence[GroupResult]) -> Iterator[GroupDifference]:
    quantities: tuple[Quantity, ...] = ("accuracy", "w", "noise")
    for a, b in combinations(groups, 2):
        for quantity in quantities if a.respondent == b.respondent else ():
            found = difference(getattr(a, quantity), getattr(b, quantity))
            if found:
                yield GroupDifference(
                    respondent=a.respondent, a=a.group, b=b.group, quantity=quantity, difference=found[0], ci95=found[1]
                )


def group_tables(result: GazeGroups, *, full: bool) -> Iterator[Titled]:
    """Yield the tables of the groups and of their differences, and with `full` that of the participants."""
    heads = ["respondent", result.by, "participants", "trials", "accuracy", "mechanism", "head's weight w", "noise"]
    rows = [
        [
            *(one.respondent, one.group, f"{one.n_participants:,}", f"{one.n_trials:,}", _cell(one.accuracy)),
            *(one.kind or "-", _cell(one.w), _cell(one.noise)),
        ]
        for one in result.groups
    ]
    yield f"Groups by {result.by}", 2, heads, rows
    rows = [
        [one.respondent, f"{one.a} - {one.b}", one.quantity, f"{one.difference:+.3f}\n{_ends(one.ci95, '+')}"]
        for one in result.differences
    ]
    yield "Differences between groups", 3, ["respondent", "groups", "quantity", "difference"], rows
    if full:
        rows = [
            [
                *(one.respondent, one.group, person.participant, f"{person.n_trials:,}"),
                *(f"{person.w:.3f}\n{_ends(person.ci95)}", f"{person.shrinkage:.2f}"),
            ]
            for one in result.groups
            for person in one.participants
        ]
        heads = ["respondent", result.by, "participant", "trials", "head's weight w", "shrinkage"]
        yield "Weights of participants", 3, heads, rows


def group_foot(result: GazeGroups) -> str:
    """Return the lines of text that follow the tables."""
    lines = [f"warning: {warning}" for warning in result.warnings]
    lines.append(
        "Brackets show 95% intervals. Weights of participants are shrunk toward their group (empirical Bayes)."
    )
    return "\n".join([*lines, result.signature])


def _cell(estimate: Estimate) -> str:
    if estimate.value is None or estimate.ci95 is None:
        return "-" if estimate.value is None else f"{estimate.value:.3f}"
    bound = " (at bound)" if estimate.at_bound else ""
    return f"{estimate.value:.3f}{bound}\n{_ends(estimate.ci95)}"


def _ends(ends: Interval, sign: str = "") -> str:
    return f"[{ends[0]:{sign}.3f}, {ends[1]:{sign}.3f}]"
