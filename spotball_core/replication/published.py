"""Load the published figures: the numbers that the paper prints, as text with their digits, and their source.

They are stored in `published.json`. Figures that the release contains in files are not stored; they are read from the
given copy of the release (`spotball_core.replication.release_files`).
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import NonNegativeInt, field_validator

from spotball_core.schema.record import Name, Record

Condition = tuple[str, str, str]
"""A condition: a sport, a respondent and a prompt."""

PAPER_SPORTS: Final = ("soccer", "volleyball", "basketball")
"""The sports in the order of the paper's tables."""

PAPER_PROMPTS: Final = ("base", "cue", "cot")

PEOPLE: Final = "human"

_BOUNDS = {"<= ": Decimal.__le__, ">= ": Decimal.__ge__, "< ": Decimal.__lt__, "> ": Decimal.__gt__}
_SLACK = Decimal("1e-9")
"""Relative change that another order of summation may cause in a figure that is published with all its digits."""


class Published(Record):
    """One published figure.

    Attributes:
        where: the table, figure or section of the paper that contains it.
        quantity: the quantity and its unit.
        value: the printed value: a number with its digits, or a bound such as `< 1`; None if only a picture shows it.
        read_from: the part of the paper, or the file, from which the value was read.
        sport: the sport; None for a figure over all sports, or without a sport.
        respondent: the respondent; None for a figure about the images, or over all models.
        prompt: the prompt; None for a figure over all prompts, or about the images.
        n: number of answers from which the figure was computed; None if it was not published.
    """

    where: Name
    quantity: Name
    value: str | None
    read_from: Name
    sport: Name | None = None
    respondent: Name | None = None
    prompt: Name | None = None
    n: NonNegativeInt | None = None

    @field_validator("value")
    @classmethod
    def _a_number(cls, value: str | None) -> str | None:
        if value is not None:
            parts(value)
        return value

    @property
    def condition(self) -> Condition | None:
        """Sport, respondent and prompt; None if one of them is missing."""
        return (self.sport, self.respondent, self.prompt) if self.sport and self.respondent and self.prompt else None

    @property
    def decimals(self) -> int | None:
        """Number of digits after the decimal point of the printed value; None if no value is printed."""
        return None if self.value is None else max(0, -int(parts(self.value)[1].as_tuple().exponent))

    def agrees(self, value: float) -> bool:
        """Return whether a value rounds to the published figure, or is within the published bound.

        Examples:
            >>> figure = Published(where="table 1", quantity="cells the ball spans", value="2.27", read_from="Table 1")
            >>> figure.agrees(2.2692), figure.agrees(2.2649)
            (True, False)
            >>> figure.model_copy(update={"value": "<= 17"}).agrees(14.06)
            True
        """
        if self.value is None:
            return False
        bound, number = parts(self.value)
        if bound:
            return bool(_BOUNDS[bound](Decimal(value), number))
        half_a_digit = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
        return abs(Decimal(value) - number) <= half_a_digit + _SLACK * max(abs(number), half_a_digit)


class OtherRun(Record):
    """A respondent and prompt whose published answers come from another run than the released answers."""

    respondent: Name
    prompt: Name
    read_from: Name


class ReleaseFile(Record):
    """A file of the release that contains published figures.

    Attributes:
        where: the table or figure of the paper that shows these figures.
        sport: the sport of the figures; None for figures of all sports.
        file: the file's path in the release's data folder.
        columns: names of the columns to read, with the quantity that each contains.
        n: the column with the number of answers behind each row's figures; None if there is no such column.
    """

    where: Name
    sport: Name | None
    file: Name
    columns: dict[str, str]
    n: str | None


class Catalog(Record):
    """All published figures and their sources.

    Attributes:
        paper: the paper that prints the figures.
        titles: the title of each place (table, figure or section) in the order of the paper.
        printed: the figures that the paper prints.
        release_files: the release's files with further figures.
        other_runs: respondents and prompts whose published answers come from another run than the released ones.
    """

    paper: Name
    titles: dict[str, str]
    printed: tuple[Published, ...]
    release_files: tuple[ReleaseFile, ...]
    other_runs: tuple[OtherRun, ...]

    def at(self, *where: str) -> tuple[Published, ...]:
        """Return the figures that are printed in the given places."""
        return tuple(figure for figure in self.printed if figure.where in where)


@cache
def published() -> Catalog:
    """Return the catalog of published figures, which is part of this package.

    Examples:
        >>> [figure.value for figure in published().at("table 1") if figure.sport == "soccer"][:2]
        ['2.27', '785.37']
    """
    text = files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    content = json.loads(text)
    content["printed"] = [
        {"where": group["where"], "read_from": group["read_from"], **dict(zip(group["fields"], row, strict=True))}
        for group in content["printed"]
        for row in group["rows"]
    ]
    return Catalog.model_validate(content)


def parts(text: str) -> tuple[str, Decimal]:
    """Split a printed value into its bound, such as `< ` (empty if it is not a bound), and its number."""
    sign = next((sign for sign in _BOUNDS if text.startswith(sign)), "")
    try:
        number = Decimal(text.removeprefix(sign))
    except ArithmeticError:
        raise ValueError(f"{text!r} is neither a number nor a bound") from None
    if not number.is_finite():
        raise ValueError(f"{text!r} is not finite")
    return sign, number
