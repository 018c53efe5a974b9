"""Build counts and scorings from arrays for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from spotball_core.counting.counts import Counts
from spotball_core.grid import Grid
from spotball_core.schema import Scene, ScorePolicy
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import FloatArray

GRID = Grid.standard()

Answers = Mapping[str, FloatArray]
"""Map "respondent/prompt" to mass: shape (n_images, n_cells), or (n_participants, n_images, n_cells) for people."""


def scene(image: int | str, sport: str = "soccer", **fields: Any) -> Scene:
    given = {"ball_cells": ["C3"], "players": [[100.0, 100.0, 150.0, 220.0]], **fields}
    return Scene(sport=sport, image=str(image), grid=GRID, **given)


def scenes(n: int, sport: str = "soccer", **fields: Any) -> list[Scene]:
    return [scene(image, sport, **fields) for image in range(n)]


def varied_scenes(n: int, sport: str = "soccer", seed: int = 0) -> list[Scene]:
    """Return scenes with one or two ball cells and one or two players at random places."""
    rng = np.random.default_rng(seed)
    made = []
    for image in range(n):
        cells = rng.choice(60, size=rng.integers(1, 3), replace=False)
        corners = rng.uniform([0, 0], [540, 240], (rng.integers(1, 3), 2))
        players = [[x, y, x + 60, y + 110] for x, y in corners.tolist()]
        made.append(scene(image, sport, ball_cells=[GRID.label(int(cell)) for cell in cells], players=players))
    return made


def counts_of(known: Sequence[Scene], answers: Answers, unparsed: Answers | None = None) -> Counts:
    """Return counts of the answers, in the order of the scenes; `unparsed` has the same shape without the cells."""
    rows: list[dict[str, object]] = []
    people = any(mass.ndim == 3 for mass in answers.values())
    for name, mass in answers.items():
        respondent, prompt = name.rsplit("/", 1)
        blanks = (unparsed or {}).get(name, np.zeros(mass.shape[:-1]))
        full = np.concatenate([mass, blanks[..., None]], axis=-1)
        for place in np.argwhere(full > 0):
            *who, image, cell = (int(i) for i in place)
            rows.append(
                {
                    "sport": known[image].sport,
                    "image": known[image].image,
                    "respondent": respondent,
                    "kind": "human" if who else "model",
                    "prompt": prompt,
                    "cell": cell if cell < mass.shape[-1] else None,
                    "n": float(full[tuple(place)]),
                    **({"participant": f"p{who[0]}" if who else None} if people else {}),
                }
            )
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"cell": pl.Int64})
    return Counts.of(table, rows=GRID.rows, cols=GRID.cols)


def scoring_of(known: Sequence[Scene], answers: Answers, unparsed: Answers | None = None, **choices: Any) -> Scoring:
    """Return a scoring of the answers under policy `standard`, by default with 200 resamples."""
    policy = ScorePolicy.standard(**{"bootstrap": 200, **choices})
    return Scoring(counts_of(known, answers, unparsed), known, policy)


def drawn(rng: np.random.Generator, n_images: int, n_answers: int, *, cells: int = 60) -> FloatArray:
    """Draw answers from a different random distribution per image, shape (n_images, n_cells)."""
    shares = rng.dirichlet(np.full(cells, 0.3), n_images)
    return rng.multinomial(n_answers, shares).astype(float)
