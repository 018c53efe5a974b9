"""Test that commands reject datasets that refer to files outside of them, and do not read or change those files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from spotball_adapters.study.setup.init import init_study
from spotball_core.errors import InputError
from tests.adapters.gaze import made as gaze
from tests.adapters.run_process import here, said
from tests.builders import write_jsonl
from tests.failures import codes
from tests.release_layout import write_release

SECRET, SECRET_COLOR = "outside-8d1f", (255, 0, 255)
NAMES = ("a-11111111-000000000", "b-22222222-000000000", "c-33333333-000000000")

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def good_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder once that each test copies, because writing its images takes long."""
    folder = tmp_path_factory.mktemp("good")
    rng = np.random.default_rng(0)
    images = folder / "data" / "images"
    images.mkdir(parents=True)
    rows = []
    for name in NAMES:
        Image.fromarray(rng.integers(0, 255, (360, 640, 3), dtype=np.uint8)).save(images / f"{name}.png")
        grid = {"rows": 6, "cols": 10}
        scene = {"sport": "soccer", "image": name, "width": 640, "height": 360, "grid": grid, "ball_cells": ["C2"]}
        rows.append({**scene, "path": f"images/{name}.png"})
    write_jsonl(folder / "data/scenes.jsonl", rows)
    for respondent in ("human", "model"):
        answers = [
            {"sport": "soccer", "image": name, "respondent": respondent, "sample": 1, "cell": cell, "reasoning": "so"}
            for name, cell in zip(NAMES, ("C2", "D5", "A1"), strict=True)
        ]
        write_jsonl(folder / f"data/responses-{respondent}.jsonl", answers)
    (folder / "outside").mkdir()
    Image.new("RGB", (640, 360), SECRET_COLOR).save(folder / "outside/secret.png")
    (folder / "outside/secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def place(good_place: Path, tmp_path: Path) -> Path:
    """Return a folder with a valid dataset in `data`, next to files that no command may read or change."""
    return shutil.copytree(good_place, tmp_path, dirs_exist_ok=True)


def outside(place: Path) -> dict[str, bytes | None]:
    """Return the paths and contents of all files outside of the dataset and the output folder."""
    return {
        str(path.relative_to(place)): path.read_bytes() if path.is_file() else None
        for path in sorted(place.rglob("*"))
        if path.relative_to(place).parts[0] not in ("data", "out")
    }


def changed(place: Path, change: Change) -> None:
    """Apply a change to the second scene of the dataset."""
    path = place / "data/scenes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows[1])
    write_jsonl(path, rows)


def refused(place: Path, *arguments: str) -> str:
    """Check that a command fails and does not change or show files outside the dataset. Return its error message."""
    before = outside(place)
    done = here(*(str(place / part[1:]) if part.startswith("@") else part for part in arguments))
    assert done.returncode == 2, said(done)
    assert done.stderr.startswith("error: "), said(done)
    assert codes(done.stderr), said(done)
    assert SECRET not in done.stdout + done.stderr
    assert outside(place) == before
    assert not [*place.glob("out/**/*.parquet"), *place.glob("out/**/*.html")]
    assert not any(shows_secret(path) for path in place.glob("out/**/*.png"))
    return done.stderr


def shows_secret(path: Path) -> bool:
    """Return whether an image has mostly the color of the image outside the dataset."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    return bool((pixels == SECRET_COLOR).all(axis=-1).mean() > 0.5)


SERVICE = ("--provider", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--out", "@out")
"""Options for a model server that is not reachable; commands check the images before they send requests to it."""
READING = {
    "score": ("score", "@data"),
    "compare": ("compare", "@data", "--a", "human", "--b", "model"),
    "report": ("report", "@data", "--out", "@out"),
    "count": ("count", "@data", "--out", "@out.counts"),
    "baselines": ("baselines", "@data"),
    "reasoning": ("reasoning", "@data", "--embedder", "openai", "--model", "m"),
    "study init": ("study", "init", "@data", "--out", "@out"),
}
"""Commands that read scenes and need no image."""

EXPORT = ("gen", "export", "@data", "--out", "@out", "--format")
LOOKING = {
    "run": ("run", "@data", "--prompt", "base", "--samples", "1", *SERVICE),
    "batch export": ("batch", "export", "@data", "--prompt", "base", "--samples", "1", "--out", "@out"),
    "push": ("push", "@data", "--repo", "me/data", "--dry-run", "--quiet"),
    "gen check": ("gen", "check", "@data"),
    "gen review": ("gen", "review", "@data", "--status"),
    **{f"gen export {form}": (*EXPORT, form) for form in ("imagefolder", "coco", "parquet")},
}
"""Commands that read scenes and images."""

TEXTS: dict[str, Change] = {
    "absolute path": lambda scene: scene.update(path="/etc/hostname"),
    "path above": lambda scene: scene.update(path="images/../../outside/secret.png"),
    "path of Windows": lambda scene: scene.update(path="C:\\outside\\secret.png"),
    "sport above": lambda scene: scene.update(sport="../../outside"),
    "absolute sport": lambda scene: scene.update(sport="/tmp/outside"),
    "sport of Windows": lambda scene: scene.update(sport="..\\outside"),
    "image above": lambda scene: scene.update(image="../../outside/secret"),
    "parent as sport": lambda scene: scene.update(sport=".."),
    "escape in image": lambda scene: scene.update(image="1\x1b]0;title\x07"),
    "line break in sport": lambda scene: scene.update(sport="soc\ncer"),
    "null in path": lambda scene: scene.update(path="images/a\0.png"),
    "long image": lambda scene: scene.update(image="1" * 5000),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", {**READING, **LOOKING})
@pytest.mark.parametrize("text", TEXTS)
def test_command_that_reads_scenes_fails_if_a_name_or_path_is_invalid_or_leads_outside_the_dataset(
    place: Path, command: str, text: str
) -> None:
    changed(place, TEXTS[text])
    message = refused(place, *{**READING, **LOOKING}[command])
    assert f"{place / 'data/scenes.jsonl'}:2: " in message
    assert "\x1b" not in message


def link_folder(_: Path, place: Path) -> None:
    (place / "data/other").symlink_to(place / "outside")
    changed(place, lambda scene: scene.update(path="other/secret.png"))


FILES: dict[str, Callable[[Path, Path], object]] = {
    "link out": lambda image, place: image.symlink_to(place / "outside/secret.png"),
    "folder linked out": link_folder,
    "link to a device": lambda image, _: image.symlink_to("/dev/zero"),
    "FIFO": lambda image, _: os.mkfifo(image),
    "folder": lambda image, _: image.mkdir(),
    "link to nothing": lambda image, _: image.symlink_to("gone.png"),
}
"""Functions that replace a deleted image with something that is not a file in the dataset."""


def planted(place: Path, what: str, file: str = f"data/images/{NAMES[1]}.png") -> None:
    """Replace an image, by default the second one, with the entry of `FILES` of this name."""
    (place / file).unlink()
    FILES[what](place / file, place)


@pytest.mark.parametrize("command", LOOKING)
@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[] if what in ("link out", "FIFO") else [pytest.mark.slow]) for what in FILES]
)
def test_command_that_reads_images_fails_if_an_image_is_not_a_file_in_the_dataset(
    place: Path, command: str, what: str
) -> None:
    planted(place, what)
    message = refused(place, *LOOKING[command])
    assert "secret" not in message.replace("other/secret.png", "")


PLANTED = {"baselines": "responses-baselines.jsonl", "gen review": "review.sqlite", "reasoning": "reasoning.sqlite"}
"""Files that commands write into a dataset."""


@pytest.mark.parametrize("command", PLANTED)
def test_command_that_writes_into_a_dataset_fails_if_its_file_is_a_link_out_of_the_dataset(
    place: Path, command: str
) -> None:
    (place / "data" / PLANTED[command]).symlink_to(place / "outside/new.txt")
    message = refused(place, *{**READING, **LOOKING}[command])
    assert codes(message) == ["invalid-path"]
    assert str(place / "data" / PLANTED[command]) in message


def test_apply_review_fails_if_its_backup_file_is_a_link_out_of_the_dataset(place: Path) -> None:
    done = here("gen", "review", str(place / "data"), "--status")
    assert done.returncode == 0, said(done)
    (place / "data/scenes.before-review.jsonl").symlink_to(place / "outside/secret.txt")
    message = refused(place, "gen", "apply-review", "@data")
    assert codes(message) == ["invalid-path"]
    assert "scenes.before-review.jsonl" in message


@pytest.mark.slow
@pytest.mark.parametrize("what", FILES)
def test_report_excludes_an_image_that_is_not_a_file_in_the_dataset(place: Path, what: str) -> None:
    planted(place, what)
    before = outside(place)
    done = here("report", str(place / "data"), "--out", str(place / "out"), "--reference", "human", "--bootstrap", "0")
    assert done.returncode == 0, said(done)
    # The page shows each of the other images twice: on its first screen and on the wall.
    assert (place / "out/report.html").read_text().count("data:image/webp") == 2 * (len(NAMES) - 1)
    assert outside(place) == before


@pytest.mark.parametrize("what", FILES)
def test_study_serve_and_inspect_task_with_an_image_that_is_not_a_file_in_the_dataset_fail(
    place: Path, what: str
) -> None:
    init_study(place / "data", place / "study")
    planted(place, what)
    refused(place, "study", "serve", "@study", "--port", "0")
    if find_spec("inspect_ai"):
        from spotball_adapters.inspect.task import spot_the_ball

        with pytest.raises(InputError):
            spot_the_ball(str(place / "data"), pictures=str(place / "out"))


GAZE_ASK = ("gaze", "ask", "@data2/stimuli.csv", "--images", "@data2", "--prompt", "pilot", *SERVICE)


@pytest.mark.parametrize("text", ["../outside/secret.png", "/etc/hostname", "C:\\secret.png", "a\x1b[2J.png"])
def test_gaze_ask_with_a_photo_path_outside_the_folder_fails(place: Path, text: str) -> None:
    stimuli = gaze.made(place / "data2", 3)
    stimuli.write_text(stimuli.read_text().replace("photos/1.png", text))
    message = refused(place, *GAZE_ASK)
    assert codes(message) == ["invalid-value"]
    assert f"{stimuli}:3: image: " in message


@pytest.mark.parametrize("what", ["link out", "FIFO", "folder"])
def test_gaze_ask_with_a_photo_that_is_not_a_file_in_the_folder_fails(place: Path, what: str) -> None:
    gaze.made(place / "data2", 3)
    planted(place, what, "data2/photos/1.png")
    refused(place, *GAZE_ASK)


@pytest.mark.parametrize("field", ["respondent", "prompt", "participant"])
@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "a\0b", "b" * 256, "\u202egpj"])
def test_score_and_report_of_responses_with_control_characters_or_too_long_names_fail(
    place: Path, field: str, name: str
) -> None:
    path = place / "data/responses-model.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1][field] = name
    write_jsonl(path, rows)
    # `report` reads participants, and `score` does not.
    message = refused(place, *READING["report" if field == "participant" else "score"])
    assert codes(message) == ["invalid-value"]
    assert f"{path}:2: {field}: " in message
    assert not {"\x1b", "\0", "\u202e"} & set(message)


def test_compare_accepts_a_respondent_with_a_slash(place: Path) -> None:
    path = place / "data/responses-model.jsonl"
    write_jsonl(path, [{**json.loads(line), "respondent": "Qwen/Qwen2-VL"} for line in path.read_text().splitlines()])
    done = here("compare", str(place / "data"), "--a", "human", "--b", "Qwen/Qwen2-VL", "--bootstrap", "100")
    assert done.returncode == 0, said(done)


@pytest.mark.parametrize("what", ["image", "responses", "truth"])
def test_import_release_with_a_link_out_of_the_release_fails(place: Path, what: str) -> None:
    release = write_release(place / "data2")
    files = {"image": "images/soccer/163.jpg", "responses": "responses/models/gpt/level0_soccer.csv"}
    name = release / "data" / files.get(what, "images/soccer/soccer_gt.csv")
    name.rename(place / "outside" / name.name)
    name.symlink_to(place / "outside" / name.name)
    message = refused(place, "import-release", "@data2", "--out", "@out")
    assert codes(message) == ["invalid-path"]
    assert f"{name}: file: " in message
    assert not (place / "out").exists()
