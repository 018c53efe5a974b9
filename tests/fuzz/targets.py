"""Define the fuzz targets: for each reader, valid files to damage and the call that reads them."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from spotball_adapters.batch.folder import ASKED, MANIFEST, read_asked, read_manifest
from spotball_adapters.batch.take import read_received
from spotball_adapters.gaze.points import read_points
from spotball_adapters.gaze.prompts import load_prompts
from spotball_adapters.gaze.training.experiment import read_run
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.replies import POLICIES, parse_reply
from spotball_adapters.study.server.wire import MalformedRequestError, parsed, read_event, read_events, read_start
from spotball_adapters.study.setup.config import read_config as read_study
from spotball_adapters.study.setup.init import init_study
from spotball_core import score
from spotball_core.counting.counts_file import read_counts_file
from spotball_core.counting.read import read_counts
from spotball_core.errors import SpotballError
from spotball_core.gaze.data.faces import read_faces
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.data.trials import read_trials
from spotball_core.gaze.fleet import read_models
from spotball_core.gaze.follow.annotations import read_gazefollow, read_predictions
from spotball_core.grid import Grid
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.leaderboard.reports import read_reports
from spotball_core.pages.cards import as_data
from spotball_core.reasoning.rationales import read_rationales
from spotball_core.reasoning.records import read_reasoning
from spotball_core.reasoning.templates import load_templates
from spotball_core.release.convert import import_release
from spotball_gen.box_files.coco import read_coco
from spotball_gen.box_files.mot import read_mot
from spotball_gen.box_files.yolo import read_yolo
from spotball_gen.dataset.exports.rows import read_rows
from spotball_gen.pipeline.config import read_config as read_plan
from spotball_gen.poses.from_file import read_people
from tests import release_layout
from tests.builders import csv_text, frame, scene, scenes
from tests.leaderboard.made import given

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Target:
    """A reader and files it can read.

    Attributes:
        files: function that returns file contents, by path within a folder. The test damages one of these files.
        read: function that reads the folder. Any exception except those in `refusals` is a defect.
        damaged: the files to damage; all files if empty.
    """

    files: Callable[[], Files]
    read: Callable[[Path], object]
    damaged: tuple[str, ...] = ()
    refusals: tuple[type[Exception], ...] = (SpotballError,)


def refused(target: Target, files: Files) -> bool:
    """Read files and return whether the reader rejected them with an expected error; raise any other error."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        try:
            target.read(Path(folder))
        except target.refusals:
            return True
        return False


def _lines(*rows: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


POSE = [[10.5, 20, 0.5]] * 17
KNOWN = scenes("1", "2", players=[[0, 0, 100, 100]], player_keypoints=[POSE], path="images/1.png")
ROWS = [
    {"sport": "soccer", "image": image, "respondent": "gpt", "kind": "model", "prompt": "cot", "sample": sample}
    | {"participant": None, "cell": cell, "reasoning": "He looks left."}
    for image in "12"
    for sample, cell in enumerate(("D5", "E6", None), start=1)
]
POINTS = [{"image": "1", "x": 10.5, "y": 20}, {"image": "2", "x": 1, "y": 2}]
SPREAD = [{"image": "1", "probabilities": {"D5": 0.5, "E5": 0.5}}, {"image": "2", "probabilities": [1] + [0] * 59}]
STIMULI = [
    {"stimulus_id": f"s{n}", "image": f"{n}.jpg", "view": "front", "proximity": 1, "objects": "cup+key"}
    | {"gaze_target": "cup", "head_target": "key", "points": "0.1 0.2;0.3 0.4"}
    for n in range(3)
]
TRIALS = [{**row, "respondent": "gpt", "prompt_id": "base", "sample": 1, "choice": "key"} for row in STIMULI]
COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 360}],
    "categories": [{"id": 1, "name": "ball"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}],
}
PEOPLE = [{"image_id": "1", "category_id": 1, "keypoints": POSE[0] * 17, "score": 0.5, "bbox": [0, 0, 90, 90]}]
MANIFEST_FIELDS: dict[str, Any] = (
    {"spotball_core": "0.1.0", "identity": {"provider": "openai"}, "format": "openai", "model": "m"}
    | {"settings": {"temperature": 1.0}, "requests": 1, "replies": 2, "waiting": 0, "files": ["requests.jsonl"]}
    | {"prompts": {"base": {"version": "1", "digest": "a", "text": "Where?", "questions": [], "samples": 2}}}
)
ASKED_FIELDS = {"custom_id": "a", "sport": "soccer", "image": "1", "prompt": "base", "step": 0, "samples": [1, 2]}
SCENES = _lines(*(each.model_dump(mode="json") for each in KNOWN))
REPLIES = [
    {"custom_id": "a", "text": "Answer: D5"},
    {"custom_id": "b", "replies": [{"text": "D5", "finish": "stop"}]},
    {"custom_id": "c", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "D5"}}]}}},
]
PLAN = b"""\
[run]
seed = 0
[[sources]]
sport = "soccer"
path = "."
license = "synthetic"
[detect]
kind = "color"
"""
PROMPT = b'name = "mine"\nversion = "1"\ntext = "Where is the ball? {context}"\nquestions = ["Who?", "Where?"]\n'
GAZE_PROMPT = b'name = "mine"\nversion = "1"\ntext = "{options}?"\n'
PREDICTIONS = b"image,person,x,y,respondent,heatmap\na.jpg,1,0.5,0.25,m,a.npy\n"
ANNOTATIONS = b"a/1.jpg,1,0,0,1,1,0.1,0.1,0.5,0.1,1,1,9,9,s,m\na/1.jpg,2,0,0,1,1,0.1,0.1,-1,-1,1,1,9,9,s,m\n"
TEMPLATES = b"""\
name = "mine"
version = "1"
neutral = ["It is green."]
[categories]
pose = ["He leans."]
gaze = ["She looks."]
[keywords]
pose = ["lean(s|ing)?"]
gaze = ["look(s|ing)?"]
"""
EVENT: dict[str, Any] = {"participation": "a", "event": "12345678-1234-1234-1234-123456789012", "kind": "answer"}
EVENT |= {"trial": 1, "value": {"cell": "D5"}, "elapsed_ms": 5, "viewport": [640, 360, 1]}
REPLY = (
    "<think>Maybe D4?</think> The players look left, so row D, column 5.\n"
    '```json\n{"cell": "D5", "confidence": 0.5}\n```\n**Final answer: D5** \\boxed{D5} not E6'
)


