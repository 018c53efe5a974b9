"""Participants for tests of exclusion, bonus and attrition, and stored answers read directly with SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from spotball_adapters.cli.study import study as app
from spotball_adapters.study.progress import Stage
from spotball_adapters.study.results.participations import GivenAnswer, Participation

BALL = ("C2", "C3")


def given(
    *said: str, check: bool = False, seconds: float = 10.0, ball: Sequence[str] = BALL, image: str = "1"
) -> GivenAnswer:
    """Return an answer; its clicks are hits if they are in a cell of the ball."""
    hits = tuple(cell in ball for cell in said) if ball else ()
    return GivenAnswer(order=1, sport="soccer", image=image, check=check, choices=said, hits=hits, seconds=seconds)


def person(
    *answers: GivenAnswer, name: str = "p", at: str = "soccer", stage: Stage = "finished", minutes: float | None = None
) -> Participation:
    """Return a participant who gave these answers."""
    return Participation(name, at, stage, answers, minutes)


def confirmed(study: Path) -> Iterator[tuple[str, dict[str, Any], list[list[int]]]]:
    """Yield label, trial and cells of each confirmed answer except practice, directly from the file."""
    with closing(sqlite3.connect(study / "study.sqlite")) as connection:
        rows = connection.execute(
            "SELECT participant, trials, trial, value FROM events JOIN participants ON participant_id = id "
            "WHERE kind = 'answer' AND trial >= 0 ORDER BY id, seq"
        )
        for label, trials, number, value in rows:
            (trial,) = [one for one in json.loads(trials) if one["trial"] == number]
            yield label, trial, json.loads(value)["cells"]


def label(row: int, col: int) -> str:
    """Return a cell's label on the grid of the paper."""
    return f"{'ABCDEF'[row - 1]}{col}"


def command(*arguments: str | Path) -> str:
    """Run `spotball study` in this process, and return its standard error. Exceptions are not caught."""
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stderr
