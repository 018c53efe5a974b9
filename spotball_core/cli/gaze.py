"""`spotball gaze`: commands of the second task; those that ask come from the package that asks."""

from __future__ import annotations

import typer

from spotball_core.cli.app import commands_in

gaze = typer.Typer(
    cls=commands_in("spotball.gaze_commands"),
    no_args_is_help=True,
    help="Where does somebody look: ask models, match their replies, tell whether they follow the eyes or the head.",
    rich_markup_mode=None,
)
