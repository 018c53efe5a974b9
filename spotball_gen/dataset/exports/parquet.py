"""Export as Parquet with embedded images, the format that the Hugging Face Hub shows and streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from spotball_gen.dataset.exports.columns import IMAGE_COLUMN, SCENE_COLUMNS, Column, feature
from spotball_gen.dataset.exports.rows import PARTS, Row

PER_FILE, BYTES_PER_FILE = 1000, 300_000_000
"""Maximum number of images per file, and maximum total size of these images in bytes. All rows of a file must fit into
memory.
"""

DATA = "data"
"""Name of the folder with the files."""

COLUMNS = (IMAGE_COLUMN, *SCENE_COLUMNS)

_ARROW_SCHEMA, _HIDDEN = b"ARROW:schema", b"POLARS:arrow"

_Row = TypeVar("_Row")


def write(rows: list[Row], out: Path) -> None:
    """Write the files data/PART-00000-of-N.parquet and so on, where PART is `train` or `test`.

    The column `image` contains each image file's bytes and name.
    """
    (out / DATA).mkdir()
    for part in PARTS:
        inside = [row for row in rows if row.part == part]
        pieces = list(in_pieces(inside, [row.file.stat().st_size for row in inside]))
        for number, piece in enumerate(pieces):
            write_table(map(_record, piece), COLUMNS, out / DATA / piece_name(part, number, len(pieces)))


def piece_name(part: str, number: int, count: int) -> str:
    """Return the name of one of the files of a split, in the naming scheme of the Hugging Face Hub.

    Examples:
        >>> piece_name("train", 0, 2)
        'train-00000-of-00002.parquet'
    """
    return f"{part}-{number:05d}-of-{count:05d}.parquet"


def in_pieces(rows: Sequence[_Row], sizes: Sequence[int]) -> Iterator[list[_Row]]:
    """Yield the rows of each file, at most `PER_FILE`. A row that would exceed `BYTES_PER_FILE` starts a new file.

    Args:
        rows: all rows of a split.
        sizes: number of bytes of each row's image.

    Examples:
        >>> [len(piece) for piece in in_pieces("abc", [200_000_000, 100_000_000, 1])]
        [2, 1]
    """
    piece: list[_Row] = []
    n_bytes = 0
    for row, size in zip(rows, sizes, strict=True):
        if piece and (len(piece) == PER_FILE or n_bytes + size > BYTES_PER_FILE):
            yield piece
            piece, n_bytes = [], 0
        piece.append(row)
        n_bytes += size
    if piece:
        yield piece


def write_table(records: Iterable[Mapping[str, object]], columns: Sequence[Column], path: Path) -> None:
    """Write records as Parquet with the metadata that `datasets` needs to decode images.

    Args:
        records: values by column name, one record per row.
        columns: the columns, in the order of the file.
        path: the new file.
    """
    frame = pl.DataFrame(list(records), schema={column.name: column.dtype for column in columns})
    features = {column.name: feature(column.dtype) for column in columns}
    frame.write_parquet(path, metadata={"huggingface": json.dumps({"info": {"features": features}})})
    _hide_arrow_schema(path)


def _hide_arrow_schema(path: Path) -> None:
    """Rename the entry `ARROW:schema` in the file's footer.

    Polars always writes this entry. If it exists, PyArrow, with which `datasets` reads, ignores all other metadata.
    Without the entry, PyArrow uses the Parquet types of the columns, which are the same.
    """
    with path.open("r+b") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        start = file.seek(-8 - length, 2)
        footer = file.read(length)
        file.seek(start)
        file.write(footer.replace(_ARROW_SCHEMA, _HIDDEN))


def _record(row: Row) -> dict[str, object]:
    name = row.name.rpartition("/")[2]
    return {"image": {"bytes": row.file.read_bytes(), "path": name}, **row.record()}
