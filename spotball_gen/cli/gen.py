"""Define the command group `spotball gen`, and its subcommands `check` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, OutFolder, Quiet, Seed, TextFormat
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural
from spotball_gen.cli.review import apply_review, review
from spotball_gen.cli.run import run


def export(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")],
    format: Annotated[
        Literal["imagefolder", "coco", "parquet"],
        option("Output", "FORM", "Export format: imagefolder, coco or parquet."),
    ],
    out: OutFolder,
    with_ball: Annotated[
        bool, option("Output", None, "Export images with the ball, to train detectors (coco only).", "--with-ball")
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


def check(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")],
    permutations: Annotated[
        int, option("Test", "N", "Number of random permutations that estimate the chance level.", min=20)
    ] = 1000,
    seed: Seed = 0,
    format: TextFormat = "text",
    debug: Debug = False,
) -> None:
    """Test whether a simple classifier can find the inpainted cells (leak test).

    Example: `spotball gen check dataset`

    The classifier sees the noise, blur and edges of each cell, but not its position. It is trained on some videos and
    tested on others. Accuracy is the share of images in which the most suspicious cell contained the ball. A second
    test compares the ball's cell with four similar, untouched cells of the same image. The chance level comes from
    exchanging the balls between images of the same sport. The dataset needs images from at least two videos.
    """
    from json import dumps

    from spotball_gen.quality.leak import leak_test
    from spotball_gen.quality.leak_result import lines

    leak = leak_test(dataset, seed=seed, permutations=permutations)
    if format == "json":
        show(dumps(leak.record(), indent=1))
        return
    for line in lines(leak):
        show(line)


gen = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build a dataset from video, test it, review it and export "
    "it.\n\nExample: `spotball gen run --demo --out dataset`",
)


@gen.callback()
def _gen() -> None:
    pass


gen.command("run")(run)
gen.command("check")(check)
gen.command("export")(export)
gen.command("review")(review)
gen.command("apply-review")(apply_review)
