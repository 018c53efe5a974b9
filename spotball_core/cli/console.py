"""Print messages, progress and results, and create the engine that a command's options select."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from spotball_core.cli.help import option
from spotball_core.counting.engines import Engine, EngineName
from spotball_core.errors import OptionError, Problem
from spotball_core.service.progress import OnProgress, progress_display, span
from spotball_core.service.safe_text import show


def teller(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints one line on standard error, or nothing if quiet."""

    def tell(line: str) -> None:
        if not quiet:
            show(line, err=True)

    return tell


def teller_of_problems(quiet: bool) -> Callable[[Problem], None]:
    """Return a function that prints a warning about a file on standard error, or nothing if quiet."""
    tell = teller(quiet)
    return lambda problem: tell(f"warning: {problem.with_code()}")


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[OnProgress]:
    """Yield a function that shows the progress, labeled `label`. It prints a last line when all work is done."""
    so_far, start = (0, 0), time.monotonic()

    def sentence() -> str:
        done, total = so_far
        if done in (0, total):
            return f"{label}: {done} done"
        left = (time.monotonic() - start) * (total - done) / done
        return f"{label}: {done} of {total} done, {span(left)} left"

    with progress_display(sentence, quiet=quiet, last=True) as show_progress:

        def on_progress(done: int, total: int) -> None:
            nonlocal so_far, start
            so_far, start = (done, total), start if done else time.monotonic()
            show_progress(done, total)

        yield on_progress


@contextmanager
def engine_for(name: EngineName, ray_address: str | None, *, quiet: bool, debug: bool) -> Iterator[Engine]:
    """Yield the engine that `--engine` and `--ray-address` select."""
    from spotball_core.counting.engines import engine_named

    with progress("parts of the files counted", quiet=quiet) as on_progress, ExitStack() as stack:
        engine = engine_named(name, ray_address=ray_address, on_progress=on_progress, debug=debug)
        yield stack.enter_context(engine) if isinstance(engine, AbstractContextManager) else engine


class Format(StrEnum):
    """Output formats of a result."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


FormatOption = Annotated[
    Format | None,
    option(
        "Output",
        "FORM",
        "Output format: table, json, csv, markdown, latex. Default: from the extension of --out; otherwise table.",
    ),
]
Out = Annotated[Path | None, option("Output", "FILE", "File to write. Default: print the result.")]

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
