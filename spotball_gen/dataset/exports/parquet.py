"""Parquet with the images inside, as the Hugging Face Hub shows and streams it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from spotball_gen.dataset.exports.rows import PARTS, Row

PER_FILE = 1000
"""Images of a file: so many are in memory at once."""

_BOX = pl.List(pl.Float64)
SCHEMA: dict[str, Any] = {
    "image": pl.Struct({"bytes": pl.Binary, "path": pl.String}),
    "id": pl.String,
    "sport": pl.String,
    "width": pl.Int32,
    "height": pl.Int32,
    "rows": pl.Int32,
    "cols": pl.Int32,
    "ball_cells": pl.List(pl.String),
    "ball_box": _BOX,
    "players": pl.List(_BOX),
    "video": pl.String,
    "license": pl.String,
    "origin": pl.String,
}


def write(rows: list[Row], out: Path) -> None:
    """Write data/PART-00000-of-N.parquet; the column `image` holds the bytes of the file and its name."""
    (out / "data").mkdir()
    for part in PARTS:
        inside = [row for row in rows if row.part == part]
        pieces = [inside[start : start + PER_FILE] for start in range(0, len(inside), PER_FILE)]
        for number, piece in enumerate(pieces):
            frame = pl.DataFrame([_record(row) for row in piece], schema=SCHEMA)
            name = f"{part}-{number:05d}-of-{len(pieces):05d}.parquet"
            frame.write_parquet(out / "data" / name, metadata={"huggingface": json.dumps(_features())})


def _record(row: Row) -> dict[str, object]:
    name = row.name.rpartition("/")[2]
    return {"image": {"bytes": row.file.read_bytes(), "path": name}, **row.record()}


def _features() -> dict[str, object]:
    """The columns as the library `datasets` declares them: by this, it knows that there are images."""
    kinds = {pl.String: "string", pl.Int32: "int32"}

    def value(name: str) -> dict[str, str]:
        return {"dtype": name, "_type": "Value"}

    box = {"feature": value("float64"), "_type": "Sequence"}
    features: dict[str, object] = {
        "image": {"_type": "Image"},
        "ball_cells": {"feature": value("string"), "_type": "Sequence"},
        "ball_box": box,
        "players": {"feature": box, "_type": "Sequence"},
    }
    plain = {name: value(kinds[kind]) for name, kind in SCHEMA.items() if kind in kinds}
    return {"info": {"features": {name: features.get(name) or plain[name] for name in SCHEMA}}}
