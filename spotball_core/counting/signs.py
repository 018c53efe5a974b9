"""Detect signs that a file was misread, such as rows counted from 0, x and y swapped, or whole replies as cells.

The necessary sums per respondent, prompt and image are computed while a file is read; sums of several parts can be
added. Each sign is a condition on these sums that valid files do not meet (docs/reference/files.md lists the signs).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.grid import Grid, row_name
from spotball_core.io.cells import INDEX, WRAPPED
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

UNIT = ("_source", "respondent", "kind", "prompt")
"""The unit of the checks: a respondent's answers to a prompt in one source."""

KEYS = (*UNIT, "sport", "image")

MOST_UNPARSED = 0.1
"""Maximum share of unparsed answers; a larger share is a sign that the file was misread."""

LEAST_UNPARSED = 5
"""Minimum number of unparsed answers for the check of their share, unless all answers are unparsed."""

LEAST_ANSWERS = 3
"""Minimum number of answers that a sign about points, or about whole replies (full text instead of cells), needs.

If all answers are whole replies, fewer are enough.
"""

LEAST_IMAGES, CHANCE = 10, 1e-6
"""Minimum number of images for signs about all answers of a `UNIT`, and maximum probability that chance explains them.

The probability is used for two signs: all answers are in one row or column, and rows and columns are counted from 0.
"""

LEAST_PLACES = 4
"""If all answers are in one row or column, this is a sign only for at least this many different cells in it.

Fewer cells may be the respondent's preference.
"""

BETTER_FIT = 5.0
"""Minimum number of standard errors by which swapping x and y must improve the fit to be a sign."""

_SUMS = (
    *("n", "nothing", "other", "reply", "index", "zero", "outside", "off_image", "renamed", "wrapped"),
    *("points", "numbers", "fit_swapped", "across", "down", "counted", "fit_from_0", "hits", "hits_from_0"),
)
_LOWS = ("row_low", "col_low", "least")
_HIGHS = ("row_high", "col_high", "largest")


OPTIONS: dict[str, tuple[str, object]] = {
    "index": ("first_index", 0),
    "all from 0": ("first_index", 0),
    "from 0": ("first_index", 0),
    "shares": ("point_scale", "1"),
    "percent": ("point_scale", "100"),
    "far off image": ("point_scale", None),
    "only replies": ("", None),
    "none readable": ("", None),
}
"""The signs that leave no doubt, each with the option (see `AnswerOptions`) and the value that reads the answers (None
if the sign does not show it)."""


@dataclass(frozen=True)
class Sign:
    """A sign that a source (a file, frame or list of records) was misread, and the respondents that show it.

    Attributes:
        name: the name of the sign.
        source: the source's index.
        units: the respondents and prompts concerned, with the columns `UNIT`.
        n: number of answers that show the sign.
        of: number of all answers of these respondents to these prompts.
        line: for the sign `line`, the row or column with all answers, such as "row C".
    """

    name: str
    source: int
    units: pl.DataFrame
    n: int
    of: int
    line: str = ""

    def at(self, source: int) -> Sign:
        """Return the same sign with another index of its source."""
        import polars as pl

        index = pl.lit(source, self.units.schema["_source"])
        return replace(self, source=source, units=self.units.with_columns(_source=index))


# Sums ---------------------------------------------------------------------------------------------------------


def balls_of(scenes: Sequence[Scene], grid: Grid) -> pl.DataFrame:
    """Return a table with one row per cell of a ball: `sport`, `image`, and the cell's index, `_ball`."""
    import polars as pl

    index = {label: number for number, label in enumerate(grid.labels)}
    rows = [(*scene.key, index[cell]) for scene in scenes for cell in scene.ball_cells or ()]
    schema = {"sport": pl.String, "image": pl.String, "_ball": pl.Int64}
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)


