"""Test the measuring functions of the benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from measure import FIGURES, figure, in_turn, process, processes_in_turn


def test_figure_prints_a_measurement_and_writes_it_to_the_figures_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(FIGURES, str(tmp_path / "figures"))
    figure("made-up growth", np.float64(0.3), "", below=0.5)
    figure("made-up ratio", np.float64(3.0), "times", at_least=5, note="made up")
    figure("made-up size", 3, "MB")
    assert [json.loads(line) for line in (tmp_path / "figures").read_text().splitlines()] == [
        {"name": "made-up growth", "value": 0.3, "unit": "", "goal": "below 0.5", "met": True, "note": ""},
        {"name": "made-up ratio", "value": 3.0, "unit": "times", "goal": "at least 5", "met": False, "note": "made up"},
        {"name": "made-up size", "value": 3.0, "unit": "MB", "goal": "", "met": None, "note": ""},
    ]
    assert "made-up ratio: 3 times (goal: at least 5, missed); made up" in capsys.readouterr().out


def test_in_turn_alternates_between_the_functions() -> None:
    called: list[str] = []
    times = in_turn({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, 3)
    assert called == ["a", "b"] * 3
    assert set(times) == {"a", "b"}
    assert all(seconds >= 0 for seconds in times.values())


def test_process_passes_the_environment_and_reports_the_peak_memory_of_only_the_child_process() -> None:
    held = np.ones(30_000_000)
    small = process([sys.executable, "-c", "import os; assert os.environ['MADE_UP'] == '1'"], env={"MADE_UP": "1"})
    large = process([sys.executable, "-c", "b = bytearray(100_000_000)"])
    assert small.megabytes < held.nbytes / 2**20 / 2
    assert large.megabytes > 95
    assert small.seconds > 0
    assert processes_in_turn({"one": [sys.executable, "-c", "pass"]}, 2)["one"].megabytes > 0


def test_process_with_an_unaccepted_exit_status_raises_an_error_and_prints_its_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing = [sys.executable, "-c", "raise SystemExit('what it said')"]
    process(failing, accept=(0, 1))
    with pytest.raises(subprocess.CalledProcessError):
        process(failing)
    assert "what it said" in capsys.readouterr().out
    with pytest.raises(subprocess.CalledProcessError):
        process(["no-such-command"], accept=(0, 1))
