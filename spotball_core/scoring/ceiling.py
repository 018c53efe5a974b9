"""Compute the noise ceiling: how close a respondent can get to people, given the differences between people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.alignment import wasserstein
from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.metric import Unit
from spotball_core.metrics.registry import METRICS
from spotball_core.metrics.sampling import COLUMNS, distance_at_any_size, distance_sums
from spotball_core.random import generator_for
from spotball_core.schema.report import Ceiling, CeilingReport, MetricValue
from spotball_core.scoring import sides
from spotball_core.scoring.estimates import SceneArrays
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.stats.bootstrap import bootstrap_interval, resample_weights
from spotball_core.typing import BoolArray, FloatArray, IntArray

SPLITS = 100
"""Default number of splits into halves: on 50 images, another hundred splits change the mean by about 0.2 px."""

DRAWS = 20
"""Number of random draws from the reference's distribution, for the sampling floor."""


@dataclass(frozen=True, slots=True)
class CeilingPart:
    """One sport's noise ceiling before the groups' scores are known.

    Attributes:
        ceiling: the record, without scores.
        scenes: indices of its scenes.
        uniform: what each image adds to the matched distance of uniform guessing, shape (n_images, 7).
    """

    ceiling: Ceiling
    scenes: list[int]
    uniform: FloatArray


def noise_ceiling(scoring: Scoring, *, splits: int = SPLITS, seed: int = 0) -> CeilingReport:
    """Return the noise ceiling of each sport whose reference responses name their participants.

    The splits require `splits` transport problems per image, and each group requires 20 per image. 100 splits of 50
    images take about a second.

    Args:
        scoring: the scored groups, with a reference and with participants (`load_counts(..., participants=True)`). Its
            policy sets the number of resamples for the intervals.
        splits: number of random splits of the participants into two halves. If their number is odd, each split omits
            one participant.
        seed: seed of the splits, the draws and the intervals.

    Returns:
        One ceiling per sport. If no sport's reference has two named participants, a warning and no ceiling.

    Raises:
        OptionError: without a reference, or if splits is below 1.
    """
    parts = start_noise_ceiling(scoring, splits=splits, seed=seed)
    ceilings = finish_noise_ceiling(scoring, parts, {}, seed=seed)
    warning = (
        f"there is no noise ceiling, because the answers of {scoring.policy.reference} have fewer than two "
        "participants. Add a column `participant` to the responses"
    )
    return CeilingReport(
        signature=_signature(scoring, splits, seed),
        policy=scoring.policy,
        warnings=() if ceilings else (warning,),
        ceilings=ceilings,
    )


def _signature(scoring: Scoring, splits: int, seed: int) -> str:
    return f"{scoring.signature()}|splits:{splits}|splits-seed:{seed}"


def start_noise_ceiling(
    scoring: Scoring, *, splits: int = SPLITS, seed: int = 0, workers: Workers = THIS_PROCESS
) -> Iterator[CeilingPart]:
    """Start `noise_ceiling` in worker processes, and return an iterator that waits for each result."""
    if splits < 1:
        raise OptionError(f"found {splits}, expected at least 1", field="splits")
    if scoring.policy.reference is None:
        raise OptionError(
            "a noise ceiling needs a reference respondent. Give one, such as human", code="missing-option"
        )
    scored = {scene for group in scoring.groups for scene in scoring.images(group)} & scoring.reference
    sports = dict.fromkeys(scoring.arrays.sports[scene] for scene in sorted(scored))
    parts = workers.map_with(_ceiling, (scoring, sorted(scored), splits, seed), list(sports))
    return (part for part in parts if part is not None)


def finish_noise_ceiling(
    scoring: Scoring, parts: Iterable[CeilingPart], sums: Mapping[int, FloatArray | None], *, seed: int
) -> tuple[Ceiling, ...]:
    """Return the noise ceilings with the groups' scores.

    Args:
        scoring: the scored groups.
        parts: the result of `start_noise_ceiling`.
        sums: what each image of a group adds to `wasserstein_matched` (`Draws.sums`), by the group's number. Sums that
            are missing or None are computed.
        seed: seed of the intervals.
    """
    ceilings = []
    for part in parts:
        scores = {}
        for group in scoring.groups:
            if group.name not in part.ceiling.sampling_floor or group.respondent == part.ceiling.reference:
                continue
            images = scoring.images(group)
            rows = {scene: row for row, scene in enumerate(images)}
            shared = [(rows[scene], place) for place, scene in enumerate(part.scenes) if scene in rows]
            if shared:
                of_group, of_uniform = np.array(shared).T
                known = sums.get(group.number)
                group_sums = _matched_sums(scoring, group) if known is None else known
                scores[group.name] = _score(
                    group_sums[of_group], part.uniform[of_uniform], scoring.policy.bootstrap, seed
                )
        ceilings.append(part.ceiling.model_copy(update={"score": scores}))
    return tuple(ceilings)


