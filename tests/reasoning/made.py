"""Define synthetic rationales and synthetic embeddings of their texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from spotball_core.grid import Grid
from spotball_core.reasoning.templates import Templates
from spotball_core.schema import Scene
from spotball_core.typing import FloatArray

GRID = Grid.standard()

TWO = Templates(
    "two",
    "1",
    {"pose": ("arms up", "legs wide"), "gaze": ("eyes up", "look there")},
    {"pose": ("arms?", "legs?"), "gaze": ("eyes?", "looks?")},
    ("the ball is out",),
)
"""Four templates and one neutral sentence."""

TWO_VECTORS = np.array([[1.0, 0.0, 0.2], [1.0, 0.0, -0.2], [0.0, 1.0, 0.2], [0.0, 1.0, -0.2], [0.6, 0.8, 0.0]])
"""Synthetic embeddings of the texts of `TWO`, in their order."""

SCENES = (
    Scene(sport="soccer", image="1", grid=GRID, ball_cells=["D5"]),
    Scene(sport="soccer", image="2", grid=GRID, ball_cells=["A1", "A2"]),
    Scene(sport="soccer", image="9", grid=GRID, ball_cells=["A1"], control=True),
    Scene(sport="volleyball", image="1", grid=GRID),
)

POSE, GAZE = (0.9, 0.1, 0.0), (0.1, 0.9, 0.0)

Row = tuple[str, str, str, str, str, int, str | None, str | None, str | None]

ROWS: tuple[Row, ...] = (
    ("soccer", "1", "human", "human", "base", 1, "p1", "D5", "their arms are up"),
    ("soccer", "1", "human", "human", "base", 1, "p2", "D6", "their eyes are up"),
    ("soccer", "2", "human", "human", "base", 1, "p1", "A1", "  "),
    ("soccer", "1", "gemini", "model", "base", 1, None, "D5", "their arms are up"),
    ("soccer", "1", "gemini", "model", "base", 2, None, "D7", "look at that"),
    ("soccer", "2", "gemini", "model", "base", 1, None, None, "their eyes are up"),
    ("soccer", "2", "gemini", "model", "cot", 1, None, "A3", " their arms are up "),
    ("soccer", "9", "gemini", "model", "cot", 1, None, "A1", "a control"),
    ("volleyball", "1", "gemini", "model", "cot", 1, None, "B2", "⚽ 👀"),
    ("volleyball", "1", "qwen", "model", "cot", 1, None, "B2", None),
)

WORDS = {"their arms are up": POSE, "their eyes are up": GAZE, "look at that": GAZE, "a control": POSE, "⚽ 👀": GAZE}
"""Synthetic embeddings of the texts of `ROWS`."""

COLUMNS = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant", "cell", "reasoning")


def frame(rows: Sequence[Row] = ROWS) -> pl.DataFrame:
    types = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
    return pl.DataFrame(list(rows), schema=types, orient="row")


def vectors(texts: Sequence[str]) -> FloatArray:
    return np.array([WORDS[text] for text in texts])
