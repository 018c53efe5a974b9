"""Test the output and exit status of the command `spotball gen run`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.process import on_terminal, spotball
from tests.failures import codes
from tests.gen.runs import environment, run_process, write_config, write_videos


@pytest.fixture
def config(tmp_path: Path, plugins: Path) -> Path:
    write_videos(tmp_path / "videos", {"a": 6})
    return write_config(tmp_path / "config.toml", filter={"reject_every": 3})


@pytest.mark.slow
def test_gen_run_prints_stage_counts_and_a_summary(config: Path, tmp_path: Path, plugins: Path) -> None:
    out = tmp_path / "out"
    first = run_process(config, out, plugins)
    assert (first.returncode, first.stdout) == (0, "")
    lines = first.stderr.splitlines()
    assert lines[0] == "videos processed: 1 done"
    assert lines[1].split() == ["frames", "6", "of", "6"]
    assert lines[2].split() == ["filter", "4", "of", "6", "2", "that", "second"]
    assert lines[-4].split() == ["targets", "4", "of", "4"]
    assert lines[-3:] == [
        "there are no test images of soccer, because all images of a sport are from one shot of one video",
        f"{out}: 4 items",
        "Leak test: not done, because it needs images of at least two videos.",
    ]
    again = run_process(config, out, plugins)
    assert again.returncode == 0
    assert again.stderr.splitlines()[-2:] == [f"{out}: 4 items, none of them new", lines[-1]]


@pytest.mark.slow
def test_gen_run_quiet_prints_only_failures(config: Path, tmp_path: Path, plugins: Path) -> None:
    done = run_process(config, tmp_path / "out", plugins, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    failed = run_process(write_config(config, detect={"fail_at": (2,)}), tmp_path / "other", plugins, "--quiet")
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert line.startswith("failed: a-")
    assert line.endswith("-000002000, detect: RuntimeError: an odd image")


@pytest.mark.slow
def test_gen_run_prints_ten_failures_and_counts_the_rest(config: Path, tmp_path: Path, plugins: Path) -> None:
    write_videos(tmp_path / "videos", {"b": 20})
    write_config(config, detect={"fail_at": tuple(range(2, 20))})
    lines = run_process(config, tmp_path / "out", plugins, "--quiet").stderr.splitlines()
    assert len(lines) == 11
    assert lines[-1] == f"... and 12 more failures, in {tmp_path}/out/.work/ledger.sqlite"


@pytest.mark.slow
def test_gen_run_without_accepted_items_exits_with_status_1(config: Path, tmp_path: Path, plugins: Path) -> None:
    done = run_process(write_config(config, filter={"reject_every": 1}), tmp_path / "out", plugins)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "no item passed all stages; the counts above show which stage rejected them"


def test_gen_run_with_a_configuration_and_the_demo_option_exits_with_status_2() -> None:
    done = spotball("gen", "run", "c.toml", "--demo", "--out", "x")
    assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["conflicting-options"])
    assert not Path("x").exists()


@pytest.mark.slow
def test_gen_run_on_a_terminal_shows_a_progress_bar(
    config: Path, tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment(plugins)["PYTHONPATH"])
    write_config(config, filter={"seconds": 0.3})
    code, shown = on_terminal("gen", "run", config, "--out", tmp_path / "out", columns=200)
    assert code == 0
    assert "━" in shown
    assert "0 of 1 videos" in shown or "1 of 1 videos" in shown
    assert shown.rstrip().splitlines()[-2].endswith(f"{tmp_path}/out: 6 items")


@pytest.mark.slow
def test_gen_run_without_a_terminal_prints_progress_lines(config: Path, tmp_path: Path, plugins: Path) -> None:
    done = run_process(write_config(config, filter={"seconds": 1.2}), tmp_path / "out", plugins)
    assert done.returncode == 0
    (line,) = (text for text in done.stderr.splitlines() if " videos, " in text)
    assert line.startswith("1 of 1 videos, 6 of 6 frames, filter ")
    assert os.linesep not in line
