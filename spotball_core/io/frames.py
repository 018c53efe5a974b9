"""Define the columns of responses, and write responses to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant", "cell", "reasoning")
"""The columns of responses, in the order in which they are written.

All are text, except `sample`, an integer of at least 1.
"""

KEYS = ("sport", "image", "respondent", "kind", "prompt")
"""The columns that, with the cell, identify a row of counts.

`participant` is added if participants are counted separately.
"""

FORMATS = (".jsonl", ".csv", ".parquet")


def write_responses(rows: pl.DataFrame, path: str | Path) -> None:
    """Write rows with some or all of `COLUMNS` as JSON Lines, CSV or Parquet, depending on the file's ending.

    If writing fails, no partial file remains.

    Raises:
        OptionError: if the file's ending is not in `FORMATS`, or a column is not in `COLUMNS`.
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(f"expected a file name ending in {', '.join(FORMATS)}", code="unsupported-format", file=path)
    if unknown := set(rows.columns) - set(COLUMNS):
        raise OptionError(
            f"unknown columns of responses: {', '.join(sorted(unknown))}. Available: {', '.join(COLUMNS)}",
            code="unknown-name",
        )
    rows = rows.select(column for column in COLUMNS if column in rows.columns)
    with replacing(path) as beside:
        if path.suffix == ".jsonl":
            rows.write_ndjson(beside)
        elif path.suffix == ".csv":
            csv_frame(rows).write_csv(beside)
        else:
            rows.write_parquet(beside)
