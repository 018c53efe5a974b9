"""Define the `spotball` command: load its subcommands, and report errors.

Subcommands are entry points of the group `spotball.commands`, from this package and from others. Each has a name and
refers to a function or a Typer app. A command group can load its commands from its own entry point group.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import pairwise
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from spotball_core.cli.help import PlainHelp, PlainHelpCommand, PlainHelpGroup
from spotball_core.cli.memory import NO_MEMORY, is_no_memory, memory_limit, run_within_limit
from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.service.safe_text import show

COMMANDS = "spotball.commands"

JOBS: Mapping[str, tuple[str, ...]] = {
    "Score and compare": ("demo", "score", "compare", "plan", "report", "leaderboard", "baselines", "cues", "count"),
    "Ask models": ("run", "parse", "batch", "reasoning"),
    "People and published data": ("study", "import-release", "replicate"),
    "Gaze": ("gaze",),
    "Build datasets": ("gen",),
    "Share": ("push", "pull", "schema"),
}
"""The commands by job, as `spotball --help` lists them, the most used first. Commands of other packages come last."""


# The class of Click's usage errors. Newer releases of Typer contain a copy of Click, and older ones import it.
_UsageError: Any = typer.BadParameter.__mro__[2]


def commands_in(group: str, jobs: Mapping[str, tuple[str, ...]] | None = None) -> type[TyperGroup]:
    """Return a Typer group class that adds the commands of an entry point group to the group's own commands.

    Args:
        group: the entry point group. Using a command imports it; listing the commands imports all of them.
        jobs: the commands of each section of the help page. Without it, there is one section in alphabetical order.
    """
    order = [name for names in (jobs or {}).values() for name in names]

    class Commands(PlainHelp, TyperGroup):
        # Any, because the base classes of Typer's contexts and commands differ between its releases.
        def list_commands(self, ctx: Any) -> list[str]:
            names = set(self.commands)
            for name in sorted(_entries(group)):
                try:
                    self.get_command(ctx, name)
                except OptionError as error:
                    # If one package's command cannot be loaded, the other commands must still work.
                    show(f"warning: {error}", err=True)
                else:
                    names.add(name)
            return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            names = self.list_commands(ctx)
            other = "Other commands" if jobs else "Commands"
            sections = {**(jobs or {}), other: [name for name in names if name not in order]}
            width = max(map(len, names), default=0)
            for title, listed in sections.items():
                shown = [(name.ljust(width), self.commands[name].short_help) for name in listed if name in names]
                if shown:
                    with formatter.section(title):
                        formatter.write_dl(shown)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in self.commands:
                if cmd_name in _entries(group):
                    self.commands[cmd_name] = _loaded(_entries(group)[cmd_name])
                else:
                    # "Did you mean" suggests only the available commands.
                    self.list_commands(ctx)
            return self.commands.get(cmd_name)

    return Commands


@cache
def _entries(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by command name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def _loaded(entry: EntryPoint) -> Any:
    """Load a command and return the object that Typer builds; raise OptionError if this fails."""
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
        raise OptionError(
            f"the command {entry.name} cannot be loaded: {type(error).__name__}: {error}", code="unusable-plugin"
        ) from error
    _in_full(command)
    return command


def _in_full(command: Any) -> None:
    """Show the complete first paragraph of a help text in lists of commands; Typer would truncate it."""
    command.short_help = command.short_help or (command.help or "").split("\n\n")[0].replace("\n", " ")
    for inner in getattr(command, "commands", {}).values():
        _in_full(inner)


app = typer.Typer(
    cls=commands_in(COMMANDS, JOBS),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help starts twice as fast as Rich's help, and has more width for options because it draws no boxes.
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
    """Run the command. For errors that the user can fix, print one message and exit with status 2."""
    run_within_limit(_run)


def _run() -> None:
    for library in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        # POT would load each installed library, which takes seconds, and no command passes their arrays to POT.
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{library}", "1")
    try:
        status = app(prog_name="spotball", standalone_mode=False)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            show(error.format_message(), err=True)
            sys.exit(error.exit_code)
        if context is not None:
            help_page = f"{context.command_path} {context.help_option_names[0]}"
            show(f"{context.get_usage()}\nTry '{help_page}' for help.\n", err=True)
        _fail(error.format_message(), status=error.exit_code)
    except typer.Abort:
        show("Aborted.", err=True)
        sys.exit(1)
    except SpotballError as error:
        # If memory is low, an installed library can fail to load and seem to be missing.
        if _wants_json():
            # A program that reads our output finds the error where it would find the result.
            show(json.dumps({"error": error.to_dict()}, indent=1))
        _fail(_hinted(error.with_codes()) if isinstance(error, MissingExtraError) else error.with_codes(), status=2)
    except BrokenPipeError:
        # The program that reads our output has ended (`spotball ... | head`). This prevents an error message at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # For example, a file cannot be opened, or the disk is full. A traceback would not help.
        if is_no_memory(error):
            _unexpected(error)
        _fail(str(error), status=2)
    except Exception as error:
        _unexpected(error)
    except BaseException as error:
        # A panic of Polars does not derive from Exception. The exceptions of Ctrl-C and sys.exit are raised again.
        if type(error).__name__ != "PanicException":
            raise
        _unexpected(error)
    sys.exit(status if isinstance(status, int) else 0)


def _unexpected(error: BaseException) -> NoReturn:
    if is_no_memory(error):
        _fail(NO_MEMORY, status=1)
    _fail(
        f"unexpected {type(error).__name__}: {_hinted(str(error))}\nRun again with --debug for the traceback.", status=1
    )


def _hinted(message: str) -> str:
    limit = memory_limit()
    return f"{message}\nThe memory limit of {limit / 1e6:.0f} MB may be the cause." if limit else message


def _wants_json() -> bool:
    """Return whether the command was run with `--format json`."""
    options = sys.argv[1:]
    return "--format=json" in options or ("--format", "json") in pairwise(options)


def _fail(message: str, *, status: int) -> NoReturn:
    if "--debug" in sys.argv:
        show(traceback.format_exc(), err=True, end="")
    show(f"error: {message}", err=True)
    sys.exit(status)
