"""Derive matched metrics: estimates that do not depend on the number of responses.

A matched metric corrects a metric for sampling noise, with a method from `spotball_core.metrics.sampling`. Use matched
metrics to compare respondents with different numbers of responses per image; the metrics from the paper are unchanged.
A matched value is an estimate: if the true value is at an end of its range, the estimate may lie slightly outside.

Counts must be integers; other numbers are probabilities, which have no sampling noise. Unparsed answers are excluded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, overload

from spotball_core.metrics import sampling
from spotball_core.metrics.inputs import arguments, grid_for, pair_of, unwrap
from spotball_core.metrics.metric import (
    Aggregate,
    MeanOverImages,
    MetricInput,
    OfReference,
    OfSets,
    OfTruth,
    P,
    Sums,
)
from spotball_core.typing import FloatArray


@dataclass(frozen=True)
class Estimator:
    """A method to estimate a metric for any number of responses.

    Attributes:
        estimate: function of `sampling`. It takes a function of distributions, and then the distributions: the guesses,
            and the reference if `is_distance`.
        about: what it does, for the documentation of a matched metric.
        least: minimum number of responses per image.
        is_distance: whether it estimates the mean over images of a distance to the reference, instead of the value of
            each image.
    """

    estimate: Callable[..., FloatArray]
    about: str
    least: int
    is_distance: bool = False


FEW = Estimator(sampling.of_few, "It is the mean over random draws of 8 responses per image.", sampling.FEW)
EXTRAPOLATED = Estimator(
    sampling.extrapolated, "It is extrapolated from all responses and random halves of them.", sampling.LEAST
)
DISTANCE = Estimator(
    sampling.distance_sums,
    "It is the mean over images, extrapolated from all responses and random halves of them on both sides.",
    sampling.LEAST,
    is_distance=True,
)


@overload
def matched(plain: OfTruth[P], *, by: Estimator, symbol: str | None = ...) -> OfTruth[...]: ...
@overload
def matched(plain: OfReference[P], *, by: Estimator, symbol: str | None = ...) -> OfSets: ...


def matched(plain: Any, *, by: Estimator, symbol: str | None = None) -> Any:
    """Derive the matched version of a metric: a function with its `Metric`.

    Args:
        plain: the metric. It is the mean over images of a value per image.
        by: the estimator: `FEW`, `EXTRAPOLATED` or `DISTANCE`.
        symbol: the matched version's symbol. Default: the metric's symbol with a star.

    Returns:
        A function with the arguments of `plain`, and with `seed` and `draws` (number of random draws).
    """
    metric, other = plain.metric, plain.metric.needs[0]
    own = inspect.signature(plain)
    random = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation="int")
        for name, default in (("seed", 0), ("draws", sampling.DRAWS))
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *random])

    def function(*args: Any, **kwargs: Any) -> FloatArray:
        options = signature.bind(*args, **kwargs).arguments
        guesses, second, grid = options.pop("guesses"), options.pop(other), options.pop("grid", None)
        draws = {name: options.pop(name) for name in ("seed", "draws") if name in options}
        if by.is_distance:
            grid = grid_for(grid)
            sides = (mass if mass.ndim > 1 else mass[None] for mass in pair_of(guesses, second, grid))
            sums = by.estimate(lambda p, q: plain(p, q, grid=grid, **options), *sides, **draws)
            return unwrap(sampling.distance_at_any_size(sums.sum(axis=-2)))
        in_pixels = metric.unit == "px"
        given = arguments(guesses, second, grid, in_pixels=in_pixels)

        def estimate(mass: FloatArray, truth: Any, grid: Any) -> FloatArray:
            fixed = {**options, "grid": grid} if in_pixels else options
            return by.estimate(lambda some: plain(some, truth, **fixed), mass, **draws)

        # Draw from the images of all sizes together, unless distances depend on the size.
        return (given if in_pixels else replace(given, grids=given.grids[:1])).each(estimate)

    function.__name__ = function.__qualname__ = f"{metric.key}_matched"
    function.__module__ = plain.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = f"""Estimate `{metric.key}`, independent of the number of responses.

    {by.about} An image needs at least {by.least} responses; without enough responses, the value is NaN.

    Args:
        The arguments of `{metric.key}`, and:
        seed: seed of the random draws.
        draws: number of random draws.
    """
    function.metric = replace(  # type: ignore[attr-defined]
        metric,
        key=function.__name__,
        title=f"{metric.title}, matched",
        symbol=symbol or f"{metric.symbol}*",
        equation=None,
        function=function,
        aggregate=_aggregate(metric.key, metric.aggregate.values, by),
        lowest=None,
        highest=None,
        by_size=False,
        estimates=metric.key,
        least_responses=by.least,
    )
    return function


def _aggregate(key: str, values: Callable[[MetricInput], FloatArray], by: Estimator) -> Aggregate:
    def draws(data: MetricInput) -> dict[str, Any]:
        return {"seed": data.options.seed, "draws": data.options.draws, "shared": data.shared}

    def distances(data: MetricInput) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        sums = by.estimate(
            lambda mass, reference: values(replace(data, mass=mass, reference=reference)),
            *(data.mass, data.reference),
            name=(key, data.options, data.grid),
            **draws(data),
        )
        return sums, sampling.distance_at_any_size

    if by.is_distance:
        return Sums(distances, "images")
    return MeanOverImages(
        lambda data: by.estimate(lambda mass: values(replace(data, mass=mass)), data.mass, **draws(data))
    )
