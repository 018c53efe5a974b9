"""Names and columns of the Parquet files in a repository."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from spotball_core.io.frames import COLUMNS as RESPONSE_NAMES
from spotball_gen.dataset.exports.columns import IMAGE_COLUMN, SCENE_COLUMNS, Column
from spotball_gen.dataset.exports.parquet import DATA, piece_name

RESPONSES: Final = "responses"
"""Name of the folder with the Parquet files of responses."""

LINES_PER_FILE: Final = 200_000

LINE: Final = Column("line", "The line of the JSON Lines file, unchanged.", pl.String)
POSITION: Final = Column("position", "Position of the line in the file, from 0.", pl.Int64)

SCENES_TABLE: Final = (
    IMAGE_COLUMN,
    *SCENE_COLUMNS,
    Column("control", "Whether the image is an attention check, which shows the ball.", pl.Boolean),
    POSITION,
    LINE,
)
"""Columns of data/*.parquet, with a row per scene."""

_DESCRIPTIONS = {
    "sport": "The sport.",
    "image": "The image's id within its sport.",
    "respondent": "The respondent: `human`, or the name of a model or a baseline.",
    "kind": "Kind of the respondent: human, model or baseline.",
    "prompt": "The prompt.",
    "sample": "Number of the sample, from 1.",
    "participant": "The participant's id, if the response is from a person.",
    "cell": "The cell that the respondent named; null if the response is unparsed.",
    "reasoning": "The reasoning of the response.",
}

RESPONSES_TABLE: Final = (
    *(Column(name, _DESCRIPTIONS[name], pl.Int64 if name == "sample" else pl.String) for name in RESPONSE_NAMES),
    Column("file", "Name of the responses file that contains the line.", pl.String),
    POSITION,
    LINE,
)
"""Columns of responses/*.parquet, with a row per response."""

_PIECE = re.compile(r"(.+)-\d{5}-of-\d{5}\.parquet")


def responses_piece(name: str, number: int, count: int) -> str:
    """Return the name of Parquet file `number` of the `count` files that store one file of responses.

    Examples:
        >>> responses_piece("responses-gpt.jsonl", 0, 1)
        'responses/responses-gpt.jsonl-00000-of-00001.parquet'
    """
    return f"{RESPONSES}/{piece_name(name, number, count)}"


def content_of(path: str) -> str | None:
    """Return what a file in a repository stores: `data` for scenes, or the name of a file of responses. Return None if
    it is not one of these Parquet files.

    Examples:
        >>> content_of("data/train-00000-of-00001.parquet"), content_of("README.md")
        ('data', None)
        >>> content_of("responses/responses-gpt.jsonl-00000-of-00001.parquet")
        'responses-gpt.jsonl'
    """
    folder, _, name = path.partition("/")
    match = _PIECE.fullmatch(name)
    if not match or "/" in name or folder not in (DATA, RESPONSES):
        return None
    return DATA if folder == DATA else match[1]
