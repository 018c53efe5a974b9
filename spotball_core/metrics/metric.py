"""Define the record of a metric: its name, its meaning, and the statistic that computes it.

The decorator `metric` attaches the record to the function that computes the metric.

A metric combines many images in two steps: each image adds some numbers, and a function converts their sum to the
value. Resampling images, or selecting some of them, therefore only changes how often an image's numbers enter the sum.
A metric uses one of four ways to combine images: `MeanOverImages`, `MeanOverResponses`, `Pooled` or `Sums`. Other
modules treat all four alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from spotball_core.grid import Grid
from spotball_core.metrics.inputs import (
    AnyArray,
    Guesses,
    ImageGuesses,
    ImagePlayers,
    ImageSetGuesses,
    ImageTruth,
    Players,
    Truth,
    ratio,
)
from spotball_core.metrics.sampling import DRAWS, Seed, SharedDraws
from spotball_core.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from spotball_core.schema.policy import Window

Family = Literal["task", "alignment", "strategy", "scoring rules"]
Over = Literal["images", "responses", "pool"]
Needs = Literal["truth", "reference", "players"]
Unit = Literal["px", "cell", "diagonal"]
Combine = Callable[[FloatArray], FloatArray]

_AT_ONCE = 1000
"""Number of images that are omitted one at a time in one batch, to limit memory."""


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """The choices of a `ScorePolicy` that metrics depend on.

    Attributes:
        tau: the share of the image's diagonal within which a cell is near a player.
        theta: the share of a cell's area that counts as overlap.
        window: the center window; None for the window from the paper.
        wasserstein_unit: px, cell or diagonal.
        top_k: the number of cells that top-k accuracy uses.
        log_smoothing: the weight of the uniform distribution in the log score.
        seed: seed of all random draws of a metric.
        draws: number of random splits of the responses that a matched metric draws.
    """

    tau: float = 0.08
    theta: float = 0.02
    window: Window | None = None
    wasserstein_unit: Unit = "px"
    top_k: int = 3
    log_smoothing: float = 0.01
    seed: Seed = 0
    draws: int = DRAWS


@dataclass(frozen=True)
class MetricInput:
    """One respondent's responses to some images, and the data of these images.

    Fields that a metric does not need (`Metric.needs`) may be zeros.

    Attributes:
        mass: counts or probabilities of the cells, shape (..., n_images, n_cells).
        unparsed: number of unparsed responses, shape (..., n_images).
        truth: true where the ball is, shape (n_images, n_cells); all false for an image with unknown truth.
        reference: the distributions to compare with, shape (n_images, n_cells).
        near: which cells are near a player, shape (n_images, n_cells).
        overlap: which cells overlap a player, shape (n_images, n_cells).
        has_players: which images have players, shape (n_images,).
        boxes: returns each image's player boxes in pixels, shape (n_boxes, 4).
        grids: the grids of the images.
        grid_of: the index of each image's grid in `grids`, shape (n_images,).
        prior: number of images with the ball in each cell, with which the center metrics compare the guesses, shape
            (n_cells,); None to count the images of this input.
        options: the choices of the policy.
        shared: a cache of random draws for several metrics; None if each metric makes its own draws.
    """

    mass: FloatArray
    unparsed: FloatArray
    truth: BoolArray
    reference: FloatArray
    near: BoolArray
    overlap: BoolArray
    has_players: BoolArray
    boxes: Callable[[], Sequence[FloatArray]]
    grids: tuple[Grid, ...]
    grid_of: IntArray
    prior: FloatArray | None = None
    options: MetricOptions = MetricOptions()
    shared: SharedDraws | None = None

    @property
    def grid(self) -> Grid:
        """The grid of the images; the first grid if they differ."""
        return self.grids[0]

    @property
    def players(self) -> FloatArray:
        """Player boxes in pixels, shape (n_images, n_boxes, 4), padded with rows of NaN."""
        of_images = self.boxes()
        padded = np.full((len(of_images), max(map(len, of_images), default=0), 4), np.nan)
        for image, boxes in enumerate(of_images):
            padded[image, : len(boxes)] = boxes
        return padded

    def parts(self) -> Iterator[tuple[IntArray, MetricInput]]:
        """Yield each grid's images: their indices, and the input of these images. Distances need images of one size."""
        if len(self.grids) == 1:
            yield np.arange(self.mass.shape[-2]), self
            return
        for number, grid in enumerate(self.grids):
            images = np.flatnonzero(self.grid_of == number)
            if len(images):
                yield images, replace(self.at(images), grids=(grid,), grid_of=np.zeros(len(images), dtype=int))

    def at(self, images: IntArray) -> MetricInput:
        """Return the input of some of the images, given by index."""

        def boxes() -> list[FloatArray]:
            of_images = self.boxes()
            return [of_images[int(image)] for image in images]

        return replace(
            self,
            mass=self.mass[..., images, :],
            unparsed=self.unparsed[..., images],
            truth=self.truth[images],
            reference=self.reference[images],
            near=self.near[images],
            overlap=self.overlap[images],
            has_players=self.has_players[images],
            boxes=boxes,
            grid_of=self.grid_of[images],
        )


