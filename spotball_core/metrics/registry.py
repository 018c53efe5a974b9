"""List all metrics: built-in ones, and those registered under the entry point group `spotball.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spotball_core.errors import OptionError
from spotball_core.metrics import alignment, matched, sampling, scoring_rules, strategy, task
from spotball_core.metrics.inputs import share, where_known
from spotball_core.metrics.metric import (
    MeanOverImages,
    MeanOverResponses,
    Metric,
    MetricInput,
    Pooled,
    Sums,
)
from spotball_core.service.plugins import Registry
from spotball_core.typing import FloatArray

GROUP = "spotball.metrics"
"""The entry point group under which other packages register metrics. Each entry point names a `Metric`."""


def _center_ratio(data: MetricInput) -> Callable[[FloatArray, FloatArray], FloatArray]:
    window, grid = data.options.window, data.grid
    strategy.window_mask(grid, window)  # This raises the error for a window that is not defined for the grid.
    return lambda p, q: strategy.center_ratio(p, q, window=window, grid=grid)


def _symmetric_center_bias(data: MetricInput) -> Callable[[FloatArray, FloatArray], FloatArray]:
    if len(data.grids) > 1:
        raise OptionError(
            "images differ in size, so distances from their centers cannot be pooled. Score the images of each size "
            "separately",
            code="different-grids",
        )
    return lambda p, q: strategy.symmetric_center_bias(p, q, grid=data.grid)


def _draws(data: MetricInput) -> dict[str, Any]:
    """Return the keyword arguments `seed`, `draws` and `shared` of functions that draw responses at random."""
    return {"seed": data.options.seed, "draws": data.options.draws, "shared": data.shared}


def _estimated(
    estimate: Callable[..., FloatArray], function: Callable[[FloatArray, MetricInput], FloatArray]
) -> MeanOverImages:
    """Return a mean over images whose values `estimate`, a function of `sampling`, computes from `function`."""
    return MeanOverImages(lambda data: estimate(lambda mass: function(mass, data), data.mass, **_draws(data)))


_ALL = (
    Metric(
        *("accuracy", "Accuracy", "Acc", "share", "higher", "1", ("truth",), "task"),
        function=task.accuracy,
        aggregate=MeanOverResponses(
            lambda data: task.accuracy(data.mass, data.truth, unparsed=data.unparsed), counts_unparsed=True
        ),
        highest=1.0,
    ),
    Metric(
        *("euclidean_error", "Euclidean error", "d", "px", "lower", "2", ("truth",), "task"),
        function=task.euclidean_error,
        aggregate=MeanOverImages(lambda data: task.euclidean_error(data.mass, data.truth, grid=data.grid)),
        published_with_controls=True,
    ),
    Metric(
        *("wasserstein", "Wasserstein distance", "W", "px", "lower", "3", ("reference",), "alignment"),
        function=alignment.wasserstein,
        aggregate=MeanOverImages(
            lambda data: alignment.wasserstein(
                data.mass, data.reference, unit=data.options.wasserstein_unit, grid=data.grid
            )
        ),
        by_size=True,
        unit_option="wasserstein_unit",
    ),
    Metric(
        *("wasserstein_matched", "Wasserstein distance, matched", "Ŵ", "px", "lower", None, ("reference",)),
        "alignment",
        function=matched.wasserstein_matched,
        aggregate=Sums(
            lambda data: matched.wasserstein_additive(
                data.mass, data.reference, unit=data.options.wasserstein_unit, grid=data.grid, **_draws(data)
            ),
            "images",
        ),
        lowest=None,
        estimates="wasserstein",
        least_responses=sampling.LEAST,
        unit_option="wasserstein_unit",
    ),
    Metric(
        *("near_player_rate", "Near-player rate", "NR", "share", "like the reference", "4, 5", ("players",)),
        "strategy",
        function=strategy.near_player_rate,
        aggregate=MeanOverResponses(lambda data: where_known(share(data.mass, data.near), data.has_players)),
        highest=1.0,
        published_with_controls=True,
    ),
    Metric(
        *("overlap_rate", "Overlap rate", "OR", "share", "like the reference", "6", ("players",), "strategy"),
        function=strategy.overlap_rate,
        aggregate=MeanOverResponses(lambda data: where_known(share(data.mass, data.overlap), data.has_players)),
        highest=1.0,
        published_with_controls=True,
    ),
    Metric(
        *("center_ratio", "Center ratio", "CR", "ratio", "1 = no center bias, above 1 = center bias", "7", ("truth",)),
        "strategy",
        function=strategy.center_ratio,
        aggregate=Pooled(_center_ratio),
        published_with_controls=True,
        no_value="no parsed responses, or no ground truth in the center window",
    ),
    Metric(
        *("normalized_entropy", "Normalized entropy", "Ĥ", "ratio", "like the reference", "8", (), "strategy"),
        function=strategy.normalized_entropy,
        aggregate=Pooled(lambda _: lambda p, q: strategy.normalized_entropy(p)),
        highest=1.0,
        by_size=True,
        published_with_controls=True,
    ),
    Metric(
        *("image_entropy", "Image entropy", "Ĥ_i", "ratio", "like the reference", "8", (), "strategy"),
        function=strategy.image_entropy,
        aggregate=MeanOverImages(lambda data: strategy.normalized_entropy(data.mass)),
        highest=1.0,
        by_size=True,
    ),
    Metric(
        *("top_k_accuracy", "Top-k accuracy", "Acc@k", "share", "higher", None, ("truth",), "task"),
        function=task.top_k_accuracy,
        aggregate=MeanOverImages(lambda data: task.top_k_accuracy(data.mass, data.truth, k=data.options.top_k)),
        highest=1.0,
        by_size=True,
    ),
    Metric(
        *("log_score", "Log score", "LS", "nats", "lower", None, ("truth",), "scoring rules"),
        function=scoring_rules.log_score,
        aggregate=MeanOverImages(
            lambda data: scoring_rules.log_score(data.mass, data.truth, smoothing=data.options.log_smoothing)
        ),
        by_size=True,
    ),
    Metric(
        *("brier_score", "Brier score", "BS", "none", "lower", None, ("truth",), "scoring rules"),
        function=scoring_rules.brier_score,
        aggregate=MeanOverImages(lambda data: scoring_rules.brier_score(data.mass, data.truth)),
        highest=2.0,
        by_size=True,
    ),
    Metric(
        *("energy_score", "Energy score", "ES", "px", "lower", None, ("truth",), "scoring rules"),
        function=scoring_rules.energy_score,
        aggregate=MeanOverImages(lambda data: scoring_rules.energy_score(data.mass, data.truth, grid=data.grid)),
        by_size=True,
    ),
    Metric(
        *("expected_error", "Expected error", "E‖X-Y‖", "px", "lower", None, ("truth",), "task"),
        function=task.expected_error,
        aggregate=MeanOverImages(lambda data: task.expected_error(data.mass, data.truth, grid=data.grid)),
    ),
    Metric(
        *(
            "symmetric_center_bias",
            "Symmetric center bias",
            "SCB",
            "ratio",
            "1 = no center bias, below 1 = center bias",
        ),
        *(None, ("truth",), "strategy"),
        function=strategy.symmetric_center_bias,
        aggregate=Pooled(_symmetric_center_bias),
        no_value="no parsed responses, or the ball is at the image's center in all images",
    ),
    Metric(
        *("wasserstein_1d", "1D Wasserstein distance", "W1D", "px", "lower", None, ("reference",), "alignment"),
        function=alignment.wasserstein_1d,
        aggregate=MeanOverImages(lambda data: alignment.wasserstein_1d(data.mass, data.reference, grid=data.grid)),
        by_size=True,
    ),
    Metric(
        *("wasserstein_1d_matched", "1D Wasserstein distance, matched", "Ŵ1D", "px", "lower", None, ("reference",)),
        "alignment",
        function=matched.wasserstein_1d_matched,
        aggregate=Sums(
            lambda data: matched.wasserstein_1d_additive(data.mass, data.reference, grid=data.grid, **_draws(data)),
            "images",
        ),
        lowest=None,
        estimates="wasserstein_1d",
        least_responses=sampling.LEAST,
    ),
    Metric(
        *("normalized_entropy_matched", "Normalized entropy, matched", "Ĥ*", "ratio", "like the reference", None, ()),
        "strategy",
        function=matched.normalized_entropy_matched,
        aggregate=Sums(lambda data: matched.normalized_entropy_additive(data.mass, **_draws(data)), "pool", grows=-1),
        lowest=None,
        estimates="normalized_entropy",
        least_responses=sampling.LEAST,
    ),
    Metric(
        *("image_entropy_matched", "Image entropy, matched", "Ĥ_i*", "ratio", "like the reference", None, ()),
        "strategy",
        function=matched.image_entropy_matched,
        aggregate=MeanOverImages(lambda data: matched.image_entropies_matched(data.mass)),
        lowest=None,
        estimates="image_entropy",
        least_responses=sampling.LEAST,
    ),
    Metric(
        *("top_k_accuracy_matched", "Top-k accuracy, matched", "Acc@k*", "share", "higher", None, ("truth",), "task"),
        function=matched.top_k_accuracy_matched,
        aggregate=_estimated(
            sampling.of_few, lambda mass, data: task.top_k_accuracy(mass, data.truth, k=data.options.top_k)
        ),
        lowest=None,
        estimates="top_k_accuracy",
        least_responses=sampling.FEW,
    ),
    Metric(
        *("log_score_matched", "Log score, matched", "LS*", "nats", "lower", None, ("truth",), "scoring rules"),
        function=matched.log_score_matched,
        aggregate=_estimated(
            sampling.of_few,
            lambda mass, data: scoring_rules.log_score(mass, data.truth, smoothing=data.options.log_smoothing),
        ),
        lowest=None,
        estimates="log_score",
        least_responses=sampling.FEW,
    ),
    Metric(
        *("brier_score_matched", "Brier score, matched", "BS*", "none", "lower", None, ("truth",), "scoring rules"),
        function=matched.brier_score_matched,
        aggregate=_estimated(sampling.extrapolated, lambda mass, data: scoring_rules.brier_score(mass, data.truth)),
        lowest=None,
        estimates="brier_score",
        least_responses=sampling.LEAST,
    ),
    Metric(
        *("energy_score_matched", "Energy score, matched", "ES*", "px", "lower", None, ("truth",), "scoring rules"),
        function=matched.energy_score_matched,
        aggregate=_estimated(
            sampling.extrapolated, lambda mass, data: scoring_rules.energy_score(mass, data.truth, grid=data.grid)
        ),
        lowest=None,
        estimates="energy_score",
        least_responses=sampling.LEAST,
    ),
)


METRICS: Mapping[str, Metric] = Registry(GROUP, "metric", Metric, _ALL)
"""Every metric by key, in the order of tables and JSON; metrics of other packages come last."""
