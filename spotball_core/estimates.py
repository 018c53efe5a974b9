"""One group's metrics: per-image statistics, their aggregate over images, and its bootstrap interval.

Three ways lead from images to one number (`Metric.over`). "images": the mean of each image's value. "responses": the
mean weighted by the image's number of responses. "pool": the metric of counts summed over images. In each, a resample
of images only changes how often an image's statistics enter a sum, so all resamples follow from one matrix product.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.grid import BoolArray, FloatArray, Grid, IntArray
from spotball_core.metrics import strategy, task
from spotball_core.metrics.inputs import ratio, share, where_known
from spotball_core.metrics.registry import Metric
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import MetricValue
from spotball_core.schema.scene import Scene
from spotball_core.stats.bootstrap import percentile_interval, weight_blocks

PUBLISHED_WITH_CONTROLS = frozenset(
    {"euclidean_error", "near_player_rate", "overlap_rate", "center_ratio", "normalized_entropy"}
)
"""Metrics whose published figures include controls and images that people did not see (policy `paper`)."""

_BLOCK = 2_000_000
"""Numbers in memory at once when resampling."""


class SceneArrays:
    """Scenes as arrays with the scene on the first axis, in the order given."""

    def __init__(self, scenes: Sequence[Scene], *, tau: float, theta: float) -> None:
        self.scenes = tuple(scenes)
        self.keys = [scene.key for scene in scenes]
        self.sports = [scene.sport for scene in scenes]
        self.control = np.array([scene.control for scene in scenes], dtype=bool)
        self.truth: BoolArray = np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in scenes])
        self.has_truth = np.asarray(self.truth.any(axis=-1))
        self.grids = list(dict.fromkeys(scene.layout for scene in scenes))
        self.grid_of = np.array([self.grids.index(scene.layout) for scene in scenes])
        self.near = np.zeros_like(self.truth)
        self.overlap = np.zeros_like(self.truth)
        self.has_players = np.zeros(len(scenes), dtype=bool)
        for i, scene in enumerate(scenes):
            self.near[i], self.has_players[i] = strategy.near_player_mask(scene.boxes, scene.layout, tau=tau)
            self.overlap[i], _ = strategy.overlap_mask(scene.boxes, scene.layout, theta=theta)

    @property
    def grid_name(self) -> str:
        """The grid as a signature names it."""
        if len(self.grids) == 1:
            return str(self.grids[0])
        return f"{self.grids[0].rows}x{self.grids[0].cols}@mixed"

    def digest(self) -> str:
        """SHA-256 over all that scoring uses of the scenes, in whatever order they came."""
        text = sorted(scene.model_dump_json(exclude={"path"}) for scene in self.scenes)
        return hashlib.sha256("\n".join(text).encode()).hexdigest()


@dataclass(frozen=True)
class Answers:
    """One group's counts on the images it is scored on.

    Attributes:
        mass: shape (n_images, n_cells).
        unparsed: shape (n_images,).
        reference: the reference's counts on the same images; None without a reference.
        is_reference: whether the group is (a part of) the reference itself.
        compared: which images the reference answered, shape (n_images,).
        people: the same mass and unparsed answers told apart by participant, on a first axis.
    """

    mass: FloatArray
    unparsed: FloatArray
    reference: FloatArray | None
    is_reference: bool
    compared: BoolArray
    people: tuple[FloatArray, FloatArray] | None


class Estimator:
    """All metrics of one group."""

    def __init__(self, arrays: SceneArrays, scenes: IntArray, answers: Answers, policy: ScorePolicy) -> None:
        self.arrays, self.scenes, self.answers, self.policy = arrays, scenes, answers, policy
        self.truth = arrays.truth[scenes]
        self.sports = {arrays.sports[scene] for scene in scenes}

    def estimate(self, metric: Metric) -> MetricValue:
        """The metric's value with what belongs to it, or the reason why it has none."""
        return self.estimates([metric])[metric.key]

    def estimates(self, metrics: Iterable[Metric]) -> dict[str, MetricValue]:
        """Several metrics' values, by key; resampled together, which costs little more than one of them."""
        found: dict[str, MetricValue] = {}
        statistics: dict[str, Statistic] = {}
        asked = {metric.key: metric for metric in metrics}
        for key, metric in asked.items():
            if reason := self._undefined(metric):
                found[key] = MetricValue(value=None, reason=reason)
                continue
            try:
                statistics[key] = self.statistic(metric, self.answers.mass, self.answers.unparsed)
            except OptionError as error:
                found[key] = MetricValue(value=None, reason=str(error))
                continue
            if not np.isfinite(statistics[key].total()):
                del statistics[key]
                found[key] = MetricValue(value=None, reason=_NO_VALUE.get(key, "no parsed responses"))
        drawn = self._drawn({key: asked[key] for key in statistics}, statistics)
        for key, statistic in statistics.items():
            n_images = int(statistic.enters.sum())
            found[key] = MetricValue(
                value=float(statistic.total()),
                sd=statistic.sd,
                ci95=percentile_interval(drawn[key]),
                n_images=n_images if n_images != len(self.scenes) else None,
                reference=self.policy.reference if "reference" in asked[key].needs else None,
                reason=self._left_out(asked[key], statistic.enters),
            )
        return {key: found[key] for key in asked}

    # What is defined -----------------------------------------------------------------------------------------

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

    def _used(self, metric: Metric) -> BoolArray:
        """Which images the policy lets enter the metric."""
        used = np.ones(len(self.scenes), dtype=bool)
        if self.policy.controls == "paper" and metric.key not in PUBLISHED_WITH_CONTROLS:
            used &= ~self.arrays.control[self.scenes]
            if self.policy.reference is not None:
                used &= self.answers.compared
        return used

    def _left_out(self, metric: Metric, enters: BoolArray) -> str | None:
        """Why the value rests on fewer images than the group's; each image for the first reason that it has."""
        narrowed = not self._used(metric).all()
        compares = self.answers.reference is not None and (narrowed or "reference" in metric.needs)
        causes = [
            ("players" in metric.needs, ~self.arrays.has_players[self.scenes], "without player boxes"),
            ("truth" in metric.needs, ~self.arrays.has_truth[self.scenes], "without ground truth"),
            (narrowed, self.arrays.control[self.scenes], "with a visible ball"),
            (compares, ~self.answers.compared, "that the reference did not answer"),
            (True, np.ones(len(enters), dtype=bool), "without parsed responses"),
        ]
        said, left = [], ~enters
        for applies, has, what in causes:
            if applies and (n := int((left & has).sum())):
                said.append(f"{n} image{'s' if n > 1 else ''} {what} left out")
                left = left & ~has
        return "; ".join(said) or None

    # From images to one number -------------------------------------------------------------------------------

    def statistic(self, metric: Metric, mass: FloatArray, unparsed: FloatArray) -> Statistic:
        """The metric of answers to this group's images, in the form that resampling needs.

        Args:
            metric: which one.
            mass: shape (..., n_images, n_cells).
            unparsed: shape (..., n_images).

        Raises:
            OptionError: where the policy's choices leave the metric undefined for these images.
        """
        used = self._used(metric)
        if metric.over == "pool":
            function, n_cells = self._pool_function(metric), mass.shape[-1]
            truth = np.broadcast_to(self.truth, mass.shape)
            prior = self._prior()

            def pooled(sums: FloatArray) -> FloatArray:
                p, q = sums[..., :n_cells], sums[..., n_cells:]
                return function(p, q if prior is None else np.broadcast_to(prior, p.shape))

            return Statistic(np.concatenate([mass, truth], axis=-1) * used[:, None], pooled, used, None)
        values = self._values(metric, mass, unparsed)
        enters = np.isfinite(values) & used
        answered = mass.sum(axis=-1) + (unparsed if metric.key == "accuracy" else 0.0)
        weights = np.where(enters, 1.0 if metric.over == "images" else answered, 0.0)
        sums = np.stack([weights * np.where(enters, values, 0.0), weights], axis=-1)
        return Statistic(sums, _quotient, enters, values if metric.over == "images" else None)

    def _prior(self) -> FloatArray | None:
        """The ground truth of all images of the group's sports, where the policy compares with that."""
        if self.policy.prior == "scored":
            return None
        here = np.array([sport in self.sports for sport in self.arrays.sports])
        prior: FloatArray = self.arrays.truth[here].sum(axis=0).astype(float)
        return prior

    def _pool_function(self, metric: Metric) -> Callable[[FloatArray, FloatArray], FloatArray]:
        grid = self._one_grid(metric)
        if metric.key == "center_ratio":
            strategy.window_mask(grid, self.policy.window)  # so that a window that is not defined is told here
            return lambda p, q: strategy.center_ratio(p, q, window=self.policy.window, grid=grid)
        if metric.key == "symmetric_center_bias":
            return lambda p, q: strategy.symmetric_center_bias(p, q, grid=grid)
        return lambda p, _: strategy.normalized_entropy(p)

    def _one_grid(self, metric: Metric) -> Grid:
        grids = {self.arrays.grids[int(i)] for i in self.arrays.grid_of[self.scenes]}
        if len(grids) > 1 and metric.key == "symmetric_center_bias":
            raise OptionError("images differ in size, so that their centers cannot be pooled")
        return next(iter(grids))

    def _values(self, metric: Metric, mass: FloatArray, unparsed: FloatArray) -> FloatArray:
        """Each image's value, shape (..., n_images), for mass of shape (..., n_images, n_cells)."""
        if metric.key == "accuracy":
            return task.accuracy(mass, self.truth, unparsed=unparsed)
        if metric.key == "near_player_rate":
            return where_known(share(mass, self.arrays.near[self.scenes]), self.arrays.has_players[self.scenes])
        if metric.key == "overlap_rate":
            return where_known(share(mass, self.arrays.overlap[self.scenes]), self.arrays.has_players[self.scenes])
        if metric.key == "image_entropy":
            return strategy.normalized_entropy(mass)
        values = np.full(mass.shape[:-1], np.nan)
        other = self.answers.reference if "reference" in metric.needs else self.truth
        assert other is not None
        # Images of one size at a time: distances are in pixels.
        for number in np.unique(self.arrays.grid_of[self.scenes]):
            here = np.flatnonzero(self.arrays.grid_of[self.scenes] == number)
            values[..., here] = metric.function(
                mass[..., here, :], other[here], grid=self.arrays.grids[number], **self._choices(metric)
            )
        return values

    def _choices(self, metric: Metric) -> dict[str, object]:
        choices: dict[str, dict[str, object]] = {
            "wasserstein": {"unit": self.policy.wasserstein_unit},
            "top_k_accuracy": {"k": self.policy.top_k},
            "log_score": {"smoothing": self.policy.log_smoothing},
        }
        return choices.get(metric.key, {})

    # Intervals -----------------------------------------------------------------------------------------------

    def _drawn(self, metrics: dict[str, Metric], statistics: dict[str, Statistic]) -> dict[str, FloatArray]:
        """Each metric's value in each resample, shape (n_resamples,); computed in blocks, so that memory stays flat."""
        values: dict[str, list[FloatArray]] = {key: [np.empty(0)] for key in statistics}
        if not statistics:
            return {}
        if self.answers.people is None:
            names = list(statistics)
            ends = np.cumsum([statistics[key].sums.shape[-1] for key in names])
            # One matrix product resamples all metrics.
            sums = np.concatenate([statistics[key].sums for key in names], axis=-1)
            for weights in self._weights(len(self.scenes), max(sums.shape)):
                parts = np.split(weights @ sums, ends[:-1], axis=-1)
                for key, part in zip(names, parts, strict=True):
                    values[key].append(statistics[key].combine(part))
        else:
            mass, unparsed = self.answers.people
            for weights in self._weights(len(mass), mass[0].size):
                drawn, blanks = np.tensordot(weights, mass, axes=1), weights @ unparsed
                for key, metric in metrics.items():
                    values[key].append(self.statistic(metric, drawn, blanks).total())
        return {key: np.concatenate(parts) for key, parts in values.items()}

    def _weights(self, n: int, width: int) -> Iterator[FloatArray]:
        """Weights of the policy's resamples of n units, as many at a time as make `_BLOCK` numbers of some width."""
        return weight_blocks(n, self.policy.bootstrap, self.policy.seed, block=max(1, _BLOCK // width))


@dataclass(frozen=True)
class Statistic:
    """A metric as numbers that add over images, and what makes one value of their sum.

    Attributes:
        sums: shape (..., n_images, k), what each image adds.
        combine: from added numbers, shape (..., k), to values, shape (...).
        enters: which images the metric is made of, shape (..., n_images).
        values: each image's own value, for a mean over images; None otherwise.
    """

    sums: FloatArray
    combine: Callable[[FloatArray], FloatArray]
    enters: BoolArray
    values: FloatArray | None

    def total(self) -> FloatArray:
        """The metric, shape (...)."""
        return self.combine(self.sums.sum(axis=-2))

    def drawn(self, times: FloatArray) -> FloatArray:
        """The metric where each image enters a number of times.

        Args:
            times: shape (n_resamples, n_images).

        Returns:
            Shape (n_resamples,).
        """
        return self.combine(times @ self.sums)

    @property
    def sd(self) -> float | None:
        """Standard deviation over images (n - 1) of a mean over images; None for others, or of one image."""
        if self.values is None or self.enters.sum() < 2:
            return None
        return float(self.values[self.enters].std(ddof=1))


def _quotient(sums: FloatArray) -> FloatArray:
    return ratio(sums[..., 0], sums[..., 1])


_NO_VALUE = {
    "center_ratio": "no parsed responses, or no ground truth in the center window",
    "symmetric_center_bias": "no parsed responses, or all ground truth at the image's center",
}
