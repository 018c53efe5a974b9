"""`spotball gaze`: commands of the gaze task. The package spotball_adapters adds the commands that query models."""

from __future__ import annotations

import typer

from spotball_core.cli.app import commands_in

gaze = typer.Typer(
    cls=commands_in("spotball.gaze_commands"),
    no_args_is_help=True,
    help="Run the gaze task: ask models where a person looks, and analyze whether they follow the "
    "person's eyes or head.\n\nExample: `spotball gaze analyze trials.csv --stimuli stimuli_main.csv`",
    rich_markup_mode=None,
)
