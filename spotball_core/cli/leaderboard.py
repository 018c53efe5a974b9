"""`spotball leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Quiet

Keys = Annotated[
    str | None,
    typer.Option(
        metavar="KEYS",
        help="Metrics on the page, separated by commas; tables are ordered by the first. Default: accuracy, errors, "
        "distance to the reference, rates at players, and closeness to the reference if it was scored.",
    ),
]


def leaderboard(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="Folders with score reports, which are searched with their subfolders, or files."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
    metrics: Keys = None,
    sport: Annotated[str | None, typer.Option(metavar="SPORTS", help="Only these sports, separated by commas.")] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="PROMPTS", help="Only these prompts, separated by commas.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where you will publish the leaderboard: the source in model-index blocks."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rank the respondents of many score reports on one page, with intervals of the ranks.

    Reads what `spotball score --format json` and `spotball report` write. Reports with different data, policy or
    version are never ranked together: each comparable set has a table of its own.

    Writes leaderboard.html, leaderboard.csv, leaderboard.parquet, README.md, badge.svg, badge.json, and model-index/
    with the Hugging Face metadata of each model. An earlier leaderboard at --out is replaced; a folder that holds
    anything else is refused.

    Example: `spotball leaderboard reports --out leaderboard`
    """
    from spotball_core.leaderboard.write import PAGE, write_leaderboard

    tell = teller(quiet)
    with progress("files read", quiet=quiet) as on_progress:
        board = write_leaderboard(
            paths,
            out,
            metrics=_parts(metrics),
            sports=_parts(sport),
            prompts=_parts(prompt),
            url=url,
            on_progress=on_progress,
        )
    for note in board.notes:
        tell(f"note: {note}")
    tell(f"wrote {out / PAGE}")


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
