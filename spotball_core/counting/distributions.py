"""Convert answers given as probabilities (JSON text, lists, or lists of rows) to fractions of an answer per cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spotball_core.counting.counts import PARTS
from spotball_core.grid import Grid
from spotball_core.io.cells import named
from spotball_core.schema.response import SUM_TOLERANCE

if TYPE_CHECKING:
    import polars as pl

_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
_PAIR = rf'"[^"]*"\s*:\s*(?:{_NUMBER}|null)'
_OBJECT = rf"^\s*\{{\s*(?:{_PAIR}(?:\s*,\s*{_PAIR})*)?\s*\}}\s*$"
_FORM = 'an object such as {"D5": 0.7, "D6": 0.3}, one number per cell, or a list of rows'
_NUMBERS = rf"\[\s*(?:{_NUMBER}(?:\s*,\s*{_NUMBER})*)?\s*\]"
_LIST = rf"^\s*{_NUMBERS}\s*$"
_ROWS = rf"^\s*\[\s*{_NUMBERS}(?:\s*,\s*{_NUMBERS})*\s*\]\s*$"


def spread(rows: pl.DataFrame, grid: Grid) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Convert each row's distribution to one row per cell.

    Args:
        rows: rows with a column `probabilities`, without nulls: JSON text, a list of numbers, or a list of such lists.
        grid: the grid of the scenes.

    Returns:
        Two tables. The first has one row for each cell with a positive probability, for each row with a valid
        distribution. Its columns `cell` and `n` are the cell and its fraction of the answer, a multiple of 1 / `PARTS`;
        the fractions of an answer sum to exactly 1. The second table has the rows with an invalid distribution, and the
        problem in its columns `field`, `found` and `expected`.
    """
    import polars as pl

    rows, wrong_shape = _flattened(rows.with_row_index("_row"), grid)
    given = pl.col("probabilities")
    if rows.schema["probabilities"] == pl.String:
        is_object, is_list = given.str.contains(_OBJECT), given.str.contains(_LIST)
        pairs = (
            rows.filter(is_object)
            .select("_row", pair=given.str.extract_all(_PAIR))
            .explode("pair")
            .select(
                "_row",
                label=pl.col("pair").str.extract(r'^"([^"]*)"'),
                p=pl.col("pair").str.extract(rf"({_NUMBER})\s*$").cast(pl.Float64),
            )
            .filter(pl.col("p").is_not_null())
        )
        cells = pairs.join(named(pairs["label"].unique(), grid), on="label", how="left")
        vectors = rows.filter(is_list).select("_row", p=given.str.extract_all(_NUMBER).cast(pl.List(pl.Float64)))
        unreadable = rows.filter(~(is_object | is_list))["_row"]
    else:
        cells = pl.DataFrame(schema={"_row": pl.UInt32, "label": pl.String, "p": pl.Float64, "cell": pl.Int64})
        vectors = rows.select("_row", p=given)
        unreadable = rows.filter(given.list.eval(pl.element().is_null()).list.any())["_row"]
    wrong_length = vectors.filter(pl.col("p").list.len() != grid.n_cells)
    by_cell = vectors.filter(pl.col("p").list.len() == grid.n_cells)
    by_cell = by_cell.with_columns(cell=pl.int_ranges(grid.n_cells)).explode("p", "cell")
    by_cell = by_cell.with_columns(label=pl.lit(None, pl.String))
    parts = pl.concat([cells.select("_row", "cell", "label", "p"), by_cell.select("_row", "cell", "label", "p")])

    sums = parts.group_by("_row").agg(total=pl.col("p").sum())
    sums = rows.select("_row").join(sums, on="_row", how="left").with_columns(pl.col("total").fill_null(0.0))
    faults = [
        wrong_shape,
        _fault(unreadable.to_frame(), pl.lit("neither an object nor a list of numbers"), _FORM),
        _fault(
            wrong_length,
            pl.format("{} numbers", pl.col("p").list.len()),
            f"one number for each of the {grid.n_cells} cells. List the cells row by row",
        ),
        _fault(
            parts.filter(pl.col("cell").is_null()),
            pl.format("'{}'", pl.col("label")),
            f"cell labels from A1 to {grid.labels[-1]}",
        ),
        _fault(
            parts.filter(pl.col("p") < 0),
            pl.col("p").cast(pl.String),
            "probabilities of at least 0. Convert scores or log probabilities to probabilities",
        ),
        _fault(
            parts.filter(pl.col("cell").is_not_null() & pl.struct("_row", "cell").is_duplicated()),
            pl.format("two spellings of one cell, such as '{}'", pl.col("label")),
            "each cell once",
        ),
        _fault(
            sums.filter(~((pl.col("total") - 1).abs() <= SUM_TOLERANCE)),
            pl.format("a sum of {}", pl.col("total")),
            f"a sum of 1 (tolerance: {SUM_TOLERANCE:g}). Divide the probabilities of each answer by their sum",
        ),
    ]
    fault = pl.concat(faults).unique("_row", keep="first", maintain_order=True)
    bad = rows.join(fault, on="_row").drop("_row", "probabilities")
    good = _divided(parts.filter(pl.col("p") > 0).join(fault, on="_row", how="anti"))
    return rows.drop("probabilities", "cell", strict=False).join(good, on="_row").drop("_row"), bad


