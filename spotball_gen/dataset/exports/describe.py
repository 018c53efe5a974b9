"""Describe the files of each export in Croissant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spotball_gen.dataset.croissant import file_object, file_set, record_field, record_set
from spotball_gen.dataset.exports.columns import IMAGE, SCENE_COLUMNS, Column, croissant_type
from spotball_gen.dataset.exports.parquet import COLUMNS, DATA

Described = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Descriptions of the files, and descriptions of the record sets."""

_PARQUET, _JSON, _JSON_LINES = "application/x-parquet", "application/json", "application/jsonlines"
_ITEMS = "items"


def parquet(
    folder: Path,
    columns: Sequence[Column] = COLUMNS,
    *,
    data: str = DATA,
    records: str = _ITEMS,
    description: str = "The images with their ground truth.",
) -> Described:
    """Describe Parquet files in Croissant, with one record per row. Images are decoded.

    Args:
        folder: the root of the dataset.
        columns: the columns of the files.
        data: subfolder that contains the files.
        records: name of the record set.
        description: description of a record.
    """
    files = [file_object(folder, path, _PARQUET) for path in sorted((folder / data).iterdir())]
    name = f"{data}-files"
    fields = []
    for column in columns:
        transform = {"transform": {"jsonPath": "bytes"}} if column.dtype == IMAGE else {}
        read = {"fileSet": {"@id": name}, "extract": {"column": column.name}, **transform}
        fields.append(record_field(records, column.name, column.description, croissant_type(column.dtype), read))
    return [*files, file_set(name, f"{data}/*.parquet", _PARQUET)], [record_set(records, description, fields)]


def imagefolder(folder: Path) -> Described:
    """Describe the files PART/metadata.jsonl in Croissant, with one record per image and its file name."""
    file_name = Column(
        "file_name", "Path of the image file, relative to the folder `train` or `test`.", SCENE_COLUMNS[0].dtype
    )
    files = [file_object(folder, path, _JSON_LINES) for path in sorted(folder.glob("*/metadata.jsonl"))]
    fields = [
        record_field(
            _ITEMS,
            column.name,
            column.description,
            croissant_type(column.dtype),
            {"fileSet": {"@id": "metadata-files"}, "extract": {"column": column.name}},
        )
        for column in (file_name, *SCENE_COLUMNS)
    ]
    items = record_set(_ITEMS, "The image files with their ground truth.", fields)
    return [*files, file_set("metadata-files", "*/metadata.jsonl", _JSON_LINES)], [items]


def coco(folder: Path) -> Described:
    """Describe the files annotations/instances_PART.json in Croissant: the images and boxes of each split.

    The same file is described once per record set, because mlcroissant reads all fields of a file into one table.
    """
    files, sets = [], []
    for path in sorted((folder / "annotations").iterdir()):
        for name, description, fields in _COCO:
            records = f"{path.stem.removeprefix('instances_')}-{name}"
            files.append({**file_object(folder, path, _JSON), "@id": f"{records}-file", "name": f"{records}-file"})
            described = []
            for field, text, kind in fields:
                source = {"fileObject": {"@id": f"{records}-file"}, "extract": {"jsonPath": f"$.{name}[*].{field}"}}
                described.append(record_field(records, field, text, kind, source))
            sets.append(record_set(records, description, described))
    return files, sets


_INTEGER, _TEXT = {"dataType": "sc:Integer"}, {"dataType": "sc:Text"}
_COCO: tuple[tuple[str, str, tuple[tuple[str, str, dict[str, Any]], ...]], ...] = (
    (
        "images",
        "The images.",
        (
            ("id", "The image's number.", _INTEGER),
            ("file_name", "Path of the image file, relative to the folder images/.", _TEXT),
            ("width", "Width in pixels.", _INTEGER),
            ("height", "Height in pixels.", _INTEGER),
            ("scene", "The image's id within its sport.", _TEXT),
            ("sport", "The sport.", _TEXT),
        ),
    ),
    (
        "annotations",
        "The boxes of balls and players.",
        (
            ("id", "The annotation's number.", _INTEGER),
            ("image_id", "The image's number.", _INTEGER),
            ("category_id", "1 for the ball, 2 for a player.", _INTEGER),
            (
                "bbox",
                "The box [x, y, width, height] in pixels.",
                {"dataType": "sc:Float", "isArray": True, "arrayShape": "4"},
            ),
        ),
    ),
)
