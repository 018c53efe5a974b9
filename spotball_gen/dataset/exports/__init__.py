"""Export a dataset for other tools: Hugging Face imagefolder, COCO or Parquet."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing_folder
from spotball_core.service.paths import data_file, file_fault
from spotball_gen.dataset.croissant import CROISSANT, WITHOUT_BALL, croissant_text
from spotball_gen.dataset.exports import coco, describe, imagefolder, parquet
from spotball_gen.dataset.exports.readme import README, readme
from spotball_gen.dataset.exports.rows import Row, read_rows
from spotball_gen.dataset.licenses import license_urls


@dataclass(frozen=True)
class ExportFormat:
    """An export format: the function that writes its files, and the function that describes them in Croissant."""

    write: Callable[[list[Row], Path], None]
    describe: Callable[[Path], describe.Described]


FORMATS: dict[str, ExportFormat] = {
    "imagefolder": ExportFormat(imagefolder.write, describe.imagefolder),
    "coco": ExportFormat(coco.write, describe.coco),
    "parquet": ExportFormat(parquet.write, describe.parquet),
}

CARD_FILES = ("card.md", "funnel.svg", "positions.svg")
"""Names of the files of a dataset's card: the text and its figures."""


def export(dataset: Path, format: str, out: Path, *, with_ball: bool = False) -> int:
    """Export a dataset, and return the number of exported images.

    Args:
        dataset: the dataset's folder.
        format: a key of `FORMATS`.
        out: a folder that is empty or does not exist yet.
        with_ball: whether to export the images with the ball, to train detectors. Only the COCO format supports this.

    Raises:
        InputError: if the dataset is invalid, or if images are missing.
        OptionError: if `out` is not empty, or if `with_ball` is set and the format is not COCO.
        OSError: if a file cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OptionError(f"{out} exists already. Use a new folder", code="output-exists", field="--out")
    if with_ball and format != "coco":
        raise OptionError(
            f"works only with --format coco, found --format {format}. Remove --with-ball, or change the format",
            code="conflicting-options",
            field="--with-ball",
        )
    rows = read_rows(dataset, with_ball=with_ball)
    with replacing_folder(out) as new:
        FORMATS[format].write(rows, new)
        card = copy_card(dataset, new)
        text = readme(rows, format, with_ball=with_ball, card=card)
        (new / README).write_text(text, encoding="utf-8", newline="\n")
        distribution, record_sets = FORMATS[format].describe(new)
        metadata = croissant_text(
            name="spot-the-ball",
            description="Images of sports scenes with a visible ball, the ball's box, and the players' boxes."
            if with_ball
            else WITHOUT_BALL,
            licenses=license_urls(row.license for row in rows),
            distribution=distribution,
            record_sets=record_sets,
        )
        (new / CROISSANT).write_text(metadata, encoding="utf-8", newline="\n")
    return len(rows)


def copy_card(dataset: Path, out: Path) -> bool:
    """Copy the dataset's card and its figures, and return whether the dataset has a card."""
    if file_fault(dataset / CARD_FILES[0]) is not None:
        return False
    for name in CARD_FILES:
        if file_fault(dataset / name) is None:
            shutil.copyfile(data_file(dataset, name), out / name)
    return True
