"""Test `spotball gaze stimuli`: drawn designs, photos with a table, and annotated images."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from PIL import Image

from spotball_core.gaze.data.faces import read_faces
from spotball_core.gaze.data.stimuli import read_stimuli
from tests.adapters.run_process import check_error, good, here
from tests.failures import codes

THREE = ("--objects", "red ball+blue box+green bottle")


def test_gaze_stimuli_draws_every_combination_with_pictures_positions_and_faces(tmp_path: Path) -> None:
    words = (*THREE, "--views", "left,front", "--proximities", "2", "--conditions", "congruent,incongruent")
    done = good("gaze", "stimuli", "--out", tmp_path / "out", *words, "--size", "32")
    stimuli = read_stimuli(tmp_path / "out")
    objects = ("red ball", "blue box", "green bottle")
    found = [(one.view, one.gaze_target, one.head_target) for one in stimuli]
    assert Counter(found) == Counter(product(("front", "left"), objects, objects))
    assert {(one.objects, one.proximity) for one in stimuli} == {(objects, 2)}
    assert "18 photos (6 congruent, 12 incongruent)" in done.stderr
    for one in stimuli:
        with Image.open(tmp_path / "out" / str(one.image)) as image:
            assert image.size == (32, 32)
        assert one.points is not None
        assert None not in one.points
    assert read_faces(tmp_path / "out/faces.csv").keys() == {one.stimulus_id for one in stimuli}
    check_error(here("gaze", "stimuli", "--out", tmp_path / "out"), "output-exists")


def test_gaze_stimuli_without_pictures_accepts_any_objects_and_marks_attention_checks(tmp_path: Path) -> None:
    sets = ("--objects", "cup+keys", "--objects", "pen+mug+book", "--checks", "4", "--no-pictures")
    good("gaze", "stimuli", "--out", tmp_path / "out", *sets)
    stimuli = read_stimuli(tmp_path / "out")
    checks = [one for one in stimuli if one.attention_check]
    assert len(checks) == 4
    assert {(len(one.objects), one.proximity) for one in checks} == {(2, 1)}
    assert "incongruent" not in {one.condition for one in checks}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["stimuli.csv"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((*THREE, "--checks", "1"), "invalid-option"),
        (("--objects", "cup+cup", "--no-pictures"), "invalid-option"),
        (("--objects", "cup+keys"), "unknown-name"),
        (("--proximities", "1,4"), "unknown-name"),
        (("--conditions", "neutral"), "unknown-name"),
    ],
)
def test_gaze_stimuli_with_an_invalid_design_fails_and_writes_nothing(
    tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    check_error(here("gaze", "stimuli", "--out", tmp_path / "out", *options), code)
    assert not (tmp_path / "out").exists()


def test_photos_need_only_their_names_objects_and_gaze_targets(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("image;objects;gaze_target;head_target\na/1.png;cup+pen;cup;\n2.png;cup+pen;cup;pen\n")
    photos = tmp_path / "photos"
    (photos / "a").mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(photos / "a/1.png")
    done = here("gaze", "stimuli", table, "--out", photos)
    assert (done.returncode, codes(done.stderr)[-1]) == (2, "missing-file")
    assert "2.png" in done.stderr
    assert not (photos / "stimuli.csv").exists()
    Image.new("RGB", (9, 9)).save(photos / "2.png")
    done = good("gaze", "stimuli", table, "--out", photos)
    assert codes(done.stderr).count("assumed-format") == 3
    found = [(one.stimulus_id, one.condition, one.view, one.proximity) for one in read_stimuli(photos)]
    assert found == [("a/1", "natural", "front", 1), ("2", "incongruent", "front", 1)]


def test_annotated_images_become_stimuli_with_faces(tmp_path: Path) -> None:
    (tmp_path / "annotations.txt").write_text("a.jpg,1,0,0,1,1,0.5,0.2,0.2,0.6,90,10,110,50,s,m\n")
    (tmp_path / "objects.csv").write_text("image,label,x1,y1,x2,y2\na.jpg,cup,0.1,0.5,0.3,0.7\na.jpg,pen,0.5,0.5,1,1\n")
    images = tmp_path / "images"
    images.mkdir()
    Image.new("RGB", (200, 100)).save(images / "a.jpg")
    source = ("gaze", "stimuli", tmp_path / "annotations.txt", "--out", images)
    check_error(here(*source), "missing-option")
    good(*source, "--choices", tmp_path / "objects.csv")
    (one,) = read_stimuli(images)
    assert (one.objects, one.gaze_target, one.image) == (("cup", "pen"), "cup", "a.jpg")
    assert read_faces(images / "faces.csv") == {"a": (0.45, 0.1, 0.55, 0.5)}
    (images / "stimuli.csv").unlink()
    (tmp_path / "objects.csv").write_text("image,label\na.jpg,cup\na.jpg,pen\n")
    check_error(here(*source, "--choices", tmp_path / "objects.csv"), "no-data")
