"""`spotball pull`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.service.safe_text import show


def pull(
    repo: Annotated[str, typer.Argument(metavar="NAME", help="Dataset repository on the Hub, such as me/my-balls.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="DIR", rich_help_panel="Output", help="Folder to write; it must not exist."
        ),
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel="Input", help="Branch, tag or commit to download. Default: the main branch."
        ),
    ] = None,
    max_size: Annotated[
        float,
        typer.Option(
            min=0, metavar="GB", rich_help_panel="Input", help="Maximum size of the repository, in gigabytes."
        ),
    ] = 50.0,
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
