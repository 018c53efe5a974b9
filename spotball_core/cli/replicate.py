"""`spotball replicate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress
from spotball_core.cli.options import Debug, Full, Quiet, TableFormat
from spotball_core.service.safe_text import show

_WIDEST = 120


def replicate(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder of the published Spot the Ball release, or its subfolder `data`."),
    ],
    format: TableFormat = "table",
    full: Full = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare the published values with values computed from the released data.

    Example: `spotball replicate spot-the-ball-release --format markdown`

    Prints how many values of each table or section of the paper are reproduced. With --full, shows each value as
    published, reproduced by the published method, and computed by the standard policy. Values without data show
    `no data`. A mismatch shows its known cause, or `unexplained`. Exit status 1 if a mismatch is unexplained. The
    release may be incomplete.
    """
    from spotball_core import replication
    from spotball_core.replication import text
    from spotball_core.replication.text import to_summary

    with progress("groups of values checked", quiet=quiet) as on_progress:
        result = replication.replicate(folder, on_progress=on_progress)
    if format == "json":
        show(result.model_dump_json(indent=1))
    elif format == "markdown":
        show(text.to_markdown(result), end="")
    elif not full:
        show(to_summary(result, to_terminal=True), end="", styled=True)
    else:
        from rich.console import Console

        show(text.to_text(result, width=min(_WIDEST, Console().width)), end="")
    if result.unexplained:
        raise typer.Exit(1)
