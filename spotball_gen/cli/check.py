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
        int, typer.Option(min=20, metavar="N", help="How often balls are exchanged between images, for chance.")
    ] = 1000,
    images: Annotated[
        int, typer.Option(min=2, metavar="N", help="Look at so many images at most, drawn where there are more.")
    ] = 2000,
    seed: Seed = 0,
    format: Annotated[Literal["text", "json"], typer.Option(help="Form of the result.")] = "text",
    debug: Debug = False,
) -> None:
    """Test whether a simple classifier can tell the cells that were painted over from others: the leak test.

    It sees noise, blur and edges of each cell, not where the cell is; it learns from some videos and answers on others.
    Accuracy is the share of images whose most suspicious cell held the ball. Chance comes from images whose balls
    have been exchanged with others of their sport.

    It is asked once more to tell the ball's cell from four decoys, which are untouched cells of the same image, as high
    in it and as near to players: what it tells there is how the ball was painted out, hardly what is around it. Any
    dataset with `scenes.jsonl` and images of two videos will do.

    Example: `spotball gen check dataset`
    """
    from json import dumps

    from spotball_gen.quality.leak import leak_test, lines

    leak = leak_test(dataset, seed=seed, permutations=permutations, most=images)
    if format == "json":
        show(dumps(leak.record(), indent=1))
        return
    for line in lines(leak):
        show(line)
