"""`spotball pull`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.service.safe_text import show


def pull(
    repo: Annotated[str, typer.Argument(metavar="NAME", help="The repository of datasets, such as me/my-balls.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="A folder that does not exist yet.")],
    revision: Annotated[
        str | None, typer.Option(metavar="NAME", help="A branch, tag or commit. Default: the main branch.")
    ] = None,
    max_size: Annotated[
        float, typer.Option(min=0, metavar="GB", help="Refuse a repository that is larger than this.")
    ] = 50.0,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Download what `spotball push` uploaded: the same scenes, images, responses and score reports.

    A token for private repositories is read from the environment variable HF_TOKEN, and the Hub's address from
    HF_ENDPOINT. Files that differ from what was pushed are listed, with exit status 1.

    Example: `spotball pull me/my-balls --out my-balls`
    """
    from spotball_gen.hub.pull import pull as pull_repository

    tell = teller(quiet)
    differences = pull_repository(repo, out, revision=revision, most_bytes=int(max_size * 1e9), tell=tell)
    tell(f"wrote {out}")
    for difference in differences:
        show(difference)
    if differences:
        raise typer.Exit(1)