def _parquet(rows: list[dict[str, Any]], **columns: int) -> bytes:
    out = io.BytesIO()
    frame(rows).with_columns(**{name: pl.lit(value) for name, value in columns.items()}).write_parquet(out)
    return out.getvalue()


def _counts() -> bytes:
    keys = {"sport": "soccer", "image": "1", "respondent": "m", "kind": "model", "prompt": "base"}
    rows = [{**keys, "cell": 12, "n": 2, "parts": 5}, {**keys, "cell": None, "n": 1, "parts": 0}]
    return _parquet(rows, grid_rows=6, grid_cols=10)


def _release() -> Files:
    with tempfile.TemporaryDirectory() as folder:
        release_layout.write_release(folder)
        return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def _study() -> Files:
    known = [scene(str(n), path=f"images/{n}.png") for n in range(1, 5)]
    with tempfile.TemporaryDirectory() as folder:
        data, study = Path(folder, "data"), Path(folder, "study")
        (data / "images").mkdir(parents=True)
        write_scenes(known, data / "scenes.jsonl")
        for each in known:
            (data / str(each.path)).write_bytes(release_layout.png(90))
        for name in ("with", "without"):
            (data / f"images/example-{name}-ball.png").write_bytes(release_layout.png(90))
        init_study(data, study)
        return {path.name: path.read_bytes() for path in study.iterdir() if path.is_file()}


def _pictures() -> Iterator[tuple[str, bytes]]:
    from PIL import Image

    for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"):
        out = io.BytesIO()
        Image.linear_gradient("L").resize((64, 36)).convert("RGB").save(out, kind)
        yield f"{kind}.jpg", out.getvalue()


def _dataset() -> Files:
    names = [f"{each.sport}/{each.image}" for each in KNOWN]
    parts = {"train": {"images": names}, "test": {"images": []}}
    card = {"sources": [{"video": "1", "license": "CC0", "origin": "synthetic"}]}
    jsons = {"splits.json": json.dumps(parts).encode(), "card.json": json.dumps(card).encode()}
    return {"scenes.jsonl": SCENES, **jsons, "images/1.png": b""}


def _file(name: str, content: bytes, read: Callable[[Path], object]) -> Target:
    """Return the fuzz target for a reader of a single file."""
    return Target(lambda: {name: content}, lambda folder: read(folder / name))


def _wire(path: Path) -> None:
    content = parsed(path.read_bytes())
    for read in (read_start, read_events, lambda value: read_event(value, "2026-01-01T00:00:00Z")):
        try:
            read(content)
        except MalformedRequestError:
            continue


def _reply(path: Path) -> None:
    text = path.read_bytes().decode(errors="replace")
    for policy in POLICIES:
        cell = parse_reply(text, Grid.standard(), policy=policy).cell
        assert cell is None or cell in Grid.standard().labels


def _pictures_read(folder: Path) -> None:
    for path in folder.iterdir():
        as_data(path)