@dataclass(frozen=True)
class Statistic:
    """A metric in the form of numbers that are summed over images, and a function from these sums to the value.

    Attributes:
        sums: what each image adds, shape (..., n_images, k). Small whole numbers may have a small type, to save memory.
        combine: function from sums of floats, shape (..., k), to values, shape (...).
        enters: which images the metric uses, shape (..., n_images).
        answered: number of responses that the metric counts, shape (..., n_images).
        grows: the first `grows` of the k numbers are proportional to the number of responses; -1 means all but the
            last.
        values: each image's value, shape (..., n_images); None if the metric has no value per image.
    """

    sums: FloatArray
    combine: Combine
    enters: BoolArray
    answered: FloatArray
    grows: int
    values: FloatArray | None

    @classmethod
    def joined(cls, parts: Sequence[Statistic]) -> Statistic:
        """Return the statistic of the images of several statistics of the same metric."""
        first, several = parts[0], [part.values for part in parts if part.values is not None]
        return replace(
            first,
            sums=np.concatenate([part.sums for part in parts], axis=-2),
            enters=np.concatenate([part.enters for part in parts], axis=-1),
            answered=np.concatenate([part.answered for part in parts], axis=-1),
            values=np.concatenate(several, axis=-1) if several else None,
        )

    def compact(self) -> Statistic:
        """Return the same statistic with sums in the smallest type that represents them."""
        return replace(self, sums=_compact(self.sums))

    def only(self, used: BoolArray) -> Statistic:
        """Return the statistic restricted to the images for which `used` is true, shape (n_images,)."""
        return replace(self, sums=self.sums * used[:, None], enters=self.enters & used)

    def total(self) -> FloatArray:
        """Return the metric's value, shape (...)."""
        return self.combine(self.sums.sum(axis=-2, dtype=float))

    def weighted(self, times: FloatArray) -> FloatArray:
        """Return the metric's value with a weight for each image.

        Args:
            times: how often each image counts, shape (..., n_images).

        Returns:
            Shape (...).
        """
        return self.combine(times @ self.sums)

    def leave_one_out(self) -> FloatArray:
        """Return the metric's value without each of the images that it uses, one at a time, shape (n_used,)."""
        total, each = self.sums.sum(axis=-2, dtype=float), self.sums[self.enters]
        parts = np.split(each, range(_AT_ONCE, len(each), _AT_ONCE))
        return np.concatenate([self.combine(total - part) for part in parts])

    def scaled(self, factor: FloatArray) -> FloatArray:
        """Return the sums for `factor` times as many responses per image, shape (..., n_images, k)."""
        sums = self.sums.astype(float)
        sums[..., : self.grows] *= factor[..., None]
        return sums

    @property
    def sd(self) -> float | None:
        """Return the standard deviation (n - 1) of the images' values; None without values, or for one image."""
        if self.values is None or self.enters.sum() < 2:
            return None
        return float(self.values[self.enters].std(ddof=1))


