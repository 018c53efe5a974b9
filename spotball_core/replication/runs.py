"""Check sections 4.3 and 4.4 of the paper: the numbers of models' answers, of participants, and of their guesses."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_core.replication import causes
from spotball_core.replication.material import Material
from spotball_core.replication.published import Published
from spotball_core.replication.record import ReplicatedFigure, judge


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the numbers of models' answers per image, of participants, and of participants' images and guesses."""
    for figure in material.printed("section 4.3"):
        answered = material.answered(figure.condition)
        n_answers = float(answered.answers.mean()) if answered else None
        yield judge(figure, n_answers, n_answers, cause=causes.run(material, figure.condition))
    for figure in material.printed("section 4.4"):
        number = _number(material, figure)
        yield judge(figure, number, number, cause=causes.run(material, figure.condition))


def _number(material: Material, figure: Published) -> float | None:
    rows = material.release.responses.filter(sport=figure.sport, respondent=figure.respondent, prompt=figure.prompt)
    rows = rows.drop_nulls("participant")
    if rows.is_empty():
        return None
    if figure.quantity == "participants":
        return float(rows["participant"].n_unique())
    if figure.quantity == "guesses an image":
        return len(rows) / len(rows.unique(("participant", "image")))
    return len(rows.unique(("participant", "image"))) / rows["participant"].n_unique()
