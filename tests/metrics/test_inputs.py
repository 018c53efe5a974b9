"""Test which input every metric accepts and rejects, and what it returns."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import METRICS, accuracy, brier_score, euclidean_error, log_score, top_k_accuracy
from spotball_core.errors import DistributionError, GridError
from spotball_core.extend import Metric
from spotball_core.grid import Grid
from spotball_core.schema import GroundTruth, PlayerBox, PredictionDistribution, Scene
from tests.conftest import examples
from tests.failures import raises

from .strategies import Array, counts, truths

N = 60
GRID = Grid.standard()
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.key)
PLAIN = [metric for metric in METRICS.values() if not metric.is_matched]
every_plain_metric = pytest.mark.parametrize("metric", PLAIN, ids=lambda metric: metric.key)
"""This excludes matched metrics, which draw from counts and need enough of them. See tests/metrics/test_matched.py."""

BALL, OTHER, PLAYERS = GRID.mask(["C4", "C5"]), np.arange(1.0, 61.0), np.array([[0.0, 0.0, 200.0, 200.0]])


def with_second(metric: Metric, **options: Any) -> Callable[..., Any]:
    """Return the metric as a function of the guesses, with defaults for the second argument that it needs."""

    def call(guesses: Any, *, truth: Any = BALL, reference: Any = OTHER, players: Any = PLAYERS, **more: Any) -> Any:
        given = {"truth": truth, "reference": reference, "players": players}
        return metric.function(guesses, *(given[need] for need in metric.needs), **options, **more)

    return call


def needing(*needs: str) -> pytest.MarkDecorator:
    found = [metric for metric in PLAIN if set(metric.needs) & set(needs)]
    return pytest.mark.parametrize("metric", found, ids=lambda metric: metric.key)


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, equal_nan=True)


@every_plain_metric
@settings(max_examples=examples(25))
@given(counts=counts(N), ball=truths(N))
def test_metric_of_counts_labels_and_probabilities_gives_the_same_value(
    metric: Metric, counts: Array, ball: Array
) -> None:
    call = with_second(metric)
    labels = [label for label, count in zip(GRID.labels, counts, strict=True) for _ in range(int(count))]
    shares = {label: count / sum(counts) for label, count in zip(GRID.labels, counts, strict=True) if count}
    names = {"sport": "soccer", "image": "1", "respondent": "mine", "kind": "model"}
    expected = call(counts, truth=ball)
    for guesses in (
        counts.astype(int),
        counts.tolist(),
        counts / counts.sum(),
        labels,
        tuple(reversed(labels)),
        shares,
        {label.lower(): share for label, share in reversed(shares.items())},
        PredictionDistribution(**names, probabilities=shares),  # type: ignore[arg-type]
        PredictionDistribution(**names, probabilities=tuple(counts / counts.sum())),  # type: ignore[arg-type]
    ):
        same(call(guesses, truth=ball), expected)


@every_plain_metric
@settings(max_examples=examples(25))
@given(counts=counts(N), factor=st.sampled_from([1e-12, 1e-6, 0.1, 1 / 3, 7, 1e6, 1e12]))
def test_metric_does_not_change_if_all_counts_are_scaled(metric: Metric, counts: Array, factor: float) -> None:
    call = with_second(metric)
    same(call(factor * counts, reference=factor * OTHER), call(counts))


@every_plain_metric
@settings(max_examples=examples(25))
@given(counts=counts(N), ball=truths(N))
def test_metric_value_is_nan_or_within_the_range_of_its_unit(metric: Metric, counts: Array, ball: Array) -> None:
    highest = {"share": 1.0, "px": GRID.diagonal, "none": 2.0, "nats": math.log(N / 0.01), "ratio": math.inf}
    value = with_second(metric)(counts, truth=ball)
    assert math.isnan(value) or 0 <= value <= highest[metric.unit] * (1 + 1e-12)


@every_metric
def test_metric_treats_all_spellings_of_a_label_as_one_cell_and_adds_up_their_counts(metric: Metric) -> None:
    call = with_second(metric)
    for label in ("D5", "5d", " d 5 "):
        same(call(label), call(["D5"]))
    same(call({"D5": 1, "5d": 2, "A1": 1}), call(["D5", "D5", "D5", "A1"]))


OTHER_GRID, TWO_PLAYERS = Grid(4, 5, 641, 359), [[10.0, 20, 200, 300], [500, 0, 700, 90]]
SCENE = Scene(sport="soccer", image="1", grid=OTHER_GRID, ball_cells=("B2", "B3"), players=TWO_PLAYERS)
LABELS = ["B2", "b2", "5D", "A1", "C3", None]
ARRAYS: dict[str, Any] = {
    "guesses": np.bincount([6, 6, 19, 0, 12], minlength=20).astype(float),
    "truth": np.isin(np.arange(20), [6, 7]),
    "reference": np.arange(20.0),
    "players": np.array(TWO_PLAYERS),
}


def on_other_grid(metric: Metric) -> Callable[..., Any]:
    """Return the metric. `center_ratio` gets a window, because the default one is for the standard grid."""
    return with_second(metric, **({"window": ((1, 2), (1, 3))} if metric.key == "center_ratio" else {}))


@every_plain_metric
def test_metric_of_labels_and_a_scene_equals_that_of_arrays(metric: Metric) -> None:
    call = on_other_grid(metric)
    expected = call(**ARRAYS, grid=OTHER_GRID)
    assert np.isfinite(expected)
    if metric.key == "accuracy":
        expected *= 5 / 6  # one of the six answers is unparsed and counts as wrong

    seconds: list[dict[str, Any]] = [
        {"truth": SCENE, "players": SCENE},
        {"truth": SCENE.truth, "players": SCENE.players},
        {"truth": {"b3", "2B"}, "players": list(SCENE.players or ())},
    ]
    for second in seconds:
        same(call(LABELS, **second, reference=ARRAYS["reference"], grid=OTHER_GRID), expected)
    if "truth" in metric.needs or "players" in metric.needs:
        same(call(LABELS, truth=SCENE, players=SCENE), expected)


@needing("truth", "players")
def test_metric_of_a_scene_whose_grid_differs_from_the_grid_argument_raises_grid_error(metric: Metric) -> None:
    with raises(GridError, "different-grids:grid"):
        on_other_grid(metric)(["A1"], truth=SCENE, players=SCENE, grid=GRID)


@needing("truth")
def test_metric_of_ground_truth_whose_grid_differs_from_the_grid_argument_raises_grid_error(metric: Metric) -> None:
    tall = Grid(10, 6, 640, 360)  # as many cells as the standard grid, but C2 has another index
    truth = GroundTruth.from_labels(["C2"], tall)
    with raises(GridError, "different-grids:grid"):
        with_second(metric)(["C2"], truth=truth, grid=GRID)
    same(on_other_grid(metric)(["C2"], truth=truth, grid=tall), on_other_grid(metric)(["C2"], truth={"C2"}, grid=tall))


def test_metric_reads_guessed_labels_on_the_grid_of_the_ground_truth() -> None:
    truth = GroundTruth.from_labels(["J2", "J3"], Grid(10, 6, 640, 360))
    assert accuracy(["J2", "A1"], truth) == 1 / 2
    assert top_k_accuracy(["J2", "J2", "A1"], truth, k=1) == 1
    assert brier_score(["J2", "J3"], truth) == 0
    assert log_score(["J2"], truth) < log_score(["J1"], truth)
    with pytest.raises(GridError):
        euclidean_error(["J2"], truth)  # the ground truth does not contain the cell size in pixels


@every_plain_metric
def test_metric_broadcasts_all_axes_before_the_axis_of_cells(metric: Metric) -> None:
    call = with_second(metric)
    rng = np.random.default_rng(5)
    guesses = rng.integers(0, 4, (3, 4, N))
    truth = rng.random((4, N)) < 0.2
    reference = rng.integers(1, 9, (4, N))
    players = np.sort(rng.random((4, 2, 2, 2)) * 600, axis=2).reshape(4, 2, 4)
    found = call(guesses, truth=truth, reference=reference, players=players)
    if metric.key == "image_entropy":
        assert found.shape == (3,)
        same(found, [call(guesses[i]) for i in range(3)])
        return
    seconds = [{"truth": truth[j], "reference": reference[j], "players": players[j]} for j in range(4)]
    assert found.shape == (3, 4)
    assert np.isfinite(found).all()
    same(found, [[call(guesses[i, j], **seconds[j]) for j in range(4)] for i in range(3)])
    if metric.needs:  # The second argument may have more axes than the guesses.
        found = call(guesses[0, 0], truth=truth, reference=reference, players=players)
        same(found, [call(guesses[0, 0], **second) for second in seconds])
        assert len(set(found)) > 1


@needing("truth", "reference", "players")
def test_metric_of_axes_that_do_not_broadcast_raises_distribution_error(metric: Metric) -> None:
    truth, reference, players = np.stack([BALL] * 2), np.stack([OTHER] * 2), np.stack([PLAYERS] * 2)
    with raises(DistributionError, "wrong-shape"):
        with_second(metric)(np.ones((3, N)), truth=truth, reference=reference, players=players)


@every_metric
def test_metric_without_answers_is_nan_but_accuracy_of_only_unparsed_answers_is_0(metric: Metric) -> None:
    call = with_second(metric)
    for nothing in (np.zeros(N), [0] * N, [], {}, {"D5": 0.0}):
        assert math.isnan(call(nothing))
    # Unparsed answers are wrong, so accuracy has a value.
    unread = call([None, None])
    assert unread == 0 if metric.key == "accuracy" else math.isnan(unread)


@every_plain_metric
def test_metric_is_nan_for_an_image_without_answers_and_unaffected_for_other_images(metric: Metric) -> None:
    call = with_second(metric)
    guesses = np.stack([np.zeros(N), OTHER[::-1]])
    found = call(guesses)
    if metric.key == "image_entropy":
        same(found, call(OTHER[::-1]))
    else:
        assert math.isnan(found[0])
        same(found[1], call(OTHER[::-1]))


NO_BALL = Scene(sport="soccer", image="2", grid=GRID)
NO_SECOND: dict[str, list[Any]] = {
    "truth": [np.zeros(N, dtype=bool), np.zeros(N), set(), "", NO_BALL, GroundTruth.from_labels([], GRID)],
    "reference": [np.zeros(N), [], [None], {}],
    "players": [NO_BALL, NO_BALL.model_copy(update={"players": ()}), [], (), np.empty((0, 4)), np.full((3, 4), np.nan)],
}
FIRST_OF_TWO = {
    "truth": np.stack([BALL, np.zeros(N, dtype=bool)]),
    "reference": np.stack([OTHER, np.zeros(N)]),
    "players": np.stack([PLAYERS, np.full((1, 4), np.nan)]),
}


@needing("truth", "reference", "players")
def test_metric_with_an_empty_truth_reference_or_players_returns_nan(metric: Metric) -> None:
    call, (need,) = with_second(metric), metric.needs
    for nothing in NO_SECOND[need]:
        assert math.isnan(call(["D5"], **{need: nothing}))
    found = call([["C4", "C4"]] * 2, **{need: FIRST_OF_TWO[need]})
    same(found, [call(["C4", "C4"]), math.nan])
    assert math.isnan(call([], reference=[]))
    if need == "players":
        assert np.isnan(call(["D5", "D5"], players=np.empty((2, 0, 4)))).tolist() == [True, True]


NO_MASS = {
    "negative": np.append(np.ones(N - 1), -1),
    "a little negative": np.append(np.ones(N - 1), -1e-300),
    "NaN": np.append(np.ones(N - 1), np.nan),
    "infinite": np.append(np.ones(N - 1), np.inf),
    "too large to add up": np.full(N, 1e308),
    "negative in one of two images": np.stack([np.ones(N), -np.ones(N)]),
    "complex": np.ones(N) * 1j,
    "dates": np.array(["2026-01-01"] * N, dtype="datetime64[D]"),
    "a number": 5.0,
    "one cell too few": np.ones(N - 1),
    "one cell too many": np.ones((2, N + 1)),
    "one cell alone": np.ones(1),
    "no cells": np.ones((2, 0)),
    "an empty array": np.empty(0),
    "ragged": [[1.0], [1.0, 2.0]],
    "labels beside numbers": [["D5"], [1.0] * N, 5.0],
    "a missing number": [1.0] * (N - 1) + [None],
    "a negative label": {"D5": 1.5, "A1": -0.5},
    "negative under another spelling": {"D5": 2.0, "d5": -1.0},
    "NaN by label": {"D5": math.nan},
    "text by label": {"D5": "often"},
    "nothing": None,
}


@every_metric
@pytest.mark.parametrize("wrong", NO_MASS)
def test_metric_of_invalid_guesses_or_reference_raises_distribution_error(metric: Metric, wrong: str) -> None:
    call = with_second(metric)
    with pytest.raises(DistributionError):
        call(NO_MASS[wrong], grid=GRID)
    if metric.needs == ("reference",):
        with pytest.raises(DistributionError):
            call(OTHER, reference=NO_MASS[wrong], grid=GRID)


@needing("truth")
def test_guesses_and_ground_truth_of_different_lengths_raise_distribution_error(metric: Metric) -> None:
    for length in (1, 4, N - 1):
        with pytest.raises(DistributionError):
            with_second(metric)(np.ones(length))
        with pytest.raises(DistributionError):
            with_second(metric)(np.ones(N), truth=np.ones(length, dtype=bool))


def test_metric_of_a_prediction_distribution_with_a_wrong_length_raises_distribution_error() -> None:
    answer = PredictionDistribution(sport="s", image="1", respondent="r", kind="model", probabilities=(1.0,))
    for metric in METRICS.values():
        with raises(DistributionError, "wrong-shape:probabilities"):
            with_second(metric)(answer)


@every_metric
@pytest.mark.parametrize("label", ["G1", "A11", "A0", "ball"])
def test_metric_of_labels_outside_the_grid_raises_grid_error(metric: Metric, label: str) -> None:
    call = with_second(metric)
    for guesses in ([label], ["D5", None, label], {label: 1.0}, label):
        with pytest.raises(GridError):
            call(guesses)
    if metric.needs == ("truth",):
        with pytest.raises(GridError):
            call(["D5"], truth={"D5", label})


NO_TRUTH = {
    "2": np.full(N, 2),
    "a share": np.full(N, 0.5),
    "negative": np.full(N, -1),
    "NaN": np.full(N, np.nan),
    "true": True,
    "a scene twice": [SCENE, SCENE],
    "nothing": None,
}


@needing("truth")
@pytest.mark.parametrize("wrong", NO_TRUTH)
def test_invalid_ground_truth_raises_distribution_error(metric: Metric, wrong: str) -> None:
    call = with_second(metric)
    if metric.over == "pool" and wrong in ("2", "a share"):
        # The center metrics accept counts of how often each cell contains the ball.
        same(call(OTHER, truth=NO_TRUTH[wrong]), call(OTHER, truth=np.ones(N)))
    else:
        with pytest.raises(DistributionError):
            call(OTHER, truth=NO_TRUTH[wrong])


NO_PLAYERS = {
    "a box alone": [0, 0, 10, 10],
    "three numbers": [[0, 0, 10]],
    "ragged": [[0, 0, 10, 10], [0, 0, 10]],
    "right of its right": [[10, 0, 5, 10]],
    "below its bottom": [[0, 10, 10, 5]],
    "half missing": [[0, 0, math.nan, 10]],
    "infinite": [[0, 0, math.inf, 10]],
    "text": "everyone",
    "labels": ["D5"],
    "nothing": None,
    "a record beside no box": [PlayerBox(x1=0, y1=0, x2=1, y2=1), "D5"],
}


@needing("players")
@pytest.mark.parametrize("wrong", NO_PLAYERS)
def test_invalid_player_box_raises_grid_error(metric: Metric, wrong: str) -> None:
    with pytest.raises(GridError):
        with_second(metric)(OTHER, players=NO_PLAYERS[wrong])


def masked_rows(values: Any, *rows: int) -> Any:
    """Return a masked array with these rows masked. The numbers under the mask must not be used."""
    values = np.array(values)
    mask = np.zeros(values.shape, dtype=bool)
    mask[list(rows)] = True
    return np.ma.array(values, mask=mask)


GUESSES = np.arange(3.0 * N).reshape(3, N) % 7


@every_metric
def test_metric_treats_a_masked_image_as_an_image_without_answers(metric: Metric) -> None:
    call = with_second(metric)
    empty = GUESSES.copy()
    empty[1] = 0
    plain = call(empty)
    for guesses in (
        masked_rows(GUESSES, 1),
        list(masked_rows(GUESSES, 1)),
        masked_rows(GUESSES.astype(int), 1),
    ):
        same(call(guesses), plain)
    if np.ndim(plain):
        assert np.isnan(plain[1])
    # A mask without masked values has no effect.
    same(call(np.ma.array(GUESSES)), call(GUESSES))
    same(call(np.ma.array(GUESSES, mask=np.zeros(GUESSES.shape, dtype=bool))), call(GUESSES))


@every_metric
def test_metric_of_partly_masked_guesses_raises_distribution_error(metric: Metric) -> None:
    guesses = np.ma.masked_equal(GUESSES, 3)
    assert guesses.mask.any()
    for form in (guesses, list(guesses), [list(row) for row in guesses]):
        with raises(DistributionError, "invalid-distribution:guesses"):
            with_second(metric)(form)


TRUTHS, BOX_PAIR = np.array([BALL] * 3), np.array([[0, 0, 200, 200], [400, 100, 500, 300]])
MASKED: dict[str, tuple[Any, Any, Any]] = {
    # The second argument with a masked row, an equal argument without a mask, and an argument with a partly masked row.
    "truth": (masked_rows(TRUTHS, 1), TRUTHS & (np.arange(3)[:, None] != 1), np.ma.array(BALL, mask=np.arange(N) == 5)),
    "reference": (
        masked_rows(GUESSES + 1, 2),
        (GUESSES + 1) * (np.arange(3)[:, None] != 2),
        np.ma.masked_equal(OTHER, 3),
    ),
    "players": (masked_rows(BOX_PAIR, 0), BOX_PAIR[1:], np.ma.array(BOX_PAIR, mask=np.arange(8).reshape(2, 4) == 0)),
}


@needing("truth", "reference", "players")
def test_metric_treats_masked_truth_reference_or_players_as_missing_and_rejects_partly_masked_ones(
    metric: Metric,
) -> None:
    call, (need,) = with_second(metric), metric.needs
    masked, equal, partly = MASKED[need]
    same(call(GUESSES, **{need: masked}), call(GUESSES, **{need: equal}))
    assert np.isnan(np.atleast_1d(call(GUESSES, **{need: np.ma.array(masked.data, mask=True)}))).all()
    where = "invalid-grid:boxes" if need == "players" else f"invalid-distribution:{need}"
    with raises((DistributionError, GridError), where):
        call(GUESSES, **{need: partly})


def test_accuracy_counts_masked_labels_as_unparsed_and_ignores_masks_without_masked_values() -> None:
    labels = np.ma.array(["C4", "E6", "F1"], mask=[False, True, False])
    assert accuracy(labels, BALL) == accuracy(["C4", None, "F1"], BALL) == pytest.approx(1 / 3)
    same(accuracy(GUESSES, BALL, unparsed=np.ma.array([1, 2, 3])), accuracy(GUESSES, BALL, unparsed=[1, 2, 3]))


@pytest.mark.parametrize(
    ("guesses", "truth", "unparsed", "field"),
    [
        (GUESSES, BALL, np.ma.array([1, 2, 3], mask=[0, 1, 0]), "unparsed"),
        ({"C4": 0.5, "C5": np.ma.masked}, BALL, 0, "guesses"),
        (["A1"], 3, 0, "truth"),
        ([[1, 0]], np.ma.array([[True, False]], mask=[[True, False]]), 0, "truth"),
    ],
)
def test_accuracy_of_partly_masked_input_or_of_a_number_as_truth_raises_distribution_error(
    guesses: Any, truth: Any, unparsed: Any, field: str
) -> None:
    with raises(DistributionError, f"invalid-distribution:{field}"):
        accuracy(guesses, truth, unparsed=unparsed)


BALLS = [{"C4", "C5"}, "A1", {"D5"}, "F10"]
PEOPLE = [["C4", "C6", "C4"], ["A1", "B1"], ["D5", "D5", "E9", "A2"], ["F1", "F9"]]
BOXES = [[[0, 0, 200, 200], [300, 10, 330, 90]], [[10, 20, 90, 120]], [[320, 180, 400, 359]], [[0, 300, 639, 320]]]
SCENES = [
    Scene(image=str(image), grid=GRID, ball_cells=tuple({ball} if isinstance(ball, str) else ball), players=boxes)
    for image, (ball, boxes) in enumerate(zip(BALLS, BOXES, strict=True))
]
SETS = [metric for metric in METRICS.values() if metric.is_matched or metric.key == "image_entropy"]
"""Metrics that return one number for a set of images."""


def counted(images: Any) -> Array:
    return np.array([[labels.count(label) for label in GRID.labels] for labels in images], dtype=float)


def padded(images: list[list[list[float]]]) -> Array:
    most = max(map(len, images))
    return np.array([[*boxes, *[[np.nan] * 4] * (most - len(boxes))] for boxes in images])


def of_arrays(array: Array) -> list[Any]:
    """Return an array in the forms in which users of other libraries may have it."""
    forms = [array, array.tolist(), list(array), [*map(tuple, array.tolist())], array.astype(np.float32)]
    forms += [pl.Series(array.tolist()), pd.Series(array.tolist())]
    forms += [frame(dict(zip(GRID.labels, array.T, strict=True))) for frame in (pl.DataFrame, pd.DataFrame)]
    if torch := sys.modules.get("torch"):
        forms += [torch.tensor(array), torch.tensor(array, dtype=torch.float32, requires_grad=True)]
    return forms


def of_labels(values: list[Any]) -> list[Any]:
    """Return labels, or lists of labels, in the forms in which users of other libraries may have them."""
    return [values, tuple(values), iter(values), pl.Series(values), pd.Series(values), np.array(values, dtype=object)]


def seconds_of(metric: Metric) -> list[Any]:
    """Return the forms of the second argument of a metric, for all images."""
    if metric.needs == ("truth",):
        masks = np.array([GRID.mask({ball} if isinstance(ball, str) else ball) for ball in BALLS])
        lists = [sorted({ball} if isinstance(ball, str) else ball) for ball in BALLS]
        mixed: list[Any] = [SCENES[0].truth, *BALLS[1:]]
        return [BALLS, SCENES, tuple(SCENES), lists, mixed, pl.Series(lists), pd.Series(lists), *of_arrays(masks)[:5]]
    if metric.needs == ("players",):
        return [BOXES, SCENES, [*map(np.array, BOXES)], [scene.players for scene in SCENES], padded(BOXES)]
    return [PEOPLE, *of_labels(PEOPLE)[3:], *of_arrays(counted(PEOPLE))]


def call_with(metric: Metric, guesses: Any, second: Any) -> Any:
    return metric.function(guesses, *([second] if metric.needs else []))


def one_by_one(metric: Metric, images: list[Any]) -> Array:
    second = {"truth": BALLS, "players": BOXES, "reference": PEOPLE}.get(next(iter(metric.needs), ""), [None] * 4)
    return np.array([call_with(metric, labels, second[image]) for image, labels in enumerate(images)])


answers = st.lists(st.sampled_from([*GRID.labels[:12], "C4", "D5", "F10"]), min_size=1, max_size=5)


@every_plain_metric
@settings(max_examples=examples(8))
@given(images=st.lists(answers, min_size=4, max_size=4))
def test_metric_of_several_images_in_any_form_equals_a_loop_over_images(
    metric: Metric, images: list[list[str]]
) -> None:
    expected = one_by_one(metric, images)
    expected = expected.mean() if metric in SETS else expected
    seconds = seconds_of(metric)
    for guesses in (*of_labels(images), [Counter(labels) for labels in images], *of_arrays(counted(images))):
        same(call_with(metric, guesses, seconds[0]), expected)
    for second in seconds:
        same(call_with(metric, images, second), expected)
        same(call_with(metric, counted(images), second), expected)


@needing("truth", "players")
@settings(max_examples=examples(8))
@given(labels=st.lists(st.sampled_from([*GRID.labels, None, "", math.nan]), min_size=4, max_size=4))
def test_metric_of_one_guess_per_image_equals_a_loop_over_images(metric: Metric, labels: list[Any]) -> None:
    expected = one_by_one(metric, [[label] for label in labels])
    for second in seconds_of(metric):
        same(call_with(metric, labels, second), expected)
    known = [label if isinstance(label, str) else None for label in labels]
    for column in (tuple(labels), iter(labels), np.array(labels, dtype=object), pd.Series(labels), pl.Series(known)):
        same(call_with(metric, column, seconds_of(metric)[0]), expected)


@pytest.mark.parametrize("metric", [metric for metric in METRICS.values() if metric.is_matched], ids=lambda m: m.key)
def test_matched_metrics_give_the_same_value_for_images_in_every_form(metric: Metric) -> None:
    images = [["C4", "C4", "C6", "B2"], ["A1", "A1", "B1", "F9"], ["D5", "D6", "E9", "A2", "A2"], ["F10", "F1"]]
    images, people = [labels * 4 for labels in images], [labels * 3 for labels in PEOPLE]
    second = {"truth": SCENES, "reference": people}.get(next(iter(metric.needs), ""))
    expected = call_with(metric, counted(images), second)
    assert np.isfinite(expected).all()
    for guesses in (*of_labels(images), [Counter(labels) for labels in images], *of_arrays(counted(images))[:4]):
        same(call_with(metric, guesses, second), expected)


@needing("truth", "players")
@pytest.mark.parametrize("n", [1, 3, 5])
def test_metric_of_different_numbers_of_images_raises_an_error_that_names_both_numbers(metric: Metric, n: int) -> None:
    for guesses in (["A1"] * n, [["A1", "A2"]] * n, [{"A1": 2}] * n):
        for second in (seconds_of(metric)[0], SCENES):
            with pytest.raises(DistributionError) as caught:
                call_with(metric, guesses, second)
            assert {str(n), "4"} <= set(re.findall(r"\d+", str(caught.value)))


def test_accuracy_without_truth_is_nan_and_of_numbers_mixed_with_labels_raises_an_error_that_names_the_image() -> None:
    for missing in (math.nan, None):
        assert np.isnan(accuracy(["D5", "C2"], [missing, missing])).tolist() == [True, True]
    for place, guesses in enumerate(([1.0, "D5"], ["D5", 1.0])):
        with raises(DistributionError, f"wrong-shape:guesses[{place}]"):
            accuracy(guesses, ["D5", "C2"])
