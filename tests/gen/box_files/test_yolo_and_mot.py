"""Test reading boxes from YOLO and MOT text files, and the errors for invalid lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from spotball_core.errors import InputError
from spotball_gen.box_files.boxes import FileBox, ImageView
from spotball_gen.box_files.mot import read_mot
from spotball_gen.box_files.yolo import read_yolo
from tests.failures import raises

SHARES = st.floats(0, 1).map(lambda share: round(share, 6))
SIDES = st.floats(0.001, 1).map(lambda share: round(share, 6))


@given(st.lists(st.tuples(st.integers(0, 90), SHARES, SHARES, SIDES, SIDES, st.none() | SHARES), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_read_yolo_returns_the_written_boxes(tmp_path: Path, rows: list[tuple[float | None, ...]]) -> None:
    path = tmp_path / "frame.txt"
    path.write_text("".join(" ".join(str(part) for part in row if part is not None) + "\n" for row in rows))
    found = read_yolo(path)
    assert len(found) == len(rows)
    for box, (category, x, y, width, height, score) in zip(found, rows, strict=True):
        assert box.category == str(category)
        assert box.score == (1.0 if score is None else score)
        assert box.of == (1, 1)
        x1, y1, x2, y2 = box.corners
        assert ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1) == pytest.approx((x, y, width, height), abs=1e-9)


@pytest.mark.parametrize("first_pixel", [0, 1])
def test_read_mot_with_either_first_pixel_number_groups_boxes_by_frame_and_shifts_corners(
    tmp_path: Path, first_pixel: int
) -> None:
    path = tmp_path / "gt.txt"
    path.write_text(
        "1,7,11,21,40,80,1,1,0.9\n"
        "1,8,101,121,10,10,0.25,2,1\n"
        "\n"
        "3,7,13,21,40,80,-1,-1,-1,-1\n"
        "3,9,50,50,10,20,0,8,1\n"
        "4, 7, 15.5, 21, 40, 80\n"
    )
    found = read_mot(path, first_pixel)
    by = 10 if first_pixel else 11
    assert dict(found) == {
        1: (FileBox((by, by + 10, by + 40, by + 90), "1"), FileBox((by + 90, by + 110, by + 100, by + 120), "2", 0.25)),
        3: (FileBox((by + 2, by + 10, by + 42, by + 90), "-1"),),
        4: (FileBox((by + 4.5, by + 10, by + 44.5, by + 90), "-1"),),
    }


def read_mot_1(path: Path) -> object:
    return read_mot(path, 1)


VALID = {read_yolo: "32 0.2 0.2 0.1 0.1 0.5 7", read_mot_1: "1,7,11,21,40,80,1"}


@pytest.mark.parametrize(
    ("read", "line", "field", "found"),
    [
        (read_yolo, "0 0.5 0.5 0.1", "line", "4"),
        (read_yolo, "0 0.1 0.1 0.2 0.2 0.3 0.3 0.4 0.4", "line", "9"),
        (read_yolo, "ball 0.5 0.5 0.1 0.1", "class", "'ball'"),
        (read_yolo, "-1 0.5 0.5 0.1 0.1", "class", "'-1'"),
        (read_yolo, "0 320 0.5 0.1 0.1", "x", "'320'"),
        (read_yolo, "0 0.5 nan 0.1 0.1", "y", "'nan'"),
        (read_yolo, "0 0.5 0.5 0 0.1", "width", "'0'"),
        (read_yolo, "0 0.5 0.5 0.1 -0.1", "height", "'-0.1'"),
        (read_yolo, "0 0.5 0.5 0.1 0.1 95", "score", "'95'"),
        (read_mot_1, "1,7,11,21,40", "line", "5"),
        (read_mot_1, "1,7,11,21,40,80,1,1,1,1,1", "line", "11"),
        (read_mot_1, "one,7,11,21,40,80,1", "frame", "'one'"),
        (read_mot_1, "1.5,7,11,21,40,80,1", "frame", "'1.5'"),
        (read_mot_1, "-2,7,11,21,40,80,1", "frame", "'-2'"),
        (read_mot_1, "1,7,inf,21,40,80,1", "left", "'inf'"),
        (read_mot_1, "1,7,11,21,0,80,1", "width", "'0'"),
        (read_mot_1, "1,7,11,21,40,80,95", "confidence", "'95'"),
        (read_mot_1, "1,7,11,21,40,80,1,ball", "class", "'ball'"),
    ],
)
def test_read_yolo_and_read_mot_with_an_invalid_line_raise_an_error_that_names_line_and_field(
    tmp_path: Path, read: Callable[[Path], object], line: str, field: str, found: str
) -> None:
    path = tmp_path / "boxes.txt"
    path.write_text(f"{VALID[read]}\n\n{line}\n{VALID[read]}\n")
    with raises(InputError, f"invalid-value:{field}:3") as caught:
        read(path)
    assert caught.value.file == str(path)
    assert found in caught.value.problems[0].found
    assert caught.value.total == 1


@pytest.mark.parametrize("read", [read_yolo, read_mot_1])
@pytest.mark.parametrize(("content", "where"), [(None, "missing-file:file"), (b"\xff\xfe0 1", "unreadable-file:file")])
def test_read_yolo_and_read_mot_of_a_missing_or_binary_file_raise_input_error(
    tmp_path: Path, read: Callable[[Path], object], content: bytes | None, where: str
) -> None:
    path = tmp_path / "boxes.txt"
    if content is not None:
        path.write_bytes(content)
    with raises(InputError, where):
        read(path)


PIXELS = st.floats(-50, 2000)


@given(PIXELS, PIXELS, st.floats(1, 900), st.floats(1, 900), st.sampled_from([(640.0, 360.0), (320.0, 320.0)]))
def test_image_view_scales_shifts_and_clips_boxes(
    x: float, y: float, width: float, height: float, image: tuple[float, float]
) -> None:
    window = (200.0, 100.0, 1200.0, 900.0)
    found = ImageView((1920, 1080), window, image).box(FileBox((x, y, x + width, y + height), "0", 0.5), "ball")
    left, top, right, bottom = max(x, 200), max(y, 100), min(x + width, 1200), min(y + height, 900)
    if found is None:
        assert right - left < 1e-6 or bottom - top < 1e-6
        return
    assert (found.score, found.label) == (0.5, "ball")
    expected = [(left - 200) / 1000, (top - 100) / 800, (right - 200) / 1000, (bottom - 100) / 800]
    assert list(found.corners) == pytest.approx([a * image[i % 2] for i, a in enumerate(expected)], abs=1e-6)
    # A box in fractions of the image size gives the same result.
    shares = FileBox((x / 1920, y / 1080, (x + width) / 1920, (y + height) / 1080), "0", 0.5, of=(1, 1))
    same = ImageView((1920, 1080), window, image).box(shares, "ball")
    assert same is None or same.corners == pytest.approx(found.corners, abs=1e-6)
