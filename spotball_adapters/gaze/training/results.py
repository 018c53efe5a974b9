"""Summarize an experiment's accuracy by condition over its seeds, as a report, a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np

from spotball_adapters.gaze.training.experiment import BEFORE
from spotball_adapters.gaze.training.pictures import AGREE, DISAGREE
from spotball_adapters.gaze.training.settings import Run, TrainingSettings
from spotball_core.gaze.data.stimuli import Condition
from spotball_core.gaze.data.trials import Trials
from spotball_core.gaze.plain_tests import mean_share, one_sample
from spotball_core.gaze.published import SOURCE, TABLE_3, percent
from spotball_core.pages.figures import ENDINGS
from spotball_core.plots.canvas import FigureFrame, plain_style
from spotball_core.plots.theme import FAINT, THEME, save_figure
from spotball_core.plots.trends import TrendChart, TrendLine, TrendPanel, TrendPoint
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval
from spotball_core.text.numbers import interval, number
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text

ORDER: Final[tuple[Condition, ...]] = ("congruent", "incongruent", "natural")
"""The conditions, in the order of the columns of the gaze paper's Table 3."""

AT_CHANCE: Final = 0.05
"""A model is at chance if its accuracy is above guessing by less than this in each condition."""

FIGURE: Final = "gaze-training"

_LOOKS: Final = {"congruent": ("model-1", "o"), "incongruent": ("people", "s"), "natural": ("model-2", "^")}
_SAID: Final = {
    AGREE: "head and eyes agree",
    DISAGREE: "head and eyes often disagree",
    BEFORE: "before training",
}


class Over(Record):
    """Summary of a share (or of a difference of two shares) over runs with different seeds.

    Attributes:
        mean: mean over seeds.
        sd: standard deviation over seeds (with divisor n - 1), or None for one seed.
        ci95: Student's 95% confidence interval of the mean, computed on the log-odds scale for shares, or None for one
            seed or if all values are equal.
        seeds: the value of each seed, in the order of the runs.
    """

    mean: float
    sd: float | None
    ci95: Interval | None
    seeds: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Over:
        """Summarize shares, one per seed. The confidence interval stays between 0 and 1."""
        return cls._with(values, mean_share(values))

    @classmethod
    def of_differences(cls, values: Sequence[float]) -> Over:
        """Summarize differences between two shares, one per seed."""
        estimate = one_sample(values)
        return cls._with(values, estimate.ci95 if estimate else None)

    @classmethod
    def _with(cls, values: Sequence[float], ci95: Interval | None) -> Over:
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return cls(mean=float(np.mean(values)), sd=sd, ci95=ci95, seeds=tuple(values))


class EpochOver(Record):
    """Results after one epoch, summarized over the runs with different seeds.

    Attributes:
        epoch: number of the epoch; 0 is the state before training.
        loss: mean training cross-entropy in nats, or None before training.
        distance: mean distance between predicted point and target on the validation pictures, as a fraction of the
            picture's side.
        accuracy: accuracy on the validation pictures, by condition.
    """

    epoch: int
    loss: float | None
    distance: float
    accuracy: dict[str, Over]


class SetResult(Record):
    """Result of training on one set.

    Attributes:
        set: name of the training set, or `before` for a pretrained model before training.
        respondents: respondents of the trials, one per seed.
        accuracy: accuracy on the test pictures, by condition.
        epochs: the state before training and after each epoch.
    """

    set: str
    respondents: tuple[str, ...]
    accuracy: dict[str, Over]
    epochs: tuple[EpochOver, ...]


class TrainingReport(Record):
    """Result of an experiment.

    Attributes:
        settings: the settings.
        sets: the result of training on each set.
        difference: for each condition, accuracy after training on `disagree` minus accuracy after training on `agree`,
            paired by seed; None for experiments with photos.
        chance: expected accuracy of uniform guessing on the test pictures, by condition.
        n_test: number of test pictures, by condition.
        versions: versions of the packages, and the device.
        warnings: one text per training set after which the model is at chance.
        signature: a short text that identifies the versions, the settings and the trials.
    """

    schema_version: Literal[1] = 1
    settings: TrainingSettings
    sets: tuple[SetResult, ...]
    difference: dict[str, Over] | None
    chance: dict[str, float]
    n_test: dict[str, int]
    versions: dict[str, str]
    warnings: tuple[str, ...] = ()
    signature: str


