"""Which files are read as score reports."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spotball_core.errors import InputError
from spotball_core.leaderboard.reports import read_reports
from tests.leaderboard.made import given, write

REPORT = given({"gpt": (0.2, (0.1, 0.3))})


def test_a_folder_is_searched_for_reports(tmp_path: Path) -> None:
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


def test_the_same_report_counts_once(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(REPORT, tmp_path / name)
    (tmp_path / "b.json").write_text(REPORT.model_dump_json())  # Other blanks.
    found = read_reports([tmp_path, tmp_path / "a.json"])
    folder = tmp_path.name
    assert [one.source for one in found.reports] == [f"{folder}/a.json"]
    assert found.notes == (f"{folder}/b.json is identical to {folder}/a.json, so only one of them is used.",)


def test_report_json_of_a_page_is_a_score_report(tmp_path: Path) -> None:
    content = {**json.loads(REPORT.model_dump_json()), "page": {"whatever": 1}}
    (tmp_path / "report.json").write_text(json.dumps(content))
    assert read_reports([tmp_path]).reports[0].report == REPORT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (REPORT.model_dump_json()[:-20], "damaged JSON"),
        (REPORT.model_dump_json().replace('"schema_version":1', '"schema_version":2'), "schema_version: found 2"),
        (REPORT.model_dump_json().replace('"n_images":50', '"n_images":"many"'), "n_images: found 'many'"),
        (REPORT.model_dump_json().replace('"value":0.2', '"value":NaN'), "NaN, which is not JSON"),
        (REPORT.model_dump_json().replace('"value":0.2', '"value":1e999'), "1e999, which is not JSON"),
        (REPORT.model_dump_json().replace('"gpt"', '"\\ud800"'), "Invalid JSON"),
        ("[" * 10**5 + REPORT.model_dump_json(), "nested too deeply"),
    ],
)
def test_a_damaged_or_newer_report_is_an_error_that_names_it(tmp_path: Path, content: str, said: str) -> None:
    write(REPORT, tmp_path / "good.json")
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError) as caught:
        read_reports([tmp_path])
    assert str(tmp_path / "bad.json") in str(caught.value)
    assert said in str(caught.value)
    assert "good.json" not in str(caught.value)


def test_a_named_file_must_be_a_report(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "empty.json").write_text("")
    for name in ("other.json", "empty.json", "missing.json"):
        with pytest.raises(InputError, match=name):
            read_reports([tmp_path / name])


def test_nothing_found_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(InputError, match="none; 2 other JSON files"):
        read_reports([tmp_path])


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "a.json")
    os.mkfifo(tmp_path / "b.json")
    assert len(read_reports([tmp_path]).reports) == 1
    with pytest.raises(InputError, match="a FIFO"):
        read_reports([tmp_path / "b.json"])


def test_a_large_file_of_another_kind_is_not_parsed(tmp_path: Path) -> None:
    write(REPORT, tmp_path / "a.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 28)  # Zeros that take no space on the disk. Parsing them would be an error.
    found = read_reports([tmp_path])
    assert found.notes == ("1 JSON file was skipped, because it is not a score report.",)
