"""Parse the options that describe tables: `--truth`, `--grid`, `--size` and `--columns`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spotball_core.cli.options import Tables
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.io.columns import ColumnNames, ReadOptions

if TYPE_CHECKING:
    from spotball_core.io.answer_options import FirstIndex

_PAIR = re.compile(r"([1-9]\d*)\s*[xX×]\s*([1-9]\d*)")


class TableArguments(ReadOptions):
    """The arguments of `load`, `score` and `load_counts` that describe tables and how they are read."""

    truth: Path | None
    grid: Grid | None
    strict: bool
    pool: bool


def table_arguments(options: Tables, tell: Callable[[str], None]) -> TableArguments:
    """Convert the options of a command to arguments, and print the default grid if a truth table needs it.

    Args:
        options: the options of the command.
        tell: prints one line.

    Raises:
        OptionError: for a value that cannot be parsed, for `--scenes` with `--truth`, or for `--grid` or `--size`
            without `--truth`.
    """
    truth, grid, size = options.truth, options.grid, options.size
    if options.scenes is not None and truth is not None:
        raise OptionError(
            "found --scenes as well. Remove one of the two options", code="conflicting-options", field="--truth"
        )
    standard = Grid.standard()
    rows, cols = _pair("--grid", grid, "rows x columns such as 8x8") or (standard.rows, standard.cols)
    width, height = _pair("--size", size, "width x height in pixels such as 800x600") or (
        standard.width,
        standard.height,
    )
    if rows > height or cols > width:
        raise OptionError(
            f"found {rows} rows x {cols} columns on images of {width:g} x {height:g} pixels, expected cells of "
            "at least one pixel. --grid is rows x columns, and --size is width x height",
            field="--grid",
        )
    reading = ReadOptions(
        columns=ColumnNames({} if options.columns is None else _columns(options.columns)),
        point_scale=options.point_scale,
        first_index=cast("FirstIndex | None", options.first_index),
        accept_signs=options.accept_signs,
    )
    if truth is None:
        for option, value in {"--grid": grid, "--size": size}.items():
            if value is not None:
                raise OptionError(
                    f"found no --truth. Each scene already has a grid, so remove {option}",
                    code="conflicting-options",
                    field=option,
                )
        return {"truth": None, "grid": None, "strict": options.strict, "pool": options.pool, **reading}
    assumed = {}
    if grid is None:
        assumed["--grid 8x8"] = f"a grid of {rows} x {cols} cells"
    if size is None:
        assumed["--size 800x600"] = f"images of {width:g} x {height:g} pixels"
    if assumed:
        tell(
            f"{truth}: assuming {' and '.join(assumed.values())}, unless the table states otherwise. To change this, "
            f"add options such as {' '.join(assumed)}"
        )
    shape = Grid(rows, cols, width, height)
    return {"truth": truth, "grid": shape, "strict": options.strict, "pool": options.pool, **reading}


def amounts_of(text: str, option: str) -> float | dict[str, float]:
    """Convert a text such as 5 to a number, or one such as accuracy=5,image_entropy=0.1 to a number for each metric.

    Raises:
        OptionError: for text that is neither.

    Examples:
        >>> amounts_of("5", "--effect"), amounts_of("accuracy=5, log_score=0.2", "--effect")
        (5.0, {'accuracy': 5.0, 'log_score': 0.2})
    """
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        if len(pairs) == 1 and not pairs[0][1]:
            return float(text)
        amounts = {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        amounts = {}
    if len(amounts) < len(pairs) or not all(amounts):
        raise OptionError(
            f"found {text!r}, expected numbers, such as accuracy=5,center_ratio=0.3",
            field=option,
        )
    return amounts


def read_options(tables: TableArguments) -> ReadOptions:
    """Return those of the arguments that describe how responses are read."""
    return ReadOptions(
        columns=tables["columns"],
        point_scale=tables["point_scale"],
        first_index=tables["first_index"],
        accept_signs=tables["accept_signs"],
    )


def _pair(option: str, text: str | None, expected: str) -> tuple[int, int] | None:
    """Return the two numbers of a text such as 8x8; None without a text."""
    if text is None:
        return None
    match = _PAIR.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"found {text!r}, expected {expected}", field=option)
    return int(match[1]), int(match[2])


def _columns(text: str) -> dict[str, str]:
    """Return the table's column for each name in a text such as image=image_id,cell=prediction."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        name, _, column = (part.strip() for part in pair.partition("="))
        if not name or not column:
            raise OptionError(
                f"found {pair.strip()!r}, expected names and columns such as image=image_id,cell=prediction",
                field="--columns",
            )
        if name in columns:
            raise OptionError(f"found two columns for {name!r}. Name one", field="--columns")
        columns[name] = column
    return columns
