"""Test the summary of accuracy over seeds, its table and its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from spotball_adapters.gaze.training import results
from spotball_adapters.gaze.training.pictures import AGREE, DISAGREE, design_plans
from spotball_adapters.gaze.training.results import Over, TrainingReport, training_chart
from spotball_adapters.gaze.training.settings import Epoch, Run, Schedule, TrainingSettings
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial, make_trials
from spotball_core.plots.canvas import FigureFrame
from tests.plots.drawn import texts, touching

STIMULI = [plan.stimulus for plan in design_plans()][:120]
VERSIONS = {"spotball-core": "0.1.0", "torch": "2.13.0", "numpy": "2.0.0", "pillow": "12.0.0", "device": "cpu"}
N_EPOCHS = 10


def course(end: float) -> tuple[Epoch, ...]:
    """Return epochs whose incongruent accuracy goes linearly from 1/3 to `end`; the other conditions are constant."""
    epochs = []
    for number, share in enumerate(np.linspace(1 / 3, end, N_EPOCHS + 1)):
        learned = {"rate": 1e-3, "loss": 4 - share} if number else {"rate": None, "loss": None}
        accuracy = {"congruent": 0.9, "incongruent": float(share), "natural": 0.5}
        epochs.append(Epoch(epoch=number, distance=0.1, accuracy=accuracy, **learned))
    return tuple(epochs)


WRONG = {"agree-1": range(40), "disagree-1": range(10), "agree-2": range(50), "disagree-2": range(5)}
"""Indices of the stimuli without a choice, by run; all other choices are correct."""


def reported(wrongs: Mapping[str, range] = WRONG, **changes: str) -> TrainingReport:
    settings = TrainingSettings(model="two-paths", seeds=2, schedule=Schedule(epochs=N_EPOCHS), **changes)
    runs, trials = [], []
    for name, wrong in wrongs.items():
        part, number = name.split("-")
        epochs = course(0.05 if part == AGREE else 0.85)
        runs.append(Run(name=name, set=part, seed=int(number) - 1, epochs=epochs, seconds=1.0, versions=VERSIONS))
        choices = (None if place in wrong else one.gaze_target for place, one in enumerate(STIMULI))
        trials += [
            Trial(respondent=name, stimulus_id=one.stimulus_id, choice=choice)
            for one, choice in zip(STIMULI, choices, strict=True)
        ]
    return results.report_of(settings, runs, make_trials(trials, STIMULI))


@pytest.fixture(scope="module")
def report() -> TrainingReport:
    return reported()


def share_right(wrong: Sequence[int], condition: str) -> float:
    places = [place for place, one in enumerate(STIMULI) if one.condition == condition]
    return sum(place not in wrong for place in places) / len(places)


class TestNumbers:
    def test_over_returns_mean_sd_and_student_t_interval_of_the_log_odds(self) -> None:
        values = [0.5, 0.61, 0.55, 0.7]
        found = Over.of(values)
        odds = np.log(np.array(values) / (1 - np.array(values)))
        low, high = expit(stats.t.interval(0.95, 3, np.mean(odds), stats.sem(odds)))
        assert found.ci95 == pytest.approx((low, high))
        assert (found.mean, found.sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
        assert Over.of([0.4]) == Over(mean=0.4, sd=None, ci95=None, seeds=(0.4,))

    def test_report_warns_of_each_set_after_which_the_model_is_at_chance(self, report: TrainingReport) -> None:
        assert report.warnings == ()
        (warning,) = reported({**WRONG, "agree-1": range(120), "agree-2": range(100)}).warnings
        assert AGREE in warning

    def test_report_accuracy_equals_the_counted_share_of_right_choices(self, report: TrainingReport) -> None:
        found = {one.set: one for one in report.sets}
        assert list(found) == [AGREE, DISAGREE]
        for name, one in found.items():
            assert one.respondents == (f"{name}-1", f"{name}-2")
            for condition in ("congruent", "incongruent", "natural"):
                expected = tuple(share_right(WRONG[run], condition) for run in one.respondents)
                assert one.accuracy[condition].seeds == pytest.approx(expected)

    def test_report_difference_between_the_training_sets_is_computed_per_seed(self, report: TrainingReport) -> None:
        assert report.difference is not None
        one, other = (
            share_right(WRONG[f"disagree-{seed}"], "natural") - share_right(WRONG[f"agree-{seed}"], "natural")
            for seed in (1, 2)
        )
        assert report.difference["natural"].seeds == pytest.approx((one, other))

    def test_report_chance_is_the_mean_of_one_over_the_number_of_objects(self, report: TrainingReport) -> None:
        for condition, chance in report.chance.items():
            mine: list[Stimulus] = [one for one in STIMULI if one.condition == condition]
            assert report.n_test[condition] == len(mine)
            assert chance == pytest.approx(np.mean([1 / len(one.objects) for one in mine]))

    def test_report_epochs_summarize_the_seeds_and_survive_a_json_round_trip(self, report: TrainingReport) -> None:
        first, last = report.sets[0].epochs[0], report.sets[0].epochs[-1]
        assert (last.epoch, last.loss, first.loss) == (N_EPOCHS, pytest.approx(3.95), None)
        assert last.accuracy["incongruent"].seeds == pytest.approx((0.05, 0.05))
        assert TrainingReport.model_validate_json(report.model_dump_json()) == report


class TestTable:
    def test_table_shows_mean_and_standard_deviation_and_the_signature(self, report: TrainingReport) -> None:
        over = report.sets[0].accuracy["incongruent"]
        cell = f"{100 * over.mean:.1f} ± {100 * (over.sd or 0):.1f}"
        for text in (results.to_text(report), results.to_markdown(report)):
            for part in (cell, "agree: head and eyes agree", "synthetic pictures", report.signature):
                assert part in text
            assert text.index("Congruent") < text.index("Incongruent") < text.index("Natural")

    def test_table_ends_with_the_accuracies_of_the_paper_for_the_same_conditions(self, report: TrainingReport) -> None:
        rows = [line for line in results.to_markdown(report).splitlines() if line.startswith("|")]
        assert [[cell.strip() for cell in row.split("|")[3:-1]] for row in rows[-2:]] == [
            ["62.82", "15.65", "65.22"],
            ["70.00 ± 5.01", "34.15 ± 1.76", "76.81 ± 2.90"],
        ]

    def test_table_of_training_on_photos_does_not_mention_synthetic_images(self) -> None:
        assert "synthetic" not in results.to_text(reported(data="0123456789"))


class TestFigure:
    def test_chart_has_one_panel_per_set_and_one_line_per_condition(self, report: TrainingReport) -> None:
        chart = training_chart(report)
        assert [panel.title for panel in chart.panels] == ["Trained on: agree", "Trained on: disagree"]
        for panel, end in zip(chart.panels, (0.05, 0.85), strict=True):
            assert [line.name for line in panel.lines] == ["congruent", "incongruent", "natural", "guessing"]
            assert [point.step for point in panel.lines[1].points] == list(range(N_EPOCHS + 1))
            assert panel.lines[1].points[-1].value == pytest.approx(end)

    def test_figure_texts_do_not_overlap(self, report: TrainingReport) -> None:
        figure = training_chart(report).draw([0, 1], FigureFrame("Accuracy", (report.signature,)))
        assert not touching(figure)
        assert {"0", "2", "4", "10"} <= set(texts(figure))
        assert "3" not in texts(figure)

    def test_write_figure_writes_png_and_svg(self, report: TrainingReport, tmp_path: Path) -> None:
        results.write_figure(report, tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["gaze-training.png", "gaze-training.svg"]
        assert (tmp_path / "gaze-training.png").read_bytes().startswith(b"\x89PNG")
        assert "synthetic pictures" in (tmp_path / "gaze-training.svg").read_text(encoding="utf-8")
