"""Define the command group `spotball gen`. Each module defines one subcommand."""

from __future__ import annotations

import typer

from spotball_gen.cli.check import check
from spotball_gen.cli.export import export
from spotball_gen.cli.review import apply_review, review
from spotball_gen.cli.run import run

gen = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build a dataset from video, test it, review it and export "
    "it.\n\nExample: `spotball gen run --demo --out dataset`",
)


@gen.callback()
def _gen() -> None:
    pass


gen.command("run")(run)
gen.command("check")(check)
gen.command("export")(export)
gen.command("review")(review)
gen.command("apply-review")(apply_review)
