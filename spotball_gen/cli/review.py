"""`spotball gen review` and `spotball gen apply-review`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show

DatasetFolder = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset.")]

MAX_NAME = 100


def review(
    dataset: DatasetFolder,
    reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose decisions they are. Default: who is logged in.")
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Only say who decided what, and how far reviewers agree.")
    ] = False,
    host: Annotated[str, typer.Option(metavar="NAME", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any that is free.")] = 0,
    debug: Debug = False,
) -> None:
    """Look through a dataset in the browser, by keyboard: accept, reject, uncheck boxes, mark what to repaint.

    Open the link that is printed; nobody without it gets in. Images over a limit of the stage `check` come first.
    Each decision is on disk, in DATASET/review.sqlite, before the page goes on. Ctrl-C ends it; start again and go on.

    Example: `spotball gen review dataset --reviewer anna`

    Example: `spotball gen review dataset --status`
    """
    from spotball_gen.review.serve import serve
    from spotball_gen.review.status import lines

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
        bool, typer.Option("--only-accepted", help="Leave out what nobody decided on, too.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Let a review take effect in DATASET/scenes.jsonl: rejected images leave, and unchecked boxes.

    One reviewer's reject is enough. Images marked for repainting are left out until they are repainted and accepted.
    The scenes as they were made stay in scenes.before-review.jsonl, where the next one starts from.

    Example: `spotball gen apply-review dataset`
    """
    from spotball_gen.review.apply import apply_review

    _check(dataset)
    applied = apply_review(dataset, only_accepted=only_accepted)
    tell = teller(quiet)
    tell(f"{applied.kept:,} images kept, {applied.boxes:,} boxes unchecked, {applied.added:,} added")
    tell(f"{applied.rejected:,} rejected, {applied.waiting:,} to repaint")
    outcome = "left out" if only_accepted else "kept"
    tell(f"{applied.undecided:,} that nobody decided on, {outcome}")


def _check(dataset: Path) -> None:
    if not dataset.is_dir():
        raise OptionError(f"{dataset} is no folder")


def _name(option: str | None) -> str:
    """A reviewer's name, which tables and lines can hold."""
    import getpass

    try:
        name = option if option is not None else getpass.getuser()
    except (OSError, KeyError):
        name = ""
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise OptionError(f"--reviewer {name!r}: expected a name of up to {MAX_NAME} printable characters")
    return name
