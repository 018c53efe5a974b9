"""The `spotball` command: its subcommands, and what the user sees when something goes wrong.

Subcommands, ours and other packages', are found by the entry point group `spotball.commands`: a name, and a function
or a Typer app.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer

from spotball_core.errors import SpotballError

COMMANDS = "spotball.commands"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from spotball_core import __version__

        typer.echo(f"spotball {__version__}")
        raise typer.Exit


@app.callback()
def spotball(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Spot the Ball: do vision-language models read a scene as people do?

    Start with `spotball demo`. Exit status: 0 good, 1 ran but found a problem, 2 unusable input or options.
    """


def _add_commands() -> None:
    for entry in sorted(entry_points(group=COMMANDS), key=lambda entry: entry.name):
        try:
            command = _loaded(entry)
        except (Exception, SystemExit) as error:
            # One package's broken command must not take the others away.
            what = f"{type(error).__name__}: {error}"
            print(f"warning: the command {entry.name} cannot be loaded: {what}", file=sys.stderr)
            continue
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=entry.name)
        else:
            app.command(entry.name)(command)


def _loaded(entry: EntryPoint) -> typer.Typer | Callable[..., object]:
    command: typer.Typer | Callable[..., object] = entry.load()
    if entry.dist is None or entry.dist.name != "spotball-core":
        # Typer looks at a command's options only when it runs; one that it cannot read would stop them all.
        trial = typer.Typer()
        if isinstance(command, typer.Typer):
            trial.add_typer(command, name=entry.name)
        else:
            trial.command(entry.name)(command)
        typer.main.get_command(trial)
    return command


def main() -> None:
    """Run the command; an error that the user can mend is one message and exit status 2."""
    _add_commands()
    try:
        app()
    except SpotballError as error:
        _fail(str(error), status=2)
    except BrokenPipeError:
        # The reader of our output went away (`spotball ... | head`). Keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # A file that cannot be opened or written, a full disk: nothing that a traceback would explain.
        _fail(str(error), status=2)
    except Exception as error:
        _fail(f"unexpected {type(error).__name__}: {error}\nRun again with --debug for the traceback.", status=1)


def _fail(message: str, *, status: int) -> None:
    if "--debug" in sys.argv:
        traceback.print_exc()
    print(f"error: {message}", file=sys.stderr)
    sys.exit(status)
