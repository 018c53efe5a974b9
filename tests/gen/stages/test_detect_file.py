"""Test boxes from files: each is placed on the right video, frame and position. Invalid files stop the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from spotball_core.errors import InputError, OptionError
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.item import Item, Sport, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.stages.detect_file import FileSettings, FromFile
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from tests.failures import raises
from tests.gen.making import context_of, item_of

CLASSES = {"32": "ball", "0": "player"}


def item(number: int, video: str = "match", **fields: Any) -> Item:
    """Return a frame of a 1920 x 1080 video whose image contains the middle 1600 x 900 pixels."""
    source = VideoSource(f"{video}-1a2b3c4d", f"videos/{video}.mp4", "soccer", "", f"{video}.mp4", "")
    notes = {"frames": {"number": number, "size": [1920, 1080], "window": [160, 90, 1760, 990]}}
    ident = f"{source.video}-{number * 40:09d}"
    return Item(ident, source, number * 0.04, 0, PictureFile(Path("none.png")), notes=notes, **fields)


def stage(folder: Path, sport: Sport | None = None, **settings: Any) -> FromFile:
    context = context_of(folder, sports={"soccer": sport or Sport()}, folder=folder)
    return FromFile(FileSettings.model_validate(settings), context)


def corners(done: Item) -> list[tuple[str, list[float]]]:
    return [(box.label, [round(edge, 6) for edge in box.corners]) for box in done.boxes]


# In video pixels, the ball is at 800, 450 to 840, 490, and the left half of the player is outside the window.
# (800 - 160) * 640 / 1600 = 256, (450 - 90) * 360 / 900 = 144. 40 video pixels are 16 image pixels.
EXPECTED = [("ball", [256, 144, 272, 160]), ("player", [0, 84, 16, 244])]


def write_yolo(folder: Path) -> dict[str, Any]:
    ball = f"32 {820 / 1920} {470 / 1080} {40 / 1920} {40 / 1080} 0.75"
    player = f"0 {160 / 1920} {500 / 1080} {80 / 1920} {400 / 1080}"
    (folder / "match_26.txt").write_text(f"{ball}\n{player}\n5 0.5 0.5 0.1 0.1")
    return {"path": ".", "format": "yolo", "classes": CLASSES}


def write_mot(folder: Path) -> dict[str, Any]:
    rows = ["26,1,801,451,40,40,0.75,32", "26,2,121,301,80,400,1,0", "26,3,901,451,40,40,1,5", "25,1,1,1,40,40,1,32"]
    (folder / "match.csv").write_text("\n".join(rows))
    return {"path": "{video}.csv", "format": "mot", "classes": CLASSES}


def write_coco(folder: Path) -> dict[str, Any]:
    # The images were annotated at half the size of the video.
    names = ("match/000026.jpg", "match/000027.jpg")
    data = {
        "images": [{"id": at, "file_name": name, "width": 960, "height": 540} for at, name in enumerate(names)],
        "categories": [{"id": 0, "name": "person"}, {"id": 1, "name": "sports ball"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"image_id": 0, "category_id": 1, "bbox": [400, 225, 20, 20], "score": 0.75},
            {"image_id": 0, "category_id": 0, "bbox": [60, 150, 40, 200]},
            {"image_id": 0, "category_id": 2, "bbox": [450, 225, 20, 20]},
        ],
    }
    (folder / "boxes.json").write_text(json.dumps(data))
    return {"path": "boxes.json", "format": "coco", "frame_name": "{video}/{frame:06d}"}


@pytest.mark.parametrize(("write", "counts"), [(write_yolo, [2, 0, 0]), (write_mot, [2, 0, 0]), (write_coco, [2, 0])])
def test_boxes_from_each_format_are_mapped_from_video_to_image_pixels(
    write: Callable[[Path], dict[str, Any]], counts: list[int], tmp_path: Path
) -> None:
    settings = write(tmp_path)
    outcome = stage(tmp_path, **settings).process([item(25), item(26), item(900)])
    assert [len(done.boxes) for done in outcome.items] == counts
    # A COCO file lists the frames without boxes, so a frame that it does not list fails.
    errors = [failure.error for failure in outcome.failures]
    assert len(errors) == 3 - len(counts)
    assert all("boxes.json does not contain the image 'match/000901'" in error for error in errors)
    done = outcome.items[0]
    assert corners(done) == EXPECTED
    assert [box.score for box in done.boxes] == [0.75, 1.0]
    assert "@" in done.notes["detect"]["file"]
    # With `first_frame=0`, the same file describes the next frame.
    (shifted,) = stage(tmp_path, **settings, first_frame=0).process([item(26)]).items
    assert corners(shifted) == EXPECTED


def test_boxes_in_image_pixels_are_not_mapped_from_the_video(tmp_path: Path) -> None:
    frame = item(25)
    (tmp_path / f"{frame.id}.txt").write_text("32 0.5 0.5 0.05 0.1")
    settings = {"path": ".", "format": "yolo", "classes": CLASSES, "frame_name": "{id}", "pixels": "image"}
    (done,) = stage(tmp_path, **settings).process([frame]).items
    assert corners(done) == [("ball", [304, 162, 336, 198])]


def test_class_names_of_a_sport_and_of_the_settings_are_used(tmp_path: Path) -> None:
    settings = write_coco(tmp_path)
    named = stage(tmp_path, Sport(ball_class="dog", player_class="nobody"), **settings)
    mapped = stage(tmp_path, **settings, classes={"dog": "player"})
    labels = [[label for label, _ in corners(made.process([item(25)]).items[0])] for made in (named, mapped)]
    assert labels == [["ball"], ["player"]]


def test_invalid_line_or_missing_video_file_raises_input_error(tmp_path: Path) -> None:
    settings = write_yolo(tmp_path)
    (tmp_path / "match_27.txt").write_text("32 0.5 0.5 0.1 0.1\n32 500 300 20 20\n")
    with raises(InputError, "invalid-value:x:2"):
        stage(tmp_path, **settings).process([item(25), item(26)])
    settings = write_mot(tmp_path)
    with raises(InputError, "missing-file:file"):
        stage(tmp_path, **settings).process([item(25), item(25, "other")])


@pytest.mark.parametrize(("format", "wrong"), [("coco", "folder"), ("yolo", "file"), ("mot", "folder")])
def test_missing_path_raises_option_error_before_any_item_is_processed(format: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for path in ("missing", wrong):
        with raises(OptionError, "missing-file:detect"):
            stage(tmp_path, path=path, format=format, classes=CLASSES)


def test_two_videos_with_the_same_box_file_are_an_error(tmp_path: Path) -> None:
    write_mot(tmp_path)
    both = [item(25), item(25, "other")]
    with raises(OptionError, "invalid-option:detect"):
        stage(tmp_path, path="match.csv", format="mot", classes=CLASSES).process(both)
    # Two videos in different folders have the same file name.
    namesake = replace(item(25), source=replace(item(25).source, video="match-5e6f7a8b"))
    for settings in (write_mot(tmp_path), write_yolo(tmp_path)):
        with raises(OptionError, "invalid-option:detect"):
            stage(tmp_path, **settings).process([item(25), namesake])
    (tmp_path / "match-1a2b3c4d_26.txt").write_text("32 0.5 0.5 0.1 0.1")
    (tmp_path / "match-5e6f7a8b_26.txt").write_text("0 0.5 0.5 0.1 0.1\n0 0.7 0.5 0.1 0.1")
    settings = {"path": ".", "format": "yolo", "classes": CLASSES, "frame_name": "{source}_{frame}"}
    outcome = stage(tmp_path, **settings).process([item(25), namesake])
    assert [len(done.boxes) for done in outcome.items] == [1, 2]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"format": "xml"}, "coco"),
        ({"format": "yolo"}, "classes"),
        ({"format": "mot"}, "classes"),
        ({"format": "coco", "classes": {"dog": "animal"}}, "player"),
        ({"format": "coco", "frame_name": "{match}"}, r"`frame_name`.+'\{match\}'"),
        ({"format": "coco", "frame_name": "{frame:q}"}, r"`frame_name`.+'\{frame:q\}'"),
        ({"format": "coco", "path": "{"}, "`path`"),
        ({"format": "coco", "first_pixel": 2}, "first_pixel"),
    ],
)
def test_file_settings_with_invalid_values_are_refused(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        FileSettings.model_validate({"path": "boxes", **wrong})


def test_ground_truth_boxes_fit_the_ball_after_the_frames_stage_crops_and_scales(tmp_path: Path) -> None:
    video = tmp_path / "match.avi"
    write_match(video, "synthetic-soccer", (Shot("play", 4, 3),), width=480, height=360, rate=5)
    truth = json.loads(video.with_suffix(".truth.json").read_text())["frames"]
    rows = [
        f"{number},{track},{x1},{y1},{x2 - x1},{y2 - y1},1,32"
        for number, frame in enumerate(truth)
        for track, (x1, y1, x2, y2) in enumerate(frame["balls"])
    ]
    (tmp_path / "match.csv").write_text("\n".join(rows))
    source = VideoSource("match-0", str(video), "synthetic-soccer", "", "match.avi", "")
    made = stage(tmp_path, path="{video}.csv", format="mot", classes=CLASSES, first_frame=0, first_pixel=0)
    seen = 0
    for frame in PyAV(PyAVSettings(max_scale=1.5), context_of(tmp_path)).read(source):
        assert frame.image is not None
        notes = {"frames": {"number": frame.number, "size": list(frame.size), "window": list(frame.window)}}
        taken = replace(item_of(frame.image, tmp_path, f"match-{frame.ms}"), source=source, notes=notes)
        (done,) = made.process([taken]).items
        for box in done.boxes:
            # The 480 x 360 frame is cropped to 480 x 270 and enlarged by 4/3. The center of a ball has its color.
            x, y = (int(place) for place in box.center)
            red, green, blue = (int(part) for part in frame.image[y, x])
            assert min(red, green) > blue + 60
            seen += 1
    assert seen > 2