class Aggregate(Protocol):
    """The way in which a metric combines many images into one value."""

    @property
    def over(self) -> Over:
        """The unit that the value averages over; "pool" for a metric of the guesses pooled over images."""

    def statistic(self, data: MetricInput) -> Statistic:
        """Compute the numbers that each image adds to the metric's sums.

        Raises:
            OptionError: if the options leave the metric undefined for these images.
        """


@dataclass(frozen=True)
class MeanOverImages:
    """The mean of the images' values, with equal weights.

    Attributes:
        values: computes the values of images of one grid, shape (..., n_images); NaN for an image without a value.
    """

    values: Callable[[MetricInput], FloatArray]
    over: Over = field(default="images", init=False)

    def statistic(self, data: MetricInput) -> Statistic:
        """Compute the numbers that each image adds to the metric's sums."""
        values = _by_grid(self.values, data)
        return _mean(values, np.ones(values.shape), data.mass.sum(axis=-1), grows=0)


@dataclass(frozen=True)
class MeanOverResponses:
    """The mean of the images' values, weighted by their numbers of responses.

    Attributes:
        values: computes the values of images of one grid, shape (..., n_images); NaN for an image without a value.
        counts_unparsed: whether unparsed responses count as responses.
    """

    values: Callable[[MetricInput], FloatArray]
    counts_unparsed: bool = False
    over: Over = field(default="responses", init=False)

    def statistic(self, data: MetricInput) -> Statistic:
        """Compute the numbers that each image adds to the metric's sums."""
        answered = data.mass.sum(axis=-1) + (data.unparsed if self.counts_unparsed else 0.0)
        return _mean(_by_grid(self.values, data), answered, answered, grows=2)


@dataclass(frozen=True)
class Pooled:
    """The metric of the guesses pooled over images.

    Attributes:
        function: returns, for the input, a function that computes values, shape (...), from pooled guesses and pooled
            truth, each of shape (..., n_cells).
    """

    function: Callable[[MetricInput], Callable[[FloatArray, FloatArray], FloatArray]]
    over: Over = field(default="pool", init=False)

    def statistic(self, data: MetricInput) -> Statistic:
        """Compute the numbers that each image adds to the metric's sums."""
        function, prior, n_cells = self.function(data), data.prior, data.mass.shape[-1]

        def combine(sums: FloatArray) -> FloatArray:
            p, q = sums[..., :n_cells], sums[..., n_cells:]
            return function(p, q if prior is None else np.broadcast_to(prior, p.shape))

        sums = np.concatenate([data.mass, np.broadcast_to(data.truth, data.mass.shape)], axis=-1)
        enters = np.ones(data.mass.shape[:-1], dtype=bool)
        return Statistic(sums, combine, enters, data.mass.sum(axis=-1), n_cells, None)


Additive = tuple[FloatArray, Combine]
"""Numbers per image, shape (..., n_images, k), and a function from their sums over images, shape (..., k), to the
metric's values, shape (...)."""


@dataclass(frozen=True)
class Sums:
    """A metric defined by numbers that are summed over images. The last is 1 for an image that the metric uses, else 0.

    Attributes:
        additive: computes the numbers for images of one grid.
        over: see `Metric.over`.
        grows: see `Statistic`.
    """

    additive: Callable[[MetricInput], Additive]
    over: Over
    grows: int = 0

    def statistic(self, data: MetricInput) -> Statistic:
        """Compute the numbers that each image adds to the metric's sums."""
        computed = [(images, *self.additive(part)) for images, part in data.parts()]
        sums = np.zeros((*data.mass.shape[:-1], computed[0][1].shape[-1]))
        for images, part, _ in computed:
            sums[..., images, :] = part
        return Statistic(sums, computed[0][2], sums[..., -1] > 0, data.mass.sum(axis=-1), self.grows, None)


