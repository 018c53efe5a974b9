"""Collect two respondents' answers to the same images, pair them by metric, and resample them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.comparison.pairs import MetricPair, paired
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.random import generator_for
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring import sides
from spotball_core.scoring.estimates import Answers, Estimator
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.stats.bootstrap import resample_weights
from spotball_core.typing import FloatArray

_BLOCK = 2_000_000
"""Maximum number of values in memory when participants are resampled."""


@dataclass(frozen=True)
class Matched:
    """Answers of two respondents, a and b, to the same images. In arrays, a comes first.

    Attributes:
        names: the respondents' names.
        mass: counts of cells, shape (2, n_images, n_cells).
        unparsed: unparsed responses, shape (2, n_images).
        people: each respondent's answers per participant; None if participants are not counted separately.
        same_people: whether the participants of both are the same people under two prompts.
        estimators: the estimator of each respondent's metrics.
        policy: the choices that affect the numbers.
    """

    names: tuple[str, str]
    mass: FloatArray
    unparsed: FloatArray
    people: tuple[sides.People | None, sides.People | None]
    same_people: bool
    estimators: tuple[Estimator, Estimator]
    policy: ScorePolicy

    def pair(self, metric: Metric) -> MetricPair:
        """Return what each image adds to a metric, for both respondents."""
        return paired([estimator.own(metric) for estimator in self.estimators])

    def drawn(self, pairs: Mapping[str, MetricPair]) -> dict[str, FloatArray]:
        """Return both respondents' metrics in each resample of images, and of participants if counted separately.

        Args:
            pairs: metrics by key, from `pair`.

        Returns:
            Shape (2, n_resamples) for each metric; empty if the policy has no resamples.
        """
        if not self.policy.bootstrap:
            return {}
        times = resample_weights(self.mass.shape[1], self.policy.bootstrap, self.policy.seed)
        resampled = {key: pair.drawn(times) for key, pair in pairs.items()}
        for side, weights in self._participants_drawn().items():
            for key, values in self._two_way(side, weights, times, pairs).items():
                # A draw has fewer distinct people than the sample, which alone lowers an entropy or raises a distance.
                resampled[key][side] = values - (np.nanmean(values) - np.nanmean(resampled[key][side]))
        return resampled

    def _participants_drawn(self) -> dict[int, FloatArray]:
        """Return how often each participant is drawn, shape (n_resamples, n_participants), by respondent (0 or 1)."""
        ids = {side: people.ids for side, people in enumerate(self.people) if people is not None}
        everybody = tuple(sorted({person for side_ids in ids.values() for person in side_ids}))
        out = {}
        for side, side_ids in ids.items():
            # The same people under two prompts are drawn together, different people independently.
            everyone = everybody if self.same_people else side_ids
            generator = generator_for(self.policy.seed, "participants", "" if self.same_people else self.names[side])
            weights = resample_weights(len(everyone), self.policy.bootstrap, generator)
            out[side] = weights[:, [everyone.index(person) for person in side_ids]]
        return out

    def _two_way(
        self, side: int, weights: FloatArray, times: FloatArray, pairs: Mapping[str, MetricPair]
    ) -> dict[str, FloatArray]:
        """Return one respondent's metrics for weights of participants and images, shape (n_resamples,)."""
        people, estimator = self.people[side], self.estimators[side]
        assert people is not None
        out = {key: np.empty(len(times)) for key in pairs}
        block = max(1, _BLOCK // people.mass[0].size)
        for start in range(0, len(times), block):
            part = slice(start, start + block)
            mass, unparsed = np.tensordot(weights[part], people.mass, axes=1), weights[part] @ people.unparsed
            for key, pair in pairs.items():
                statistic = estimator.statistic(METRICS[key], mass, unparsed, draws=1)
                out[key][part] = statistic.combine(np.einsum("ri,rik->rk", times[part] * pair.enters, statistic.sums))
        return out


def matched(scoring: Scoring, groups: Mapping[str, Sequence[Group]], scenes: Sequence[int]) -> Matched:
    """Return two respondents' answers to the given scenes.

    Args:
        scoring: the scored groups.
        groups: the groups of each respondent, by name; a comes first.
        scenes: indices of the scenes.
    """
    import polars as pl

    policy = scoring.policy
    reference = scoring.reference_mass(scenes)
    compared = np.array([scene in scoring.reference for scene in scenes], dtype=bool)
    estimators, people = [], []
    for own_groups in groups.values():
        numbers = [group.number for group in own_groups]
        rows = scoring.table.filter(pl.col("_group").is_in(numbers) & pl.col("_scene").is_in(scenes))
        mass, unparsed = sides.answers(scoring, rows, scenes)
        answers = Answers(
            mass=mass,
            unparsed=unparsed,
            reference=reference,
            is_reference=policy.reference is not None and own_groups[0].respondent == policy.reference,
            compared=compared,
            people=None,
        )
        no_intervals = policy.model_copy(update={"bootstrap": 0})
        indices = np.asarray(scenes, dtype=int)
        estimators.append(Estimator(scoring.arrays, indices, answers, no_intervals, scoring.noise))
        people.append(sides.people(scoring, rows, scenes))
    mass = np.stack([estimator.answers.mass for estimator in estimators])
    name_a, name_b = groups
    first, second = (own_groups[0].respondent for own_groups in groups.values())
    return Matched(
        names=(name_a, name_b),
        mass=mass,
        unparsed=np.stack([estimator.answers.unparsed for estimator in estimators]),
        people=(people[0], people[1]),
        same_people=first == second,
        estimators=(estimators[0], estimators[1]),
        policy=policy,
    )
