"""`spotball push`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.service.safe_text import show


def push(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A dataset, a folder with score reports, or what gen export wrote."),
    ],
    repo: Annotated[str, typer.Option(metavar="NAME", help="The repository of datasets, such as me/my-balls.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the files and their sizes. Does not use the network.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="Create the repository as a private one.")] = False,
    license: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The Hub's identifier, such as cc-by-4.0. Default: the sources' licenses."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Upload a dataset or results to the Hugging Face Hub, as Parquet with a card and Croissant metadata.

    The token is read from the environment variable HF_TOKEN, and the Hub's address from HF_ENDPOINT. The upload is one
    commit. If it is interrupted, run the same command again. If nothing has changed, there is no new commit.

    Example: `spotball push items --repo me/my-balls --dry-run`
    """
    from spotball_gen.hub.push import push as push_folder

    tell = teller(quiet)
    pushed = push_folder(folder, repo, private=private, license=license, dry_run=dry_run, tell=tell)
    for note in pushed.notes:
        tell(f"note: {note}")
    if dry_run:
        width = max(len(f"{size:,}") for size in pushed.sizes.values())
        for name, size in pushed.sizes.items():
            show(f"{size:>{width},}  {name}")
        tell(f"{pushed.url}: {len(pushed.sizes):,} files, {sum(pushed.sizes.values()):,} bytes; nothing was uploaded")
    elif pushed.commit is None:
        tell(f"{pushed.url} is up to date")
    else:
        tell(f"{pushed.url}: {len(pushed.sizes):,} files, commit {pushed.commit}")
