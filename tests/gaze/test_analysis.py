from __future__ import annotations

import json
from datetime import date
from typing import Any

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.analysis import GazeOptions, analyze
from spotball_core.gaze.battery.findings import QUESTIONS
from spotball_core.gaze.battery.run import TestPolicy
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.fleet import ModelFacts
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.gaze.result import GazeReport
from spotball_core.gaze.tables import to_markdown, to_text
from spotball_core.schema.record import Record
from tests.failures import raises

pytestmark = pytest.mark.slow

DESIGN = [one for one in factorial_design() if one.view != "right" and one.proximity != 2][1::2]
OBSERVERS = {"heady": Observer("head", noise=0.4, lapse=0.1), "sharp": Observer("eye", noise=0.15, stimulus_noise=0.1)}


@pytest.fixture(scope="module")
def trials() -> Trials:
    return together([simulate(one, DESIGN, prompts=3, respondent=name, seed=1) for name, one in OBSERVERS.items()])


@pytest.fixture(scope="module")
def report(trials: Trials) -> GazeReport:
    return analyze(trials, GazeOptions(bootstrap=200))


@pytest.fixture
def _without_cue_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the fit of the cue model, which takes most of the time, in tests that do not use it."""
    monkeypatch.setattr("spotball_core.gaze.analysis.mechanism_or_reason", lambda *_, **__: (None, "skipped"))


def rounded(record: Record) -> Any:
    """Return the values of a record, rounded to four digits, with values near zero as 0."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return 0.0 if abs(value) < 1e-4 else float(f"{value:.4g}")
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    return plain(record.model_dump())


def test_report_json_has_the_documented_keys_and_types(report: GazeReport) -> None:
    said = json.loads(report.model_dump_json())
    assert [one["respondent"] for one in said["respondents"]] == ["heady", "sharp"]
    for one in said["respondents"]:
        assert list(one["tests"]) == ["1", "view", "proximity", "2.1", "2.2", "2.3", "2.4", "3", "4"]
        assert all(test["verdict"] in (True, False, None) for test in one["tests"].values())
        assert list(one["accuracy"]) == ["2", "3", "4"]
        assert all(isinstance(value, float) for value in one["accuracy"].values())
        assert one["n_trials"] == 3 * len(DESIGN)
        assert one["n_unmatched"] == 0
    assert [one["type"] for one in said["respondents"]] == ["head-only", "human-level"]
    assert said["signature"].startswith("spotball-gaze|v:")
    assert "policy:standard|margin:0.05|alpha:0.05|multiplicity:none" in said["signature"]
    assert GazeReport.model_validate(said) == report


@pytest.mark.usefixtures("_without_cue_model")
def test_report_accuracy_uses_only_natural_photos_if_there_are_any_and_otherwise_all_photos(
    trials: Trials, report: GazeReport
) -> None:
    natural = with_measures(trials.of("heady")).filter(condition="natural", n_objects=3)
    assert report.respondents[0].accuracy["3"] == pytest.approx(natural["correct"].mean())
    assert report.respondents[0].accuracy_of == "natural"
    controlled = Trials(trials.of("heady").filter(pl.col("condition") != "natural"))
    found = analyze(controlled, GazeOptions(bootstrap=0)).respondents[0]
    assert found.accuracy_of == "all"
    assert found.tests["1"].verdict is None
    assert found.type == "unclear"


def test_analyze_with_two_jobs_gives_the_same_results(trials: Trials, report: GazeReport) -> None:
    parallel = analyze(trials, GazeOptions(bootstrap=200, jobs=2))
    # Sums over a different number of threads have different rounding errors.
    assert rounded(parallel) == rounded(report)


@pytest.mark.usefixtures("_without_cue_model")
def test_analyze_gives_the_same_results_for_a_single_respondent(trials: Trials, report: GazeReport) -> None:
    alone = rounded(analyze(Trials(trials.of("sharp")), GazeOptions(bootstrap=200)).respondents[0])
    together = rounded(report.respondents[1])
    of_cue_model = {"mechanism", "no_mechanism", "summary"}
    assert {key: alone[key] for key in alone.keys() - of_cue_model} == {
        key: together[key] for key in together.keys() - of_cue_model
    }


@pytest.mark.usefixtures("_without_cue_model")
def test_analyze_does_not_depend_on_row_order_or_seed(trials: Trials, report: GazeReport) -> None:
    turned = Trials(trials.frame.sample(fraction=1, shuffle=True, seed=4).sort("respondent", maintain_order=True))
    found = analyze(turned, GazeOptions(bootstrap=0, seed=9))
    for one, again in zip(report.respondents, found.respondents, strict=True):
        assert one.type == again.type
        for key in QUESTIONS:
            assert one.tests[key].verdict == again.tests[key].verdict
            if one.tests[key].p is not None:
                assert again.tests[key].p == pytest.approx(one.tests[key].p, rel=1e-3, abs=1e-9)
    assert found.provenance.data == report.provenance.data


