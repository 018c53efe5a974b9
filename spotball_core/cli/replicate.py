"""`spotball replicate`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress
from spotball_core.cli.options import Debug, Quiet
from spotball_core.service.safe_text import show

_WIDEST = 120


class ReplicationFormat(StrEnum):
    """Forms a replication is written in."""

    table = "table"
    json = "json"
    markdown = "markdown"


def replicate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release's folder, or its data folder.")],
    format: Annotated[ReplicationFormat, typer.Option(help="Form of the result.")] = ReplicationFormat.table,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Check the published figures against the released data, whole or part.

    Each figure is shown as published, reproduced in the published way, and by the standard policy; one that the data
    does not give says `no data`, a mismatch says which known cause fits, or `unexplained`. Exit status 1 if any is
    unexplained.

    Example: `spotball replicate spot-the-ball-release --format markdown`
    """
    from spotball_core import replication
    from spotball_core.replication import text

    with progress("checked groups of figures", quiet=quiet) as on_progress:
        result = replication.replicate(folder, on_progress=on_progress)
    if format is ReplicationFormat.json:
        show(result.model_dump_json(indent=1))
    elif format is ReplicationFormat.markdown:
        show(text.to_markdown(result), end="")
    else:
        from rich.console import Console

        show(text.to_text(result, width=min(_WIDEST, Console().width)), end="")
    if result.unexplained:
        raise typer.Exit(1)