def report_of(settings: TrainingSettings, runs: Sequence[Run], trials: Trials) -> TrainingReport:
    """Summarize the results of an experiment's runs over their seeds.

    Args:
        settings: settings of the experiment.
        runs: all runs.
        trials: test trials of all runs.
    """
    import polars as pl

    names = dict.fromkeys(run.set or BEFORE for run in runs)
    by_set = {name: [run for run in runs if (run.set or BEFORE) == name] for name in names}
    frame = trials.frame.with_columns(right=(pl.col("choice") == pl.col("gaze")).fill_null(False))
    shares = frame.group_by("respondent", "condition").agg(pl.col("right").mean())
    right = {(respondent, condition): share for respondent, condition, share in shares.iter_rows()}
    first_run = (
        frame.filter(respondent=runs[0].name).group_by("condition").agg(pl.len(), (1 / pl.col("n_objects")).mean())
    )
    tested = {condition: (n, chance) for condition, n, chance in first_run.iter_rows()}
    conditions = [condition for condition in ORDER if condition in tested]
    sets = [_set_result(name, set_runs, right, conditions) for name, set_runs in by_set.items()]
    by_name = {result.set: result for result in sets}
    difference: dict[str, Over] | None = None
    if AGREE in by_name and DISAGREE in by_name:
        pairs = {
            c: zip(by_name[AGREE].accuracy[c].seeds, by_name[DISAGREE].accuracy[c].seeds, strict=True)
            for c in conditions
        }
        difference = {c: Over.of_differences([b - a for a, b in values]) for c, values in pairs.items()}
    chance: dict[str, float] = {condition: tested[condition][1] for condition in conditions}
    return TrainingReport(
        settings=settings,
        sets=tuple(sets),
        difference=difference,
        chance=chance,
        n_test={condition: tested[condition][0] for condition in conditions},
        versions=runs[-1].versions,
        warnings=tuple(
            f"{_named(result.set)}: accuracy is at chance (less than {100 * AT_CHANCE:g} points above guessing in each "
            "condition). The model did not learn the task, so differences between sets do not show which cue it uses. "
            "Train longer"
            for result in sets
            if all(result.accuracy[c].mean < chance[c] + AT_CHANCE for c in conditions)
        ),
        signature=_signature(settings, trials, runs[-1].versions),
    )


def to_text(report: TrainingReport) -> str:
    """Return the table of accuracies as text for a terminal."""
    return tables_as_text([_table(report)], _foot(report), to_terminal=True)


def to_markdown(report: TrainingReport) -> str:
    """Return the table of accuracies in Markdown."""
    return tables_as_markdown([_table(report)], _foot(report))


