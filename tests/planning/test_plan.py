"""Test `spotball plan`: its numbers, forms, page and errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from spotball_core.dataset import load
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import write_stimuli
from spotball_core.gaze.power.observers import Observer, factorial_design
from spotball_core.gaze.power.simulate import power
from spotball_core.planning.plan import Goal, plan
from spotball_core.planning.record import Plan
from spotball_core.planning.text import to_markdown, to_text
from spotball_core.typing import FloatArray
from tests.builders import dataset as write_dataset
from tests.cli.process import spotball
from tests.failures import codes, raises
from tests.stats.build import GRID, drawn, scenes, scoring_of, varied_scenes

GOAL = Goal(5.0)


def planned(
    n: int = 20,
    answers: int = 12,
    *,
    goal: Goal = GOAL,
    metrics: Sequence[str] | None = ("accuracy",),
    **sides: FloatArray,
) -> Plan:
    rng = np.random.default_rng(0)
    given = sides or {name: drawn(rng, n, answers) for name in ("a", "b")}
    scoring = scoring_of(varied_scenes(n), {f"{name}/base": mass for name, mass in given.items()}, bootstrap=0)
    return plan(scoring, goal, metrics=metrics)


def test_plan_worked_out_by_hand() -> None:
    # Both respondents answer each of 8 images twice: a is right twice or once, and b never.
    a, b = np.zeros((8, 60)), np.zeros((8, 60))
    a[:4, 22], a[4:, 22], a[4:, 0], b[:, 0] = 2, 1, 1, 2
    scoring = scoring_of(scenes(8), {"a/base": a, "b/base": b}, bootstrap=0)
    found = plan(scoring, Goal(10.0, tests=1), metrics=["accuracy"]).metrics["accuracy"]
    # The differences are 1 and 1/2, four times each. One answer has the variance 0 or 1/2 within an image.
    total, within = 8 / 7 * 0.25**2, (4 * 0.0 + 4 * 0.5) / 8
    assert found.respondents["a"].answers == pytest.approx(within)
    assert found.respondents["b"].answers == 0.0
    assert found.difference == pytest.approx(max(total - within / 2, 0.0))
    assert found.respondents["a"].best_allocation == pytest.approx(0.5)
    assert (found.effect, found.n_images, found.pilot and found.pilot.answers) == (0.1, 8, 2)


def test_plan_corrects_for_the_number_of_tests_of_compare() -> None:
    rng = np.random.default_rng(0)
    scoring = scoring_of(varied_scenes(12), {f"{name}/base": drawn(rng, 12, 9) for name in "ab"}, bootstrap=100)
    from spotball_core.comparison.compare import compare

    contrast = compare(scoring, "a", "b", permutations=99).contrasts[-1]
    assert plan(scoring, GOAL).tests == sum(one.p is not None for one in contrast.metrics.values())
    one, many = (planned(goal=Goal(5.0, tests=tests)).metrics["accuracy"] for tests in (1, 10))
    assert one.needed is not None
    assert many.needed is not None
    assert one.needed < many.needed


def test_plan_for_one_respondent_is_for_two_like_it() -> None:
    mass = drawn(np.random.default_rng(1), 20, 12)
    found = planned(a=mass)
    assert found.b is None
    one = found.metrics["accuracy"]
    assert one.difference == pytest.approx(2 * (one.respondents["a"].images or 0))


def test_plan_with_prices_has_the_cheapest_design() -> None:
    free = planned().metrics["accuracy"]
    found = planned(goal=Goal(5.0, price_image=1.0, price_answer=0.01)).metrics["accuracy"]
    assert free.cheapest is None
    assert found.cheapest is not None
    assert found.cheapest.detects is not None
    assert found.cheapest.detects <= 0.05 + 1e-9
    assert found.cheapest.cost == pytest.approx(found.cheapest.images * (1 + 0.01 * found.cheapest.answers))


def test_plan_from_one_answer_per_image_is_for_one_answer() -> None:
    found = planned(answers=1).metrics["accuracy"]
    assert found.difference is None
    assert found.respondents["a"].answers is None
    assert {k: n is not None for k, n in found.images.items()} == {1: True, 5: False, 20: False, 50: False}


def test_plan_states_why_a_metric_has_no_plan() -> None:
    rng = np.random.default_rng(0)
    known = [scene.model_copy(update={"ball_cells": None, "ball_box": None}) for scene in varied_scenes(9)]
    scoring = scoring_of(known, {f"{name}/base": drawn(rng, 9, 9) for name in "ab"}, bootstrap=0)
    found = plan(scoring, GOAL)
    assert found.metrics["accuracy"].reason
    assert found.metrics["near_player_rate"].reason is None
    assert found.metrics["wasserstein_matched"].reason == "no reference"


def test_plan_estimates_variances_between_participants_and_prompts() -> None:
    rng = np.random.default_rng(0)
    people = np.zeros((6, 9, 60))
    right = rng.random((6, 9)) < np.linspace(0.1, 0.9, 6)[:, None]
    people[..., 22], people[..., 0] = right, ~right
    prompts = {f"m/{name}": drawn(rng, 9, 6) for name in ("base", "cot")}
    scoring = scoring_of(scenes(9), {"human/base": people, **prompts}, bootstrap=0)
    found = plan(scoring, GOAL, a="human", b="m", metrics=["accuracy", "image_entropy_matched"]).metrics
    human, model = found["accuracy"].respondents.values()
    assert human.n_participants == 6
    assert human.participants is not None
    assert human.participants > 0.02
    assert model.participants is None
    assert model.prompts is not None
    assert found["image_entropy_matched"].respondents["human"].participants is None


def test_plan_forms_are_equal_in_content_and_fit_80_columns() -> None:
    found = planned(metrics=None, goal=Goal({"accuracy": 5.0, "center_ratio": 0.3}, price_image=1.0))
    assert {key for key, one in found.metrics.items() if one.effect} == {"accuracy", "center_ratio"}
    lines = to_text(found).splitlines()
    table = [line for line in lines if line.startswith("  ") or "───" in line]
    assert max(map(len, table)) <= 80
    assert to_markdown(found).count("| Accuracy (points) |") == 3
    assert Plan.model_validate_json(found.to_json()) == found
    frame = found.to_frame()
    assert set(frame["metric"]) == {key for key, one in found.metrics.items() if one.reason is None}


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"effect": 0}, "invalid-option:effect"),
        ({"effect": {"accuracy": -1}}, "invalid-option:effect: accuracy"),
        ({"effect": {"acuracy": 1}}, "unknown-name:effect"),
        ({"power": 0.05}, "invalid-option:power"),
        ({"power": 1}, "invalid-option:power"),
        ({"tests": 0}, "invalid-option:tests"),
        ({"price_image": -1}, "invalid-option:price_image"),
        ({"a": "a", "sport": "golf"}, "unknown-name:sport"),
        ({"metrics": ["acuracy"]}, "unknown-name:metrics"),
        ({"a": "nobody"}, "unknown-name"),
        ({"a": "a", "b": "a"}, "invalid-option:b"),
        ({"b": "a"}, "missing-option:a"),
        ({"a": "a", "b": "elsewhere"}, "no-data"),
        ({}, "missing-option:a"),
    ],
)
def test_plan_rejects_unusable_arguments(arguments: dict[str, object], where: str) -> None:
    rows = [
        {"image": str(image), "respondent": name, "cell": "A1", "sample": sample}
        for name, images in {"a": range(5), "b": range(5), "elsewhere": range(5, 9)}.items()
        for image in images
        for sample in (1, 2)
    ]
    data = load(rows, [{**scene.model_dump(mode="json")} for scene in scenes(9)])
    with raises(OptionError, where):
        data.plan(**arguments)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, known = np.random.default_rng(0), varied_scenes(9)
    rows = [
        {
            "sport": "soccer",
            "image": scene.image,
            "respondent": name,
            "prompt": "base",
            "sample": sample,
            "cell": GRID.label(int(cell)),
        }
        for scene in known
        for name in ("mine", "theirs", "people")
        for sample, cell in enumerate(rng.integers(60, size=8), start=1)
    ]
    return write_dataset(tmp_path_factory.mktemp("pilot"), known, all=rows)


def test_plan_command_prints_json_and_writes_a_page(pilot: Path, tmp_path: Path) -> None:
    words = ("--reference", "people", "--metrics", "accuracy,wasserstein_matched", "--effect", "8", "--format", "json")
    done = spotball("plan", pilot, *words, "--out", tmp_path / "page")
    assert done.returncode == 0, done.stderr
    found = Plan.model_validate_json(done.stdout)
    assert (found.a, found.b, list(found.metrics)) == ("mine", "theirs", ["accuracy", "wasserstein_matched"])
    assert json.loads((tmp_path / "page/report.json").read_text()) == json.loads(done.stdout)
    page = (tmp_path / "page/report.html").read_text()
    assert page.count("<svg") == 2
    assert {path.name for path in (tmp_path / "page/figures").glob("*.svg")} == {
        "plan-accuracy.svg",
        "plan-wasserstein_matched.svg",
    }
    assert codes(spotball("plan", pilot, *words, "--out", pilot).stderr) == ["output-exists"]


@pytest.mark.parametrize("effect", ["five", "accuracy", "accuracy=5,accuracy=6", "=5", "accuracy=5,"])
def test_plan_command_rejects_effects_that_are_not_numbers(pilot: Path, effect: str) -> None:
    done = spotball("plan", pilot, "--effect", effect)
    assert (done.returncode, codes(done.stderr)) == (2, ["invalid-option"])


@pytest.mark.slow
def test_plan_of_the_gaze_tests_has_the_rates_of_the_simulation(tmp_path: Path) -> None:
    photos = [one for one in factorial_design() if len(one.objects) > 2 and one.proximity == 1][:90]
    write_stimuli(photos, tmp_path / "stimuli.csv")
    words = ("--trials", "1,2", "--simulations", "2", "--seed", "3", "--format", "json", "--quiet")
    done = spotball("plan", tmp_path, "--observer", "head:lapse=0.2,noise=0.1", *words)
    assert done.returncode == 0, done.stderr
    said, observer = json.loads(done.stdout), Observer("head", lapse=0.2, noise=0.1)
    assert said["observer"] == asdict(observer)
    for number, one in zip((1, 2), said["power"], strict=True):
        known = power(observer, photos, simulations=2, prompts=number, seed=3)
        assert one == {"prompts": number, **known.model_dump(mode="json")}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "missing-option"),
        (("--observer", "ear"), "unknown-name"),
        (("--observer", "eye:size=1"), "unknown-name"),
        (("--observer", "eye:0.2"), "invalid-option"),
        (("--observer", "eye:lapse=2"), "invalid-option"),
        (("--observer", "eye", "--trials", "few"), "invalid-option"),
        (("--observer", "eye", "--trials", "0"), "invalid-option"),
        (("--observer", "eye", "--a", "mine"), "conflicting-options"),
        (("--observer", "eye", "--power", "0.9"), "conflicting-options"),
        (("--observer", "eye", "--price-image", "3"), "conflicting-options"),
        (("--observer", "eye", "--truth", "truth.csv"), "conflicting-options"),
        (("--observer", "eye", "--published"), "conflicting-options"),
        (("one.csv", "two.csv", "--observer", "eye"), "conflicting-options"),
    ],
)
def test_plan_command_rejects_unusable_options_of_the_gaze_task(words: tuple[str, ...], code: str) -> None:
    done = spotball("plan", *words, "--quiet")
    assert (done.returncode, codes(done.stderr), done.stdout) == (2, [code], "")
