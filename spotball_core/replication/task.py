"""Check the paper's table 2 and figure 4: the guesses' Euclidean errors, and how often guesses are correct."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_core.replication import causes
from spotball_core.replication.material import WAYS, Material, absent
from spotball_core.replication.published import PEOPLE, Published
from spotball_core.replication.record import ReplicatedFigure, judge

_IN_TEXT = ("abstract", "section 5.1")


def check_errors(material: Material) -> Iterator[ReplicatedFigure]:
    """Check table 2: mean and standard deviation over images of the Euclidean error."""
    for figure in material.printed("table 2"):
        metrics = [material.metric(way, "euclidean_error", figure.condition) for way in WAYS]
        is_mean = figure.quantity == "mean error (px)"
        reproduced, standard = ((metric.value if is_mean else metric.sd) if metric else None for metric in metrics)
        yield judge(figure, reproduced, standard, cause=causes.run(material, figure.condition))


def check_accuracy(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the accuracies of figure 4, from the release's file, and those that the paper's text states."""
    for figure in material.filed("figure 4", "accuracy"):
        reproduced = material.value("paper", "accuracy", figure.condition)
        standard = material.value("standard", "accuracy", figure.condition)
        n = material.n_scored(figure.condition)
        differs = figure.n is not None and n is not None and figure.n != n
        cause = (
            f"another run: the published figure is from {figure.n:,} answers, but these data have {n:,}"
            if differs
            else None
        )
        yield judge(figure, reproduced, standard, cause=cause, note=absent(figure))
    for figure in material.printed(*_IN_TEXT):
        if "accuracy" in figure.quantity:
            yield _extreme(material, figure)


def _extreme(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the lowest or highest accuracy, in percent, of people by sport, or of all models by sport and prompt."""
    respondents = (PEOPLE,) if figure.respondent == PEOPLE else material.models
    if not all(material.asked_everything(respondent) for respondent in respondents):
        return judge(
            figure,
            None,
            note="needs the answers of people for all sports"
            if respondents == (PEOPLE,)
            else "needs the answers of all models for all sports",
        )
    extreme = min if figure.quantity.startswith("lowest") else max
    conditions = [condition for respondent in respondents for condition in material.of(respondent)]
    by_way = []
    for way in WAYS:
        values = [(material.value(way, "accuracy", condition), condition) for condition in conditions]
        by_way.append([(100 * value, condition) for value, condition in values if value is not None])
    reproduced, standard = (extreme(values)[0] if values else None for values in by_way)
    cause = causes.run(material, extreme(by_way[0])[1]) if by_way[0] else None
    return judge(figure, reproduced, standard, cause=_misprint(material, figure, reproduced) or cause)


def _misprint(material: Material, figure: Published, value: float | None) -> str | None:
    """Return a note if another place in the paper prints a different value that agrees with the data."""
    elsewhere = [
        other for other in material.printed(*_IN_TEXT, quantity=figure.quantity) if other.where != figure.where
    ]
    agreeing = [other for other in elsewhere if value is not None and other.agrees(value)]
    return f"misprint: {agreeing[0].where} prints {agreeing[0].value}" if agreeing else None
