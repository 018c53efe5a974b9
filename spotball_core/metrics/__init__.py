"""Compute metrics with pure functions of arrays whose last axis is the cells.

`spotball_core.metrics.registry.METRICS` holds one record per metric, in the order of `__all__`.
"""

from spotball_core.metrics.alignment import wasserstein, wasserstein_1d, wasserstein_1d_matched, wasserstein_matched
from spotball_core.metrics.scoring_rules import (
    brier_score,
    brier_score_matched,
    energy_score,
    energy_score_matched,
    log_score,
    log_score_matched,
)
from spotball_core.metrics.strategy import (
    center_ratio,
    image_entropy,
    image_entropy_matched,
    near_player_rate,
    normalized_entropy,
    normalized_entropy_matched,
    overlap_rate,
    symmetric_center_bias,
)
from spotball_core.metrics.task import (
    accuracy,
    euclidean_error,
    expected_error,
    top_k_accuracy,
    top_k_accuracy_matched,
)

__all__ = [  # noqa: RUF022 - the order of metrics in tables and JSON
    "accuracy",
    "euclidean_error",
    "wasserstein",
    "wasserstein_matched",
    "near_player_rate",
    "overlap_rate",
    "center_ratio",
    "normalized_entropy",
    "image_entropy",
    "top_k_accuracy",
    "log_score",
    "brier_score",
    "energy_score",
    "expected_error",
    "symmetric_center_bias",
    "wasserstein_1d",
    "wasserstein_1d_matched",
    "normalized_entropy_matched",
    "image_entropy_matched",
    "top_k_accuracy_matched",
    "log_score_matched",
    "brier_score_matched",
    "energy_score_matched",
]
