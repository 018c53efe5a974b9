"""Generate the page with the `--help` text of every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from spotball_core.cli.app import app


def command_page() -> str:
    """Return the page: a section per command, including commands of groups, in the order of `--help`."""
    sections = []
    for names, help_text in helps():
        text = "\n".join(line.rstrip() for line in help_text.strip().splitlines())
        sections.append(f"{'#' * max(len(names), 2)} `{' '.join(names)}`\n\n```{{ .text .no-copy }}\n{text}\n```\n")
    return "\n".join(sections)


def helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command's words, such as `("spotball", "gen", "run")`, and its `--help` text."""
    yield from _helps(typer.main.get_command(app), ("spotball",), None)


def _helps(command: Any, names: tuple[str, ...], parent: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    context = command.context_class(command, info_name=names[-1], parent=parent, **command.context_settings)
    yield names, command.get_help(context)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from _helps(command.get_command(context, name), (*names, name), context)
