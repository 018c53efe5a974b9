"""Test plans from the published answers, without a pilot."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.published_pilots import results
from spotball_core.errors import OptionError
from spotball_core.planning.plan import Goal
from spotball_core.planning.published import PAIRS, plan_published, published_pilot
from spotball_core.planning.record import Measured, Plan
from tests.cli.process import spotball
from tests.failures import codes, raises


@pytest.mark.slow
def test_stored_pilots_are_those_of_the_release(real_release: Path) -> None:
    for found in results(real_release):
        stored = published_pilot(found.a, found.b)
        assert (stored.tests, stored.sport, list(stored.metrics)) == (found.tests, "soccer", list(found.metrics))
        assert stored.provenance.data == found.provenance.data
        for key, one in found.metrics.items():
            known = stored.metrics[key]
            if isinstance(one, str) or isinstance(known, str):
                assert known == one
            else:
                exact = {"n_images", "answers", "unit", "only"}
                assert known.model_dump(include=exact) == one.model_dump(include=exact)
                variances = {"between", "first", "second", "people", "step", "variance", "pilot_people"}
                assert known.model_dump(include=variances) == pytest.approx(one.model_dump(include=variances))


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_plan_of_published_answers_has_the_stored_variances(a: str, b: str | None) -> None:
    pilot = published_pilot(a, b)
    found = plan_published(Goal({"accuracy": 5.0}), a=a, b=b)
    assert (found.a, found.b, found.tests) == (a, b, pilot.tests)
    accuracy, known = found.metrics["accuracy"], pilot.metrics["accuracy"]
    assert isinstance(known, Measured)
    assert (accuracy.difference, accuracy.n_images) == (known.between, 50)
    if b is None:
        # The variance of 20 answers of Gemini, or 150 of people, is the sum of its parts.
        assert known.variance == pytest.approx(known.between + known.first / known.answers)


def test_both_orders_of_the_respondents_name_the_same_pilot() -> None:
    assert published_pilot("human", "gemini") is published_pilot("gemini", "human")
    assert published_pilot(None, None) is published_pilot("gemini", None)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"a": "llama"}, "unknown-name:--published"),
        ({"a": "gemini", "b": "mine"}, "unknown-name:--published"),
        ({"metrics": ["log_score"]}, "unknown-name:--published"),
    ],
)
def test_unknown_respondents_and_metrics_are_errors(arguments: dict[str, object], where: str) -> None:
    with raises(OptionError, where):
        plan_published(Goal(5.0), **arguments)  # type: ignore[arg-type]


def test_plan_command_needs_no_pilot(tmp_path: Path) -> None:
    done = spotball("plan", "--published", "--a", "human", "--metrics", "accuracy", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert Plan.model_validate_json(done.stdout) == plan_published(Goal(5.0), a="human", metrics=["accuracy"])
    for words in (("--sport", "soccer"), (tmp_path,)):
        wrong = spotball("plan", "--published", *words)
        assert (wrong.returncode, codes(wrong.stderr)) == (2, ["conflicting-options"])