def of_cells(answers: pl.DataFrame, balls: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return the sums per `KEYS` over answers that name cells.

    Args:
        answers: a table with `KEYS` and these columns: `n`, the number of answers that name cells; `renamed`, the
            number of answers to images whose id had a file extension; `_index`, the cell's index, null outside the
            grid; `_row` and `_col` as in the file (which should count from 1), null if missing; and optionally `cell`
            and `row`, the texts in the file.
        balls: the result of `balls_of`.
        grid: a grid with the rows and columns of the scenes.
    """
    import polars as pl

    row, col, index = pl.col("_row"), pl.col("_col"), pl.col("_index")
    shown = shown_by_cells(answers.columns, grid)
    numbers = shown["numbers"]
    fits = numbers & col.is_between(1, grid.rows) & row.is_between(1, grid.cols)
    answers = answers.with_columns(
        **{name: _times(is_shown) for name, is_shown in shown.items()},
        fit_swapped=_times(fits),
        across=_times(numbers) * (col - 0.5) / grid.cols,
        down=_times(numbers) * (row - 0.5) / grid.rows,
    )
    if "row" in answers.columns:
        counted = pl.col("row").is_not_null()
        from_0 = row.is_between(0, grid.rows - 1) & col.is_between(0, grid.cols - 1)
        later = pl.when(from_0).then(row * grid.cols + col)
        of_images = balls.group_by("sport", "image").agg("_ball")
        answers = answers.join(of_images, on=["sport", "image"], how="left").with_columns(
            counted=_times(counted & numbers),
            fit_from_0=_times(counted & from_0),
            hits=_times(counted & pl.col("_ball").list.contains(index)),
            hits_from_0=_times(counted & pl.col("_ball").list.contains(later.cast(pl.Int64))),
        )
    return _summed(answers, grid)


def shown_by_cells(columns: Sequence[str], grid: Grid) -> dict[str, pl.Expr]:
    """Return one expression per kind of answer, such as `zero`: whether an answer is of this kind (columns as in
    `of_cells`)."""
    import polars as pl

    row, col = pl.col("_row"), pl.col("_col")
    text = pl.col("cell").str.strip_chars() if "cell" in columns else pl.lit(None, pl.String)
    empty = text.fill_null("") == ""
    # A word and a number, such as "row 4", is not a cell's label.
    numbers = row.is_not_null() & col.is_not_null() & (empty | (row <= max(26, grid.rows)))
    # A sentence, or text that is too long for any spelling of a cell.
    reply = (text.str.len_chars() > 40) | ((text.str.len_chars() > 15) & text.str.contains(r"\s"))
    zero = (row == 0) | (col == 0)
    return {
        "nothing": ~numbers & empty,
        "other": ~numbers & ~empty & ~reply,
        "reply": ~numbers & ~empty & reply,
        "index": ~numbers & text.str.contains(INDEX).fill_null(False),
        "wrapped": numbers & text.str.contains(WRAPPED).fill_null(False),
        "zero": numbers & zero,
        "outside": numbers & pl.col("_index").is_null() & ~zero,
        "numbers": numbers,
    }


def of_points(answers: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return the sums per `KEYS` over answers that are points.

    Args:
        answers: a table with `KEYS`; `n`, the number of points; the columns of `point_sums`; and `_index`, the index of
            the points' cell, null outside the image.
    """
    import polars as pl

    return _summed(
        answers.with_columns(
            points=pl.col("n"),
            numbers=pl.col("n"),
            off_image=_times(pl.col("_index").is_null()),
        ),
        grid,
    )


def point_sums() -> dict[str, pl.Expr]:
    """Return expressions for the sums over points that `of_points` needs.

    The points have the columns `_x` and `_y` (the position in pixels), `_width` and `_height`.
    """
    import polars as pl

    x, y, width, height = (pl.col(name) for name in ("_x", "_y", "_width", "_height"))
    return {
        "across": (x / width).sum(),
        "down": (y / height).sum(),
        "fit_swapped": (y.is_between(0, width) & x.is_between(0, height)).sum(),
        "least": pl.min_horizontal(x.min(), y.min()),
        "largest": pl.max_horizontal(x.max(), y.max()),
    }


def added(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Add several tables of sums: return one row per combination of `KEYS`."""
    import polars as pl

    return (
        pl.concat(tables)
        .group_by(KEYS)
        .agg(pl.col(_SUMS).sum(), pl.col(_LOWS).min(), pl.col(_HIGHS).max())
        .select(*KEYS, *_SUMS, *_LOWS, *_HIGHS)
    )


def _times(condition: pl.Expr) -> pl.Expr:
    """Return an expression: the column `n` (number of answers) if a condition holds, else 0."""
    import polars as pl

    return pl.when(condition).then(pl.col("n")).otherwise(0)


def _summed(answers: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    import polars as pl

    row, col = pl.col("_index") // grid.cols, pl.col("_index") % grid.cols
    answers = answers.with_columns(row_low=row, row_high=row, col_low=col, col_high=col)
    absent = [pl.lit(0.0).alias(name) for name in _SUMS if name not in answers.columns]
    absent += [pl.lit(None, pl.Float64).alias(name) for name in (*_LOWS, *_HIGHS) if name not in answers.columns]
    answers = answers.with_columns(absent).select(*KEYS, pl.col(*_SUMS, *_LOWS, *_HIGHS).cast(pl.Float64))
    return added([answers])


# Signs --------------------------------------------------------------------------------------------------------


def signs(sums: pl.DataFrame, scenes: Sequence[Scene], grid: Grid) -> list[Sign]:
    """Return the signs that sources were misread; for each source, a sign of the same name occurs at most once.

    Args:
        sums: the sums of all sources.
        scenes: the scenes that the answers refer to.
        grid: a grid with their rows and columns.
    """
    import polars as pl

    units = (
        sums.group_by(UNIT)
        .agg(
            pl.col(_SUMS).sum(),
            pl.col(_LOWS).min(),
            pl.col(_HIGHS).max(),
            places_across=(pl.col("across") / pl.col("numbers") * grid.cols).floor().n_unique(),
            places_down=(pl.col("down") / pl.col("numbers") * grid.rows).floor().n_unique(),
            images=pl.struct("sport", "image").filter(pl.col("row_low").is_not_null()).n_unique(),
        )
        .join(_swapped(sums, balls_of(scenes, grid), grid).with_columns(better=True), on=UNIT, how="left")
        .join(_in_percent(sums, scenes).with_columns(percent=True), on=UNIT, how="left")
        .sort(UNIT)
    )
    n, points, least, largest = (pl.col(name) for name in ("n", "points", "least", "largest"))
    shares = (points >= LEAST_ANSWERS) & (least >= 0) & (largest <= 1) & (least < largest)
    astray = pl.col("outside") + pl.col("off_image")
    none_astray_swapped = (
        (astray >= LEAST_ANSWERS)
        & (astray > 0.05 * n)
        & (pl.col("numbers") >= LEAST_IMAGES)
        & (pl.col("fit_swapped") == pl.col("numbers"))
    )
    swapped = (pl.col("better").fill_null(False) | none_astray_swapped) & ~shares
    reply = pl.col("reply")
    replies = ((reply >= LEAST_ANSWERS) | (reply == n)) & (reply > MOST_UNPARSED * n)
    # A baseline leaves its answer empty if it has none, so this is not a reading problem.
    unread = pl.col("other") + pl.when(pl.col("kind") == "baseline").then(0).otherwise(pl.col("nothing"))
    unread = unread + pl.when(replies).then(0).otherwise(reply)
    unparsed = ((unread >= LEAST_UNPARSED) | (unread == n)) & (unread > MOST_UNPARSED * n)
    index = (pl.col("index") > 0) & (pl.col("index") == n - pl.col("nothing"))
    unparsed = unparsed & ~index
    written = pl.col("other") + reply
    none_readable = (written >= LEAST_ANSWERS) & (written == n - pl.col("nothing")) & ~index
    zero, off_image = pl.col("zero"), pl.col("off_image")
    all_from_0 = (zero > 0) & (pl.col("counted") == pl.col("numbers")) & (pl.col("fit_from_0") == pl.col("numbers"))
    percent = pl.col("percent").fill_null(False)
    far_off_image = (off_image >= LEAST_ANSWERS) & (off_image > 0.5 * points)
    swapped = swapped & ~percent
    far_off_image = far_off_image & ~swapped
    # Most answers would be correct if they counted from 0. A single cell for all images may be correct by chance.
    from_0 = (
        (pl.col("hits_from_0") - pl.col("hits") > 0.5 * pl.col("counted"))
        & (pl.col("images") >= LEAST_IMAGES)
        & (float(grid.n_cells) ** (-pl.col("images").cast(pl.Float64) / 2) < CHANCE)
        & (pl.col("row_low") < pl.col("row_high"))
        & (pl.col("col_low") < pl.col("col_high"))
    )
    conditions = {
        "renamed": (pl.col("renamed") > 0, pl.col("renamed")),
        "wrapped": (pl.col("wrapped") > 0, pl.col("wrapped")),
        "index": (index, pl.col("index")),
        "some indices": ((pl.col("index") > 0) & ~index, pl.col("index")),
        "all from 0": (all_from_0, zero),
        "zero": ((zero > 0) & ~all_from_0, zero),
        "from 0": (from_0 & (zero == 0), pl.col("hits_from_0")),
        "shares": (shares, points),
        "percent": (percent, points),
        "far off image": (far_off_image, off_image),
        "swapped": (swapped, pl.col("numbers")),
        "off image": ((off_image > 0) & ~swapped & ~far_off_image, off_image),
        "outside": ((pl.col("outside") > 0) & ~swapped, pl.col("outside")),
        "only replies": (none_readable & replies, pl.col("reply")),
        "none readable": (none_readable & ~replies, pl.col("other")),
        "reply": (replies & ~none_readable, pl.col("reply")),
        "unparsed": (unparsed & ~none_readable, unread),
    }
    found_signs = []
    for name, (condition, answers) in conditions.items():
        for (source,), shown in units.filter(condition).group_by("_source", maintain_order=True):
            total, of = shown.select(answers.sum(), n.sum()).row(0)
            found_signs.append(Sign(name, source, shown.select(UNIT), round(total), round(of)))
    others = units.filter(~shares & ~percent & ~swapped.fill_null(False))
    return [*found_signs, *_lines(others, sums, scenes, grid)]


def _lines(units: pl.DataFrame, sums: pl.DataFrame, scenes: Sequence[Scene], grid: Grid) -> Iterator[Sign]:
    """Yield a sign for each source with a unit whose answers are all in one row or column.

    There is no sign if the ball is in this row or column in nearly all images.
    """
    import polars as pl

    reported = set()
    for axis, size, places in (("row", grid.rows, "places_across"), ("col", grid.cols, "places_down")):
        low, high = pl.col(f"{axis}_low"), pl.col(f"{axis}_high")
        unlikely = float(size) ** (1 - pl.col("images").cast(pl.Float64)) < CHANCE
        candidates = units.filter(
            (low == high) & (pl.col(places) >= LEAST_PLACES) & unlikely & (pl.col("images") >= LEAST_IMAGES)
        )
        for unit in candidates.iter_rows(named=True):
            line = int(unit[f"{axis}_low"])
            this = candidates.filter(_is(unit)).select(UNIT)
            answered = sums.join(this, on=UNIT, how="semi")
            if unit["_source"] in reported or _ball_is_there(answered, scenes, axis, line):
                continue
            reported.add(unit["_source"])
            name = f"row {row_name(line + 1)}" if axis == "row" else f"column {line + 1}"
            yield Sign("line", unit["_source"], this, round(unit["n"]), round(unit["n"]), name)


def _is(unit: dict[str, object]) -> pl.Expr:
    import polars as pl

    return pl.all_horizontal(pl.col(key) == unit[key] for key in UNIT)


def _ball_is_there(answered: pl.DataFrame, scenes: Sequence[Scene], axis: str, line: int) -> bool:
    """Return whether the ball is in a row or column in more than 80% of the answered images with known ball cells."""
    keys = set(answered.select("sport", "image").iter_rows())
    known = [
        scene.truth.mask.reshape(scene.grid.rows, scene.grid.cols)
        for scene in scenes
        if scene.key in keys and scene.truth
    ]
    reaches = [mask[line].any() if axis == "row" else mask[:, line].any() for mask in known]
    return bool(reaches) and float(np.mean(reaches)) > 0.8


def _in_percent(sums: pl.DataFrame, scenes: Sequence[Scene]) -> pl.DataFrame:
    """Return the units whose points are all in the 100 x 100 pixels at the upper left, too often for chance."""
    import polars as pl

    corner = pl.DataFrame(
        [(*scene.key, math.log(min(1, 100 / scene.width) * min(1, 100 / scene.height))) for scene in scenes],
        schema={"sport": pl.String, "image": pl.String, "_chance": pl.Float64},
        orient="row",
    )
    place = (pl.col("across") / pl.col("points")).round(6)
    return (
        sums.filter(pl.col("points") > 0)
        .join(corner, on=["sport", "image"])
        .group_by(UNIT)
        .agg(pl.col("_chance").sum(), pl.col("least").min(), pl.col("largest").max(), places=place.n_unique())
        .filter(pl.col("least") >= 0, pl.col("largest").is_between(1, 100, closed="right"))
        .filter(pl.col("_chance") < math.log(CHANCE), pl.col("places") >= LEAST_PLACES)
        .select(UNIT)
    )


def _swapped(sums: pl.DataFrame, balls: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Return the units whose answers agree better with the ball, or with people's answers, if x and y are swapped."""
    import polars as pl

    given = sums.filter(pl.col("numbers") > 0).with_columns(pl.col("across", "down") / pl.col("numbers"))
    # The center of the ball's cells, as fractions of the image's width and height.
    truth = balls.group_by("sport", "image").agg(
        known_x=((pl.col("_ball") % grid.cols + 1).mean() - 0.5) / grid.cols,
        known_y=((pl.col("_ball") // grid.cols + 1).mean() - 0.5) / grid.rows,
    )
    is_human = pl.col("kind") == "human"
    people = (
        given.filter(is_human)
        .group_by("sport", "image")
        .agg(known_x=pl.col("across").mean(), known_y=pl.col("down").mean())
    )
    gains = pl.concat([_gains(given, truth), _gains(given.filter(~is_human), people)])
    best = gains.group_by(UNIT).agg(most=pl.col("gain").max(), least=pl.col("gain").min())
    return best.filter((pl.col("most") > BETTER_FIT) & (pl.col("least") > 0)).select(UNIT)


def _gains(given: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return, per unit, the gain in correlation of its answers with known positions if x and y are swapped.

    The correlation is over images, with the unit's mean answer to each, and the gain is in standard errors. Answers
    that do not depend on the image have no correlation with the positions, so swapping does not improve it. Units
    with too few images, or with too few different coordinates for a correlation, are excluded.
    """
    import polars as pl

    x, y, known_x, known_y = (pl.col(name) for name in ("across", "down", "known_x", "known_y"))

    def fisher(one: pl.Expr, other: pl.Expr) -> pl.Expr:
        return pl.corr(one, other).clip(-0.999, 0.999).arctanh()

    better = fisher(y, known_x) + fisher(x, known_y) - fisher(x, known_x) - fisher(y, known_y)
    return (
        given.join(known, on=["sport", "image"])
        .group_by(UNIT)
        .agg(
            gain=better * ((pl.len() - 3) / 4).sqrt(),
            images=pl.len(),
            places=pl.min_horizontal(column.round(6).n_unique() for column in (x, y, known_x, known_y)),
        )
        .filter((pl.col("images") >= LEAST_IMAGES) & (pl.col("places") >= LEAST_ANSWERS))
        .select(*UNIT, "gain")
    )
