"""Write help pages as plain text: the summary, an example, details, and options in panels.

As in Typer, an option names its panel with `rich_help_panel`. Rich itself is not used, because loading it
takes longer than printing the page.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from spotball_core.errors import did_you_mean

INPUT, SCORING, OUTPUT, ADVANCED = "Input", "Scoring", "Output", "Advanced"
"""Names of the option panels that several commands have."""

_LAST = (OUTPUT, ADVANCED)
"""Panels that are shown last, regardless of the order of the options."""

_WIDEST = 28
"""Width of the column of options, in characters. If an option is wider, its help starts on the next line."""

_EXAMPLE = re.compile(r"Examples?: `(.+)`", re.DOTALL)
_WHOLE_WORDS: Any = {"break_on_hyphens": False, "break_long_words": False}

_SCREEN = 50
"""Longest page, in lines, that keeps the empty lines between panels."""

_BETWEEN_PANELS = re.compile(r"\n\n(?=[A-Z][A-Za-z ]*:\n {2}-)")

_RANGE = re.compile(r"[\w.]*[<>=]*x[<>=]+[\w.]+|[\w.]+<=?x")
"""A range of numbers as Typer shows it, such as x>=0."""


def option(panel: str, metavar: str | None, help: str, *flags: str, **settings: Any) -> Any:
    """Return a Typer option that a panel of the help page shows; `settings` are those of `typer.Option`."""
    return typer.Option(*flags, metavar=metavar, rich_help_panel=panel, help=help, **settings)


class PlainHelp:
    """Format the help pages and usage errors of commands and groups (mixin)."""

    # Any, because the types of Typer's contexts, formatters and parameters differ between its releases.
    help: str | None

    def format_help_text(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the summary, the examples, and the other paragraphs of the help text."""
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        examples = [text for paragraph in paragraphs for text in _examples(paragraph)]
        summary, *details = [paragraph for paragraph in paragraphs if not _EXAMPLE.match(paragraph)] or [""]
        self._write(formatter, summary)
        if examples:
            with formatter.section("Example" if len(examples) == 1 else "Examples"):
                # An example is not wrapped, so that you can copy it. Long examples continue after a backslash.
                for example in examples:
                    formatter.write(_continued(example, formatter.width, formatter.current_indent))
        for paragraph in details:
            self._write(formatter, paragraph)

    def get_help(self: Any, ctx: Any) -> str:
        """Return the help page. Long pages have no empty lines between panels, so that they fit on one screen."""
        page: str = super().get_help(ctx)  # type: ignore[misc]
        return _BETWEEN_PANELS.sub("\n", page) if page.count("\n") >= _SCREEN else page

    def _write(self, formatter: Any, text: str) -> None:
        if text:
            formatter.write_paragraph()
            with formatter.indentation():
                width, indent = max(formatter.width, 20), " " * formatter.current_indent
                # formatter.write_text would break options at their hyphens.
                lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, **_WHOLE_WORDS)
                formatter.write("".join(f"{line}\n" for line in lines))

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by panel, then the commands of a group."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
            if parameter.name == "help" and ADVANCED in panels:
                panel = ADVANCED
            panels.setdefault(panel, []).append((_name(parameter, record[0]), _without_range(record[1])))
        width = max((len(name) for rows in panels.values() for name, _ in rows if len(name) <= _WIDEST), default=0)
        for panel in sorted(panels, key=lambda name: name in _LAST and _LAST.index(name) + 1):
            with formatter.section(panel):
                formatter.write_dl([(name.ljust(width), text) for name, text in panels[panel]], col_max=width)
        if hasattr(self, "format_commands"):
            self.format_commands(ctx, formatter)

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. If they are invalid, add a hint to the usage error."""
        try:
            parsed: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            parameter = error.param
            if type(error).__name__ == "MissingParameter" and parameter is not None:
                error.message = f"Add {parameter.opts[0] if parameter.param_type_name == 'option' else ''} "
                error.message = " ".join((error.message + (parameter.metavar or "VALUE")).split())
            else:
                error.message = error.message.removeprefix("Value error, ")
                choices = re.findall(r"'([^']*)'", error.message)
                if "is not one of" in error.message:
                    error.message += did_you_mean(choices[0], choices[1:])
            raise
        return parsed


class PlainHelpCommand(PlainHelp, TyperCommand):
    """Command whose help page shows the options in panels."""


class PlainHelpGroup(PlainHelp, TyperGroup):
    """Command group whose help page shows the options in panels."""


def _examples(paragraph: str) -> Iterator[str]:
    if found := _EXAMPLE.match(paragraph):
        yield from (" ".join(example.split()) for example in re.split(r"`,\s+`", found[1]))


def _continued(text: str, width: int, indent: int) -> str:
    """Wrap a command into lines that end with a backslash, so a shell reads them as one line."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) + indent + 3 > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n".join(" " * (indent + 2 * (number > 0)) + line for number, line in enumerate(lines)) + "\n"


def _name(parameter: Any, shown: str) -> str:
    """Return the name of a parameter as the help page shows it; arguments are shown without the type."""
    return str(parameter.metavar or shown) if parameter.param_type_name == "argument" else shown


def _without_range(text: str) -> str:
    found = re.search(r"\s+\[([^\]]*)\]$", text)
    if found is None:
        return text
    parts = [part for part in found[1].split("; ") if not _RANGE.fullmatch(part)]
    return text[: found.start()] + (f" [{'; '.join(parts)}]" if parts else "")
