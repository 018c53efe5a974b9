"""Look up metrics: built-in ones, and those registered under the entry point group `spotball.metrics`."""

from __future__ import annotations

from collections.abc import Mapping

from spotball_core import metrics
from spotball_core.metrics.metric import Metric
from spotball_core.service.plugins import Registry

GROUP = "spotball.metrics"
"""The entry point group under which other packages register metrics. Each entry point names a `Metric`."""

METRICS: Mapping[str, Metric] = Registry(
    GROUP, "metric", Metric, [getattr(metrics, key).metric for key in metrics.__all__]
)
"""Every metric by key, in the order of tables and JSON; metrics of other packages come last."""
