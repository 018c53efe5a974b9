"""`spotball gen check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.options import Debug, Seed
from spotball_core.service.safe_text import show


def check(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")],
    permutations: Annotated[
        int,
        typer.Option(
            min=20,
            metavar="N",
            rich_help_panel="Test",
            help="Number of random permutations that estimate the chance level.",
        ),
    ] = 1000,
    images: Annotated[
        int, typer.Option(min=2, metavar="N", rich_help_panel="Test", help="Use at most this many random images.")
    ] = 2000,
    seed: Seed = 0,
    format: Annotated[
        Literal["text", "json"], typer.Option(rich_help_panel="Output", help="Format of the result.")
    ] = "text",
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

    leak = leak_test(dataset, seed=seed, permutations=permutations, most=images)
    if format == "json":
        show(dumps(leak.record(), indent=1))
        return
    for line in lines(leak):
        show(line)
