"""Print the result of a command, or write it to a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.errors import OptionError
from spotball_core.service.safe_text import show


class Format(StrEnum):
    """Output formats of a result."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        metavar="FORM",
        rich_help_panel="Output",
        help="Output format: table, json, csv, markdown, latex. Default: from the extension of --out; otherwise table.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel="Output", help="File to write. Default: print the result."),
]

_BY_ENDING = {".json": Format.json, ".csv": Format.csv, ".md": Format.markdown, ".tex": Format.latex}


def format_for(format: Format | None, out: Path | None) -> Format:
    """Return the given format, or the one that the extension of `out` selects, or table.

    Raises:
        OptionError: if no format has the extension of `out`.
    """
    if format or out is None:
        return format or Format.table
    if out.suffix not in _BY_ENDING and out.suffix not in ("", ".txt"):
        endings = ", ".join(_BY_ENDING)
        raise OptionError(
            f"the ending {out.suffix} is not supported. Use {endings}, or add --format",
            code="unsupported-format",
            field="--out",
        )
    return _BY_ENDING.get(out.suffix, Format.table)


def deliver(text: str, out: Path | None, tell: Callable[[str], None], *, styled: bool = False) -> None:
    """Print a result, or write it to a file and report the file; for `styled`, see `safe_text.show`."""
    if out is None:
        show(text, end="", styled=styled)
        return
    from spotball_core.service.files import replacing

    with replacing(out) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")
    tell(f"wrote {out}")
