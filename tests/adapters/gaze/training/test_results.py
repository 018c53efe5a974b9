"""Test the summary of accuracy over seeds, its table and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from spotball_adapters.gaze.training.pictures import AGREE, DISAGREE, design_plans
from spotball_adapters.gaze.training.results import (
    Over,
    TrainingReport,
    report_of,
    to_markdown,
    to_text,
    training_chart,
    write_figure,
)
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
    steps = np.linspace(1 / 3, end, N_EPOCHS + 1)
    return tuple(
        Epoch(
            epoch=number,
            rate=1e-3 if number else None,
            loss=4 - share if number else None,
            distance=0.1,
            accuracy={"congruent": 0.9, "incongruent": float(share), "natural": 0.5},
        )
        for number, share in enumerate(steps)
    )


def answered(name: str, wrong: Sequence[int]) -> list[Trial]:
    """Return trials with the right choice, except for the stimuli at `wrong`, which have no choice."""
    return [
        Trial(respondent=name, stimulus_id=one.stimulus_id, choice=None if place in wrong else one.gaze_target)
        for place, one in enumerate(STIMULI)
    ]


WRONG = {"agree-1": range(40), "disagree-1": range(10), "agree-2": range(50), "disagree-2": range(5)}


def report(settings: TrainingSettings | None = None) -> TrainingReport:
    settings = settings or TrainingSettings(model="two-paths", seeds=2, schedule=Schedule(epochs=N_EPOCHS))
    runs = [
        Run(
            name=name,
            set=name.split("-")[0],
            seed=int(name[-1]) - 1,
            epochs=course(0.05 if name.startswith(AGREE) else 0.85),
            seconds=1.0,
            versions=VERSIONS,
        )
        for name in WRONG
    ]
    trials = [trial for name, wrong in WRONG.items() for trial in answered(name, wrong)]
    return report_of(settings, runs, make_trials(trials, STIMULI))


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

    def test_report_accuracy_equals_the_counted_share_of_right_choices(self) -> None:
        found = {one.set: one for one in report().sets}
        assert list(found) == [AGREE, DISAGREE]
        for name, one in found.items():
            assert one.respondents == (f"{name}-1", f"{name}-2")
            for condition in ("congruent", "incongruent", "natural"):
                expected = tuple(share_right(WRONG[run], condition) for run in one.respondents)
                assert one.accuracy[condition].seeds == pytest.approx(expected)

    def test_report_difference_is_computed_per_seed(self) -> None:
        found = report().difference
        assert found is not None
        one, other = (
            share_right(WRONG[f"disagree-{seed}"], "natural") - share_right(WRONG[f"agree-{seed}"], "natural")
            for seed in (1, 2)
        )
        assert found["natural"].seeds == pytest.approx((one, other))

    def test_report_chance_is_the_mean_of_one_over_the_number_of_objects(self) -> None:
        found = report()
        for condition, chance in found.chance.items():
            mine: list[Stimulus] = [one for one in STIMULI if one.condition == condition]
            assert found.n_test[condition] == len(mine)
            assert chance == pytest.approx(np.mean([1 / len(one.objects) for one in mine]))

    def test_report_epochs_summarize_the_seeds(self) -> None:
        last = report().sets[0].epochs[-1]
        assert (last.epoch, last.loss) == (N_EPOCHS, pytest.approx(3.95))
        assert last.accuracy["incongruent"].seeds == pytest.approx((0.05, 0.05))
        assert report().sets[0].epochs[0].loss is None

    def test_report_survives_a_json_round_trip(self) -> None:
        assert TrainingReport.model_validate_json(report().model_dump_json()) == report()


class TestTable:
    def test_table_shows_mean_and_standard_deviation_and_the_signature(self) -> None:
        found = report()
        over = found.sets[0].accuracy["incongruent"]
        cell = f"{100 * over.mean:.1f} ± {100 * (over.sd or 0):.1f}"
        for text in (to_text(found), to_markdown(found)):
            assert cell in text
            assert "agree: head and eyes agree" in text
            assert "synthetic pictures" in text
            assert found.signature in text
            assert text.index("Congruent") < text.index("Incongruent") < text.index("Natural")

    def test_table_of_photos_does_not_mention_synthetic_images(self) -> None:
        settings = TrainingSettings(model="two-paths", data="0123456789", seeds=2)
        assert "synthetic" not in to_text(report(settings))


class TestFigure:
    def test_chart_has_one_panel_per_set_and_one_line_per_condition(self) -> None:
        chart = training_chart(report())
        assert [panel.title for panel in chart.panels] == ["Trained on: agree", "Trained on: disagree"]
        for panel, end in zip(chart.panels, (0.05, 0.85), strict=True):
            assert [line.name for line in panel.lines] == ["congruent", "incongruent", "natural", "guessing"]
            assert [point.step for point in panel.lines[1].points] == list(range(N_EPOCHS + 1))
            assert panel.lines[1].points[-1].value == pytest.approx(end)

    def test_figure_texts_do_not_overlap(self) -> None:
        found = report()
        figure = training_chart(found).draw([0, 1], FigureFrame("Accuracy", (found.signature,)))
        assert not touching(figure)
        assert {"0", "2", "4", "10"} <= set(texts(figure))
        assert "3" not in texts(figure)

    def test_write_figure_writes_png_and_svg(self, tmp_path: Path) -> None:
        write_figure(report(), tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["gaze-training.png", "gaze-training.svg"]
        assert (tmp_path / "gaze-training.png").read_bytes().startswith(b"\x89PNG")
        assert "synthetic pictures" in (tmp_path / "gaze-training.svg").read_text(encoding="utf-8")
