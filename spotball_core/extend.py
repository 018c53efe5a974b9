"""What an author of metrics, cues or engines needs, in addition to the names of `spotball_core`."""

from spotball_core.counting.engines import Engine
from spotball_core.cue_maps.cue import Cue
from spotball_core.metrics.metric import (
    Aggregate,
    MeanOverImages,
    MeanOverResponses,
    Metric,
    MetricInput,
    MetricOptions,
    Pooled,
    Statistic,
    Sums,
    metric,
)
from spotball_core.metrics.sampling import SharedDraws

__all__ = [
    "Aggregate",
    "Cue",
    "Engine",
    "MeanOverImages",
    "MeanOverResponses",
    "Metric",
    "MetricInput",
    "MetricOptions",
    "Pooled",
    "SharedDraws",
    "Statistic",
    "Sums",
    "metric",
]
