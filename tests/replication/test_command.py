"""Test the output formats, exit statuses and error messages of `spotball replicate`."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from spotball_core.replication import Replication
from tests.cli import process
from tests.failures import codes
from tests.replication.small import write_accuracy, write_all_matching

KEYS = ["where", "sport", "respondent", "prompt", "quantity", "published", "reproduced", "standard", "status", "note"]


def spotball(*arguments: str | Path, columns: int | None = None) -> subprocess.CompletedProcess[str]:
    return process.spotball("replicate", *arguments, env={"COLUMNS": str(columns)} if columns else {})


@pytest.fixture(scope="module")
def matching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all_matching(tmp_path_factory.mktemp("matching"))


def test_replicate_json_has_the_documented_fields_and_values(release: Path, found: Replication) -> None:
    done = spotball(release, "--format", "json", "--quiet")
    assert (done.returncode, done.stderr) == (1, "")  # Synthetic data does not match the paper.
    said = json.loads(done.stdout)
    assert set(said) == {"items", "signature", "signature_reproduced"}
    assert said["signature"].startswith("spotball|v:")
    for item in said["items"]:
        assert set(item) == set(KEYS)
        assert item["status"] in ("match", "mismatch", "no data")
        assert item["published"] is None or isinstance(item["published"], str)
        assert item["reproduced"] is None or isinstance(item["reproduced"], float)
    assert said == json.loads(found.model_dump_json())


@pytest.mark.parametrize("columns", [80, 120])
def test_replicate_without_unexplained_mismatches_exits_with_status_0_and_fits_the_terminal_width(
    matching: Path, columns: int
) -> None:
    done = spotball(matching, "--full", columns=columns)
    assert (done.returncode, done.stderr) == (0, "groups of values checked: 9 done\n")
    assert "5 matches, 0 mismatches" in done.stdout
    assert "unexplained" not in done.stdout
    body = [line for line in done.stdout.splitlines() if "spotball|" not in line]
    assert columns - 25 < max(map(len, body)) <= columns


def test_replicate_with_an_unexplained_mismatch_exits_with_status_1(tmp_path: Path) -> None:
    folder = write_all_matching(tmp_path)
    (truth,) = folder.rglob("soccer_gt.csv")
    truth.write_text(truth.read_text().replace("C4;C5", "C4;C5;C6;C7"))
    done = spotball(folder)
    assert done.returncode == 1
    assert "unexplained: table 1, soccer, cells the ball spans" in done.stdout


@pytest.mark.parametrize("columns", [80, 200])
def test_replicate_summary_agrees_with_the_items_and_fits_80_columns(
    release: Path, found: Replication, columns: int
) -> None:
    lines = spotball(release, columns=columns).stdout.splitlines()
    statuses = Counter(
        "unexplained" if item.status == "mismatch" and "unexplained" in str(item.note) else item.status
        for item in found.items
    )
    n = [statuses[status] for status in ("match", "mismatch", "unexplained", "no data")]
    assert n[2] > 0
    headline = " ".join(lines[: lines.index("")])
    assert headline.startswith(f"{n[0]} of {sum(n[:3])} published values that can be checked ")
    assert headline.endswith(f"{n[2]} differ without a known reason; {n[3]} cannot be checked with these data.")
    (all_places,) = [line.split() for line in lines if line.split()[:1] == ["all"]]
    assert all_places == ["all", *map(str, n)]
    body = [line for line in lines if not line.startswith(("unexplained: ", "... and ", "standard: ", "reproduced: "))]
    assert max(map(len, body)) <= 80
    assert not any("…" in line for line in body)
    assert len(lines) < 60
    assert "--full" in " ".join(lines)


def test_replicate_markdown_contains_the_table_rows_and_an_unknown_format_exits_with_status_2(matching: Path) -> None:
    assert spotball(matching, "--format", "yaml").returncode == 2
    done = spotball(matching, "--format", "markdown", "-q")
    assert done.returncode == 0
    assert "| cells the ball spans | soccer | 2.27 | 2.27 | 2.27 | match |" in done.stdout.splitlines()


def test_replicate_of_a_folder_without_a_release_exits_with_status_2(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        done = spotball(folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("error: ")


def test_replicate_of_a_broken_file_exits_with_status_2_and_names_the_line(tmp_path: Path) -> None:
    folder = write_all_matching(tmp_path)
    write_accuracy(folder, ("soccer", "gpt", 0, 10, "0.1"), ("soccer", "gpt", 7, 10, "0.1"))
    done = spotball(folder)
    assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"])
    assert "accuracy_by_condition.csv:3: level: " in done.stderr
    assert "'7'" in done.stderr
