"""`spotball push` and `spotball pull`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, DryRun, OutFolder, Quiet
from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural


def push(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A dataset, a folder of score reports, or a result of `spotball gen export`."
        ),
    ],
    repo: Annotated[str, option("Output", "NAME", "Dataset repository on the Hub, such as me/my-balls.")],
    dry_run: DryRun = False,
    private: Annotated[
        bool, option("Output", None, "Make the repository private if it is created.", "--private")
    ] = False,
    license: Annotated[
        str | None, option("Output", "ID", "License identifier, such as cc-by-4.0. Default: the sources' licenses.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Upload a dataset or results to the Hugging Face Hub, as Parquet with a card and Croissant metadata.

    Example: `spotball push items --repo me/my-balls --dry-run`

    Set the environment variable HF_TOKEN to your token. HF_ENDPOINT changes the address of the Hub. The upload is one
    commit. If it is interrupted, run the same command again. If nothing has changed, nothing is uploaded.
    """
    from spotball_gen.hub.push import push as push_folder

    if not re.fullmatch(r"[^/\s]+/[^/\s]+", repo):
        raise OptionError(f"found {repo!r}, expected USER/NAME, such as me/my-balls", field="--repo")
    tell = teller(quiet)
    pushed = push_folder(folder, repo, private=private, license=license, dry_run=dry_run, tell=tell)
    for note in pushed.notes:
        tell(f"note: {note}")
    if dry_run:
        width = max(len(f"{size:,}") for size in pushed.sizes.values())
        for name, size in pushed.sizes.items():
            show(f"{size:>{width},}  {name}")
        files = plural(len(pushed.sizes), "file")
        tell(f"{pushed.url}: {files}, {sum(pushed.sizes.values()):,} bytes; nothing was uploaded")
    elif pushed.commit is None:
        tell(f"{pushed.url} is up to date")
    else:
        tell(f"{pushed.url}: {plural(len(pushed.sizes), 'file')}, commit {pushed.commit}")


def pull(
    repo: Annotated[str, typer.Argument(metavar="NAME", help="Dataset repository on the Hub, such as me/my-balls.")],
    out: OutFolder,
    revision: Annotated[
        str | None, option("Input", "NAME", "Branch, tag or commit to download. Default: the main branch.")
    ] = None,
    max_size: Annotated[float, option("Input", "GB", "Maximum size of the repository, in gigabytes.", min=0)] = 50.0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Download a dataset or results that `spotball push` uploaded.

    Example: `spotball pull me/my-balls --out my-balls`

    For private repositories, set the environment variable HF_TOKEN to your token. HF_ENDPOINT changes the address of
    the Hub. Exit status 1 if files differ from those that were pushed; they are listed.
    """
    from spotball_gen.hub.pull import pull as pull_repository

    tell = teller(quiet)
    differences = pull_repository(repo, out, revision=revision, most_bytes=int(max_size * 1e9), tell=tell)
    tell(f"wrote {out}")
    for difference in differences:
        show(difference)
    if differences:
        raise typer.Exit(1)
