"""Test the comparison of figures with the stored figures."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version

import pytest
from results import NOISE, Move, amount, commit, cores_in_use, gone, here_and_now, moved, show, summary

from tests.benchmarks.made_up import SETTING, figure, result


@pytest.mark.parametrize(
    ("goal", "before", "now", "word"),
    [
        ("below 60", 10.0, 20.0, "worse"),
        ("below 60", 20.0, 10.0, "better"),
        ("at least 6", 10.0, 20.0, "better"),
        ("at least 6", 20.0, 10.0, "worse"),
        ("", 10.0, 20.0, "moved"),
        ("below 60", 10.0, 9.99 * (1 + NOISE), ""),
        ("below 60", 10.0, 10.01 * (1 + NOISE), "worse"),
        ("at least 6", 9.99 * (1 + NOISE), 10.0, ""),
        ("below 60", 0.0, 10.0, "moved"),
        ("below 60", 0.0, 0.0, ""),
    ],
)
def test_move_word_depends_on_the_goal_and_the_noise_threshold(goal: str, before: float, now: float, word: str) -> None:
    assert Move(figure("time", now, goal=goal), figure("time", before, goal=goal)).word == word


def test_move_without_a_stored_figure_is_new_and_with_a_different_unit_has_no_ratio() -> None:
    assert Move(figure("time", 1.0), None).word == "new"
    move = Move(figure("time", 1.0, unit="s"), figure("time", 1000.0, unit="ms"))
    assert (move.ratio, move.word) == (None, "moved")


def test_moved_and_gone_match_figures_by_name() -> None:
    kept = {"one": result("one", figure("b", 2.0), figure("a", 1.0), figure("c", 3.0))}
    now = result("one", figure("a", 10.0), figure("b", 20.0), figure("d", 40.0))
    before = [(move.now.name, move.before and move.before.value) for move in moved(now, kept)]
    assert before == [("a", 1.0), ("b", 2.0), ("d", None)]
    assert gone(now, kept) == ["c"]
    assert gone(result("other"), kept) == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0123456, "s", "0.0123 s"), (1234.56, "MB", "1,235 MB"), (12.345, "times", "12.3 times"), (0.5, "", "0.5")],
)
def test_amount_formats_value_and_unit(value: float, unit: str, text: str) -> None:
    assert amount(value, unit) == text


def test_summary_names_missed_goals_failed_benchmarks_and_a_busy_machine() -> None:
    one = result("one", figure("a", 1, goal="below 2", met=True), figure("b", 3, goal="below 2", met=False))
    results = [one, result("two", figure("free", 1), finished=False)]
    assert summary(results) == ["1 of 2 goals met", "missed: b (one)", "failed: two"]
    settings = [(name, replace(SETTING, cores=2, load=load)) for name, load in (("a", 3.0), ("b", 4.0), ("c", 3.0))]
    busy = [replace(result(name), setting=setting) for name, setting in settings]
    (said,) = (line for line in summary([*busy, result("quiet")]) if "busy" in line)
    assert said == "the machine was busy: other processes used 3.0 cores (a, c) and 4.0 cores (b)"
    assert not any("busy" in line for line in summary([result("quiet")]))


def test_show_prints_old_and_new_values_and_missed_goals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    kept = {"one": result("one", figure("time", 10.0, goal="below 60", met=True), figure("old", 1.0))}
    show([result("one", figure("time", 90.0, goal="below 60", met=False))], kept)
    said = capsys.readouterr().out
    for part in ("10 s", "90 s", "9.00", "worse", "below 60, MISSED", "gone", "missed: time (one)"):
        assert part in said


def test_here_and_now_names_the_machine_and_the_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 <= cores_in_use(0.2) <= 2 * (os.cpu_count() or 1)
    setting = here_and_now()
    assert all(part in setting.machine for part in ("cores", "GiB"))
    assert all(part in setting.versions for part in ("Python 3.", "numpy ", f"spotball-core {commit()}, "))
    monkeypatch.setenv("PATH", "")  # without Git
    assert commit() == version("spotball-core")
