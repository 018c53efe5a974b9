"""Test `spotball leaderboard`, which reads score files and writes a folder."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from spotball_core import import_release, score
from spotball_core.leaderboard.write import write_leaderboard
from spotball_core.schema import ScoreReport
from tests.builders import dataset
from tests.cli.process import MODULE, spotball
from tests.failures import codes
from tests.leaderboard.made import answers, given, known, scored, write
from tests.waiting import until

FILES = {f"leaderboard.{ending}" for ending in ("csv", "html", "parquet")}


@pytest.fixture(scope="module")
def report() -> ScoreReport:
    return scored("gpt", "gemini")


@pytest.fixture
def reports(report: ScoreReport, tmp_path: Path) -> Path:
    write(report, tmp_path / "reports/a.json")
    return tmp_path / "reports"


@pytest.mark.slow
def test_leaderboard_command_writes_a_folder_and_replaces_an_earlier_leaderboard(reports: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for options in ((), ("--metrics", "accuracy", "--sport", "soccer"), ("--prompt", "base", "--quiet")):
        done = spotball("leaderboard", reports, "--out", out, *options)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ("" if "--quiet" in options else f"files read: 1 done\nwrote {out}/leaderboard.html\n")
        assert {path.name for path in out.iterdir()} == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "reports"]


def test_leaderboard_command_can_write_to_a_folder_inside_the_searched_folder(reports: Path) -> None:
    for _ in range(2):
        done = spotball("leaderboard", reports, "--out", reports / "board")
        assert done.stderr == f"files read: 1 done\nwrote {reports}/board/leaderboard.html\n"


def test_leaderboard_command_with_other_files_in_the_output_folder_exits_with_status_2(
    reports: Path, tmp_path: Path
) -> None:
    out, of_another_command = tmp_path / "out", tmp_path / "report"
    write_leaderboard([reports], out)
    (out / "notes.txt").write_text("mine")
    of_another_command.mkdir()
    (of_another_command / "report.html").write_text('<meta name="generator" content="spotball report 1">')
    for folder in (reports, of_another_command, out):
        done = spotball("leaderboard", reports, "--out", folder)
        assert (done.returncode, codes(done.stderr)) == (2, ["output-exists"])
    assert "notes.txt" in done.stderr
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(("option", "name"), [("--metrics", "speed"), ("--sport", "chess"), ("--prompt", "cot")])
def test_leaderboard_command_with_an_unknown_metric_sport_or_prompt_exits_with_status_2(
    reports: Path, tmp_path: Path, option: str, name: str
) -> None:
    done = spotball("leaderboard", reports, "--out", tmp_path / "out", option, name)
    assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["unknown-name"])
    assert f"error: {option}: " in done.stderr
    assert f"'{name}'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_leaderboard_command_with_a_damaged_report_exits_with_status_2_and_writes_nothing(
    reports: Path, tmp_path: Path
) -> None:
    (reports / "b.json").write_text((reports / "a.json").read_text()[:-30])
    done = spotball("leaderboard", reports, "--out", tmp_path / "out")
    assert (done.returncode, codes(done.stderr)) == (2, ["invalid-json"])
    assert f"error: {reports}/b.json: file: " in done.stderr
    assert not (tmp_path / "out").exists()


def test_leaderboard_of_reports_from_the_score_command_ranks_each_seed_separately(tmp_path: Path) -> None:
    scenes = known()
    people = answers("human", scenes, hits=0.6, kind="human")
    for name, seed in (("a", "0"), ("b", "0"), ("a", "1")):
        data = dataset(tmp_path / f"{name}{seed}", scenes, answers=[*people, *answers(name, scenes, hits=0.3)])
        options = ("--reference", "human", "--bootstrap", "20", "--seed", seed, "--quiet")
        done = spotball("score", data, *options, "--out", tmp_path / f"reports/{name}{seed}.json")
        assert done.returncode == 0, done.stderr
    write_leaderboard([tmp_path / "reports"], tmp_path / "out")
    frame = pl.read_csv(tmp_path / "out/leaderboard.csv")
    ranked = frame.filter(pl.col("rank").is_not_null()).group_by("ranking").agg(pl.col("respondent").unique().sort())
    # The seed is part of the policy, so each seed has three rankings: two sports and their average.
    assert sorted(ranked["respondent"].to_list()) == [["a"]] * 3 + [["a", "b"]] * 3


@pytest.mark.slow
def test_killed_leaderboard_command_leaves_the_complete_old_or_new_folder(tmp_path: Path) -> None:
    """Kill the command at several points, and check each time that the output folder is complete."""
    many = {f"m{number}": (number / 100, (number / 100, 0.9)) for number in range(40)}
    write(given(many), tmp_path / "reports/a.json")
    out = tmp_path / "out"
    write_leaderboard([tmp_path / "reports"], out, metrics=["accuracy"])
    write(given({"new": (0.5, (0.4, 0.6))}, data="2"), tmp_path / "reports/b.json")
    old = (out / "leaderboard.html").read_text()
    killed = 0
    for wait in (0.0, 0.002, 0.01, 0.03):
        command = [*MODULE, "leaderboard", str(tmp_path / "reports"), "--out", str(out), "--quiet"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        until(lambda process=process: process.poll() is not None or list(tmp_path.glob(".out.*")))
        time.sleep(wait)
        process.kill()
        _, said = process.communicate(timeout=60)
        killed += process.returncode == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL), said
        if out.exists():
            assert {path.name for path in out.iterdir()} == FILES
            page = (out / "leaderboard.html").read_text()
            assert page == old or "</html>" in page[-10:]
            assert ("new" in (out / "leaderboard.csv").read_text()) == (page != old)
        else:
            # Between the two renames, the old folder is in a temporary folder next to the output.
            assert [path for path in tmp_path.glob(".out.*/old/leaderboard.html") if path.read_text() == old]
            break
        for unfinished in tmp_path.glob(".out.*"):
            subprocess.run(["rm", "-r", str(unfinished)], check=True)
    assert killed
    assert out.exists() or list(tmp_path.glob(".out.*/old"))


@pytest.mark.real
def test_leaderboard_of_the_published_soccer_data_has_the_published_scores(real_release: Path, tmp_path: Path) -> None:
    import_release(real_release).write(tmp_path / "dataset")
    report = score(tmp_path / "dataset", reference="human", bootstrap=20, ceiling=True)
    write(report, tmp_path / "reports/all.json")
    write_leaderboard([tmp_path / "reports"], tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out/leaderboard.parquet")
    values = {row[:2]: row[2:] for row in frame.select("respondent", "metric", "value", "n_responses").iter_rows()}
    # 1441 of 7500 and 81 of 1000 responses are right. 113.36 px is in table 2 of the paper.
    assert values["human", "accuracy"] == (pytest.approx(1441 / 7500), 7500)
    assert values["human", "euclidean_error"] == (pytest.approx(113.36, abs=0.01), 7500)
    assert values["gemini", "accuracy"] == (pytest.approx(81 / 1000), 1000)
    ranked = frame.filter(pl.col("rank").is_not_null())
    assert set(ranked.select("respondent", "rank", "rank_low", "rank_high").iter_rows()) == {("gemini", 1, 1, 1)}
    assert {"accuracy", "wasserstein_matched", "ceiling_score", "near_player_rate"} <= set(ranked["metric"])
