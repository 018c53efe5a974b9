"""Test that compressed files and standard input score like plain files, and that errors name the given file."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from spotball_core import score
from spotball_core.errors import InputError
from spotball_core.grid import Grid
from spotball_core.io import compressed
from spotball_core.io.compressed import STANDARD_INPUT, plain_files
from spotball_core.schema.scene import Scene
from spotball_core.scoring.score import load_counts
from tests.failures import raises

SCENES = [Scene(sport="soccer", image=str(n), grid=Grid.standard(), ball_cells=["D5"]) for n in range(4)]

LINES = b"".join(b'{"image": "%d", "cell": "D%d"}\n' % (n, n + 4) for n in range(4))
TABLE = b"image,cell\n0,D4\n1,D5\n2,D6\n3,D7\n"


@pytest.mark.parametrize(("name", "content"), [("mine.jsonl", LINES), ("mine.ndjson", LINES), ("mine.csv", TABLE)])
def test_score_of_a_compressed_file_equals_score_of_the_plain_file(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    plain, packed = (score(str(tmp_path / file), SCENES, bootstrap=0) for file in (name, f"{name}.gz"))
    assert packed.groups == plain.groups
    assert packed.groups[0].respondent == "mine"
    assert packed.signature == plain.signature


@pytest.mark.parametrize("content", [LINES, b"\n " + LINES, TABLE])
def test_score_reads_responses_from_standard_input(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    (group,) = score([STANDARD_INPUT], SCENES, bootstrap=0).groups
    assert (group.respondent, group.metrics["accuracy"].value) == ("stdin", 0.25)


def test_errors_and_warnings_about_a_compressed_file_name_the_compressed_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(b"image,cell\n0,D4\n7,D5\n"))
    with raises(InputError, "unknown-image:image:3"):
        score(str(file), SCENES)
    # Points inside the first pixel look like fractions of the image size.
    rows = "".join(f"{n},0.{n}5,0.5\n" for n in range(4))
    file.write_bytes(gzip.compress(f"image,x,y\n{rows}".encode()))
    counts, _ = load_counts([str(file)], SCENES, participants=False, accept_signs=True)
    assert {problem.file for problem in counts.warnings} == {str(file)}


def test_score_of_a_dataset_folder_reads_compressed_responses(tmp_path: Path) -> None:
    (tmp_path / "scenes.jsonl").write_text("".join(s.model_dump_json() + "\n" for s in SCENES), encoding="utf-8")
    (tmp_path / "responses-a.jsonl").write_bytes(LINES)
    (tmp_path / "responses-b.csv.gz").write_bytes(gzip.compress(TABLE))
    report = score(str(tmp_path), bootstrap=0)
    assert [group.respondent for group in report.groups] == ["responses-a", "responses-b"]


def test_score_of_an_invalid_missing_or_too_large_compressed_file_raises_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"plain")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(LINES)[:-9])
    (tmp_path / "large.jsonl.gz").write_bytes(gzip.compress(LINES))
    monkeypatch.setattr(compressed, "MOST_BYTES", 10)
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b" " * 1_000_000))
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    for name, where in (
        ("a.jsonl.gz", "unreadable-file:file"),
        ("cut.jsonl.gz", "unreadable-file:file"),
        ("bomb.jsonl.gz", "too-large:file"),
        ("none.jsonl.gz", "missing-file:file"),
        ("a.parquet.gz", "wrong-file:file"),
    ):
        with raises(InputError, where) as caught:
            score(str(tmp_path / name), SCENES)
        assert caught.value.file == str(tmp_path / name)
    assert score(str(tmp_path / "large.jsonl.gz"), SCENES, bootstrap=0).groups


def test_plain_files_removes_its_temporary_files_after_use(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    with plain_files([tmp_path / "a.jsonl.gz"]) as (plain,):
        assert plain.read_bytes() == LINES
    assert not plain.exists()
