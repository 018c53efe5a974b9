"""What the replication says: one item a published figure."""

from __future__ import annotations

import math
from typing import Literal

from spotball_core.replication.published import Published
from spotball_core.schema.record import Record

Status = Literal["match", "mismatch", "no data"]

UNEXPLAINED = "unexplained"
"""The note of a mismatch that no known cause fits."""


class ReplicatedFigure(Record):
    """One published figure, and what comes of the data instead.

    Attributes:
        where: the table, figure or section it stands in.
        quantity: what it is a figure of, and its unit.
        published: as it was printed, with its digits; None where only a picture shows it.
        reproduced: computed in the way it was published; None where the data does not give it.
        standard: the consistent figure; None where there is none.
        status: whether the reproduced figure is the published one, as it was rounded.
        note: what to know of it; of a mismatch, the known cause that fits, or `unexplained`.
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
        """Whether it is a mismatch that no known cause fits."""
        return self.status == "mismatch" and self.note is not None and UNEXPLAINED in self.note.split("; ")

    @property
    def name(self) -> str:
        """Sport, respondent and prompt in one word, such as soccer/gemini/cot; `all` where it has none of them."""
        return "/".join(part for part in (self.sport, self.respondent, self.prompt) if part) or "all"


class Replication(Record):
    """Every published figure that was looked for; the contract of `spotball replicate --format json`.

    Attributes:
        items: in the order of the paper.
        signature: of the standard figures.
        signature_reproduced: of the figures reproduced in the published way.
    """

    items: tuple[ReplicatedFigure, ...]
    signature: str
    signature_reproduced: str

    @property
    def unexplained(self) -> tuple[ReplicatedFigure, ...]:
        """Mismatches that no known cause fits."""
        return tuple(item for item in self.items if item.unexplained)


def judge(
    figure: Published,
    reproduced: float | None,
    standard: float | None = None,
    *,
    cause: str | None = None,
    note: str | None = None,
) -> ReplicatedFigure:
    """An item of a published figure.

    Args:
        figure: what was published.
        reproduced: the same, computed in the published way; None or NaN where the data does not give it.
        standard: the consistent figure; None or NaN where there is none.
        cause: the known cause that fits, should they differ.
        note: what to know of it in any case.

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
