"""`spotball cues`: commands about the cues that guesses follow."""

from __future__ import annotations

import typer

from spotball_core.cli.app import commands_in

cues = typer.Typer(
    cls=commands_in("spotball.cues_commands"),
    no_args_is_help=True,
    help="Estimate which cues guesses follow, such as players or directions of heads and "
    "torsos.\n\nExample: `spotball cues explain data --reference human`",
    rich_markup_mode=None,
)
