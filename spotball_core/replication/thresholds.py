"""Check the paper's figure 10 and section 8.2: the fit of tau and theta, and the guesses' distances to players."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spotball_core.cues.thresholds import threshold_surface
from spotball_core.metrics.inputs import ratio
from spotball_core.release.tables import GRID
from spotball_core.replication import causes
from spotball_core.replication.material import Material
from spotball_core.replication.published import PEOPLE, Published
from spotball_core.replication.record import ReplicatedFigure, judge
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import FloatArray

_POLICY = ScorePolicy.paper()


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the maximum of the objective, its value at the published thresholds, and the medians of section 8.2."""
    reproduced, standard = (_fit(scoring) for scoring in (material.paper, material.standard))
    for figure in material.printed("figure 10"):
        values = [fit[figure.quantity] if fit else None for fit in (reproduced, standard)]
        note = (
            "computed from the available answers only, because some answers of the release are missing"
            if reproduced and not _is_whole(material)
            else None
        )
        yield judge(figure, *values, cause=causes.NO_FIT, note=note)
    for figure in material.printed("section 8.2"):
        yield _median(material, figure)


def _fit(scoring: Scoring) -> dict[str, float] | None:
    """Return the best tau and theta, and the relative objective at the published thresholds; None without answers."""
    answers = (scoring.estimator(group) for group in scoring.groups)
    if not any(estimator.answers.mass[scoring.arrays.has_players[estimator.scenes]].any() for estimator in answers):
        return None
    surface = threshold_surface(scoring)
    tau, theta = surface.best
    published = np.ix_(np.isclose(surface.taus, _POLICY.tau), np.isclose(surface.thetas, _POLICY.theta))
    return {
        "tau at the maximum": tau,
        "theta at the maximum": theta,
        "objective at tau 0.08 and theta 0.02, divided by its maximum": float(
            ratio(surface.objective[published].max(), surface.objective.max())
        ),
    }


def _median(material: Material, figure: Published) -> ReplicatedFigure:
    if not _is_whole(material):
        return judge(figure, None, note="needs the answers of all respondents to all prompts for all sports")
    joined = [join for condition in material.conditions if (join := material.joined(condition))]
    is_distance = figure.quantity.startswith("median distance")
    values = [join.distances / GRID.diagonal if is_distance else join.shares for join in joined]
    mass = np.concatenate([join.mass.ravel() for join in joined])
    return judge(figure, _weighted_median(np.concatenate([value.ravel() for value in values]), mass))


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """Return the lowest value such that it and the smaller values have at least half of the total weight."""
    order = np.argsort(values, kind="stable")
    total = weights[order].cumsum()
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _is_whole(material: Material) -> bool:
    return all(material.asked_everything(respondent) for respondent in (PEOPLE, *material.models))
