"""A dataset in forms that other tools read: Hugging Face imagefolder, COCO and Parquet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing_folder
from spotball_gen.dataset.exports import coco, imagefolder, parquet
from spotball_gen.dataset.exports.rows import Row, read_rows

FORMATS: dict[str, Callable[[list[Row], Path], None]] = {
    "imagefolder": imagefolder.write,
    "coco": coco.write,
    "parquet": parquet.write,
}


def export(dataset: Path, format: str, out: Path) -> int:
    """Write a dataset in another form; returns how many images it has.

    Args:
        dataset: its folder.
        format: one of `FORMATS`.
        out: a folder that is not there yet, or empty.

    Raises:
        InputError: for a dataset that cannot be read.
        OptionError: if there is something at `out`.
        OSError: if it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"there is something at {out} already; name another folder with --out")
    rows = read_rows(dataset)
    with replacing_folder(out) as new:
        FORMATS[format](rows, new)
    return len(rows)
