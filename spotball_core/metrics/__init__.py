"""Compute metrics with pure functions of arrays whose last axis is the cells.

`spotball_core.metrics.registry.METRICS` holds one record per metric.
"""

from spotball_core.metrics.alignment import wasserstein, wasserstein_1d
from spotball_core.metrics.matched import (
    brier_score_matched,
    energy_score_matched,
    image_entropy_matched,
    log_score_matched,
    normalized_entropy_matched,
    top_k_accuracy_matched,
    wasserstein_1d_matched,
    wasserstein_matched,
)
from spotball_core.metrics.scoring_rules import brier_score, energy_score, log_score
from spotball_core.metrics.strategy import (
    center_ratio,
    image_entropy,
    near_player_rate,
    normalized_entropy,
    overlap_rate,
    symmetric_center_bias,
)
from spotball_core.metrics.task import accuracy, euclidean_error, expected_error, top_k_accuracy

__all__ = [
    "accuracy",
    "brier_score",
    "brier_score_matched",
    "center_ratio",
    "energy_score",
    "energy_score_matched",
    "euclidean_error",
    "expected_error",
    "image_entropy",
    "image_entropy_matched",
    "log_score",
    "log_score_matched",
    "near_player_rate",
    "normalized_entropy",
    "normalized_entropy_matched",
    "overlap_rate",
    "symmetric_center_bias",
    "top_k_accuracy",
    "top_k_accuracy_matched",
    "wasserstein",
    "wasserstein_1d",
    "wasserstein_1d_matched",
    "wasserstein_matched",
]