def _matched_sums(scoring: Scoring, group: Group) -> FloatArray:
    estimator = scoring.estimator(group)
    answers = estimator.answers
    return estimator.statistic(METRICS["wasserstein_matched"], answers.mass, answers.unparsed).sums


def _ceiling(given: tuple[Scoring, list[int], int, int], sport: str) -> CeilingPart | None:
    import polars as pl

    scoring, scored, splits, seed = given
    arrays, reference = scoring.arrays, str(scoring.policy.reference)
    scenes = [scene for scene in scored if arrays.sports[scene] == sport]
    rows = scoring.table.filter((pl.col("respondent") == reference) & pl.col("_scene").is_in(scenes))
    people = sides.people(scoring, rows, scenes)
    if people is None:
        return None
    crowd = _Crowd(arrays, scenes, people, scoring.policy.wasserstein_unit, seed)
    halves = crowd.split_half(splits)
    uniform = crowd.distances(np.ones((1, *crowd.mass.shape)))[0]
    floors = {}
    for group in scoring.groups:
        if group.respondent == reference:
            continue
        answers, group_scenes = np.zeros_like(crowd.mass), set(scoring.images(group))
        columns = [place for place, scene in enumerate(scenes) if scene in group_scenes]
        if columns:
            answers[columns] = scoring.estimator(group, [scenes[place] for place in columns]).answers.mass
        usable = answers.any(axis=-1) & np.isfinite(halves)
        if not usable.any():
            continue
        floors[group.name] = float(crowd.sampling_floor(answers)[usable].mean())

    def estimate(values: FloatArray, weights: FloatArray) -> MetricValue:
        return _mean(values, weights, scoring.policy.bootstrap, seed)

    leave_one_out, hits, answered = crowd.accuracies(arrays.truth[scenes])
    ceiling = Ceiling(
        sport=sport,
        reference=reference,
        n_participants=len(people.ids),
        n_images=len(scenes),
        splits=splits,
        split_half=estimate(halves, np.ones(len(scenes))),
        leave_one_out_accuracy=estimate(leave_one_out, np.ones(len(scenes))),
        participant_accuracy=estimate(ratio(hits, answered), answered),
        uniform=float(uniform.mean()),
        sampling_floor=floors,
        score={},
        signature=_signature(scoring, splits, seed),
    )
    return CeilingPart(ceiling, scenes, uniform_sums(crowd.mass, crowd.grids, crowd.grid_of, crowd.unit, seed))


def uniform_sums(reference: FloatArray, grids: Sequence[Grid], grid_of: IntArray, unit: Unit, seed: int) -> FloatArray:
    """Return what each image adds to the matched distance of uniform guessing to the reference.

    Args:
        reference: the reference's counts, shape (n_images, n_cells).
        grids: the grids of images.
        grid_of: the index of each image's grid in `grids`, shape (n_images,).
        unit: unit of the distance.
        seed: seed of the random draws.

    Returns:
        Shape (n_images, 7); 0 for an image without enough answers of the reference.
    """
    out = np.zeros((len(reference), COLUMNS))
    for number in np.unique(grid_of):

        def distance(p: FloatArray, q: FloatArray, grid: Grid = grids[number]) -> FloatArray:
            return wasserstein(p, q, unit=unit, grid=grid)

        images = np.flatnonzero(grid_of == number)
        uniform = np.full(reference[images].shape, 1 / reference.shape[-1])
        out[images] = distance_sums(distance, uniform, reference[images], seed=seed)
    return out


def _score(group_sums: FloatArray, uniform: FloatArray, resamples: int, seed: int) -> MetricValue:
    """Return a group's score from 0 (uniform guessing) to 1 (answers like people).

    Args:
        group_sums: what each image adds to the group's matched distance, shape (n_images, 7).
        uniform: what each image adds to the matched distance of uniform guessing, shape (n_images, 7).
        resamples: number of resamples of images for the interval.
        seed: seed of the resamples.
    """
    enters = (group_sums[:, -1] > 0) & (uniform[:, -1] > 0)
    if not enters.any():
        return MetricValue(value=None, reason="too few responses per image for matching")
    sums = np.concatenate([group_sums, uniform], axis=-1)[enters]

    def combine(added: FloatArray) -> FloatArray:
        group, even = (distance_at_any_size(part) for part in np.split(added, 2, axis=-1))
        return 1 - np.asarray(ratio(group, even))

    total = sums.sum(axis=0)
    value = float(combine(total))
    drawn = combine(resample_weights(len(sums), resamples, seed) @ sums) if resamples else None
    return MetricValue(
        value=value,
        ci95=None if drawn is None else bootstrap_interval(value, drawn, combine(total - sums)),
        n_images=len(sums),
    )


