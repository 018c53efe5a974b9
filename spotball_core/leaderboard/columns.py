"""Describe metrics for a leaderboard: name, unit, and which values are better."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from spotball_core.errors import OptionError, unknown_name
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy

CEILING_SCORE = "ceiling_score"
"""Metric key of `Ceiling.score`, the closeness to the reference: 0 for uniform guessing, 1 for the reference."""

DEFAULT = (
    *("accuracy", "euclidean_error", "wasserstein_matched", "near_player_rate", "overlap_rate"),
    CEILING_SCORE,
)

Better = Literal["higher", "lower", "reference", "one"]
"""Which values are better: higher ones, lower ones, those nearer to the reference's, or those nearer to 1."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A metric in a leaderboard.

    Attributes:
        key: the metric's key.
        title: its title without the unit.
        unit: unit of the values.
        better: which values are better; None if the metric is not ranked.
        bounds: the lowest and the highest possible value; each is None if the metric has no such bound.
        why_not: why the metric is not ranked; empty if it is ranked.
    """

    key: str
    title: str
    unit: str
    better: Better | None
    bounds: tuple[float | None, float | None] = (None, None)
    why_not: str = ""


def column(key: str, policy: ScorePolicy) -> MetricColumn:
    """Describe a metric under a policy; a metric that is not installed has no title, unit or ranks."""
    if key == CEILING_SCORE:
        return MetricColumn(key, "Closeness to the reference (0: uniform guessing, 1: reference)", "ratio", "higher")
    if key not in METRICS:
        return MetricColumn(key, key, "none", None, why_not="this installation does not have the metric")
    metric = METRICS[key]
    title, unit = metric.full_title(policy), metric.unit_under(policy)
    better: Better | None = None
    if metric.by_size:
        why_not = "the metric depends on the number of responses"
    elif metric.direction in ("higher", "lower"):
        why_not, better = "", "higher" if metric.direction == "higher" else "lower"
    elif metric.direction == "like the reference":
        why_not, better = "", "reference"
    elif metric.direction.startswith("1 "):
        why_not, better = "", "one"
    else:
        why_not = "neither higher nor lower values are better"
    return MetricColumn(key, title, unit, better, (metric.lowest, metric.highest), why_not)


def chosen(wanted: Sequence[str] | None, present: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of the metrics to show, without repeats.

    Args:
        wanted: the selected keys; None for the default metrics that have a value.
        present: the keys that have a value.

    Raises:
        OptionError: if a selected key has no value in any report.
    """
    known = list(dict.fromkeys(present))
    if wanted is None:
        return tuple(key for key in DEFAULT if key in known) or tuple(known[:1])
    if unknown := [key for key in wanted if key not in known]:
        raise OptionError(unknown_name("metric", unknown[0], known), code="unknown-name", field="--metrics")
    return tuple(dict.fromkeys(wanted))
