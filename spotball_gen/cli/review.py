"""`spotball gen review` and `spotball gen apply-review`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Host, Port, Quiet
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

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
        raise OptionError(f"{dataset} is not a folder. Name the folder of a dataset", code="wrong-folder")


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
