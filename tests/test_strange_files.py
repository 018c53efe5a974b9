"""Files that ended a command with an unexpected error, each with the message it gives now."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spotball_adapters.batch.folder import ASKED, MANIFEST, read_asked, read_manifest
from spotball_adapters.batch.take import _received
from spotball_adapters.gaze.training.experiment import read_run
from spotball_core.errors import InputError
from spotball_core.io.scenes import write_scenes
from spotball_core.reasoning.records import read_reasoning
from spotball_core.service.toml_file import read_toml
from spotball_gen.box_files.mot import read_mot
from spotball_gen.box_files.yolo import read_yolo
from spotball_gen.dataset.exports.rows import read_rows
from tests.builders import scenes

IMAGES = ["soccer/1", "soccer/2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "9" * 5000, "5000 digits"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = 1\na = 2", "Cannot"),
        ("#" * 2_000_001, "at most"),
        ("text = 1\n" + "a." * 50_000 + "b = 1", ":2: key: found a key with too many parts"),
        ("[a" + ".b" * 300 + "]", "a key with too many parts"),
        ("a = {b" + ".c" * 300 + " = 1}", "a key with too many parts"),
    ],
)
def test_toml(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_toml(tmp_path / "a.toml", "a study")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "splits.json",
            {"train": {"images": IMAGES[:1]}, "test": {"images": []}},
            "soccer/2: found nothing, expected each image of scenes.jsonl in `train` or `test`. Add the image",
        ),
        ("splits.json", {"train": {"images": IMAGES}}, "test: found .*expected a value"),
        ("splits.json", ["train"], "file: found"),
        ("card.json", {"sources": [{"license": "CC0"}]}, "sources.0.video: found .*expected a value"),
        ("card.json", {"sources": 5}, "sources: found 5"),
    ],
)
def test_files_of_a_generated_dataset(name: str, content: object, said: str, tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(b"")
    write_scenes(scenes("1", "2", path="1.png"), tmp_path / "scenes.jsonl")
    assert [row.part for row in read_rows(tmp_path)]
    (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(InputError, match=said):
        read_rows(tmp_path)


def test_toml_with_many_dots_in_its_text(tmp_path: Path) -> None:
    text = "The ball is at 1.5. " * 500 + "." * 500
    (tmp_path / "a.toml").write_text(f"text = '{text}'\n")
    assert read_toml(tmp_path / "a.toml", "a prompt") == {"text": text}


@pytest.mark.parametrize("read", [read_manifest, read_run, read_reasoning])
def test_a_key_that_is_there_twice(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / MANIFEST
    path.write_text('{"schema_version": 1, "schema_version": 1}')
    with pytest.raises(InputError, match='the repeated key "schema_version"'):
        read(tmp_path if read is read_manifest else path)


def test_a_batch_of_nothing_but_broken_lines_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(b"{\n" * 20_000)
    with pytest.raises(InputError) as caught:
        _received([path], {})
    assert 10_000 <= sum(problem.count for problem in caught.value.problems) < 20_000


@pytest.mark.parametrize("line", [b"\xa8", b'{"custom_id": "a", "custom_id": "b"}', b"[" * 100_000])
def test_requests_of_a_batch(line: bytes, tmp_path: Path) -> None:
    (tmp_path / ASKED).write_bytes(line + b"\n")
    with pytest.raises(InputError, match=r"asked\.jsonl:1: line"):
        list(read_asked(tmp_path))


def test_boxes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("9" * 5000 + " 0.5 0.5 0.1 0.1")
    with pytest.raises(InputError, match=r"a\.txt:1: class: found '9{40}', expected the number of a class"):
        read_yolo(path)
    path.write_text("1,1," + "1" * 140_000 + ",20,30,40,0.5,1,1")
    with pytest.raises(InputError, match="field larger than field limit"):
        read_mot(path, 1.0)


def test_a_file_of_anything_but_boxes_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n" * 30_000)
    for read in (read_yolo, lambda path: read_mot(path, 1.0)):
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.total == 10_000
