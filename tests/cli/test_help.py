"""Test that every help page starts with a summary and an example, groups its options, and fits one screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import typer

from spotball_core.cli.app import JOBS, app
from tests.test_docs import what_is_wrong

COLUMNS, LINES = 100, 55
"""Size of the screen that each page must fit."""

ODD = (
    *("is told", "is said", "is asked", "nobody", "somebody", "whoever", "told apart", "as it came", "as it is"),
    *("whatever ends", "asks nothing twice", "painted out", "painting", "cells noted", "every cell alike"),
    *("people against people", "is no ", "are no ", "beside", "besides", "each of what there is", "made-up"),
    *("the paper's own", "leave out", "left out", "look through"),
)
"""Phrases that the style guide replaces."""


@cache
def pages() -> dict[str, tuple[Any, str]]:
    """Return each command and its help page for a terminal of `COLUMNS` columns, by full command name."""
    return dict(_walk(typer.main.get_command(app), "spotball", None))


def _walk(command: Any, name: str, parent: Any) -> Iterator[tuple[str, tuple[Any, str]]]:
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=COLUMNS - 2)
    yield context.command_path, (command, command.get_help(context))
    for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _walk(command.get_command(context, inner), inner, context)


def test_help_pages_exist_for_commands_and_their_subcommands() -> None:
    assert len(pages()) > 40
    assert {"spotball", "spotball score", "spotball study serve", "spotball gen apply-review"} <= set(pages())


@pytest.mark.parametrize("name", pages())
def test_help_page_follows_the_layout_and_the_style_guide(name: str) -> None:
    command, page = pages()[name]
    usage, summary, *rest = page.split("\n\n")
    assert usage.startswith(f"Usage: {name} ")
    assert re.fullmatch(r"  [A-Z].*[.]", summary, re.DOTALL)
    assert len(summary.splitlines()) <= 2
    assert rest[0].startswith(("Example:\n  spotball ", "Examples:\n  spotball "))
    assert len(page.splitlines()) <= LINES
    assert max(map(len, page.splitlines())) <= COLUMNS
    assert [phrase for phrase in ODD if re.search(rf"\b{phrase}", page.lower())] == []
    after = page.split("Example", 1)[1]
    lines = [line.strip() for line in after.split("\n\n")[0].replace("\\\n", " ").splitlines()[1:]]
    assert lines
    assert [what_is_wrong(line) for line in lines] == [None] * len(lines)
    if not hasattr(command, "list_commands"):
        assert f"  {name}" in after
        options = [one for one in command.params if one.param_type_name == "option"]
        assert any("--debug" in one.opts for one in options)
        assert [one.name for one in options if not one.rich_help_panel] == []
        assert [one.name for one in options if not re.search(r"[.]$", one.help or "")] == []


@pytest.mark.parametrize("columns", [60, 80])
def test_help_page_on_a_narrow_terminal_does_not_break_option_names(columns: int) -> None:
    for command, _ in pages().values():
        context = command.context_class(command, info_name="spotball", terminal_width=columns - 2)
        assert re.findall(r"--[a-z]+-\n", command.get_help(context)) == []


def test_help_of_spotball_lists_every_command_once_in_the_sections_of_its_jobs() -> None:
    _, page = pages()["spotball"]
    sections = re.split(r"\n(?=[A-Z][A-Za-z ]*:\n)", page.split("Show this message and exit.")[1])
    listed = {text.partition(":")[0]: tuple(re.findall(r"^  ([a-z-]+) ", text, re.MULTILINE)) for text in sections[1:]}
    assert listed == dict(JOBS)
