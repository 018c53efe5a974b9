"""Test that malformed files, which once caused an unexpected exception, raise an input error with a location."""

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
from tests.failures import raises

IMAGES = ["soccer/1", "soccer/2"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a = " + "9" * 5000, "invalid-toml:file"),
        ("a = " + "[" * 5000, "invalid-toml:file"),
        ("a = 1\na = 2", "invalid-toml:file"),
        ("#" * 2_000_001, "too-large:file"),
        ("text = 1\n" + "a." * 50_000 + "b = 1", "too-large:key:2"),
        ("[a" + ".b" * 300 + "]", "too-large:key:1"),
        ("a = {b" + ".c" * 300 + " = 1}", "too-large:key:1"),
    ],
)
def test_read_toml_of_invalid_or_too_large_or_deeply_nested_text_raises_input_error(
    text: str, where: str, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(text)
    with raises(InputError, where):
        read_toml(tmp_path / "a.toml", "a study")


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("splits.json", {"train": {"images": IMAGES[:1]}, "test": {"images": []}}, "missing-value:soccer/2"),
        ("splits.json", {"train": {"images": IMAGES}}, "missing-value:test"),
        ("splits.json", ["train"], "invalid-value:file"),
        ("card.json", {"sources": [{"license": "CC0"}]}, "missing-value:sources.0.video"),
        ("card.json", {"sources": 5}, "invalid-value:sources"),
    ],
)
def test_read_rows_with_an_invalid_splits_or_card_file_raises_input_error(
    name: str, content: object, where: str, tmp_path: Path
) -> None:
    (tmp_path / "1.png").write_bytes(b"")
    write_scenes(scenes("1", "2", path="1.png"), tmp_path / "scenes.jsonl")
    assert [row.part for row in read_rows(tmp_path)]
    (tmp_path / name).write_text(json.dumps(content))
    with raises(InputError, where):
        read_rows(tmp_path)


def test_read_toml_accepts_many_dots_inside_a_string(tmp_path: Path) -> None:
    text = "The ball is at 1.5. " * 500 + "." * 500
    (tmp_path / "a.toml").write_text(f"text = '{text}'\n")
    assert read_toml(tmp_path / "a.toml", "a prompt") == {"text": text}


@pytest.mark.parametrize(
    ("read", "where"),
    [(read_manifest, "invalid-json:file"), (read_run, "invalid-json:file"), (read_reasoning, "invalid-json:file")],
)
def test_read_manifest_read_run_and_read_reasoning_with_a_repeated_json_key_raise_input_error(
    read: Callable[[Path], object], where: str, tmp_path: Path
) -> None:
    path = tmp_path / MANIFEST
    path.write_text('{"schema_version": 1, "schema_version": 1}')
    with raises(InputError, where) as caught:
        read(tmp_path if read is read_manifest else path)
    assert '"schema_version"' in caught.value.problems[0].found


@pytest.mark.parametrize("line", [b"\xa8", b'{"custom_id": "a", "custom_id": "b"}', b"[" * 100_000])
def test_read_asked_with_an_invalid_line_raises_input_error(line: bytes, tmp_path: Path) -> None:
    (tmp_path / ASKED).write_bytes(line + b"\n")
    with raises(InputError, "invalid-json:line:1"):
        list(read_asked(tmp_path))


def test_read_yolo_and_read_mot_with_an_overlong_number_raise_input_error(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("9" * 5000 + " 0.5 0.5 0.1 0.1")
    with raises(InputError, "invalid-value:class:1"):
        read_yolo(path)
    path.write_text("1,1," + "1" * 140_000 + ",20,30,40,0.5,1,1")
    with raises(InputError, "unreadable-file:file"):
        read_mot(path, 1.0)


def test_readers_of_box_files_and_batch_replies_stop_after_10_000_invalid_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\n" * 30_000)
    for read in (read_yolo, lambda path: read_mot(path, 1.0)):
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.total == 10_000
    path.write_bytes(b"{\n" * 20_000)
    with pytest.raises(InputError) as caught:
        _received([path], {})
    assert 10_000 <= sum(problem.count for problem in caught.value.problems) < 20_000
