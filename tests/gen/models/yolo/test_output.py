"""Test reading boxes from a detector's raw output against plain loops."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_gen.items.item import Box, Label
from spotball_gen.items.sports import Sport
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.output import places_left, read_boxes
from spotball_gen.models.yolo.settings import wanted_classes
from tests.failures import raises
from tests.gen.models.yolo import plain

WANTED: dict[int, Label] = {2: "ball", 0: "player"}
IMAGE, CANVAS = (360, 640), (640, 640)


def output_of(*rows: tuple[float, ...]) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32).reshape(len(rows), -1).T if rows else np.empty((7, 0), dtype=np.float32)


def read(output: NDArray[np.float32], confidence: float = 0.25, overlap: float = 0.7) -> tuple[Box, ...]:
    return read_boxes(output, Letterbox.of(IMAGE, CANVAS), WANTED, confidence=confidence, overlap=overlap)


# Sixteenths make sums exact, so an overlap is on the same side of its limit in any arithmetic. Scores are distinct,
# because the order of equal scores depends on the library.
@st.composite
def outputs(draw: st.DrawFn) -> NDArray[np.float32]:
    n = draw(st.integers(0, 25))
    sixteenths = st.integers(-20 * 16, 660 * 16).map(lambda n: n / 16)
    lengths = st.integers(1, 200 * 16).map(lambda n: n / 16)
    scores = iter(draw(st.permutations(range(1, 3 * n + 1))))
    rows = [
        (draw(sixteenths), draw(sixteenths), draw(lengths), draw(lengths), *(next(scores) / (3 * n + 1) for _ in "abc"))
        for _ in range(n)
    ]
    near = draw(st.booleans())
    return output_of(*((300 + x % 8, 300 + y % 8, w, h, *s) if near else (x, y, w, h, *s) for x, y, w, h, *s in rows))


@given(outputs(), st.sampled_from([0.0, 0.25, 0.625]), st.sampled_from([0.1, 0.45, 0.7, 1.0]))
def test_read_boxes_equals_plain_loops(output: NDArray[np.float32], confidence: float, overlap: float) -> None:
    boxes = read(output, confidence, overlap)
    expected = plain.read(output.T.tolist(), WANTED, IMAGE, CANVAS, confidence, overlap)  # type: ignore[arg-type]
    assert [box.label for box in boxes] == [label for label, _, _ in expected]
    assert [box.score for box in boxes] == pytest.approx([score for _, score, _ in expected])
    for box, (_, _, corners) in zip(boxes, expected, strict=True):
        assert box.corners == pytest.approx(corners, abs=1e-9)


def test_read_boxes_uses_only_the_most_likely_class() -> None:
    ball_or_bird = (100.0, 200.0, 20.0, 20.0, 0.1, 0.6, 0.5)
    ball = (300.0, 200.0, 20.0, 20.0, 0.1, 0.5, 0.6)
    (box,) = read(output_of(ball_or_bird, ball))
    assert box == Box(290.0, 50.0, 310.0, 70.0, pytest.approx(0.6), "ball")


def test_read_boxes_keeps_a_ball_that_overlaps_a_player() -> None:
    player = (100.0, 300.0, 40.0, 40.0, 0.9, 0.0, 0.0)
    ball = (100.0, 300.0, 40.0, 40.0, 0.0, 0.0, 0.8)
    assert [box.label for box in read(output_of(ball, player))] == ["player", "ball"]


def test_read_boxes_excludes_scores_not_above_the_confidence() -> None:
    rows = [(100.0 * n, 300.0, 40.0, 40.0, 0.0, 0.0, score) for n, score in enumerate([0.25, 0.2500001, 0.2], 1)]
    assert [box.center[0] for box in read(output_of(*rows))] == [200.0]


def test_read_boxes_excludes_boxes_in_the_padding() -> None:
    assert read(output_of((320.0, 60.0, 40.0, 40.0, 0.0, 0.0, 0.9))) == ()


def test_read_boxes_of_an_empty_output_is_empty() -> None:
    assert read(output_of()) == ()


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_read_boxes_with_nan_or_infinity_is_an_error(broken: float) -> None:
    with pytest.raises(ValueError, match="NaN"):
        read(output_of((320.0, 300.0, 40.0, 40.0, 0.0, 0.0, broken)))


@given(st.integers(0, 30), st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2**32 - 1))
def test_places_left_excludes_exactly_the_boxes_that_overlap_a_better_one(n: int, overlap: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cornered = np.concatenate([rng.uniform(0, 60, (n, 2)), rng.uniform(1, 60, (n, 2))], axis=1)
    scores = rng.random(n, dtype=np.float32)
    left = places_left(cornered, scores, overlap).tolist()
    corners = [(x, y, x + w, y + h) for x, y, w, h in cornered.tolist()]
    for index in range(n):
        better = [kept for kept in left if scores[kept] > scores[index]]
        covered = any(plain.iou(corners[index], corners[kept]) > overlap for kept in better)
        assert (index in left) != covered


def test_wanted_classes_with_an_unknown_class_is_an_error() -> None:
    handball = Sport(ball_class="handball")
    with raises(OptionError, "unknown-name:detect"):
        wanted_classes({0: "person", 32: "sports ball"}, handball, "m.onnx")
    assert wanted_classes(
        {0: "keeper", 1: "player", 2: "handball"}, Sport(ball_class="handball", player_class="player"), "m"
    ) == {2: "ball", 1: "player"}
