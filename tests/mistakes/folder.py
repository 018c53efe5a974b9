"""Create the folder for tests of mistakes: a small dataset, and file contents that several mistakes share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.builders import dataset, scene
from tests.cli.process import spotball

IMAGES = ("1", "2", "3")

_STIMULI = "stimulus_id,view,proximity,objects,gaze_target,head_target,image\n"
_SCENE = '{"sport":"soccer","image":"1","width":640,"height":360,"grid":{"rows":6,"cols":10},"ball_cells":["C2"]}\n'
_REPLY = "The player looks left so I think the ball is near D5 or so"

TEXTS: dict[str, str | bytes] = {
    "@Excel": b"PK\x03\x04\x14\x00\x06\x00\x08\x00",
    "@Latin-1": "image,cell,respondent\n1,D5,Jörg\n".encode("latin-1"),
    "@UTF-16": "image,cell\n1,D5\n2,D5\n3,D5\n".encode("utf-16"),
    "@boxes in percent": "image,x1,y1,x2,y2\n" + "".join(f"{i},{9 * i},20,{9 * i + 5},3{i}\n" for i in range(10)),
    "@replies as cells": "image,cell\n" + "".join(f"{image},{_REPLY}\n" for image in IMAGES),
    "@scenes of two grids": "".join(
        f"{one.model_dump_json()}\n" for one in (scene("1"), scene("2", grid={"rows": 3, "cols": 4}))
    ),
    "@scenes as a list": f"[{scene('1').model_dump_json()},\n{scene('2').model_dump_json()}]\n",
    "@scene with a ball outside the grid": _SCENE.replace("C2", "Z9"),
    "@scene without a height": _SCENE.replace('"height":360,', ""),
    "@scene with a misspelled key": _SCENE.replace("}\n", ',"contol":true}\n'),
    "@stimuli": f"{_STIMULI}s1,front,1,cup+ball,cup,ball,s1.jpg\ns2,front,2,cup+ball,ball,cup,s2.jpg\n",
    "@stimuli of an unknown view": f"{_STIMULI}s1,above,1,cup+ball,cup,ball,s1.jpg\n",
    "@stimuli without objects": f"{_STIMULI}s1,front,1,,cup,ball,s1.jpg\n",
    "@stimuli with an unknown target": f"{_STIMULI}s1,front,1,cup+ball,vase,ball,s1.jpg\n",
}
"""Contents of files, by name."""


def prepare(folder: Path) -> Path:
    """Write the files that commands with mistakes read.

    These files are `data`, a dataset with responses of people and of a model; `lacking`, a dataset without responses
    and image files; `rationales`, a dataset with reasoning texts; and `report.json`, a score report.
    """
    fields: dict[str, Any] = {"players": [[100, 100, 140, 200], [300, 120, 340, 220]], "ball_box": [70, 130, 90, 150]}
    known = [scene(image, path=f"images/soccer/{image}.jpg", **fields) for image in IMAGES]
    people, model = ([{"image": image, **answer} for image in IMAGES] for answer in (_PERSON, _MODEL))
    data = dataset(folder / "data", known, human=people, me=model)
    dataset(folder / "lacking", known)
    dataset(folder / "rationales", known, me=[{**row, "reasoning": "The player looks left."} for row in model])
    report = spotball("score", data, "--format", "json", "--bootstrap", "0")
    (folder / "report.json").write_text(report.stdout, encoding="utf-8")
    _write_images(data / "images/soccer")
    return folder


_PERSON = {"respondent": "human", "kind": "human", "prompt": "base", "cell": "C2"}
_MODEL = {"respondent": "me", "kind": "model", "prompt": "base", "cell": "D5"}


def _write_images(folder: Path) -> None:
    try:
        from PIL import Image
    except ImportError:  # Mistakes that need images also require Pillow.
        return
    folder.mkdir(parents=True)
    for image in IMAGES:
        Image.new("RGB", (640, 360), (60 * int(image), 90, 60)).save(folder / f"{image}.jpg")
