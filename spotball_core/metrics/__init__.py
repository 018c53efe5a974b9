"""The metrics: pure functions over arrays whose last axis is the cells, one module a family.

`spotball_core.metrics.registry.METRICS` holds one record for each.
"""

from spotball_core.metrics.alignment import wasserstein, wasserstein_1d
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
    "center_ratio",
    "energy_score",
    "euclidean_error",
    "expected_error",
    "image_entropy",
    "log_score",
    "near_player_rate",
    "normalized_entropy",
    "overlap_rate",
    "symmetric_center_bias",
    "top_k_accuracy",
    "wasserstein",
    "wasserstein_1d",
]
