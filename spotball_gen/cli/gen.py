"""Define the command group `spotball gen`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, EngineOption, Host, OutFolder, Port, Quiet, RayAddress, Seed, TextFormat
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


DatasetFolder = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")]

MAX_NAME = 100


def review(
    dataset: DatasetFolder,
    reviewer: Annotated[
        str | None,
        option("Review", "NAME", "Your name, stored with your decisions. Default: the user who is logged in."),
    ] = None,
    status: Annotated[
        bool, option("Review", None, "Print the decisions and the agreement of reviewers, and exit.", "--status")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 0,
    debug: Debug = False,
) -> None:
    """Review a dataset in the browser: accept or reject images, remove boxes, mark regions to inpaint.

    Example: `spotball gen review dataset --reviewer anna`

    Example: `spotball gen review dataset --status`

    Open the printed link; it contains the password. Images that exceed a limit of the stage `check` come first.
    Decisions are saved at once in DATASET/review.sqlite. Stop with Ctrl-C, and run the command again to continue.
    """
    from spotball_gen.review.agreement import lines
    from spotball_gen.review.serve import serve

    _check(dataset)
    if status:
        from spotball_gen.review.material import pieces
        from spotball_gen.review.store import ReviewStore

        with ReviewStore(dataset) as store:
            for line in lines(store.decisions(), pieces(dataset, store)):
                show(line)
        return
    serve(dataset, reviewer=_name(reviewer), host=host, port=port, tell=teller(quiet=False))


def apply_review(
    dataset: DatasetFolder,
    only_accepted: Annotated[
        bool, option("Review", None, "Also exclude images without a decision.", "--only-accepted")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Apply a review to DATASET/scenes.jsonl: exclude rejected images and removed boxes.

    Example: `spotball gen apply-review dataset`

    One reviewer's rejection is enough. Images marked for inpainting are excluded until they are inpainted and accepted.
    The original scenes stay in scenes.before-review.jsonl, and the next `apply-review` starts from them.
    """
    from spotball_gen.review.apply import apply_review

    _check(dataset)
    applied = apply_review(dataset, only_accepted=only_accepted)
    tell = teller(quiet)
    tell(f"{plural(applied.kept, 'image')} kept; boxes: {applied.boxes:,} removed, {applied.added:,} added")
    tell(f"{plural(applied.rejected, 'image')} rejected, {plural(applied.waiting, 'image')} to inpaint again")
    outcome = "excluded" if only_accepted else "kept"
    tell(f"{plural(applied.undecided, 'image')} without a decision, {outcome}")


def _check(dataset: Path) -> None:
    if not dataset.is_dir():
        raise OptionError(f"{dataset} is not a folder. Give the folder of a dataset", code="wrong-folder")


def _name(option: str | None) -> str:
    """Return the reviewer's name; raise OptionError if it is empty, too long or not printable."""
    import getpass

    try:
        name = option if option is not None else getpass.getuser()
    except (OSError, KeyError):
        name = ""
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise OptionError(f"--reviewer {name!r}: expected a name of up to {MAX_NAME} printable characters")
    return name


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
    permutations: Annotated[int, option("Test", "N", "Number of permutations for p values.", min=20)] = 1000,
    seed: Seed = 0,
    format: TextFormat = None,
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
