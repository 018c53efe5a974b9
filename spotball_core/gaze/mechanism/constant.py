"""Detect respondents that always choose the same position in the row, or the same object of each set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from spotball_core.schema.record import Record

if TYPE_CHECKING:
    import polars as pl

ALWAYS: Final = 0.95
"""Smallest share of the choices that counts as always the same."""

_EXPLAINED: Final = 0.9
"""The targets explain a constant choice if at least this share of the gaze targets or head targets fits it as well."""

_LEAST: Final = 20
_LEAST_OF_SET: Final = 8

Pattern = Literal["first", "second", "third", "last", "object"]


class Constant(Record):
    """A constant choice.

    Attributes:
        pattern: the position in the row that is always chosen, or `object` for one object of each set.
        share: share of the matched choices that fit the pattern.
    """

    pattern: Pattern
    share: float

    @property
    def says(self) -> str:
        """The description of the choices, as a predicate."""
        what = "same object of each set" if self.pattern == "object" else f"{self.pattern} object"
        return f"always names the {what} ({self.share:.1%} of the matched choices)"


def constant_choice(rows: pl.DataFrame) -> Constant | None:
    """Return the constant choice of a respondent, or None if its choices vary or the targets explain them.

    Args:
        rows: one respondent's trials, with the columns of `Trials.frame`.

    Examples:
        >>> from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
        >>> rows = simulate(Observer("eye"), factorial_design(), prompts=1).frame
        >>> constant_choice(rows) is None, constant_choice(rows.with_columns(choice=rows["choice"] * 0)).pattern
        (True, 'first')
    """
    import polars as pl

    matched = rows.filter(pl.col("choice").is_not_null())
    # The same objects may be in another order on other photos.
    names = pl.col("objects").str.split("+")
    matched = matched.with_columns(_set=names.list.sort().list.join("+"))
    matched = matched.with_columns(_object=names.list.get(pl.col("choice"))).with_columns(
        _usual=pl.col("_object").mode().first().over("_set"), _size=pl.len().over("_set")
    )
    positions: tuple[tuple[Pattern, pl.Expr], ...] = (
        ("first", pl.lit(0)),
        ("last", pl.col("n_objects") - 1),
        ("second", pl.lit(1)),
        ("third", pl.lit(2)),
    )
    for pattern, position in positions:
        if found := _always(matched, pattern, {name: pl.col(name) == position for name in ("choice", "gaze", "head")}):
            return found
    fits = {name: names.list.get(pl.col(name)) == pl.col("_usual") for name in ("choice", "gaze", "head")}
    return _always(matched.filter(pl.col("_size") >= _LEAST_OF_SET), "object", fits)


def _always(rows: pl.DataFrame, pattern: Pattern, fits: dict[str, pl.Expr]) -> Constant | None:
    if len(rows) < _LEAST:
        return None
    shares = rows.select(**{name: fit.mean() for name, fit in fits.items()}).row(0, named=True)
    if shares["choice"] < ALWAYS or max(shares["gaze"], shares["head"] or 0.0) >= _EXPLAINED:
        return None
    return Constant(pattern=pattern, share=shares["choice"])
