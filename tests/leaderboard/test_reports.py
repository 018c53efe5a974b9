"""Test which files are read as score reports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spotball_core.errors import InputError
from spotball_core.leaderboard.reports import read_reports
from tests.failures import raises
from tests.leaderboard.made import given, write

REPORT = given({"gpt": (0.2, (0.1, 0.3))})
TEXT = REPORT.model_dump_json()


def test_read_reports_searches_a_folder_and_skips_other_files(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "all/b/one.json")
    write(given({"gemini": (0.3, None)}), tmp_path / "all/a.json")
    (tmp_path / "all/other.json").write_text('{"schema_version": 1}')
    (tmp_path / "all/list.json").write_text("[1]")
    (tmp_path / "all/text.txt").write_text("no JSON")
    write(REPORT, tmp_path / "all/.unfinished/report.json")
    write(REPORT, tmp_path / "all/out/report.json")
    found = read_reports([tmp_path / "all"], exclude=tmp_path / "all/out")
    assert [one.source for one in found.reports] == ["all/a.json", "all/b/one.json"]
    assert found.notes == ("2 JSON files were skipped, because they are not score reports.",)


def test_read_reports_uses_identical_reports_once_with_a_note(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(REPORT, tmp_path / name)
    (tmp_path / "b.json").write_text(TEXT)  # Only the whitespace differs.
    found = read_reports([tmp_path, tmp_path / "a.json"])
    folder = tmp_path.name
    assert [one.source for one in found.reports] == [f"{folder}/a.json"]
    assert found.notes == (f"{folder}/b.json is identical to {folder}/a.json, so only one of them is used.",)


def test_report_json_of_the_report_command_is_read_as_a_score_report(tmp_path: Path) -> None:
    content = {**json.loads(TEXT), "page": {"whatever": 1}}
    (tmp_path / "report.json").write_text(json.dumps(content))
    assert read_reports([tmp_path]).reports[0].report == REPORT


@pytest.mark.parametrize(
    ("content", "where", "found"),
    [
        (TEXT[:-20], "invalid-json:file", "line 1 column 1"),
        (TEXT.replace('"schema_version":1', '"schema_version":2'), "newer-version:schema_version", "2"),
        (TEXT.replace('"n_images":50', '"n_images":"many"'), "invalid-value:groups.0.n_images", "'many'"),
        (TEXT.replace('"value":0.2', '"value":NaN'), "invalid-json:file", "NaN"),
        (TEXT.replace('"value":0.2', '"value":1e999'), "invalid-json:file", "1e999"),
        (TEXT.replace('"gpt"', '"\\ud800"'), "invalid-value:file", ""),
        ("[" * 10**5 + TEXT, "invalid-json:file", ""),
    ],
)
def test_read_reports_of_a_damaged_or_newer_report_is_an_error_that_names_the_file(
    tmp_path: Path, content: str, where: str, found: str
) -> None:
    write(REPORT, tmp_path / "good.json")
    (tmp_path / "bad.json").write_text(content)
    with raises(InputError, where) as caught:
        read_reports([tmp_path])
    assert {problem.file for problem in caught.value.problems} == {str(tmp_path / "bad.json")}
    assert found in caught.value.problems[0].found


def test_read_reports_of_a_file_or_folder_without_reports_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "empty.json").write_text("")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("other", "empty", "pipe", "missing"):
        with raises(InputError, f"{'missing' if name == 'missing' else 'wrong'}-file:file"):
            read_reports([tmp_path / f"{name}.json"])
    with raises(InputError, "no-data:reports"):
        read_reports([tmp_path])
    # A folder with a report may contain these files.
    write(REPORT, tmp_path / "a.json")
    assert len(read_reports([tmp_path]).reports) == 1


def test_read_reports_does_not_parse_a_large_file_that_is_not_a_report(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "a.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 28)  # A sparse file of zeros. Parsing it would be an error.
    found = read_reports([tmp_path])
    assert found.notes == ("1 JSON file was skipped, because it is not a score report.",)
