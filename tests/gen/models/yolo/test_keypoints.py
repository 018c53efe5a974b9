"""Test reading people from a pose model's output against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_gen.models.yolo.keypoints import is_pose_output, read_people
from spotball_gen.models.yolo.letterbox import Letterbox
from tests.gen.models.yolo import plain

IMAGE, CANVAS = (360, 640), (640, 640)
BOX = Letterbox.of(IMAGE, CANVAS)

sixteenths = st.integers(-20 * 16, 660 * 16).map(lambda n: n / 16)
lengths = st.integers(1, 200 * 16).map(lambda n: n / 16)
Row = tuple[float, ...]


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Draw center, size, score and keypoints of people, with distinct scores because ties have no order."""
    n = draw(st.integers(0, 12))
    scores = iter(draw(st.permutations(range(1, n + 1))))
    near = draw(st.booleans())
    made = []
    for _ in range(n):
        x, y = draw(sixteenths), draw(sixteenths)
        place = (300 + x % 8, 300 + y % 8) if near else (x, y)
        points = [
            part for i in range(17) for part in (place[0] + i, place[1] - i, draw(st.sampled_from([0.0, 0.5, 1.0])))
        ]
        made.append((*place, draw(lengths), draw(lengths), next(scores) / (n + 1), *points))
    return made


def expected_people(people: list[Row], confidence: float, overlap: float) -> list[tuple[float, list[list[float]]]]:
    """Return score and keypoints of the people who remain after suppression, computed with plain loops."""
    height, width, top, left = plain.letterbox(IMAGE, CANVAS)
    kept = [row for row in people if row[4] > confidence]
    corners = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h, *_ in kept]
    found = []
    for index in plain.suppressed(corners, [row[4] for row in kept], overlap):
        points = []
        for start in range(5, 56, 3):
            x, y, seen = kept[index][start : start + 3]
            points.append([(x - left) * IMAGE[1] / width, (y - top) * IMAGE[0] / height, seen])
        found.append((kept[index][4], points))
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
def test_read_people_of_a_model_with_suppression_equals_raw_output(people: list[Row]) -> None:
    """Check people in the format of such a model: corners, score, class, keypoints, and rows of zeros at the end."""
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


def test_read_people_with_nan_is_an_error() -> None:
    output: NDArray[np.float32] = np.full((56, 3), np.nan, dtype=np.float32)
    with pytest.raises(ValueError, match="NaN or infinity"):
        read_people(output, BOX, confidence=0.25, overlap=0.7)


def test_is_pose_output_is_false_for_other_shapes() -> None:
    assert not is_pose_output((1, 116, 8400))
    assert not is_pose_output((56, 8400))
