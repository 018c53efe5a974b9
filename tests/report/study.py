"""Define a small synthetic dataset with known failures: two sports, people, and two models.

Every image is 640 x 360 with the paper's grid. Guesses map each cell to the number of times it was named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from spotball_core import Grid, Scene, ScorePolicy
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.report.numbers.analyze import analyze
from spotball_core.report.view import PageView
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from tests.builders import scene

GRID = Grid.standard()
CORNER = [[0, 0, 60, 55]]
"""A player in cell A1."""

SCENES = (
    ("soccer", "1", ["D5"], CORNER, False),
    ("soccer", "2", ["A10"], [*CORNER, [500, 0, 570, 50]], False),  # The second player is near A10, but not in it.
    ("soccer", "3", ["D5", "D6"], CORNER, False),
    ("soccer", "4", ["F10"], None, False),
    ("soccer", "9", ["D5"], CORNER, True),
    ("volleyball", "1", ["B6"], [[320, 60, 380, 200], [0, 0, 40, 40]], False),
    ("volleyball", "2", ["B2"], [], False),
)
"""Sport, image, cells with the ball, boxes of players, and whether the image is a control."""

PEOPLE = {
    ("soccer", "1"): {"D5": 10, "D6": 2},
    ("soccer", "2"): {"A10": 9, "B10": 3},
    ("soccer", "3"): {"D5": 6, "D6": 6},
    ("soccer", "4"): {"F10": 6, "F9": 6},
    ("soccer", "9"): {"D5": 12},
    ("volleyball", "1"): {"B6": 8, "B7": 4},
    ("volleyball", "2"): {"B2": 7, "C2": 5},
}
"""Four participants with three clicks each."""

ALPHA_BASE = {
    ("soccer", "1"): {"A1": 10},  # On the player and far from people: failures `far` and `sure`.
    ("soccer", "2"): {"C5": 6, "B4": 4},  # In the center window, without the ball: failures `center` and `sure`.
    ("soccer", "3"): {"D5": 5, "D6": 5},  # Same as people: no failure.
    ("soccer", "4"): {"A1": 5, None: 5},  # Far, but players are unknown: only failure `sure`.
    ("soccer", "9"): {"A1": 10},
    ("volleyball", "1"): dict.fromkeys(("A1", "A2", "B6", "B7", "C5", "C6", "D5", "D6", "E8", "F10"), 1),
    ("volleyball", "2"): {"E9": 10},  # The image has no players: only failure `sure`.
}
ALPHA_COT = {key: {"D5": 10} for key in PEOPLE}
BETA = {key: {"D5": 5, "D6": 5} for key in PEOPLE}


def responses() -> pl.DataFrame:
    """Return all answers as the rows of a responses file."""
    rows = []
    for (sport, image), cells in PEOPLE.items():
        named = [cell for cell, n in cells.items() for _ in range(n)]
        for number, cell in enumerate(named):
            participant, sample = str(number % 4 + 1), number // 4 + 1
            rows.append((sport, image, "human", "human", "base", sample, participant, cell, None))
    asked = (("alpha", "base", ALPHA_BASE), ("alpha", "cot", ALPHA_COT), ("beta", "base", BETA))
    for respondent, prompt, answers in asked:
        for (sport, image), some in answers.items():
            named_ = [cell for cell, n in some.items() for _ in range(n)]
            for sample, cell in enumerate(named_, start=1):
                rows.append((sport, image, respondent, "model", prompt, sample, None, cell, None))
    types = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
    return pl.DataFrame(rows, schema=types, orient="row")


def scenes() -> tuple[Scene, ...]:
    """Return the scenes, whose images are at images/SPORT/IMAGE.jpg."""
    return tuple(
        scene(image, sport, ball_cells=ball, players=players, control=control, path=f"images/{sport}/{image}.jpg")
        for sport, image, ball, players, control in SCENES
    )


def write_study(folder: Path) -> Path:
    """Write the dataset, with image files for all images except soccer/3."""
    write_scenes(scenes(), folder / "scenes.jsonl")
    write_responses(responses(), folder / "responses-all.jsonl")
    for number, one in enumerate(scenes()):
        if one.key != ("soccer", "3"):
            path = folder / str(one.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (640, 360), (20 * number, 120, 60)).save(path)
    return folder


def scoring_of(folder: Path, **choices: object) -> Scoring:
    """Return the scoring of a written study; the default reference is people."""
    return scored([str(folder)], None, **{"bootstrap": 40, **choices})


def scored(answers: Any = None, known: Sequence[Scene] | None = scenes(), **choices: object) -> Scoring:
    """Return the scoring of answers, by default of all of them; the default reference is people."""
    counts, known = load_counts(responses() if answers is None else answers, known, participants=True)
    policy = ScorePolicy.standard(**{"reference": "human", "bootstrap": 0, **choices})  # type: ignore[arg-type]
    return Scoring(counts, known, policy)


def view_of(answers: Any = None, known: Sequence[Scene] | None = scenes(), **choices: object) -> PageView:
    """Return the content of the report page about answers, which are given as in `scored`."""
    return PageView(analyze(scored(answers, known, **choices)))
