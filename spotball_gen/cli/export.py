"""`spotball gen export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet


def export(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")],
    format: Annotated[Literal["imagefolder", "coco", "parquet"], typer.Option(help="Form of the result.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="A folder that is not there yet.")],
    with_ball: Annotated[
        bool, typer.Option("--with-ball", help="coco only: the images with the ball, to train detectors.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a dataset in a form that other tools read, with its split into training and test.

    imagefolder and parquet are for Hugging Face's datasets. coco has the boxes of players and of the ball, which is not
    visible unless you give --with-ball. Each export has a README with metadata, and Croissant metadata.

    Example: `spotball gen export dataset --format parquet --out dataset-parquet`
    """
    from spotball_gen.dataset.exports import export as write

    count = write(dataset, format, out, with_ball=with_ball)
    teller(quiet)(f"{out}: {count:,} images")
