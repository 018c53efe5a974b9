"""Test the progress display: when lines are printed, the quiet option, and unusual text in the bar."""

from __future__ import annotations

import io
import sys

import pytest

from spotball_core.service.progress import counted, progress_display


class Terminal(io.StringIO):
    """Simulate a standard error stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], **options: bool) -> list[str]:
    """Return what is printed if one of 100 items is finished per second, after 60 seconds of preparation."""
    seconds, done = 0.0, 0
    monkeypatch.setattr("time.monotonic", lambda: seconds)
    with progress_display(lambda: f"{done} of 100", **options) as on_progress:
        for done in range(101):
            seconds = 60.0 + done
            on_progress(done, 100)
    return capsys.readouterr().err.splitlines()


def test_progress_display_prints_after_5_seconds_then_every_30_and_the_last_line_only_if_all_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for done, total, printed in ((1, 2, ""), (0, 0, "sentence\n")):
        with progress_display(lambda: "sentence", quiet=False, last=True) as on_progress:
            on_progress(done, total)
        assert capsys.readouterr().err == printed
    assert shown(monkeypatch, capsys, quiet=False) == [f"{done} of 100" for done in (5, 35, 65, 95)]
    assert shown(monkeypatch, capsys, quiet=False, last=True)[-2:] == ["95 of 100", "100 of 100"]
    assert shown(monkeypatch, capsys, quiet=True, last=True) == []


def test_counted_reports_before_the_first_item_and_after_each_item() -> None:
    seen: list[tuple[int, int]] = []
    items = counted("ab", 2, lambda done, total: seen.append((done, total)))
    assert not seen
    assert [(item, list(seen)) for item in items] == [("a", [(0, 2)]), ("b", [(0, 2), (1, 2)])]
    assert seen[-1] == (2, 2)


def test_progress_bar_shows_control_characters_and_markup_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress_display(lambda: "[red]half\x1b]0;title", quiet=False) as on_progress:
        on_progress(1, 2)
    assert "[red]half\\u001b]0;title" in terminal.getvalue()
