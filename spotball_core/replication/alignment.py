"""Check the paper's figures 6 and 9: exact and one-dimensional distances between models' and people's guesses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spotball_core.metrics.alignment import wasserstein, wasserstein_1d
from spotball_core.release.tables import GRID
from spotball_core.replication import causes
from spotball_core.replication.material import WAYS, Material, Way, mean
from spotball_core.replication.published import PAPER_PROMPTS, PAPER_SPORTS, PEOPLE, Condition, Published
from spotball_core.replication.record import ReplicatedFigure, judge
from spotball_core.typing import FloatArray

UNIFORM = "uniform"

_EXACT, _IN_1D = "Wasserstein, exact (px)", "Wasserstein, 1D (px)"
_PICTURE = "the paper shows only a picture, without printed numbers"

Distances = dict[str, float | None]
"""Distances in pixels, by the name of the quantity; None if a distance cannot be computed."""


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the paper's claim about each model in figure 6, and the distances to people in figure 9."""
    for figure in material.printed("figure 6"):
        yield _over_uniform(material, figure)
    for sport in PAPER_SPORTS:
        if (sport, PEOPLE, PAPER_PROMPTS[0]) in material.conditions:
            yield from _distances(material, sport)


def _over_uniform(material: Material, figure: Published) -> ReplicatedFigure:
    """Check a model's distance to people, averaged over prompts, as a multiple of the uniform baseline's distance."""
    sport, conditions = figure.sport or "", [(figure.sport or "", figure.respondent or "", p) for p in PAPER_PROMPTS]
    ratios: list[float | None] = []
    for way in WAYS:
        distance = mean(material.value(way, "wasserstein", condition) for condition in conditions)
        uniform = _uniform(material, way, sport)[_EXACT] if distance is not None else None
        ratios.append(distance / uniform if distance is not None and uniform else None)
    reproduced, standard = ratios
    note = "needs the answers of people, and the model's answers to all three prompts" if reproduced is None else None
    return judge(figure, reproduced, standard, cause=causes.any_run(material, conditions), note=note)


def _distances(material: Material, sport: str) -> Iterator[ReplicatedFigure]:
    models = [condition for condition in material.conditions if condition[0] == sport and condition[1] != PEOPLE]
    for _, respondent, prompt in models:
        yield from _pictured(
            sport, respondent, prompt, *(_model(material, way, (sport, respondent, prompt)) for way in WAYS)
        )
    yield from _pictured(sport, UNIFORM, None, *(_uniform(material, way, sport) for way in WAYS))


def _pictured(
    sport: str, respondent: str, prompt: str | None, reproduced: Distances, standard: Distances
) -> Iterator[ReplicatedFigure]:
    for quantity in (_EXACT, _IN_1D):
        figure = Published(
            where="figure 9",
            quantity=quantity,
            value=None,
            read_from="Figure 9, a picture",
            sport=sport,
            respondent=respondent,
            prompt=prompt,
        )
        yield judge(figure, reproduced[quantity], standard[quantity], note=_PICTURE)


def _model(material: Material, way: Way, condition: Condition) -> Distances:
    """Return a model's mean distances to people over images."""
    pair = material.compared(way, condition)
    in_1d = _mean_known(wasserstein_1d(*pair, grid=GRID)) if pair else None
    return {_EXACT: material.value(way, "wasserstein", condition), _IN_1D: in_1d}


def _uniform(material: Material, way: Way, sport: str) -> Distances:
    """Return the uniform distribution's mean distances to people over the images that people answered."""
    pair = material.compared(way, (sport, PEOPLE, PAPER_PROMPTS[0]))
    if pair is None:
        return {_EXACT: None, _IN_1D: None}
    people = pair[1]
    uniform = np.ones_like(people)
    return {
        _EXACT: _mean_known(wasserstein(uniform, people, grid=GRID)),
        _IN_1D: _mean_known(wasserstein_1d(uniform, people, grid=GRID)),
    }


def _mean_known(values: FloatArray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else None
