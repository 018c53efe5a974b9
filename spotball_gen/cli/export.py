"""`spotball gen export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.text.words import plural


def export(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")],
    format: Annotated[
        Literal["imagefolder", "coco", "parquet"],
        typer.Option(metavar="FORM", rich_help_panel="Output", help="Export format: imagefolder, coco or parquet."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FOLDER", rich_help_panel="Output", help="Folder to write; it must not exist."
        ),
    ],
    with_ball: Annotated[
        bool,
        typer.Option(
            "--with-ball", rich_help_panel="Output", help="Export images with the ball, to train detectors (coco only)."
        ),
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a dataset, with training and test splits, in a format that other tools read.

    Example: `spotball gen export dataset --format parquet --out dataset-parquet`

    imagefolder and parquet are for Hugging Face datasets. coco contains the boxes of players and of the ball, which is
    visible only with --with-ball. Each export has a README and Croissant metadata.
    """
    from spotball_gen.dataset.exports import export as write

    count = write(dataset, format, out, with_ball=with_ball)
    teller(quiet)(f"{out}: {plural(count, 'image')}")
