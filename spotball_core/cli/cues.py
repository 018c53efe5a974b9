"""`spotball cues`: commands about the cues that guesses follow."""

from __future__ import annotations

import typer

from spotball_core.cli.app import commands_in

cues = typer.Typer(
    cls=commands_in("spotball.cues_commands"),
    no_args_is_help=True,
    help="Which cues do guesses follow: location, players, and the direction of heads and torsos.",
    rich_markup_mode=None,
)