def _compact(sums: FloatArray) -> AnyArray:
    """Return the numbers in the smallest type of integers that represents all of them; unchanged if there is none."""
    if not sums.size or sums.min() < 0 or sums.max() >= 2**32 or (sums != np.floor(sums)).any():
        return sums
    return sums.astype(np.min_scalar_type(int(sums.max())))


def _by_grid(function: Callable[[MetricInput], FloatArray], data: MetricInput) -> FloatArray:
    values = np.full(data.mass.shape[:-1], np.nan)
    for images, part in data.parts():
        values[..., images] = function(part)
    return values


def _mean(values: FloatArray, weights: FloatArray, answered: FloatArray, grows: int) -> Statistic:
    enters = np.isfinite(values)
    weights = np.where(enters, weights, 0.0)
    sums = np.stack([weights * np.where(enters, values, 0.0), weights], axis=-1)
    return Statistic(sums, _quotient, enters, answered, grows, values)


def _quotient(sums: FloatArray) -> FloatArray:
    return ratio(sums[..., 0], sums[..., 1])


@dataclass(frozen=True, slots=True)
class Metric:
    """The record of one metric.

    Attributes:
        key: its name in Python, in JSON and in tables.
        title: its name in words.
        symbol: its mathematical symbol.
        unit: unit of the value: px, nats, share, ratio or none.
        direction: "lower" or "higher" if that is better, else how to read the value, such as "like the reference".
        equation: number of its equation in the paper; None for a metric that is not in the paper.
        needs: the data it needs in addition to the guesses.
        family: the group of metrics to which it belongs, such as "task".
        function: the public function that computes it.
        aggregate: how it combines many images into one value.
        lowest: the lowest possible value; None for a difference or an estimate without a bound.
        highest: the highest possible value; None without a bound.
        by_size: whether the value depends on the number of responses. Do not use such a metric to compare respondents
            with different numbers of responses.
        estimates: the key of the metric that this metric estimates for any number of responses; None for other metrics.
        least_responses: minimum number of responses per image.
        unit_option: the policy's choice that replaces `unit`, such as "wasserstein_unit".
        published_with_controls: whether its values in the paper include controls (images with a visible ball) and
            images that people did not see.
        no_value: the reason to report if all the data it needs are given, but no image has a value.
    """

    key: str
    title: str
    symbol: str
    unit: str
    direction: str
    equation: str | None
    needs: tuple[Needs, ...]
    family: Family
    function: Callable[..., FloatArray]
    aggregate: Aggregate
    lowest: float | None = 0.0
    highest: float | None = None
    by_size: bool = False
    estimates: str | None = None
    least_responses: int = 1
    unit_option: str | None = None
    published_with_controls: bool = False
    no_value: str = "no parsed responses"

    @property
    def over(self) -> Over:
        """The way in which the metric combines images into one number.

        "images" is the mean of the images' values, "responses" weights each image by its number of responses, and
        "pool" is the metric of the guesses pooled over images.
        """
        return self.aggregate.over

    @property
    def is_matched(self) -> bool:
        """Whether this metric estimates another metric for any number of responses."""
        return self.estimates is not None

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]

    def unit_under(self, policy: object) -> str:
        """Return the unit of the value under a policy."""
        return str(getattr(policy, self.unit_option)) if self.unit_option else self.unit

    def title_under(self, policy: object) -> str:
        """Return the title under a policy, with the policy's number in place of the letter k."""
        return self.title.replace("-k ", f"-{getattr(policy, 'top_k', 'k')} ")

    def full_title(self, policy: object) -> str:
        """Return the title under a policy, with the name of the reference if the metric needs one."""
        title = self.title_under(policy)
        if "reference" not in self.needs:
            return title
        name, comma, version = title.partition(",")
        return f"{name} to {getattr(policy, 'reference', None) or 'the reference'}{comma}{version}"


