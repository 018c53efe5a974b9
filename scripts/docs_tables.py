"""Format tables and listings from the code for the documentation."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from html import escape

from spotball_core.service.sqlite_file import Column, Schema, Table


def output(command: str) -> str:
    """Run a command in the folder of the page's files, and return what it prints to standard output."""
    done = subprocess.run(command.split(), cwd=os.environ["DOCS_WORK"], capture_output=True, text=True, check=True)
    return done.stdout


def listing(text: str) -> str:
    """Return a text as HTML that keeps its lines and wraps long ones."""
    return f'\n<pre style="white-space:pre-wrap"><code>{escape(text)}</code></pre>\n'


def meanings(head: str, rows: Mapping[str, str]) -> str:
    """Return a table of names and their meanings."""
    return "\n".join(
        [f"| {head} | Meaning |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows.items())]
    )


def reply(text: str) -> str:
    """Return a model's reply as code in a table. Its Markdown is escaped."""
    return "".join(c if c.isalnum() or c == " " else "<br>" if c == "\n" else f"&#{ord(c)};" for c in text)


def gaze_prompts() -> str:
    """Return the prompts of the gaze task, and the judge's prompt."""
    from spotball_adapters.gaze.judge import judge_prompt
    from spotball_adapters.gaze.prompts import SETS, built_in

    sources = {
        "main": "written for this project from the paper's description; the paper does not print them",
        "pilot": "the paper's Table 5, verbatim",
        "pre-pilot": "the paper's Table 4, verbatim",
    }
    lines = ["| Set | Prompts | Source |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | `{name}-1` to `{name}-{len(built_in(name))}` | {sources[name]} |" for name in SETS]
    lines += ["", "| Prompt | Hints | Question |", "| --- | --- | --- |"]
    for prompt in built_in("main"):
        lines.append(f"| `{prompt.name}` | {', '.join(prompt.hints) or 'none'} | {prompt.text.splitlines()[0]} |")
    lines += ["\n`main-13`, with both hints:", listing(built_in("main")[12].text)]
    for name in SETS[1:]:
        for prompt in built_in(name):
            lines += [f"\n`{prompt.name}`:", listing(prompt.text)]
    lines += ["\nThe judge's prompt, with *none of these* as the last option:", listing(judge_prompt().text)]
    return "\n".join(lines)


def gaze_replies(options: Sequence[str], replies: Sequence[str]) -> str:
    """Return the option that the templates match with each reply."""
    from spotball_adapters.gaze.templates import match

    lines = [f"| Reply, to {', '.join(f'{a}. {b}' for a, b in zip('ABCD', options, strict=False))} | Choice |"]
    lines.append("| --- | --- |")
    for text in replies:
        result = match(text, list(options))
        choice = f"**{result.choice}**, by its {result.how}" if result.choice else f"none: {result.problem}"
        lines.append(f"| {text} | {choice} |")
    return "\n".join(lines)


def tables(schema: Schema, *, version: int, file: str | None = None) -> str:
    """Return a section in Markdown for each table.

    Args:
        version: the schema's version that the page states.
        file: the name of the SQLite file, if the page describes several files.
    """
    assert schema.version == version
    return "\n".join(_section(name, table, file) for name, table in schema.tables.items())


def _section(name: str, table: Table, file: str | None) -> str:
    keys = ", ".join(f"`{column}`" for column in table.key)
    lines = [f"### {name}\n", f"{f'In `{file}`. ' if file else ''}{table.meaning} Key: {keys}.\n"]
    lines += ["| Column | Type | Meaning |", "| --- | --- | --- |"]
    lines += [f"| `{column.name}` | {_kind(column, table)} | {column.meaning} |" for column in table.columns]
    return "\n".join(lines) + "\n"


def _kind(column: Column, table: Table) -> str:
    required = "NOT NULL" in column.type or column.name in table.key
    return column.type.split()[0] + ("" if required else " or null")
