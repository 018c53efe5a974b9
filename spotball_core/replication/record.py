"""Define the records of a replication: one item for each published figure, with the values computed from the data."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from spotball_core.replication.published import Published
from spotball_core.schema.record import Record
from spotball_core.schema.result import ResultRecord

Status = Literal["match", "mismatch", "no data"]

UNEXPLAINED = "unexplained"
"""The note of a mismatch without a known cause."""


class ReplicatedFigure(Record):
    """One published figure, and the values that were computed for it from the data.

    Attributes:
        where: the table, figure or section of the paper that contains it.
        quantity: the quantity and its unit.
        published: the printed value with its digits; None if only a picture shows it.
        reproduced: the value computed in the published way; None if the data does not give it.
        standard: the value under the standard policy; None if there is no such value.
        status: whether the reproduced value agrees with the published value to its printed precision; "no data" if one
            of the two is missing.
        note: an explanation; for a mismatch, the known cause, or `unexplained`.
    """

    where: str
    sport: str | None
    respondent: str | None
    prompt: str | None
    quantity: str
    published: str | None
    reproduced: float | None
    standard: float | None
    status: Status
    note: str | None

    @property
    def unexplained(self) -> bool:
        """Whether this is a mismatch without a known cause."""
        return self.status == "mismatch" and self.note is not None and UNEXPLAINED in self.note.split("; ")

    @property
    def name(self) -> str:
        """Sport, respondent and prompt, such as soccer/gemini/cot; `all` if all three are missing."""
        return "/".join(part for part in (self.sport, self.respondent, self.prompt) if part) or "all"


class Replication(ResultRecord):
    """All published figures that were checked, and the format of `spotball replicate --format json`.

    Attributes:
        items: the figures, in the order of the paper.
        signature: signature of the standard figures.
        signature_reproduced: signature of the figures reproduced in the published way.
    """

    _forms: ClassVar[str] = "spotball_core.replication.text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("items",)

    items: tuple[ReplicatedFigure, ...]
    signature: str
    signature_reproduced: str

    @property
    def unexplained(self) -> tuple[ReplicatedFigure, ...]:
        """The mismatches without a known cause."""
        return tuple(item for item in self.items if item.unexplained)


def judge(
    figure: Published,
    reproduced: float | None,
    standard: float | None = None,
    *,
    cause: str | None = None,
    note: str | None = None,
) -> ReplicatedFigure:
    """Compare a published figure with its values from the data, and return the item.

    Args:
        figure: the published figure.
        reproduced: the value computed in the published way; None or NaN if the data does not give it.
        standard: the value under the standard policy; None or NaN if there is none.
        cause: the known cause of a difference, used if the reproduced value differs from the published one.
        note: an explanation that is added whether or not the values differ.

    Examples:
        >>> figure = Published(where="table 1", quantity="cells the ball spans", value="2.27", read_from="Table 1")
        >>> judge(figure, 2.2692).status, judge(figure, 2.5).note, judge(figure, None).status
        ('match', 'unexplained', 'no data')
    """
    reproduced, standard = (
        None if value is None or not math.isfinite(value) else value for value in (reproduced, standard)
    )
    status: Status
    if reproduced is None or figure.value is None:
        status, notes = "no data", [note]
    elif figure.agrees(reproduced):
        status, notes = "match", [note]
    else:
        status, notes = "mismatch", [cause or UNEXPLAINED, note]
    return ReplicatedFigure(
        where=figure.where,
        sport=figure.sport,
        respondent=figure.respondent,
        prompt=figure.prompt,
        quantity=figure.quantity,
        published=figure.value,
        reproduced=reproduced,
        standard=standard,
        status=status,
        note="; ".join(text for text in notes if text) or None,
    )
