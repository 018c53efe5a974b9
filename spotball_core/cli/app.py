"""The `spotball` command: its subcommands, and what the user sees when something goes wrong.

Subcommands, ours and other packages', are found by the entry point group `spotball.commands`: a name, and a function
or a Typer app. A command that has commands of its own may find these by a group of theirs.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from spotball_core.cli.help import PlainHelp, PlainHelpCommand, PlainHelpGroup
from spotball_core.cli.memory import NO_MEMORY, is_no_memory, memory_limit, run_within_limit
from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.service.safe_text import show

COMMANDS = "spotball.commands"


def commands_in(group: str) -> type[TyperGroup]:
    """Return a group class that adds the commands of an entry point group to its own.

    Args:
        group: the entry point group. A command is imported when it is used, and all are imported to list them.
    """

    class Commands(PlainHelp, TyperGroup):
        # Any: what Typer's contexts and commands derive from changes between its releases.
        def list_commands(self, ctx: Any) -> list[str]:
            names = set(self.commands)
            for name in sorted(_entries(group)):
                try:
                    self.get_command(ctx, name)
                except OptionError as error:
                    # One package's broken command must not take the others away.
                    show(f"warning: {error}", err=True)
                else:
                    names.add(name)
            return sorted(names)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in self.commands:
                if cmd_name in _entries(group):
                    self.commands[cmd_name] = _loaded(_entries(group)[cmd_name])
                else:
                    # "Did you mean" looks among the commands that are there.
                    self.list_commands(ctx)
            return self.commands.get(cmd_name)

    return Commands


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """The entry point of each command."""
    return {entry.name: entry for entry in entry_points(group=group)}


def _loaded(entry: EntryPoint) -> Any:
    """Return a command as Typer builds it; raise OptionError if that fails for any reason."""
    holder = typer.Typer(rich_markup_mode=None)
    try:
        loaded: typer.Typer | Callable[..., object] = entry.load()
        if isinstance(loaded, typer.Typer):
            for info in loaded.registered_commands:
                info.cls = PlainHelpCommand if info.cls is TyperCommand else info.cls or PlainHelpCommand
            own_class = loaded.info.cls if isinstance(loaded.info.cls, type) else PlainHelpGroup
            holder.add_typer(loaded, name=entry.name, cls=own_class)
        else:
            holder.command(entry.name, cls=PlainHelpCommand)(loaded)
        command = typer.main.get_group(holder).commands[entry.name]
    except (Exception, SystemExit) as error:
        raise OptionError(f"the command {entry.name} cannot be loaded: {type(error).__name__}: {error}") from error
    _in_full(command)
    return command


def _in_full(command: Any) -> None:
    """Let lists of commands show the complete first paragraph of a help text, which Typer would cut."""
    command.short_help = command.short_help or (command.help or "").split("\n\n")[0].replace("\n", " ")
    for inner in getattr(command, "commands", {}).values():
        _in_full(inner)


app = typer.Typer(
    cls=commands_in(COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help starts twice as fast as Rich's boxes, and leaves options the width that these take.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from spotball_core.version import version

        show(f"spotball {version()}")
        raise typer.Exit


@app.callback()
def spotball(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Spot the Ball: measure whether vision-language models read a scene as people do.

    Example: `spotball demo`

    Exit status: 0 success, 1 a problem was found, 2 unusable input or options.
    """


def main() -> None:
    """Run the command; an error that the user can fix is one message and exit status 2."""
    run_within_limit(_run)


def _run() -> None:
    for library in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        # POT would load each that is installed, which takes seconds; no command gives it their arrays.
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{library}", "1")
    try:
        app(prog_name="spotball")
    except SpotballError as error:
        # Where memory is short, an installed library may look as if it were not.
        _fail(_hinted(error) if isinstance(error, MissingExtraError) else str(error), status=2)
    except BrokenPipeError:
        # The reader of our output went away (`spotball ... | head`). Keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # A file that cannot be opened or written, a full disk: nothing that a traceback would explain.
        if is_no_memory(error):
            _unexpected(error)
        _fail(str(error), status=2)
    except Exception as error:
        _unexpected(error)
    except BaseException as error:
        # Polars' panics are not Exceptions; what Ctrl-C and sys.exit raise goes its way.
        if type(error).__name__ != "PanicException":
            raise
        _unexpected(error)


def _unexpected(error: BaseException) -> NoReturn:
    if is_no_memory(error):
        _fail(NO_MEMORY, status=1)
    _fail(f"unexpected {type(error).__name__}: {_hinted(error)}\nRun again with --debug for the traceback.", status=1)


def _hinted(error: BaseException) -> str:
    limit = memory_limit()
    return f"{error}\nThe memory limit of {limit / 1e6:.0f} MB may be the cause." if limit else str(error)


def _fail(message: str, *, status: int) -> NoReturn:
    if "--debug" in sys.argv:
        show(traceback.format_exc(), err=True, end="")
    show(f"error: {message}", err=True)
    sys.exit(status)
