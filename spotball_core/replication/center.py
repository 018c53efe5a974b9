"""Check the paper's table 3: center ratio and entropy by prompt, averaged over prompts, and pooled over all sports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spotball_core.metrics.registry import METRICS
from spotball_core.metrics.strategy import center_ratio, normalized_entropy
from spotball_core.replication import causes
from spotball_core.replication.material import WAYS, Material, absent, mean, reading_order
from spotball_core.replication.published import PAPER_PROMPTS, PEOPLE, Published
from spotball_core.replication.record import ReplicatedFigure, judge

_KEYS = {"center ratio": "center_ratio", "normalized entropy": "normalized_entropy"}

FIRST_SPORT = "soccer"
"""The sport whose ground truth was used for the published ratio over all sports."""


def check(material: Material) -> Iterator[ReplicatedFigure]:
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
    respondents = (PEOPLE,) if figure.respondent == PEOPLE else material.models
    if not all(material.asked_everything(respondent) for respondent in respondents):
        return judge(
            figure,
            None,
            note="needs the answers of people for all sports"
            if respondents == (PEOPLE,)
            else "needs the answers of all models for all sports",
        )
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
