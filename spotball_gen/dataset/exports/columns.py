"""Describe the columns of an exported dataset, with their types in Parquet, `datasets` and Croissant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

IMAGE: Final = pl.Struct({"bytes": pl.Binary, "path": pl.String})
"""Type of an image column: the file's bytes and name, as stored by the library `datasets`."""

_BOX = pl.List(pl.Float64)


@dataclass(frozen=True)
class Column:
    """A column of an exported dataset.

    Attributes:
        name: the column's name in the file.
        description: the column's content, in a sentence.
        dtype: the column's Polars type.
    """

    name: str
    description: str
    dtype: Any


SCENE_COLUMNS: Final = (
    Column("id", "The image's id within its sport.", pl.String),
    Column("sport", "The sport.", pl.String),
    Column("width", "Width of the image in pixels.", pl.Int32),
    Column("height", "Height of the image in pixels.", pl.Int32),
    Column("rows", "Number of rows of the grid.", pl.Int32),
    Column("cols", "Number of columns of the grid.", pl.Int32),
    Column("ball_cells", "Cells that hold the ball, such as D5: row letter from the top, column number from the left.",
           pl.List(pl.String)),
    Column("ball_box", "The ball's bounding box (x1, y1, x2, y2) in pixels, before the ball was removed.", _BOX),
    Column("players", "The players' bounding boxes (x1, y1, x2, y2) in pixels.", pl.List(_BOX)),
    Column("player_outlines", "The outline of each player: a list of polygons of points (x, y); null if unknown.",
           pl.List(pl.List(pl.List(_BOX)))),
    Column("video", "The video that the image is from.", pl.String),
    Column("license", "License of the video; empty if unknown.", pl.String),
    Column("origin", "Origin of the video; empty if unknown.", pl.String),
)  # fmt: skip
"""Columns that describe an image, in addition to its pixels."""

IMAGE_COLUMN: Final = Column("image", "The image without the ball.", IMAGE)

_VALUES = {pl.String: "string", pl.Int32: "int32", pl.Int64: "int64", pl.Float64: "float64", pl.Boolean: "bool"}
_CROISSANT = {
    pl.String: "sc:Text",
    pl.Int32: "sc:Integer",
    pl.Int64: "sc:Integer",
    pl.Float64: "sc:Float",
    pl.Boolean: "sc:Boolean",
}


def feature(dtype: Any) -> dict[str, Any]:
    """Convert a Polars type to the notation of the library `datasets`.

    Examples:
        >>> feature(pl.List(pl.Float64))
        {'feature': {'dtype': 'float64', '_type': 'Value'}, '_type': 'Sequence'}
    """
    if dtype == IMAGE:
        return {"_type": "Image"}
    if isinstance(dtype, pl.List):
        return {"feature": feature(dtype.inner), "_type": "Sequence"}
    return {"dtype": _VALUES[dtype], "_type": "Value"}


def croissant_type(dtype: Any) -> dict[str, Any]:
    """Convert a Polars type to Croissant's notation.

    Examples:
        >>> croissant_type(pl.List(pl.List(pl.Float64)))
        {'dataType': 'sc:Float', 'isArray': True, 'arrayShape': '-1,-1'}
    """
    depth = 0
    while isinstance(dtype, pl.List):
        dtype, depth = dtype.inner, depth + 1
    kind = {"dataType": "sc:ImageObject" if dtype == IMAGE else _CROISSANT[dtype]}
    return {**kind, "isArray": True, "arrayShape": ",".join(["-1"] * depth)} if depth else kind
