from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.follow.annotations import read_gazefollow, read_predictions, read_video_attention
from tests.failures import raises

# Annotations in the format of GazeFollow: two annotators of one person, and another person in the same image.
GAZEFOLLOW = """\
test2/0.jpg,1,0.1,0.2,0.3,0.4,0.25,0.30,0.5,0.6,10,20,30,40,source,meta
test2/0.jpg,2,0.1,0.2,0.3,0.4,0.25,0.30,0.7,0.6,10,20,30,40,source,meta
test2/0.jpg,3,0.5,0.2,0.3,0.4,0.75,0.30,-1,-1,60,20,80,40,source,meta
"""


def test_read_gazefollow_collects_the_annotators_of_each_person(tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("\ufeff" + GAZEFOLLOW, encoding="utf-8")
    first, second = read_gazefollow(path, lambda image: (100, 50))
    assert (first.image, first.person, first.head, first.eye) == ("test2/0.jpg", "1", (10, 20, 30, 40), (0.25, 0.3))
    assert first.points == ((0.5, 0.6), (0.7, 0.6))
    assert first.size == (100, 50)
    assert (second.person, second.points) == ("2", ())


def test_read_video_attention_converts_pixels_to_fractions_of_the_frame(tmp_path: Path) -> None:
    clip = tmp_path / "Show" / "1_2"
    clip.mkdir(parents=True)
    (clip / "s00.txt").write_text("0001.jpg,10,20,30,40,60,25\n0002.jpg,10,20,30,40,-1,-1\n", encoding="utf-8")
    first, second = read_video_attention(tmp_path, lambda image: (120, 50))
    assert (first.image, first.person) == ("Show/1_2/0001.jpg", "s00")
    assert first.points == ((0.5, 0.5),)
    assert first.eye == pytest.approx((20 / 120, 30 / 50))
    assert second.points == ()
    with raises(OptionError, "missing-value"):
        read_video_attention(tmp_path, lambda image: None)


@pytest.mark.parametrize(
    ("text", "where", "value"),
    [
        ("a,1,2\n", "missing-column:row:1", " 3 "),
        (GAZEFOLLOW.replace("0.5,0.6", "0.5,high"), "invalid-value:gaze_y:1", "'high'"),
    ],
)
def test_reading_invalid_or_missing_annotations_is_an_error(tmp_path: Path, text: str, where: str, value: str) -> None:
    path = tmp_path / "test.txt"
    path.write_text(text, encoding="utf-8")
    with raises(InputError, where) as caught:
        read_gazefollow(path)
    assert value in str(caught.value)
    with raises(InputError, "wrong-folder:file"):
        read_video_attention(tmp_path / "none", lambda image: (1, 1))


@pytest.mark.parametrize(
    ("text", "where", "value"),
    [
        ("image,x\na,0.5\n", "missing-column:y:1", "image, x"),
        ("image,x,y\na,0.5,1.5\n", "invalid-value:x, y:2", "0.5, 1.5"),
        ("image,x,y\na,0.5,0.5\na,0.5,0.5\n", "duplicate:row:3", "p.csv"),
        ("image,x,y\na,,0.5\n", "invalid-value:x:2", "''"),
        ("x,y,image\n0.5,0.5\n", "missing-value:image:2", "p.csv"),
    ],
)
def test_read_predictions_of_an_invalid_file_is_an_error(tmp_path: Path, text: str, where: str, value: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8")
    with raises(InputError, where) as caught:
        read_predictions(path)
    assert value in str(caught.value)


def test_read_predictions_fills_default_respondent_and_person(tmp_path: Path) -> None:
    path = tmp_path / "model.csv"
    path.write_text("image,x,y,heatmap\na,0.5,0.25,maps/a.npy\nb,0,1,\n", encoding="utf-8")
    a, b = read_predictions(path)
    assert (a.respondent, a.person, a.point, a.heatmap) == ("model", "1", (0.5, 0.25), tmp_path / "maps/a.npy")
    assert b.heatmap is None