# Metrics by their arguments: a metric of one image is a float, a metric of several images an array -------------------

P = ParamSpec("P")


class OfGuesses(Protocol[P]):
    """A metric of guesses alone."""

    @overload
    def __call__(self, guesses: ImageGuesses, *args: P.args, **kwargs: P.kwargs) -> float: ...
    @overload
    def __call__(self, guesses: Guesses, *args: P.args, **kwargs: P.kwargs) -> FloatArray: ...


class OfTruth(Protocol[P]):
    """A metric of guesses and the ground truth."""

    @overload
    def __call__(self, guesses: ImageGuesses, truth: ImageTruth, *args: P.args, **kwargs: P.kwargs) -> float: ...
    @overload
    def __call__(self, guesses: Guesses, truth: Truth, *args: P.args, **kwargs: P.kwargs) -> FloatArray: ...


class OfReference(Protocol[P]):
    """A metric of guesses and a reference."""

    @overload
    def __call__(self, guesses: ImageGuesses, reference: ImageGuesses, *args: P.args, **kwargs: P.kwargs) -> float: ...
    @overload
    def __call__(self, guesses: Guesses, reference: Guesses, *args: P.args, **kwargs: P.kwargs) -> FloatArray: ...


class OfSets(Protocol):
    """A metric of guesses and a reference that is one number for a set of images."""

    @overload
    def __call__(self, guesses: ImageSetGuesses, reference: ImageSetGuesses, **options: Any) -> float: ...
    @overload
    def __call__(self, guesses: Guesses, reference: Guesses, **options: Any) -> FloatArray: ...


class OfPlayers(Protocol[P]):
    """A metric of guesses and players."""

    @overload
    def __call__(self, guesses: ImageGuesses, players: ImagePlayers, *args: P.args, **kwargs: P.kwargs) -> float: ...
    @overload
    def __call__(self, guesses: Guesses, players: Players, *args: P.args, **kwargs: P.kwargs) -> FloatArray: ...


Function = TypeVar("Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    @overload
    def __call__(self, function: Callable[Concatenate[Guesses, Truth, P], FloatArray], /) -> OfTruth[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Guesses, Guesses, P], FloatArray], /) -> OfReference[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Guesses, Players, P], FloatArray], /) -> OfPlayers[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Guesses, P], FloatArray], /) -> OfGuesses[P]: ...
    @overload
    def __call__(self, function: Function, /) -> Function: ...


def metric(
    *,
    over: Callable[[Callable[[MetricInput], FloatArray]], Aggregate] = MeanOverImages,
    options: Callable[[MetricInput], dict[str, Any]] = lambda data: {},
    **record: Any,
) -> _Decorator:
    """Make a function a metric: return a decorator that sets the function's attribute `metric` to its `Metric`.

    Args:
        over: `MeanOverImages` or `MeanOverResponses`: how images are combined. The value of an image is the function of
            its guesses, the data that the metric needs, and the options.
        options: the function's keyword arguments for an input.
        record: the other attributes of `Metric`. Defaults: `key` is the function's name, `equation` is None, `needs` is
            empty, and `aggregate` follows from `over` and `options`.
    """

    def decorate(function: Any) -> Any:
        def values(data: MetricInput) -> FloatArray:
            of_images: FloatArray = function(data.mass, *(getattr(data, need) for need in needs), **options(data))
            return of_images

        needs = record.get("needs", ())
        defaults = {"key": function.__name__, "equation": None, "needs": needs, "aggregate": over(values)}
        function.metric = Metric(**(defaults | record), function=function)
        return function

    return decorate
