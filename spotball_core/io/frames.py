"""Responses as rows: the columns they have, and writing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant", "cell", "reasoning")
"""The columns of responses, in the order they are written. All text, but `sample`, a whole number from 1."""

KEYS = ("sport", "image", "respondent", "kind", "prompt")
"""The columns that say what a count is of. `participant` follows where counts are kept for each person."""

FORMATS = (".jsonl", ".csv", ".parquet")


def write_responses(rows: pl.DataFrame, path: str | Path) -> None:
    """Write rows with (some of) `COLUMNS` as JSON Lines, CSV or Parquet, by the file's ending.

    The file is whole or not there.

    Raises:
        OptionError: for another ending, or a column that responses do not have.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: responses are written as one of {', '.join(FORMATS)}")
    if unknown := set(rows.columns) - set(COLUMNS):
        raise OptionError(f"responses have no column {', '.join(sorted(unknown))}")
    rows = rows.select(column for column in COLUMNS if column in rows.columns)
    with replacing(path) as beside:
        if path.suffix == ".jsonl":
            rows.write_ndjson(beside)
        elif path.suffix == ".csv":
            csv_frame(rows).write_csv(beside)
        else:
            rows.write_parquet(beside)
