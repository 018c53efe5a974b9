"""Test stimuli from annotation files in the formats of GazeFollow and VideoAttentionTarget."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from spotball_core.errors import InputError
from spotball_core.gaze.follow.annotations import read_annotations, sizes_in
from spotball_core.gaze.follow.choices import AnnotatedStimuli, read_objects, stimuli_of
from tests.failures import raises

# Path, idx, body box (4), eyes (2), gaze (2), head box in pixels (4), source, meta; several annotators per person.
GAZEFOLLOW = """
test2/a.jpg,1,0,0,0.2,0.9,0.50,0.20,0.20,0.60,90,10,110,50,synthetic,1
test2/a.jpg,2,0,0,0.2,0.9,0.50,0.20,0.30,0.80,90,10,110,50,synthetic,1
test2/two.jpg,3,0,0,0.2,0.9,0.50,0.20,0.25,0.70,90,10,110,50,synthetic,1
test2/two.jpg,4,0,0,0.2,0.9,0.10,0.20,0.25,0.70,10,10,30,50,synthetic,1
test2/out.jpg,5,0,0,0.2,0.9,0.50,0.20,-1,-1,90,10,110,50,synthetic,1
test2/floor.jpg,6,0,0,0.2,0.9,0.50,0.20,0.99,0.99,90,10,110,50,synthetic,1
test2/other.jpg,7,0,0,0.2,0.9,0.50,0.20,0.99,0.99,90,10,110,50,synthetic,1
"""
BOXES = "x1,y1,x2,y2,head_direction\n"
TABLE = (
    *(("cup", "0.2,0.6,0.3,0.8"), ("table", "0,0.5,1,1"), ("book", "0.8,0.6,0.9,0.8")),
    *(("chair", "0,0,0.1,0.1"), ("chair", "0.9,0,1,0.1"), ("lamp", "0.4,0.6,0.52,0.8")),
)


def objects(folder: Path, *images: str, direction: str = "") -> Path:
    path = folder / "objects.csv"
    rows = [f"{image},{label},{box},{direction}\n" for image in images for label, box in TABLE]
    path.write_text(f"image,label,{BOXES}{''.join(rows)}", encoding="utf-8")
    return path


def of_gazefollow(folder: Path, choices: Path) -> AnnotatedStimuli:
    (folder / "annotations.txt").write_text(GAZEFOLLOW, encoding="utf-8")
    _, targets = read_annotations(folder / "annotations.txt", sizes_in(folder))
    return stimuli_of(targets, read_objects(choices))


def test_gazefollow_people_become_stimuli_whose_choices_are_the_unique_labels_from_left_to_right(
    tmp_path: Path,
) -> None:
    names = [f"test2/{name}.jpg" for name in ("a", "two", "out", "floor")]
    made = of_gazefollow(tmp_path, objects(tmp_path, *names))
    # The point (0.99, 0.99) of floor.jpg is in the box of the table, and the mean (0.25, 0.7) of a.jpg also in the cup.
    assert [(one.stimulus_id, one.gaze_target, one.condition) for one in made.stimuli] == [
        ("test2/a", "cup", "natural"),
        ("test2/floor", "table", "natural"),
    ]
    (one, _) = made.stimuli
    assert one.objects == ("cup", "lamp", "table", "book")
    assert one.points == (
        pytest.approx((0.25, 0.7)),
        pytest.approx((0.46, 0.7)),
        pytest.approx((0.5, 0.75)),
        pytest.approx((0.85, 0.7)),
    )
    assert made.excluded == {
        "several people in the image": 2,
        "gaze outside the image": 1,
        "image without labeled objects": 1,
    }
    assert made.faces == {}


@pytest.mark.parametrize(
    ("direction", "head"),
    # The eyes are at (100, 20) pixels, and the objects at cup (50, 70), lamp (92, 70), table (100, 75), book (170, 70).
    [
        ("225", "cup"),
        ("-135", "cup"),
        ("260", "lamp"),
        ("270", "table"),
        ("-35", "book"),
        ("0", "book"),
        ("180", "cup"),
    ],
)
def test_head_target_is_the_object_closest_to_the_direction_of_the_head(
    tmp_path: Path, direction: str, head: str
) -> None:
    (tmp_path / "test2").mkdir()
    Image.new("RGB", (200, 100)).save(tmp_path / "test2/a.jpg")
    (one,) = of_gazefollow(tmp_path, objects(tmp_path, "test2/a.jpg", direction=direction)).stimuli
    assert one.head_target == head
    assert one.condition == ("congruent" if head == "cup" else "incongruent")


def test_faces_are_shares_of_images_with_a_known_size(tmp_path: Path) -> None:
    (tmp_path / "test2").mkdir()
    Image.new("RGB", (200, 100)).save(tmp_path / "test2/a.jpg")
    made = of_gazefollow(tmp_path, objects(tmp_path, "test2/a.jpg", "test2/floor.jpg"))
    assert made.faces == {"test2/a": pytest.approx((0.45, 0.1, 0.55, 0.5))}


def test_labels_without_boxes_keep_their_order_and_name_the_target(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("image;label;is_target\ntest2/out.jpg;pen;\ntest2/out.jpg;cup;true\n", encoding="utf-8")
    (one,) = of_gazefollow(tmp_path, path).stimuli
    assert (one.objects, one.gaze_target, one.points) == (("pen", "cup"), "cup", None)


def test_training_rows_whose_target_is_not_inside_the_image_have_no_gaze_point(tmp_path: Path) -> None:
    rows = [f"t/{n}.jpg,{n},0,0,1,1,0.5,0.2,0.2,0.6,90,10,110,50,{n},s,m\n" for n in (1, 0, -1)]
    (tmp_path / "train.txt").write_text("".join(rows), encoding="utf-8")
    name, targets = read_annotations(tmp_path / "train.txt", sizes_in(None))
    assert (name, [len(target.points) for target in targets]) == ("gazefollow", [1, 0, 0])


def test_frames_of_videoattentiontarget_become_stimuli(tmp_path: Path) -> None:
    clip = tmp_path / "annotations/Show/1_2"
    clip.mkdir(parents=True)
    (clip / "s00.txt").write_text("a.jpg,90,10,110,50,50,70\nb.jpg,90,10,110,50,-1,-1\n", encoding="utf-8")
    (tmp_path / "Show/1_2").mkdir(parents=True)
    for name in "ab":
        Image.new("RGB", (200, 100)).save(tmp_path / f"Show/1_2/{name}.jpg")
    benchmark, targets = read_annotations(tmp_path / "annotations", sizes_in(tmp_path))
    choices = objects(tmp_path, "Show/1_2/a.jpg", "Show/1_2/b.jpg")
    made = stimuli_of(targets, read_objects(choices), most=3)
    (one,) = made.stimuli
    assert (benchmark, one.image, one.gaze_target) == ("videoattentiontarget", "Show/1_2/a.jpg", "cup")
    # Of the other objects, the largest ones remain.
    assert one.objects == ("cup", "lamp", "table")
    assert made.excluded == {"gaze outside the image": 1}


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("a.jpg,cup,320,200,400,300,,", "invalid-value:x1, y1, x2, y2:2"),
        ("a.jpg,cup,0.5,0.5,0.4,0.6,,", "invalid-value:x1, y1, x2, y2:2"),
        ("a.jpg,cup,0.5,,,,,", "invalid-value:x1, y1, x2, y2:2"),
        ("a.jpg,,,,,,,", "invalid-value:label:2"),
        ("a.jpg,cup+pen,,,,,,", "invalid-value:label:2"),
        ("a.jpg,cup,,,,,yes,", "invalid-value:is_target:2"),
        ("a.jpg,cup,,,,,,left", "invalid-value:head_direction:2"),
        ("a.jpg,cup,,,,,,10\na.jpg,pen,,,,,,20", "invalid-value:head_direction:3"),
    ],
)
def test_invalid_objects_are_an_error_with_line_and_field(tmp_path: Path, row: str, where: str) -> None:
    path = tmp_path / "objects.csv"
    path.write_text(f"image,label,x1,y1,x2,y2,is_target,head_direction\n{row}\n", encoding="utf-8")
    with raises(InputError, where):
        read_objects(path)
