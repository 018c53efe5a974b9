"""Test that files of other formats score like plain files, and that errors name the given file."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from spotball_core import read_counts, score
from spotball_core.errors import InputError
from spotball_core.grid import Grid
from spotball_core.io import csv_records, plain_files as module
from spotball_core.io.plain_files import STANDARD_INPUT, plain_files
from spotball_core.schema.scene import Scene
from spotball_core.scoring.score import load_counts
from spotball_core.service import unpacked_size
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
    monkeypatch.setattr(module, "MOST_BYTES", 10)
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
    with plain_files([tmp_path / "a.jsonl.gz"]) as files:
        (plain,) = files.paths
        assert plain.read_bytes() == LINES
    assert not plain.exists()


COMMAS = "image,x,y\n0,380.5,220.1\n1,20,-3\n\n2,1.25,9\n"


@pytest.mark.parametrize(
    ("name", "text", "encoding", "found"),
    [
        ("a.csv", COMMAS, "utf-8", None),
        (
            "a.csv",
            COMMAS.replace(",", ";").replace(".", ","),
            "utf-8",
            "fields separated by semicolons and decimal commas",
        ),
        ("a.csv", COMMAS.replace(",", ";"), "utf-8-sig", "fields separated by semicolons"),
        (
            "a.csv",
            "sep=;\r\n" + COMMAS.replace(",", ";").replace("\n", "\r\n"),
            "utf-8",
            "fields separated by semicolons",
        ),
        ("a.csv", COMMAS.replace(",", "\t"), "utf-8", "fields separated by tabs"),
        ("a.tsv", COMMAS.replace(",", "\t"), "utf-8", None),
        ("a.csv", COMMAS, "utf-16", "text in UTF-16"),
        ("a.csv.gz", COMMAS, "utf-16", "text in UTF-16"),
    ],
)
def test_read_counts_reads_other_encodings_and_separators_and_warns(
    name: str, text: str, encoding: str, found: str | None, tmp_path: Path
) -> None:
    content = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    counts = read_counts(tmp_path / name, SCENES)
    assert counts.table.select("image", "cell").rows() == [("0", 35), ("1", None), ("2", 0)]
    first = [warning for warning in counts.warnings if warning.code == "assumed-format"]
    assert [(warning.found, warning.file) for warning in first] == ([(found, str(tmp_path / name))] if found else [])
    assert {warning.line for warning in counts.warnings if warning.code != "assumed-format"} == {
        4 if text.startswith("sep") else 3
    }


def test_read_counts_of_an_excel_unicode_table_warns_of_the_encoding_and_of_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("image\tcell\n0\tD5\n".encode("utf-16"))
    counts = read_counts(tmp_path / "a.csv", SCENES)
    assert [(warning.code, warning.field) for warning in counts.warnings] == [
        ("assumed-format", "file"),
        ("assumed-format", "header"),
    ]
    with raises(InputError, "assumed-format:file:1"):
        score(str(tmp_path / "a.csv"), SCENES, strict=True)


def test_score_reads_a_truth_table_with_semicolons_and_warns(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("image;x;y\n0;380,5;220,1\n", encoding="utf-8")
    report = score({"0": "D6"}, truth=str(tmp_path / "truth.csv"), bootstrap=0)
    assert report.groups[0].metrics["accuracy"].value == 1
    assert [str(tmp_path / "truth.csv") in warning for warning in report.warnings] == [True]


def test_errors_in_tables_with_semicolons_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text, where in (
        ("image;cell\n0;D5\n9;D5\n", "unknown-image:image:3"),
        ("image;cell\n0;D5;7\n", "invalid-csv:line:2"),
        ("image;cell\n0;D5\n1;J\u00f6rg\n", "unreadable-file:line:3"),
    ):
        file.write_text(text, encoding="latin-1")
        with raises(InputError, where) as caught:
            read_counts(file, SCENES)
        assert caught.value.file == str(file)


def test_read_counts_of_a_semicolon_table_keeps_labels_with_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("image;cell;note\n0;D5;a, b\n1;4,5;1,5\n", encoding="utf-8")
    with plain_files([tmp_path / "a.csv"]) as files:
        assert files.paths[0].read_text("utf-8") == 'image,cell,note\n0,D5,"a, b"\n1,"4,5",1.5\n'


@pytest.mark.parametrize("text", ["image,cell\n0,{}\n", "image,cell\n0,D5\n1,{}", 'image,cell\n0,"D5\n{}"\n'])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl"])
def test_read_counts_of_a_line_or_a_field_that_is_too_long_is_an_error(
    text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module_of_limit in (unpacked_size, csv_records):
        monkeypatch.setattr(module_of_limit, "MOST_LINE", 5_000_000)
    content = text.format(("x" * 79 + "\n") * 100_000 if '"' in text else "x" * 8_000_000).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    code = "too-large:line" if name != "a.jsonl" or '"' not in text else "invalid-json:line"
    with raises(InputError, code):
        read_counts(tmp_path / name, SCENES)
