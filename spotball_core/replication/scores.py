"""Check the numbers of answers, the errors, accuracies, center ratios and entropies that the paper states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spotball_core.metrics.registry import METRICS
from spotball_core.metrics.strategy import center_ratio, normalized_entropy
from spotball_core.replication import causes
from spotball_core.replication.material import WAYS, Material, absent, mean, reading_order
from spotball_core.replication.published import PAPER_PROMPTS, PEOPLE, Published
from spotball_core.replication.record import ReplicatedFigure, judge

_IN_TEXT = ("abstract", "section 5.1")
_KEYS = {"center ratio": "center_ratio", "normalized entropy": "normalized_entropy"}

FIRST_SPORT = "soccer"
"""The sport whose ground truth was used for the published ratio over all sports."""


def check_numbers(material: Material) -> Iterator[ReplicatedFigure]:
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
    respondents, lacking = _respondents(material, figure)
    if lacking:
        return judge(figure, None, note=lacking)
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


def check_center(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the figures of table 3, by prompt in the release's files, and over all sports in section 5.1."""
    figures = (*material.printed("table 3"), *material.filed("table 3", *_KEYS))
    for figure in sorted(figures, key=lambda figure: reading_order((figure.sport, figure.respondent, figure.prompt))):
        key = _KEYS[figure.quantity]
        if figure.condition:
            reproduced, standard = (material.value(way, key, figure.condition) for way in WAYS)
            cause = causes.run(material, figure.condition)
            yield judge(figure, reproduced, standard, cause=cause, note=absent(figure))
        else:
            yield _over_prompts(material, figure, key)
    for figure in material.printed("section 5.1"):
        if figure.quantity.endswith("all sports"):
            yield _over_sports(material, figure)


def _over_prompts(material: Material, figure: Published, key: str) -> ReplicatedFigure:
    conditions = [(figure.sport or "", figure.respondent or "", prompt) for prompt in PAPER_PROMPTS]
    reproduced, standard = (mean(material.value(way, key, condition) for condition in conditions) for way in WAYS)
    note = "needs the answers to all three prompts" if reproduced is None else None
    return judge(figure, reproduced, standard, cause=causes.any_run(material, conditions), note=note)


def _over_sports(material: Material, figure: Published) -> ReplicatedFigure:
    """Check a figure for guesses pooled over sports and prompts: of people, or the highest or lowest of all models."""
    respondents, lacking = _respondents(material, figure)
    if lacking:
        return judge(figure, None, note=lacking)
    is_ratio = "center ratio" in figure.quantity
    extreme = max if figure.quantity.startswith("highest") else min
    reproduced, respondent = extreme((_published_way(material, name, is_ratio=is_ratio), name) for name in respondents)
    standard = extreme(_consistent(material, name, is_ratio=is_ratio) for name in respondents)
    cause = causes.any_run(material, material.of(respondent))
    return judge(figure, reproduced, standard, cause=cause, note=causes.SOCCER_TRUTH if is_ratio else None)


def _published_way(material: Material, respondent: str, *, is_ratio: bool) -> float:
    """Return a respondent's pooled center ratio (with soccer's truth alone) or entropy; NaN without guesses."""
    scoring = material.paper_over_sports
    group = next(group for group in scoring.groups if group.respondent == respondent)
    guesses = scoring.estimator(group).answers.mass.sum(axis=0)
    of_first = np.array([sport == FIRST_SPORT for sport in scoring.arrays.sports])
    truth = scoring.arrays.truth[of_first].sum(axis=0)
    return float(center_ratio(guesses, truth) if is_ratio else normalized_entropy(guesses))


def _consistent(material: Material, respondent: str, *, is_ratio: bool) -> float:
    """Return a respondent's pooled center ratio (with the truth of the same images) or entropy; NaN if undefined."""
    scoring = material.standard_over_sports
    group = next(group for group in scoring.groups if group.respondent == respondent)
    value = scoring.estimator(group).estimate(METRICS["center_ratio" if is_ratio else "normalized_entropy"]).value
    return np.nan if value is None else value


def _respondents(material: Material, figure: Published) -> tuple[tuple[str, ...], str | None]:
    """Return the respondents of a figure over all sports, and what is missing to reproduce it."""
    respondents = (PEOPLE,) if figure.respondent == PEOPLE else tuple(material.models)
    if all(material.asked_everything(respondent) for respondent in respondents):
        return respondents, None
    return respondents, f"needs the answers of {'people' if respondents == (PEOPLE,) else 'all models'} for all sports"
