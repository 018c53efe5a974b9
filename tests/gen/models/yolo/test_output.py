"""Test reading boxes and people from the raw outputs of detectors and pose models against plain loops."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_gen.items.item import Box, Label, Sport
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.onnx_file import wanted_classes
from spotball_gen.models.yolo.output import places_left, read_boxes
from spotball_gen.poses.yolov8_onnx import is_pose_output, read_people
from tests.failures import raises
from tests.gen.models.yolo import plain

WANTED: dict[int, Label] = {2: "ball", 0: "player"}
IMAGE, CANVAS = (360, 640), (640, 640)
BOX = Letterbox.of(IMAGE, CANVAS)
Row = tuple[float, ...]


def output_of(*rows: Row) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32).reshape(len(rows), -1).T if rows else np.empty((7, 0), dtype=np.float32)


def read(output: NDArray[np.float32], confidence: float = 0.25, overlap: float = 0.7) -> tuple[Box, ...]:
    return read_boxes(output, BOX, WANTED, confidence=confidence, overlap=overlap)


# Sixteenths make sums exact, so an overlap is on the same side of its limit in any arithmetic. Scores are distinct,
# because the order of equal scores depends on the library.
sixteenths = st.integers(-20 * 16, 660 * 16).map(lambda n: n / 16)
lengths = st.integers(1, 200 * 16).map(lambda n: n / 16)


@st.composite
def outputs(draw: st.DrawFn) -> NDArray[np.float32]:
    n = draw(st.integers(0, 25))
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


def test_read_boxes_uses_the_most_likely_class_and_drops_low_scores_and_boxes_in_the_padding() -> None:
    # Only the most likely class counts, and the first place is more likely a bird than a ball.
    bird, ball = (100.0, 200.0, 20.0, 20.0, 0.1, 0.6, 0.5), (300.0, 200.0, 20.0, 20.0, 0.1, 0.5, 0.6)
    assert read(output_of(bird, ball)) == (Box(290.0, 50.0, 310.0, 70.0, pytest.approx(0.6), "ball"),)
    # A ball that overlaps a player is kept.
    player, ball = (100.0, 300.0, 40.0, 40.0, 0.9, 0.0, 0.0), (100.0, 300.0, 40.0, 40.0, 0.0, 0.0, 0.8)
    assert [box.label for box in read(output_of(ball, player))] == ["player", "ball"]
    # The score must be above the confidence.
    rows = [(100.0 * n, 300.0, 40.0, 40.0, 0.0, 0.0, score) for n, score in enumerate([0.25, 0.2500001, 0.2], 1)]
    assert [box.center[0] for box in read(output_of(*rows))] == [200.0]
    # This place is in the padding.
    assert read(output_of((320.0, 60.0, 40.0, 40.0, 0.0, 0.0, 0.9))) == ()
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
    both = Sport(ball_class="handball", player_class="player")
    assert wanted_classes({0: "keeper", 1: "player", 2: "handball"}, both, "m") == {2: "ball", 1: "player"}


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Draw center, size, score and keypoints of people, with distinct scores because ties have no order."""
    scores = draw(st.integers(0, 12).flatmap(lambda n: st.permutations(range(1, n + 1))))
    near = draw(st.booleans())
    made = []
    for score in scores:
        x, y = (300 + at % 8 if near else at for at in (draw(sixteenths), draw(sixteenths)))
        confidences = draw(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 17))
        points = [part for i, confidence in enumerate(confidences) for part in (x + i, y - i, confidence)]
        made.append((x, y, draw(lengths), draw(lengths), score / (len(scores) + 1), *points))
    return made


def expected_people(people: list[Row], confidence: float, overlap: float) -> list[tuple[float, list[list[float]]]]:
    """Return score and keypoints of the people who remain after suppression, computed with plain loops."""
    height, width, top, left = plain.letterbox(IMAGE, CANVAS)
    kept = [row for row in people if row[4] > confidence]
    corners = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h, *_ in kept]
    found = []
    for index in plain.suppressed(corners, [row[4] for row in kept], overlap):
        points = (kept[index][start : start + 3] for start in range(5, 56, 3))
        placed = [[(x - left) * IMAGE[1] / width, (y - top) * IMAGE[0] / height, seen] for x, y, seen in points]
        found.append((kept[index][4], placed))
    return found


@given(rows(), st.sampled_from([0.0, 0.25, 0.625]), st.sampled_from([0.1, 0.45, 0.7]))
def test_read_people_of_raw_output_equals_plain_loops(people: list[Row], confidence: float, overlap: float) -> None:
    output = np.array(people, dtype=np.float32).reshape(-1, 56).T
    read = read_people(output, BOX, confidence=confidence, overlap=overlap)
    expected = expected_people(people, confidence, overlap)
    assert read.scores.tolist() == pytest.approx([score for score, _ in expected])
    assert read.keypoints.shape == (len(expected), 17, 3)
    for points, (_, plain_points) in zip(read.keypoints, expected, strict=True):
        np.testing.assert_allclose(points, plain_points, atol=1e-3)


@given(rows())
def test_read_people_of_output_with_non_maximum_suppression_equals_that_of_raw_output(people: list[Row]) -> None:
    """Check the format with suppression: rows of corners, score, class and keypoints, and rows of zeros at the end."""
    listed = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2, score, 0, *points) for x, y, w, h, score, *points in people]
    output = np.zeros((20, 57), dtype=np.float32)
    output[: len(listed)] = np.array(listed, dtype=np.float32).reshape(-1, 57)
    inside = read_people(output, BOX, confidence=0.25, overlap=0.7)
    raw = read_people(np.array(people, dtype=np.float32).reshape(-1, 56).T, BOX, confidence=0.25, overlap=1.0)
    np.testing.assert_allclose(inside.scores, raw.scores)
    np.testing.assert_allclose(inside.boxes, raw.boxes, atol=1e-3)
    np.testing.assert_allclose(inside.keypoints, raw.keypoints)


def test_read_people_clips_boxes_but_not_keypoints() -> None:
    """Check an image that has the input's scale and starts 140 pixels below the input's upper edge."""
    person = np.array([20, 200, 80, 100, 0.9, *[-5, 130, 1.25] * 17], dtype=np.float32)[:, None]
    read = read_people(person, BOX, confidence=0.25, overlap=0.7)
    assert read.boxes.tolist() == [[0, 10, 60, 110]]
    assert read.keypoints[0, 0].tolist() == [-5, -10, 1]


def test_read_people_with_nan_is_an_error_and_is_pose_output_is_false_for_other_shapes() -> None:
    with pytest.raises(ValueError, match="NaN or infinity"):
        read_people(np.full((56, 3), np.nan, dtype=np.float32), BOX, confidence=0.25, overlap=0.7)
    assert not is_pose_output((1, 116, 8400))
    assert not is_pose_output((56, 8400))