def write_figure(report: TrainingReport, folder: Path) -> None:
    """Write a figure of accuracy by epoch, like the gaze paper's Figure 6, as PNG and SVG.

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    caption = (
        f"Accuracy on the validation {_kind(report)} after each epoch. The lines show the mean over "
        f"{report.settings.seeds} seeds with Student's 95% interval. The dashed line shows the accuracy of guessing."
    )
    chart = training_chart(report)
    with plain_style():
        figure = chart.draw(
            range(len(chart.names)),
            FigureFrame("Accuracy during training (as in the paper's Figure 6)", (caption, report.signature)),
        )
        for ending in ENDINGS:
            save_figure(figure, folder / f"{FIGURE}{ending}")


def training_chart(report: TrainingReport) -> TrendChart:
    """Return a chart of accuracy by epoch, with a panel per training set and a line per condition."""
    panels = []
    for result in report.sets:
        if not result.epochs:
            continue
        lines = []
        for condition in report.chance:
            color, marker = _LOOKS[condition]
            course = [
                (epoch.epoch, epoch.accuracy[condition]) for epoch in result.epochs if condition in epoch.accuracy
            ]
            points = tuple(TrendPoint(number, over.mean, over.ci95) for number, over in course)
            if points:
                lines.append(TrendLine(condition, THEME[color][0], marker, points))
        chance = float(np.average(list(report.chance.values()), weights=list(report.n_test.values())))
        ends = (result.epochs[0].epoch, result.epochs[-1].epoch)
        lines.append(TrendLine("guessing", FAINT, "", tuple(TrendPoint(end, chance) for end in ends), dashed=True))
        panels.append(TrendPanel(f"Trained on: {result.set}", _SAID.get(result.set, ""), tuple(lines)))
    last = report.settings.schedule.epochs
    apart = max(1, round(last / 5))
    return TrendChart(
        tuple(panels), "epoch", "accuracy", percent=True, start=0.0, step=lambda n: "" if n % apart else f"{n:g}"
    )


def _set_result(
    name: str, runs: Sequence[Run], right: Mapping[tuple[str, str], float], conditions: Sequence[str]
) -> SetResult:
    epochs = []
    for epoch_runs in zip(*(run.epochs for run in runs), strict=True):
        losses = [epoch.loss for epoch in epoch_runs if epoch.loss is not None]
        epochs.append(
            EpochOver(
                epoch=epoch_runs[0].epoch,
                loss=float(np.mean(losses)) if losses else None,
                distance=float(np.mean([epoch.distance for epoch in epoch_runs])),
                accuracy={c: Over.of([epoch.accuracy[c] for epoch in epoch_runs]) for c in epoch_runs[0].accuracy},
            )
        )
    return SetResult(
        set=name,
        respondents=tuple(run.name for run in runs),
        accuracy={condition: Over.of([right[run.name, condition] for run in runs]) for condition in conditions},
        epochs=tuple(epochs),
    )


def _table(report: TrainingReport) -> Titled:
    heads = ["trained on", "runs", *(f"{c.capitalize()} (%)" for c in report.chance)]
    rows = [
        [_named(result.set), str(len(result.respondents)), *(_cell(result.accuracy[c]) for c in report.chance)]
        for result in report.sets
    ]
    if report.difference:
        rows.append(["difference", "", *(_cell(report.difference[c], sign="+") for c in report.chance)])
    rows.append(["guessing", "", *(number(chance, "share") for chance in report.chance.values())])
    # The paper trained once per seed, with five seeds.
    rows += [
        [f"paper: {row.model}", "5" if row.sd else "", *(percent(row, c) for c in report.chance)] for row in TABLE_3
    ]
    tested = ", ".join(f"{n:,} {condition}" for condition, n in report.n_test.items())
    return f"Accuracy on the test {_kind(report)}, as in the paper's Table 3 ({tested})", 1, heads, rows


def _named(name: str) -> str:
    return f"{name}: {_SAID[name]}" if name in (AGREE, DISAGREE) else _SAID.get(name, name)


def _cell(over: Over, sign: str = "") -> str:
    value = f"{100 * over.mean:{sign}.1f}"
    spread = f" ± {number(over.sd, 'share')}" if over.sd is not None else ""
    return f"{value}{spread}\n{interval(over.ci95, 'share')}".rstrip()


def _foot(report: TrainingReport) -> str:
    explanation = "Entries show the mean ± standard deviation over seeds, and Student's 95% interval of the mean."
    warnings = "".join(f"warning: {warning}\n" for warning in report.warnings)
    published = f"The rows of the paper are about its own photos: {SOURCE}."
    return f"{warnings}{explanation} Data: {_kind(report)}.\n{published}\n{report.signature}"


def _kind(report: TrainingReport) -> str:
    return "synthetic pictures" if report.settings.data == "synthetic" else "photos"


def _signature(settings: TrainingSettings, trials: Trials, versions: Mapping[str, str]) -> str:
    fields = {
        "v": versions["spotball-core"],
        "torch": versions["torch"],
        "model": settings.model,
        "data": settings.data[:9],
        "pictures": settings.pictures,
        "epochs": settings.schedule.epochs,
        "seeds": settings.seeds,
        "seed": settings.seed,
        "trials": trials.digest()[:8],
    }
    return "|".join(["spotball-gaze-training", *(f"{key}:{value}" for key, value in fields.items())])
