"""`spotball leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, OutFolder, Quiet

Keys = Annotated[
    str | None,
    option(
        "Input",
        "KEYS",
        "Metrics, separated by commas; the first one orders the tables. Default: accuracy, errors, "
        "distance to the reference, rates near players, and closeness to the reference.",
    ),
]


def leaderboard(
    paths: Annotated[list[Path], typer.Argument(metavar="DIR", help="Score reports, or folders to search for them.")],
    out: OutFolder,
    metrics: Keys = None,
    sport: Annotated[
        str | None, option("Input", "SPORTS", "Rank only these sports, separated by commas. Default: all.")
    ] = None,
    prompt: Annotated[
        str | None, option("Input", "PROMPTS", "Rank only these prompts, separated by commas. Default: all.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rank the respondents of many score reports on one page, with confidence intervals of the ranks.

    Example: `spotball leaderboard reports --out leaderboard`

    Reads the output of `spotball score --format json` and `spotball report`. Reports with different data, policy or
    version are ranked in separate tables. Writes leaderboard.html, leaderboard.csv and leaderboard.parquet. Replaces
    an earlier leaderboard; refuses a folder with other files.
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
            on_progress=on_progress,
        )
    for note in board.notes:
        tell(f"note: {note}")
    tell(f"wrote {out / PAGE}")


def _parts(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
