"""Test the registry of metrics: keys and their order, documentation, and access by key."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import spotball_core
from spotball_core import METRICS
from spotball_core.extend import Metric
from spotball_core.grid import Grid
from spotball_core.metrics.metric import MetricInput, MetricOptions
from spotball_core.typing import FloatArray

KEYS = (
    "accuracy euclidean_error wasserstein wasserstein_matched near_player_rate overlap_rate center_ratio "
    "normalized_entropy image_entropy top_k_accuracy log_score brier_score energy_score expected_error "
    "symmetric_center_bias wasserstein_1d wasserstein_1d_matched normalized_entropy_matched image_entropy_matched "
    "top_k_accuracy_matched log_score_matched brier_score_matched energy_score_matched"
)
EQUATIONS = {
    "accuracy": "1",
    "euclidean_error": "2",
    "wasserstein": "3",
    "near_player_rate": "4, 5",
    "overlap_rate": "6",
    "center_ratio": "7",
    "normalized_entropy": "8",
    "image_entropy": "8",
}

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.key)


def test_metric_keys_and_their_order_do_not_change() -> None:
    assert " ".join(METRICS) == KEYS
    assert all(key == metric.key for key, metric in METRICS.items())


@every_metric
def test_metric_function_is_exported_under_its_key_and_requires_guesses_and_the_inputs_that_the_metric_needs(
    metric: Metric,
) -> None:
    assert getattr(spotball_core, metric.key) is metric.function
    assert metric.key in spotball_core.__all__
    assert metric.function.__name__ == metric.key
    parameters = inspect.signature(metric.function).parameters.values()
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    assert tuple(required) == ("guesses", *metric.needs)
    # Optional arguments are keyword-only.
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters if parameter.name not in required)


@every_metric
def test_metric_docstring_has_summary_sections_example_parameters_and_equation(metric: Metric) -> None:
    text = inspect.getdoc(metric.function) or ""
    assert text.startswith(metric.summary)
    assert metric.summary.rstrip(".:") != ""
    if metric.estimates and f"`{metric.estimates}`, and:" in text:
        # The metric is derived: it takes the arguments of the plain metric, and those of the random draws.
        plain = set(inspect.signature(METRICS[metric.estimates].function).parameters)
        assert set(inspect.signature(metric.function).parameters) == plain | {"seed", "draws"}
        return
    for part in ("Args:", "Returns:", "Raises:", ">>> "):
        assert part in text
    returned = text.split("Returns:")[1].split("Raises:")[0]
    assert "Shape (...)" in returned
    assert re.search(r"NaN\s+(if|with|without)\s", returned)
    for parameter in inspect.signature(metric.function).parameters:
        assert re.search(rf"^ +{parameter}: ", text, re.MULTILINE), parameter
    assert metric.equation == EQUATIONS.get(metric.key)
    if metric.equation is not None:
        assert "$$" in text
        for number in metric.equation.split(", "):
            assert re.search(rf"\(eq\. [^)]*\b{number}\b", text), number


@every_metric
def test_metric_has_a_unique_title_symbol_and_function_and_a_known_direction_and_unit(metric: Metric) -> None:
    assert metric.title[0].isupper() or metric.title[0].isdigit()
    assert metric.symbol
    assert metric.direction in ("lower", "higher") or metric.direction.startswith(("like the", "1 = "))
    assert metric.unit in ("share", "px", "ratio", "nats", "none")
    for field in ("title", "symbol", "function"):
        assert [getattr(other, field) for other in METRICS.values()].count(getattr(metric, field)) == 1


def test_metrics_that_depend_on_the_number_of_responses_have_a_matched_version() -> None:
    by_size = {key for key, metric in METRICS.items() if metric.by_size}
    assert by_size == {metric.estimates for metric in METRICS.values() if metric.is_matched}
    for metric in METRICS.values():
        if metric.estimates:
            plain = METRICS[metric.estimates]
            assert metric.key == f"{plain.key}_matched"
            for field in ("unit", "unit_option", "direction", "needs", "over", "family"):
                assert getattr(metric, field) == getattr(plain, field)


def made(grid: Grid, shape: tuple[int, ...], **options: Any) -> MetricInput:
    """Return random probabilities and one ball cell for each image; images are the last axis of `shape`."""
    rng, n = np.random.default_rng(1), shape[-1]
    cells = np.eye(grid.n_cells, dtype=bool)
    return MetricInput(
        mass=rng.dirichlet(np.ones(grid.n_cells), shape),
        unparsed=rng.integers(0, 3, shape).astype(float),
        truth=cells[rng.integers(0, grid.n_cells, n)],
        reference=rng.dirichlet(np.ones(grid.n_cells), n),
        near=rng.random((n, grid.n_cells)) < 0.5,
        overlap=rng.random((n, grid.n_cells)) < 0.5,
        has_players=np.ones(n, dtype=bool),
        boxes=lambda: [np.array([[0.0, 0, 30, 30]])] * n,
        grids=(grid,),
        grid_of=np.zeros(n, dtype=int),
        options=MetricOptions(**options),
    )


def total(metric: Metric, data: MetricInput) -> FloatArray:
    return metric.aggregate.statistic(data).total()


# These metrics draw different responses for each respondent.
DRAWN = ("top_k_accuracy_matched", "log_score_matched")


@pytest.mark.parametrize("key", [key for key in METRICS if key not in DRAWN])
def test_metric_statistic_of_several_respondents_equals_that_of_each_respondent_alone(key: str) -> None:
    data = made(Grid.standard(), (3, 4), draws=1)
    alone = [total(METRICS[key], replace(data, mass=data.mass[i], unparsed=data.unparsed[i])) for i in range(3)]
    assert total(METRICS[key], data) == pytest.approx(np.array(alone), rel=1e-9)
    statistic = METRICS[key].aggregate.statistic(data)
    assert statistic.enters.shape == statistic.answered.shape == (3, 4)


def test_metric_options_apply_to_wasserstein_matched_and_to_the_title_of_top_k_accuracy() -> None:
    data = made(Grid(2, 2, 60, 80), (6,), wasserstein_unit="diagonal", seed=3, draws=2)
    data = replace(data, mass=np.floor(20 * data.mass), reference=np.floor(50 * data.reference))
    choices = {"grid": data.grid, "unit": "diagonal", "seed": 3, "draws": 2}
    expected = spotball_core.wasserstein_matched(data.mass, data.reference, **choices)
    assert total(METRICS["wasserstein_matched"], data) == expected
    assert expected != spotball_core.wasserstein_matched(data.mass, data.reference, **{**choices, "draws": 3})
    # The title shows k only if it is known.
    assert METRICS["top_k_accuracy"].title_under(object()) == METRICS["top_k_accuracy"].title
    assert METRICS["top_k_accuracy"].title_under(MetricOptions(top_k=5)) == "Top-5 accuracy"


def test_image_with_one_answer_does_not_enter_a_matched_metric() -> None:
    data = made(Grid(2, 2, 60, 80), (3,))
    mass = np.array([[20.0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 2]])
    statistic = METRICS["normalized_entropy_matched"].aggregate.statistic(replace(data, mass=mass))
    assert statistic.enters.tolist() == [True, False, True]
    assert statistic.answered.tolist() == [20, 1, 2]