def _scored(folder: Path) -> None:
    score(folder, bootstrap=20)


TARGETS: Mapping[str, Target] = {
    "scenes": _file("scenes.jsonl", SCENES, read_scenes),
    "scored dataset": Target(
        lambda: {"scenes.jsonl": SCENES, "responses.jsonl": _lines(*ROWS)}, _scored, ("scenes.jsonl",)
    ),
    "responses.jsonl": _file("a.jsonl", _lines(*ROWS), lambda path: read_counts(path, KNOWN)),
    "responses.csv": _file("a.csv", csv_text(ROWS).encode(), lambda path: read_counts(path, KNOWN)),
    "responses.parquet": Target(lambda: {"a.parquet": _parquet(ROWS)}, lambda f: read_counts(f / "a.parquet", KNOWN)),
    "points.jsonl": _file("a.jsonl", _lines(*POINTS), lambda path: read_counts(path, KNOWN)),
    "probabilities.jsonl": _file("a.jsonl", _lines(*SPREAD), lambda path: read_counts(path, KNOWN)),
    "rationales": _file("a.jsonl", _lines(*ROWS), lambda path: read_rationales(path, KNOWN)),
    "counts": Target(lambda: {"a.counts": _counts()}, lambda f: read_counts_file(f / "a.counts")),
    "release": Target(_release, import_release),
    "images": Target(lambda: dict(_pictures()), _pictures_read),
    "stimuli": _file("a.csv", csv_text(STIMULI).encode(), read_stimuli),
    "trials": _file("a.csv", csv_text(TRIALS).encode(), read_trials),
    "models": _file("a.csv", b"respondent,released,parameters\ngpt,2025-11-30,5\n", read_models),
    "gaze points.csv": _file("a.csv", b"stimulus_id,x,y\ns1,0.5,0.25\ns2,,\n", read_points),
    "gaze points.jsonl": _file("a.jsonl", _lines({"stimulus_id": "s1", "x": 0.5, "y": 0.25}), read_points),
    "gazefollow": _file("a.txt", ANNOTATIONS, read_gazefollow),
    "gaze predictions": _file("a.csv", PREDICTIONS, read_predictions),
    "faces": _file("a.csv", b"stimulus_id,x1,y1,x2,y2\ns1,0,0,1,1\n", read_faces),
    "gaze prompts": _file("a.toml", GAZE_PROMPT, lambda path: load_prompts(str(path))),
    "training run": _file("a.json", b"{}", read_run),
    "prompt": _file("a.toml", PROMPT, lambda path: load_prompt(str(path))),
    "templates": _file("a.toml", TEMPLATES, load_templates),
    "reasoning report": _file("a.json", b'{"schema_version": 1, "groups": []}', read_reasoning),
    "score report": _file(
        "a.json", given({"gpt": (0.2, (0.1, 0.3))}).model_dump_json().encode(), lambda path: read_reports([path.parent])
    ),
    "batch manifest": Target(lambda: {MANIFEST: json.dumps(MANIFEST_FIELDS).encode()}, read_manifest),
    "batch asked": Target(lambda: {ASKED: _lines({**ASKED_FIELDS, "picture": "a.png"})}, lambda f: list(read_asked(f))),
    "batch replies": _file("replies.jsonl", _lines(*REPLIES), lambda path: list(read_received(path))),
    "study": Target(_study, read_study, ("study.toml",)),
    "study requests": replace(_file("body", json.dumps(EVENT).encode(), _wire), refusals=(MalformedRequestError,)),
    "generation": _file("config.toml", PLAN, read_plan),
    "coco": _file("a.json", json.dumps(COCO).encode(), read_coco),
    "keypoints": _file("a.json", json.dumps(PEOPLE).encode(), lambda path: read_people(path, 0.0)),
    "coco keypoints": _file(
        "a.json",
        json.dumps({**COCO, "annotations": [{**PEOPLE[0], "image_id": 1}]}).encode(),
        lambda path: read_people(path, 0.0),
    ),
    "mot": _file("a.txt", b"1,1,10,20,30,40,0.5,1,1\n2,1,10,20,30,40,1\n", lambda path: read_mot(path, 1.0)),
    "yolo": _file("a.txt", b"0 0.5 0.5 0.1 0.1 0.9\n1 0.5 0.5 0.1 0.1\n", read_yolo),
    "generated dataset": Target(_dataset, read_rows, ("scenes.jsonl", "splits.json", "card.json")),
    "reply": replace(_file("reply", REPLY.encode(), _reply), refusals=()),
}

SECONDS = float(os.environ.get("SPOTBALL_FUZZ_SECONDS", "60"))
"""Time in seconds for all targets together."""
