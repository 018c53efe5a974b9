"""`spotball gen run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Quiet, RayAddress
from spotball_core.counting.engines import EngineName
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from spotball_gen.run import GenerationResult

SHOWN_FAILURES = 10


def run(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.toml", help="The configuration; none with --demo.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DATASET", help="Folder of the dataset.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Instead of a configuration: a synthetic match. No network, GPU or weights.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Let items that failed before try that stage again.")
    ] = False,
    repaint: Annotated[
        bool,
        typer.Option("--repaint", help="Paint over what reviewers marked, too, and put these images back to review."),
    ] = False,
    engine: Annotated[
        EngineName, typer.Option("--engine", help="What runs the stages: this process, or Ray Data.")
    ] = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make a dataset of new items from video: frames, filter, ball and players, ball painted out, cells, card.

    DATASET gets scenes.jsonl, images with and without the ball, a card, checksums and the funnel; DATASET/.work has
    every item's provenance and every reject's reason. Run the same again and it goes on where it was, whatever
    ended it; another configuration is refused. Exit status 1 if videos or items failed, or none are left.

    Example: `spotball gen run --demo --out dataset`

    Example: `spotball gen run handball.toml --out handball`

    Example: `spotball gen run handball.toml --out /shared/handball --engine ray --ray-address 10.0.0.1:6379`
    """
    from spotball_gen.run import generate

    if demo == (config is not None):
        raise OptionError("name a configuration, or --demo")
    if out is None:
        raise OptionError("name the dataset's folder with --out")
    tell = teller(quiet)

    try:
        with progress("videos looked at", quiet=quiet) as on_progress:
            ended = generate(
                config,
                out,
                retry_failed=retry_failed,
                repaint=repaint,
                tell=tell,
                on_progress=on_progress,
                quiet=quiet,
                engine=engine,
                ray_address=ray_address,
                debug=debug,
            )
    except KeyboardInterrupt:
        tell("Interrupted. What was done is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    except OSError:
        tell("What was done is kept; once it can be written again, the same command goes on from there.")
        raise
    _finish(ended, out, quiet=quiet)


def _finish(ended: GenerationResult, out: Path, *, quiet: bool) -> None:
    """Say how it ended, and end the command accordingly."""
    from spotball_gen.pipeline.funnel import lines

    tell, written = teller(quiet), ended.written
    for line in lines(written.steps):
        tell(line)
    for line in written.starving:
        tell(line)
    if written.without_test:
        tell(f"no test images of {', '.join(written.without_test)}: all are of one shot of one video")
    # Not for --quiet to hide: it is what is wrong.
    for failure in ended.failures[:SHOWN_FAILURES]:
        show(f"failed: {failure.item}, {failure.stage}: {failure.error}", err=True)
    if len(ended.failures) > SHOWN_FAILURES:
        show(f"... and {len(ended.failures) - SHOWN_FAILURES:,} more failures, in {out}/.work/ledger.sqlite", err=True)
    if not written.chosen:
        show("no item is left; the funnel says why", err=True)
    elif written.fresh:
        tell(f"{out}: {written.chosen:,} items")
    else:
        tell(f"{out}: {written.chosen:,} items, all there before")
    if ended.verdict:
        tell(ended.verdict)
    if ended.failures or not written.chosen:
        raise typer.Exit(1)
