"""Generate the page with the `--help` text of every command."""

from __future__ import annotations

import re
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


def examples() -> str:
    """Return a table of all commands, without groups of commands, with the first example of each help page."""
    lines = ["| Command | What it does | Example |", "| --- | --- | --- |"]
    pages = list(helps())
    for names, help_text in pages:
        if any(other[: len(names)] == names != other for other, _ in pages):
            continue
        name = " ".join(names)
        _, _, text = help_text.partition("\n\n")
        about = " ".join(re.split(r"\n\s*\n", text.strip())[0].split()).partition(". ")[0].removesuffix(".")
        lines.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {about} | `{example(help_text)}` |")
    return "\n".join(lines)


def example(help_text: str) -> str:
    """Return the first example of a help page."""
    lines = iter(help_text.partition("xample")[2].splitlines())
    first = next(line.strip() for line in lines if line.strip().startswith("spotball "))
    while first.endswith("\\"):
        first = f"{first[:-1].strip()} {next(lines).strip()}"
    return first


def helps() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command's words, such as `("spotball", "gen", "run")`, and its `--help` text."""
    yield from _helps(typer.main.get_command(app), ("spotball",), None)


def _helps(command: Any, names: tuple[str, ...], parent: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    context = command.context_class(command, info_name=names[-1], parent=parent, **command.context_settings)
    yield names, command.get_help(context)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            yield from _helps(command.get_command(context, name), (*names, name), context)