class _Crowd:
    """Answers of all participants to the images of one sport.

    Attributes:
        mass: sum over participants, shape (n_images, n_cells).
    """

    def __init__(self, arrays: SceneArrays, scenes: list[int], people: sides.People, unit: Unit, seed: int) -> None:
        self.keys = [arrays.keys[scene] for scene in scenes]
        self.grids, self.grid_of = arrays.grids, arrays.grid_of[scenes]
        self.people, self.unit, self.seed = people, unit, seed
        self.mass: FloatArray = people.mass.sum(axis=0)

    def distances(self, first: FloatArray, second: FloatArray | None = None) -> FloatArray:
        """Return Wasserstein distances, shape (n, n_images), from `first` to `second` (default: all answers)."""
        second = np.broadcast_to(self.mass, first.shape) if second is None else second
        out = np.empty(first.shape[:-1])
        for number in np.unique(self.grid_of):
            images = np.flatnonzero(self.grid_of == number)
            out[:, images] = wasserstein(first[:, images], second[:, images], unit=self.unit, grid=self.grids[number])
        return out

    def split_half(self, splits: int) -> FloatArray:
        """Return each image's mean distance between random halves of participants.

        It is NaN if no split has answers to the image in both halves.
        """
        n = len(self.people.ids)
        generator = generator_for(self.seed, "halves", self.keys[0][0])
        order = generator.permuted(np.tile(np.arange(n), (splits, 1)), axis=1)
        first = (order[:, :, None] == np.arange(n))[:, : n // 2].any(axis=1)
        second = (order[:, :, None] == np.arange(n))[:, n // 2 : n // 2 * 2].any(axis=1)
        values = self.distances(
            *(np.tensordot(half.astype(float), self.people.mass, axes=1) for half in (first, second))
        )
        known = np.isfinite(values)
        return ratio(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0))

    def sampling_floor(self, answers: FloatArray) -> FloatArray:
        """Return each image's expected distance for answers sampled from people's answers, shape (n_images,).

        For each image, as many answers are sampled as `answers` contains.
        """
        drawn = np.stack([self._drawn(place, mass) for place, mass in enumerate(answers)], axis=1)
        floors = self.distances(drawn).mean(axis=0)
        # Probabilities without a number of answers are not sampled: their floor is 0.
        return np.where((answers == np.floor(answers)).all(axis=-1), floors, 0.0)

    def _drawn(self, place: int, mass: FloatArray) -> FloatArray:
        """Draw as many answers as `mass` contains from people's answers to an image, shape (DRAWS, n_cells)."""
        n = int(mass.sum())
        generator = generator_for(self.seed, "floor", *self.keys[place], str(n))
        shares = self.mass[place] / self.mass[place].sum()
        return generator.multinomial(n, shares, size=DRAWS).astype(float)

    def accuracies(self, truth: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return each image's leave-one-out accuracy (NaN without truth), and people's numbers of hits and answers."""
        others = self.mass - self.people.mass
        modes = (others == others.max(axis=-1, keepdims=True)) & (others > 0)
        hit = ratio((modes & truth).sum(axis=-1), modes.sum(axis=-1))
        known = truth.any(axis=-1)
        answered = np.where(known, self.mass.sum(axis=-1) + self.people.unparsed.sum(axis=0), 0.0)
        return np.where(known, hit.mean(axis=0), np.nan), (self.mass * truth).sum(axis=-1), answered


def _mean(values: FloatArray, weights: FloatArray, resamples: int, seed: int) -> MetricValue:
    """Return the weighted mean over images that have a value, with an interval from a bootstrap over images."""
    known = np.isfinite(values) & (weights > 0)
    if not known.any():
        return MetricValue(value=None, reason="too few responses, or no ground truth")
    sums = np.stack([np.where(known, weights * np.where(known, values, 0.0), 0.0), np.where(known, weights, 0.0)], -1)
    total = sums.sum(axis=0)
    drawn = resample_weights(len(values), resamples, seed) @ sums if resamples else None
    value, rest = float(total[0] / total[1]), (total - sums)[known]
    return MetricValue(
        value=value,
        ci95=None
        if drawn is None
        else bootstrap_interval(value, ratio(drawn[:, 0], drawn[:, 1]), np.atleast_1d(ratio(rest[:, 0], rest[:, 1]))),
        n_images=int(known.sum()),
    )
