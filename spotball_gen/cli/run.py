"""`spotball gen run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, EngineOption, Quiet, RayAddress
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_gen.run import GenerationResult

SHOWN_FAILURES = 10


def run(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.toml", help="Configuration file; omit it with --demo.")
    ] = None,
    out: Annotated[Path | None, option("Output", "DIR", "Folder to write.", "--out", "-o")] = None,
    demo: Annotated[
        bool, option("Input", None, "Use synthetic data. Needs no network, GPU or weights.", "--demo")
    ] = False,
    retry_failed: Annotated[bool, option("Input", None, "Retry items that failed before.", "--retry-failed")] = False,
    repaint: Annotated[
        bool,
        option(
            "Input", None, "Inpaint the regions that reviewers marked; then review these images again.", "--repaint"
        ),
    ] = False,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Build a dataset from video: extract frames, detect ball and players, inpaint the ball, label its cells.

    Example: `spotball gen run --demo --out dataset`

    Example: `spotball gen run handball.toml --out handball`

    Writes scenes.jsonl, images with and without the ball, a dataset card, checksums and the number of items per stage.
    DATASET/.work records the provenance of each item and the reason for each rejection. If interrupted, run the same
    command again to continue; the configuration must not change. Exit status 1 if videos or items failed, or no item
    passed all stages.
    """
    from spotball_gen.run import generate

    if demo == (config is not None):
        raise OptionError(
            "name either a configuration, such as handball.toml, or --demo",
            code="conflicting-options" if demo else "missing-option",
        )
    if out is None:
        raise OptionError("the folder of the dataset is missing. Add --out DATASET", code="missing-option")
    tell = teller(quiet)
    if demo:
        tell("The demo draws a synthetic video of a match and runs all stages on it. This takes about a minute.")

    try:
        with progress("videos processed", quiet=quiet) as on_progress:
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
        tell("Interrupted. Completed work is kept. Run the same command again to continue.")
        raise typer.Exit(130) from None
    except OSError:
        tell("Completed work is kept. Once the folder can be written to, run the same command again to continue.")
        raise
    _finish(ended, out, quiet=quiet)


def _finish(ended: GenerationResult, out: Path, *, quiet: bool) -> None:
    """Report how the run ended, and exit with the corresponding status."""
    from spotball_gen.pipeline.funnel import lines

    tell, written = teller(quiet), ended.written
    for line in lines(written.steps):
        tell(line)
    for line in written.starving:
        tell(line)
    if written.without_test:
        sports = ", ".join(written.without_test)
        tell(f"there are no test images of {sports}, because all images of a sport are from one shot of one video")
    # --quiet does not hide failures.
    for failure in ended.failures[:SHOWN_FAILURES]:
        show(f"failed: {failure.item}, {failure.stage}: {failure.error}", err=True)
    if len(ended.failures) > SHOWN_FAILURES:
        show(f"... and {len(ended.failures) - SHOWN_FAILURES:,} more failures, in {out}/.work/ledger.sqlite", err=True)
    if not written.chosen:
        show("no item passed all stages; the counts above show which stage rejected them", err=True)
    elif written.fresh:
        tell(f"{out}: {plural(written.chosen, 'item')}")
    else:
        tell(f"{out}: {plural(written.chosen, 'item')}, none of them new")
    if ended.verdict:
        tell(ended.verdict)
    if ended.failures or not written.chosen:
        raise typer.Exit(1)