def test_report_cell_value_and_chance_are_means_over_the_trials_of_the_cell(trials: Trials, report: GazeReport) -> None:
    rows = with_measures(trials.of("heady"))
    wanted = {"view": "left", "proximity": "3"}
    (cell,) = [one for one in report.respondents[0].cells if one.by == wanted]
    mine = rows.filter((pl.col("condition") != "incongruent") & (pl.col("view") == "left") & (pl.col("proximity") == 3))
    assert cell.value == pytest.approx(mine["wrongness"].mean())
    assert cell.chance == pytest.approx(mine["expected_wrongness"].mean())
    (cell,) = [one for one in report.respondents[0].cells if one.by == {"proximity": "3"}]
    mine = rows.filter((pl.col("condition") != "incongruent") & (pl.col("proximity") == 3))
    assert cell.chance == pytest.approx(mine["expected_wrongness"].mean())
    guessing = (1 / rows.filter(condition="natural")["n_objects"]).mean()
    assert report.chance["natural"] == pytest.approx(guessing)
    (cell,) = [one for one in report.respondents[0].cells if one.by == {"n_objects": "4", "dist_eye_head": "3"}]
    mine = rows.filter((pl.col("n_objects") == 4) & (pl.col("dist_eye_head") == 3))
    assert (cell.value, cell.n_trials) == (pytest.approx(mine["is_head"].mean()), len(mine))


@pytest.mark.usefixtures("_without_cue_model")
def test_analyze_uses_human_responses_instead_of_the_published_accuracy_as_the_reference(trials: Trials) -> None:
    people = simulate(Observer("eye", noise=0.2, stimulus_noise=0.1), DESIGN, prompts=2, respondent="human", seed=8)
    found = analyze(together([Trials(trials.of("heady")), people]), GazeOptions(bootstrap=0))
    assert found.provenance.people == "human"
    assert "people:human" in found.signature
    assert found.respondents[0].tests["1"].numbers["people"] == "responses"
    assert found.respondents[1].tests["1"].numbers["people"] == "published"


@pytest.mark.usefixtures("_without_cue_model")
def test_analyze_with_holm_adjusts_p_values_over_the_tests_of_a_respondent(report: GazeReport, trials: Trials) -> None:
    policy = TestPolicy(multiplicity="holm")
    found = analyze(Trials(trials.of("heady")), GazeOptions(policy=policy, bootstrap=0)).respondents[0]
    for key, plain in report.respondents[0].tests.items():
        mine = found.tests[key]
        assert plain.p_adjusted is None
        if plain.p is not None:
            assert mine.p_adjusted >= plain.p
            assert mine.verdict == (mine.as_asked and mine.p_adjusted < 0.05)


@pytest.mark.usefixtures("_without_cue_model")
def test_report_has_site_hint_time_and_fleet_checks_if_the_data_and_options_allow_these(trials: Trials) -> None:
    models = {"heady": ModelFacts(date(2025, 1, 1), 7.0)}
    options = GazeOptions(bootstrap=0, hinted=("2", "3"), compare=("heady", "sharp"), models=models)
    timed = Trials(trials.frame.with_columns(response_time=1.0 + pl.int_range(pl.len()) % 7))
    found = analyze(timed, options)
    for one in found.respondents:
        assert [effect.of for effect in one.checks.sites] == ["site 2 compared with site 1"]
        assert None not in (one.checks.hint, one.checks.response_time)
    assert found.fleet.compared.p < 0.001
    assert found.fleet.trends == ()
    assert found.fleet.against_chance.not_above["z"] == 0


@pytest.mark.usefixtures("_without_cue_model")
def test_report_warns_about_unmatched_choices_and_respondents_with_different_photos(trials: Trials) -> None:
    frame = trials.of("heady")
    few = frame.with_columns(choice=pl.when(pl.int_range(pl.len()) % 10 > 0).then("choice"))
    other = trials.of("sharp").filter(pl.col("view") == "front")
    found = analyze(Trials(pl.concat([few, other])), GazeOptions(bootstrap=0))
    assert found.respondents[0].n_unmatched == len(frame) // 10 + (len(frame) % 10 > 0)
    said = " ".join(found.warnings)
    assert "heady: 10% of the choices are unmatched" in said
    assert "answered different photos" in said
    assert found.respondents[1].tests["view"].verdict is None


def test_analyze_with_unknown_names_or_no_trials_and_together_with_conflicting_trials_are_errors(
    trials: Trials,
) -> None:
    for options in (GazeOptions(people="nobody"), GazeOptions(compare=("heady", "x"))):
        with raises(OptionError, "unknown-name"):
            analyze(trials, options)
    with raises(OptionError, "unknown-name:--hinted"):
        analyze(trials, GazeOptions(hinted=("99",)))
    with raises(OptionError, "no-data"):
        analyze(Trials(trials.frame.clear(), n_checks=3))
    with raises(OptionError, "duplicate"):
        together([trials, trials])
    moved = trials.of("heady").with_columns(respondent=pl.lit("other"), proximity=pl.lit(1, pl.Int64))
    with raises(OptionError, "incompatible-data"):
        together([trials, Trials(moved)])


def test_to_text_and_to_markdown_contain_types_tests_warnings_and_the_signature(report: GazeReport) -> None:
    for text in (to_text(report), to_markdown(report)):
        assert "head-only" in text
        assert "people (published)" in text
        assert report.signature in text
        assert "2.3" in text
        assert "warning: the trials contain no people, so Test 1 uses the published accuracy of people" in text