def _flattened(rows: pl.DataFrame, grid: Grid) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Replace each distribution that is a list of rows by one list of numbers.

    Returns:
        The rows, and a table of the distributions that have another shape than the grid, in the form of `_fault`.
    """
    import polars as pl

    given, dtype = pl.col("probabilities"), rows.schema["probabilities"]
    if dtype == pl.String:
        is_nested = given.str.contains(_ROWS)
        lengths = given.str.extract_all(_NUMBERS).list.eval(pl.element().str.count_matches(_NUMBER))
        flat = pl.format("[{}]", given.str.replace_all(r"[\[\]]", " "))
    else:
        is_nested = pl.lit(dtype == pl.List(pl.List(pl.Float64)))
        lengths = given.list.eval(pl.element().list.len().fill_null(0))
        flat = given.list.eval(pl.element().explode())
    if (maps := rows.filter(is_nested)).is_empty():
        return rows, _fault(rows.clear(), given, "")
    shapes = maps.select("_row", lengths=lengths.cast(pl.List(pl.Int64)))
    of_grid = [grid.cols] * grid.rows
    found = pl.format(
        "{} rows of {} numbers",
        pl.col("lengths").list.len(),
        pl.col("lengths").list.unique(maintain_order=True).cast(pl.List(pl.String)).list.join(", "),
    )
    expected = f"{grid.rows} rows of {grid.cols} numbers. Sum a map of another size into cells with `Grid.pool`"
    wrong = _fault(shapes.filter(pl.col("lengths").ne_missing(pl.lit(of_grid, pl.List(pl.Int64)))), found, expected)
    flattened = maps.with_columns(probabilities=flat)
    return pl.concat([rows.filter(~is_nested), flattened]) if dtype == pl.String else flattened, wrong


def _divided(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert the probabilities `p` of each answer (`_row`) to fractions `n` that sum to exactly 1.

    The fractions are multiples of 1 / `PARTS`. The most likely cell gets the rounding remainder.
    """
    import polars as pl

    # Sum integers: the last bit of a float sum would depend on the other rows.
    total = (pl.col("p") * PARTS).floor().cast(pl.Int64).sum().over("_row") / PARTS
    rows = rows.sort("_row", "cell").with_columns(_parts=(pl.col("p") / total * PARTS).floor().cast(pl.Int64))
    likeliest = rows.group_by("_row").agg(
        cell=pl.col("cell").get(pl.col("p").arg_max()), _left=PARTS - pl.col("_parts").sum()
    )
    parts = pl.col("_parts") + pl.col("_left").fill_null(0)
    return rows.join(likeliest, on=["_row", "cell"], how="left").select("_row", "cell", n=parts / PARTS)


def _fault(rows: pl.DataFrame, found: pl.Expr, expected: str) -> pl.DataFrame:
    import polars as pl

    return rows.select(
        pl.col("_row").cast(pl.UInt32),
        code=pl.lit("invalid-distribution"),
        field=pl.lit("probabilities"),
        found=found.cast(pl.String),
        expected=pl.lit(expected),
    )
