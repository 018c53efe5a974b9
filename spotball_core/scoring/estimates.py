"""Estimate one group's metrics with bootstrap intervals, and state why a value is missing.

`Metric.aggregate` defines what each image adds to a metric. A resample of images only changes how often an image's
numbers enter the sum, so one matrix product gives all resamples.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics import sampling, strategy
from spotball_core.metrics.inputs import AnyArray, Players
from spotball_core.metrics.metric import Metric, MetricInput, MetricOptions, Statistic
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import MetricValue
from spotball_core.schema.scene import Scene
from spotball_core.service.parallel import processors
from spotball_core.stats.bootstrap import (
    MOST_WEIGHTS,
    SmallIntArray,
    bootstrap_interval,
    small_weight_blocks,
    standard_error,
    weight_blocks,
)
from spotball_core.typing import BoolArray, FloatArray, IntArray

_BLOCK = 2_000_000
"""Approximate maximum number of values in memory in a step that is divided into blocks."""

IMAGES_AT_ONCE = 500
"""Number of images whose metrics are computed at a time. The draws of the images from the 501st on depend on it."""

_SUMMED_AT_ONCE, _AT_ONCE = 4096, 500
"""Number of images whose sums are resampled at a time, and number of resamples that are converted to values."""


class SceneArrays:
    """Scenes as arrays with the scene on the first axis, in the order given."""

    def __init__(self, scenes: Sequence[Scene], *, tau: float, theta: float) -> None:
        self.scenes: tuple[Scene, ...] = tuple(scenes)
        self.keys: list[tuple[str, str]] = [scene.key for scene in scenes]
        self.sports: list[str] = [scene.sport for scene in scenes]
        self.control: BoolArray = np.array([scene.control for scene in scenes], dtype=bool)
        self.truth: BoolArray = np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in scenes])
        self.has_truth: BoolArray = np.asarray(self.truth.any(axis=-1))
        self.grids: list[Grid] = list(dict.fromkeys(scene.layout for scene in scenes))
        self.grid_of: IntArray = np.array([self.grids.index(scene.layout) for scene in scenes])
        self.has_players: BoolArray = np.array([bool(scene.players) for scene in scenes], dtype=bool)
        self._tau, self._theta = tau, theta

    @cached_property
    def near(self) -> BoolArray:
        """Which cells are near a player, shape (n_scenes, n_cells)."""
        return self._masks(lambda players, grid: strategy.near_player_mask(players, grid, tau=self._tau)[0])

    @cached_property
    def overlap(self) -> BoolArray:
        """Which cells overlap a player, shape (n_scenes, n_cells)."""
        return self._masks(lambda players, grid: strategy.overlap_mask(players, grid, theta=self._theta)[0])

    def _masks(self, mask: Callable[[Players, Grid], BoolArray]) -> BoolArray:
        """Return a mask of each scene's cells. Scenes without outlines are computed together."""
        masks = np.zeros_like(self.truth)
        alike: dict[tuple[int, int], list[int]] = {}
        for place, scene in enumerate(self.scenes):
            if any(scene.player_outlines or ()):
                masks[place] = mask(scene, scene.layout)
            elif scene.players:
                alike.setdefault((int(self.grid_of[place]), len(scene.players)), []).append(place)
        for (grid, n_players), places in alike.items():
            size = max(1, _BLOCK // (n_players * masks.shape[-1]))
            for start in range(0, len(places), size):
                some = places[start : start + size]
                masks[some] = mask(np.stack([self.scenes[place].boxes for place in some]), self.grids[grid])
        return masks

    @property
    def grid_name(self) -> str:
        """Return the name of the grid to use in signatures; its size is "mixed" if images differ."""
        if len(self.grids) == 1:
            return str(self.grids[0])
        return f"{self.grids[0].rows}x{self.grids[0].cols}@mixed"

    def digest(self) -> str:
        """Return the SHA-256 of all scene data that scoring uses, independent of the scenes' order."""
        return self._digests[0]

    def digest_of(self, places: Iterable[int]) -> str:
        """Return the SHA-256 of the data of the scenes at these indices, independent of their order."""
        of_scenes = self._digests[1]
        return hashlib.sha256("\n".join(sorted(of_scenes[place] for place in places)).encode()).hexdigest()

    @cached_property
    def _digests(self) -> tuple[str, list[str]]:
        """Compute one SHA-256 of all scenes, and one of each scene."""
        texts = [scene.model_dump_json(exclude={"path", "player_keypoints"}) for scene in self.scenes]
        digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()
        return digest, [hashlib.sha256(text.encode()).hexdigest() for text in texts]


@dataclass(frozen=True)
class Answers:
    """One group's counts on the images it is scored on.

    Attributes:
        mass: counts of cells, shape (n_images, n_cells).
        unparsed: unparsed responses, shape (n_images,).
        reference: the reference's counts on the same images; None without a reference.
        is_reference: whether the group is the reference or a part of it.
        compared: which images the reference answered, shape (n_images,).
        people: mass and unparsed answers per participant (on an additional first axis); None to resample images.
    """

    mass: FloatArray
    unparsed: FloatArray
    reference: FloatArray | None
    is_reference: bool
    compared: BoolArray
    people: tuple[FloatArray, FloatArray] | None


@dataclass(frozen=True, slots=True)
class Draws:
    """A metric's value in each bootstrap resample and with each unit omitted, and what each image adds to it.

    Groups with the same number of units are resampled identically. If two groups have the same images, the difference
    between their values in a resample is therefore a resampled difference.

    Attributes:
        resampled: value in each resample, shape (n_resamples,).
        left_out: value with each unit omitted in turn, shape (n_units,).
        sums: what each image adds to the metric (`Statistic.sums`), shape (n_images, k); None for a mean over sports.
    """

    resampled: FloatArray
    left_out: FloatArray
    sums: FloatArray | None = None


class Estimator:
    """Estimate all metrics of one group."""

    def __init__(
        self,
        arrays: SceneArrays,
        scenes: IntArray,
        answers: Answers,
        policy: ScorePolicy,
        noise: dict[object, FloatArray] | None = None,
        own: Mapping[str, Statistic | OptionError] | None = None,
    ) -> None:
        self.arrays: SceneArrays = arrays
        self.scenes: IntArray = scenes
        self.answers: Answers = answers
        self.policy: ScorePolicy = policy
        self.truth: BoolArray = arrays.truth[scenes]
        self._noise = noise
        self._own: dict[str, Statistic | OptionError] = dict(own or {})

    def estimate(self, metric: Metric) -> MetricValue:
        """Return the metric's value, or the reason why it has no value."""
        return self.estimates([metric])[metric.key]

    def estimates(self, metrics: Iterable[Metric]) -> dict[str, MetricValue]:
        """Return several metrics' values by key. Resampling several takes little more time than resampling one."""
        return self.estimates_with_draws(metrics)[0]

    def estimates_with_draws(self, metrics: Iterable[Metric]) -> tuple[dict[str, MetricValue], dict[str, Draws]]:
        """Return several metrics' values by key, and the resamples behind the intervals of those with a value."""
        values_by_key: dict[str, MetricValue] = {}
        statistics: dict[str, Statistic] = {}
        by_key = {metric.key: metric for metric in metrics}
        for key, metric in by_key.items():
            if reason := self._undefined(metric):
                values_by_key[key] = MetricValue(value=None, reason=reason)
        defined = self.defined(by_key.values())
        if new := [metric for metric in defined if metric.key not in self._own]:
            self._own |= self._statistics(new, self.answers.mass, self.answers.unparsed)
        for metric in defined:
            key, statistic = metric.key, self._own[metric.key]
            if isinstance(statistic, OptionError):
                values_by_key[key] = MetricValue(value=None, reason=str(statistic))
                continue
            statistics[key] = statistic
            if not np.isfinite(statistic.total()):
                del statistics[key]
                values_by_key[key] = MetricValue(value=None, reason=self._no_value(metric))
        resampled = self._resampled({key: by_key[key] for key in statistics}, statistics)
        without = self._without({key: by_key[key] for key in statistics}, statistics) if self.policy.bootstrap else {}
        for key, statistic in statistics.items():
            n_images = int(statistic.enters.sum())
            values_by_key[key] = MetricValue(
                value=float(statistic.total()),
                sd=statistic.sd if by_key[key].over == "images" else None,
                se=standard_error(resampled[key]) if by_key[key].is_matched else None,
                ci95=bootstrap_interval(
                    float(statistic.total()),
                    resampled[key],
                    without.get(key, ()),
                    bounds=(by_key[key].lowest, by_key[key].highest),
                ),
                n_images=n_images if n_images != len(self.scenes) else None,
                reference=self.policy.reference if "reference" in by_key[key].needs else None,
                **self._samples(by_key[key]),
                reason=self._why_fewer(by_key[key], statistic.enters),
            )
        draws = {
            key: Draws(resampled[key], np.atleast_1d(values), statistics[key].sums) for key, values in without.items()
        }
        return {key: values_by_key[key] for key in by_key}, draws

    def samples(self) -> float:
        """Return the median number of parsed responses per image."""
        return float(np.median(self.answers.mass.sum(axis=-1)))

    def _samples(self, metric: Metric) -> dict[str, float]:
        """Return the median number of responses per image of the group (`samples`) and, if the metric uses it, of the
        reference (`reference_samples`); empty if the metric does not depend on these numbers.
        """
        if not metric.by_size:
            return {}
        sizes = {"samples": self.samples()}
        if "reference" in metric.needs and self.answers.reference is not None:
            sizes["reference_samples"] = float(np.median(self.answers.reference[self.answers.compared].sum(axis=-1)))
        return sizes

    # What is defined -----------------------------------------------------------------------------------------

    def defined(self, metrics: Iterable[Metric]) -> list[Metric]:
        """Return the metrics whose requirements are met."""
        return [metric for metric in metrics if not self._undefined(metric)]

    def _undefined(self, metric: Metric) -> str | None:
        if not len(self.scenes):
            return "no shared images" if self.policy.images == "shared" else "no images"
        if "reference" in metric.needs:
            if self.answers.reference is None:
                return "no reference"
            if self.answers.is_reference:
                return "is the reference"
            if not self.answers.compared.any():
                return "the reference answered none of the images"
        if "players" in metric.needs and not self.arrays.has_players[self.scenes].any():
            return "no player boxes"
        if "truth" in metric.needs and not self.truth.any():
            return "no ground truth"
        return None

    def _no_value(self, metric: Metric) -> str:
        """Return the reason why a metric is undefined although its requirements are met."""
        if not metric.is_matched or not self.answers.mass.any():
            return metric.no_value
        of_reference = (
            f", and at least {sampling.LEAST_REFERENCE} from the reference" if "reference" in metric.needs else ""
        )
        return f"matching needs at least {metric.least_responses} responses per image{of_reference}"

    def _used(self, metric: Metric) -> BoolArray:
        """Return which images the policy includes in the metric."""
        used = np.ones(len(self.scenes), dtype=bool)
        if self.policy.controls == "paper" and not metric.published_with_controls:
            used &= ~self.arrays.control[self.scenes]
            if self.policy.reference is not None:
                used &= self.answers.compared
        return used

    def _why_fewer(self, metric: Metric, enters: BoolArray) -> str | None:
        """Return why the value uses fewer images than the group has. Each image counts for one reason only."""
        narrowed = not self._used(metric).all()
        compares = self.answers.reference is not None and (narrowed or "reference" in metric.needs)
        causes = [
            ("players" in metric.needs, ~self.arrays.has_players[self.scenes], "without player boxes"),
            ("truth" in metric.needs, ~self.arrays.has_truth[self.scenes], "without ground truth"),
            (narrowed, self.arrays.control[self.scenes], "with a visible ball"),
            (compares, ~self.answers.compared, "that the reference did not answer"),
            (metric.is_matched, self.answers.mass.any(axis=-1), "with too few responses for matching"),
            (True, np.ones(len(enters), dtype=bool), "without parsed responses"),
        ]
        reasons, left = [], ~enters
        for applies, has, what in causes:
            if applies and (n := int((left & has).sum())):
                reasons.append(f"{n} image{'s' if n > 1 else ''} {what} {'are' if n > 1 else 'is'} excluded")
                left = left & ~has
        return "; ".join(reasons) or None

    # From images to one number -------------------------------------------------------------------------------

    def own(self, metric: Metric) -> Statistic:
        """Return the metric's statistic for the group's own answers; see `statistic`."""
        if metric.key not in self._own:
            self._own |= self._statistics([metric], self.answers.mass, self.answers.unparsed)
        return _checked(self._own[metric.key])

    def statistic(
        self, metric: Metric, mass: FloatArray, unparsed: FloatArray, *, draws: int = sampling.DRAWS
    ) -> Statistic:
        """Return the metric's statistic for answers to this group's images, in the form that resampling needs.

        Args:
            metric: the metric.
            mass: shape (..., n_images, n_cells).
            unparsed: shape (..., n_images).
            draws: number of random splits of the answers into halves that a matched metric draws.

        Raises:
            OptionError: if the policy's choices leave the metric undefined for these images.
        """
        return _checked(self._statistics([metric], mass, unparsed, draws=draws)[metric.key])

    def _statistics(
        self, metrics: Sequence[Metric], mass: FloatArray, unparsed: FloatArray, *, draws: int = sampling.DRAWS
    ) -> dict[str, Statistic | OptionError]:
        """Return `statistic` of several metrics by key, or the errors. Threads share the blocks of images."""
        work = partial(statistics_of, metrics, noise=self._noise)
        first, *others = self.blocks(metrics, mass, unparsed, draws=draws)
        # The first block fills caches and loads libraries, which several threads must not do at the same time.
        done = [work(first)]
        if others:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(processors()) as pool:
                done += pool.map(work, others)
        return self.joined(metrics, done)

    def blocks(
        self, metrics: Sequence[Metric], mass: FloatArray, unparsed: FloatArray, *, draws: int = sampling.DRAWS
    ) -> Iterator[MetricInput]:
        """Yield the input of each block of images; the arguments are those of `statistic`.

        Random draws depend on the seed and the number of the block.
        """
        data = self._input(metrics, mass, unparsed, draws)
        for number, start in enumerate(range(0, max(len(self.scenes), 1), IMAGES_AT_ONCE)):
            images = np.arange(start, min(start + IMAGES_AT_ONCE, len(self.scenes)))
            boxes = partial(_boxes_of, [self.arrays.scenes[int(scene)] for scene in self.scenes[images]])
            options = replace(data.options, seed=(self.policy.seed, number))
            yield replace(data.at(images), boxes=boxes, options=options)

    def joined(
        self, metrics: Sequence[Metric], blocks: Iterable[Mapping[str, Statistic | OptionError]]
    ) -> dict[str, Statistic | OptionError]:
        """Return the statistics of all images by key, or the errors, given those of each block."""
        parts: dict[str, list[Statistic]] = {metric.key: [] for metric in metrics}
        errors: dict[str, OptionError] = {}
        for block in blocks:
            for key, part in block.items():
                if isinstance(part, OptionError):
                    errors.setdefault(key, part)
                else:
                    parts[key].append(part)
        return {
            metric.key: errors.get(metric.key) or Statistic.joined(parts[metric.key]).only(self._used(metric))
            for metric in metrics
        }

    def _input(self, metrics: Iterable[Metric], mass: FloatArray, unparsed: FloatArray, draws: int) -> MetricInput:
        """Return the input of metrics, with zeros instead of data that none of the metrics need."""
        arrays, scenes, answers, policy = self.arrays, self.scenes, self.answers, self.policy
        used, grid_of = np.unique(arrays.grid_of[scenes], return_inverse=True)
        needs_players = any("players" in metric.needs for metric in metrics)
        nowhere = np.zeros_like(self.truth)
        return MetricInput(
            mass=mass,
            unparsed=unparsed,
            truth=self.truth,
            reference=np.zeros(self.truth.shape) if answers.reference is None else answers.reference,
            near=arrays.near[scenes] if needs_players else nowhere,
            overlap=arrays.overlap[scenes] if needs_players else nowhere,
            has_players=arrays.has_players[scenes],
            boxes=list,
            grids=tuple(arrays.grids[int(number)] for number in used),
            grid_of=grid_of,
            prior=self._prior(),
            options=MetricOptions(
                tau=policy.tau,
                theta=policy.theta,
                window=policy.window,
                wasserstein_unit=policy.wasserstein_unit,
                top_k=policy.top_k,
                log_smoothing=policy.log_smoothing,
                seed=policy.seed,
                draws=draws,
            ),
        )

    def _prior(self) -> FloatArray | None:
        """Return the ground truth of all images of the group's sports, if the policy compares with all images."""
        if self.policy.prior == "scored":
            return None
        sports = {self.arrays.sports[scene] for scene in self.scenes}
        of_sports = np.array([sport in sports for sport in self.arrays.sports])
        prior: FloatArray = self.arrays.truth[of_sports].sum(axis=0).astype(float)
        return prior

    # Intervals -----------------------------------------------------------------------------------------------

    def _resampled(self, metrics: dict[str, Metric], statistics: dict[str, Statistic]) -> dict[str, FloatArray]:
        """Return each metric's value in each resample, shape (n_resamples,), computed in blocks to limit memory."""
        values: dict[str, list[FloatArray]] = {key: [np.empty(0)] for key in statistics}
        if not statistics:
            return {}
        if self.answers.people is None:
            n, policy = len(self.scenes), self.policy
            images_sums = {key: statistic.sums for key, statistic in statistics.items()}
            for times in small_weight_blocks(n, policy.bootstrap, policy.seed, block=max(1, MOST_WEIGHTS // n)):
                for key, sums in _weighted(images_sums, times).items():
                    parts = np.split(sums, range(_AT_ONCE, len(sums), _AT_ONCE))
                    values[key] += [statistics[key].combine(part) for part in parts]
        else:
            mass, unparsed = self.answers.people
            for weights in self._weights(len(mass), mass[0].size):
                drawn, blanks = np.tensordot(weights, mass, axes=1), weights @ unparsed
                for key, metric in metrics.items():
                    values[key].append(self.statistic(metric, drawn, blanks, draws=1).total())
        return {key: np.concatenate(parts) for key, parts in values.items()}

    def _without(self, metrics: dict[str, Metric], statistics: dict[str, Statistic]) -> dict[str, FloatArray]:
        """Return each metric's value with each of the bootstrap's units omitted in turn, shape (n_units,)."""
        if self.answers.people is None:
            return {key: statistic.leave_one_out() for key, statistic in statistics.items()}
        mass, unparsed = self.answers.people
        rest, blanks = mass.sum(axis=0) - mass, unparsed.sum(axis=0) - unparsed
        return {key: self.statistic(metric, rest, blanks, draws=1).total() for key, metric in metrics.items()}

    def _weights(self, n: int, width: int) -> Iterator[FloatArray]:
        """Yield the weights of the policy's resamples of n units, in blocks.

        Args:
            n: number of units.
            width: number of values that the caller computes per resample. A larger width gives smaller blocks.
        """
        return weight_blocks(n, self.policy.bootstrap, self.policy.seed, block=max(1, _BLOCK // width))


def statistics_of(
    metrics: Iterable[Metric], block: MetricInput, *, noise: dict[object, FloatArray] | None = None
) -> dict[str, Statistic | OptionError]:
    """Return the statistics of one block of images by key, or the errors. Metrics share their random draws."""
    block = replace(block, shared=sampling.SharedDraws(noise=noise))
    statistics: dict[str, Statistic | OptionError] = {}
    for metric in metrics:
        try:
            statistics[metric.key] = metric.aggregate.statistic(block).compact()
        except OptionError as error:
            statistics[metric.key] = error
    return statistics


def _boxes_of(scenes: Iterable[Scene]) -> list[FloatArray]:
    return [scene.boxes for scene in scenes]


def _checked(statistic: Statistic | OptionError) -> Statistic:
    if isinstance(statistic, OptionError):
        raise statistic
    return statistic


def _weighted(sums: Mapping[str, AnyArray], weights: SmallIntArray) -> dict[str, FloatArray]:
    """Return the weighted sums over images of several arrays, each of shape (n_images, k).

    Args:
        sums: the arrays.
        weights: how often each image counts, shape (n_resamples, n_images).

    Returns:
        Shape (n_resamples, k) each.
    """
    out = {key: np.zeros((len(weights), array.shape[-1])) for key, array in sums.items()}
    # 32-bit floats are twice as fast and represent the sums of small integers exactly.
    small = [key for key, array in sums.items() if array.dtype == np.uint8]
    kinds: tuple[tuple[list[str], Any], ...] = (
        (small, np.float32),
        ([key for key in sums if key not in small], np.float64),
    )
    for start in range(0, weights.shape[1], _SUMMED_AT_ONCE):
        images = slice(start, start + _SUMMED_AT_ONCE)
        for keys, kind in kinds:
            if keys:
                # One matrix product resamples all metrics.
                together: Any = np.concatenate([sums[key][images] for key in keys], axis=-1, dtype=kind)
                ends = np.cumsum([sums[key].shape[-1] for key in keys])
                parts = np.split(weights[:, images].astype(kind) @ together, ends[:-1], axis=-1)
                for key, part in zip(keys, parts, strict=True):
                    out[key] += part
    return out
