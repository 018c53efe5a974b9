"""Build small scenes and response files for tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from spotball_core.counting.counts import Counts, answers
from spotball_core.schema import Scene

Row = Mapping[str, Any]
Key = tuple[str, str, str, str, str, int | None]

SCENES = "scenes.jsonl"

_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SIGNS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters=_DIRECTIONS + "/\\")
IDENTIFIERS = st.text(_SIGNS, min_size=1, max_size=6).map(str.strip).filter(lambda name: name not in ("", ".", ".."))
"""Strategy for valid names of sports and images."""

PATHS = st.lists(IDENTIFIERS.map(lambda name: f"_{name}"), min_size=1, max_size=3).map("/".join)
"""Strategy for valid image paths. It does not generate all of them."""


def scene(image: str, sport: str = "soccer", *, size: tuple[int, int] = (640, 360), **fields: Any) -> Scene:
    """Return a scene, by default with 6 x 10 cells, 640 x 360 pixels and the ball in C2."""
    given = {"grid": {"rows": 6, "cols": 10}, "ball_cells": ("C2",), **fields}
    return Scene.model_validate({"sport": sport, "image": image, "width": size[0], "height": size[1], **given})


def scenes(*images: str, sport: str = "soccer", **fields: Any) -> list[Scene]:
    """Return one scene per image, all with the same fields."""
    return [scene(image, sport, **fields) for image in images]


def write_jsonl(path: Path, rows: Iterable[Row]) -> Path:
    """Write rows as JSON Lines with unchanged fields, and return the path."""
    path.write_text("".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Sequence[Row], *, newline: str = "\n") -> Path:
    """Write rows as CSV with the columns of all rows; lists and objects become JSON, missing values are empty."""
    path.write_text(csv_text(rows, newline=newline), encoding="utf-8", newline="")
    return path


def csv_text(rows: Sequence[Row], *, newline: str = "\n") -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=newline)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_field(row.get(column)) for column in columns])
    return out.getvalue()


def _csv_field(value: object) -> object:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a data frame whose column types are inferred from all rows."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return pl.DataFrame([{column: row.get(column) for column in columns} for row in rows], infer_schema_length=None)


def write_parquet(path: Path, rows: Sequence[Row]) -> Path:
    frame(rows).write_parquet(path)
    return path


def dataset(folder: Path, known: Iterable[Scene], **files: Sequence[Row]) -> Path:
    """Create a dataset folder with a file `responses-NAME.jsonl` for each keyword, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SCENES).write_text("".join(one.model_dump_json() + "\n" for one in known), encoding="utf-8")
    for name, rows in files.items():
        write_jsonl(folder / f"responses-{name}.jsonl", rows)
    return folder


def as_dict(counts: Counts) -> dict[Key, float]:
    """Return counts by (sport, image, respondent, kind, prompt, cell); the cell is None for unparsed responses."""
    keys = counts.table.select("sport", "image", "respondent", "kind", "prompt", "cell").rows()
    return dict(zip(keys, answers(counts.table).tolist(), strict=True))
