"""What the metrics are called and how to read them: one record each, from which tables, docs and reports are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from spotball_core.grid import FloatArray
from spotball_core.metrics import alignment, scoring_rules, strategy, task

Family = Literal["task", "alignment", "strategy", "scoring rules"]
Over = Literal["images", "responses", "pool"]
Needs = Literal["truth", "reference", "players"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric's record.

    Attributes:
        key: its name in Python, in JSON and in tables.
        title: its name in words.
        symbol: its mathematical sign.
        unit: of the value: px, nats, share, ratio.
        direction: whether "lower" or "higher" is better, or the value to read against, such as "1 = like the truth".
        equation: its number in the paper; None for a metric beyond the paper.
        needs: what must be known beside the guesses.
        over: how images become one number: "images" is the mean of each image's value, "responses" weighs each image
            by its number of responses, "pool" is the metric of the guesses pooled over images.
        family: the question it answers.
        function: computes it.
    """

    key: str
    title: str
    symbol: str
    unit: str
    direction: str
    equation: str | None
    needs: tuple[Needs, ...]
    over: Over
    family: Family
    function: Callable[..., FloatArray]

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


_ALL = (
    Metric("accuracy", "Accuracy", "Acc", "share", "higher", "1", ("truth",), "responses", "task", task.accuracy),
    Metric(
        "euclidean_error",
        "Euclidean error",
        "d",
        "px",
        "lower",
        "2",
        ("truth",),
        "images",
        "task",
        task.euclidean_error,
    ),
    Metric(
        "wasserstein",
        "Wasserstein distance",
        "W",
        "px",
        "lower",
        "3",
        ("reference",),
        "images",
        "alignment",
        alignment.wasserstein,
    ),
    Metric(
        "near_player_rate",
        "Near-player rate",
        "NR",
        "share",
        "like the reference",
        "4, 5",
        ("players",),
        "responses",
        "strategy",
        strategy.near_player_rate,
    ),
    Metric(
        "overlap_rate",
        "Overlap rate",
        "OR",
        "share",
        "like the reference",
        "6",
        ("players",),
        "responses",
        "strategy",
        strategy.overlap_rate,
    ),
    Metric(
        "center_ratio",
        "Center ratio",
        "CR",
        "ratio",
        "1 = like the truth, above = center bias",
        "7",
        ("truth",),
        "pool",
        "strategy",
        strategy.center_ratio,
    ),
    Metric(
        "normalized_entropy",
        "Normalized entropy",
        "Ĥ",
        "ratio",
        "like the reference",
        "8",
        (),
        "pool",
        "strategy",
        strategy.normalized_entropy,
    ),
    Metric(
        "image_entropy",
        "Image entropy",
        "Ĥ_i",
        "ratio",
        "like the reference",
        "8",
        (),
        "images",
        "strategy",
        strategy.image_entropy,
    ),
    Metric(
        "top_k_accuracy",
        "Top-k accuracy",
        "Acc@k",
        "share",
        "higher",
        None,
        ("truth",),
        "images",
        "task",
        task.top_k_accuracy,
    ),
    Metric(
        "log_score",
        "Log score",
        "LS",
        "nats",
        "lower",
        None,
        ("truth",),
        "images",
        "scoring rules",
        scoring_rules.log_score,
    ),
    Metric(
        "brier_score",
        "Brier score",
        "BS",
        "none",
        "lower",
        None,
        ("truth",),
        "images",
        "scoring rules",
        scoring_rules.brier_score,
    ),
    Metric(
        "energy_score",
        "Energy score",
        "ES",
        "px",
        "lower",
        None,
        ("truth",),
        "images",
        "scoring rules",
        scoring_rules.energy_score,
    ),
    Metric(
        "expected_error",
        "Expected error",
        "E‖X-Y‖",
        "px",
        "lower",
        None,
        ("truth",),
        "images",
        "task",
        task.expected_error,
    ),
    Metric(
        "symmetric_center_bias",
        "Symmetric center bias",
        "SCB",
        "ratio",
        "1 = like the truth, below = center bias",
        None,
        ("truth",),
        "pool",
        "strategy",
        strategy.symmetric_center_bias,
    ),
    Metric(
        "wasserstein_1d",
        "1D Wasserstein distance",
        "W1D",
        "px",
        "lower",
        None,
        ("reference",),
        "images",
        "alignment",
        alignment.wasserstein_1d,
    ),
)

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}
"""Every metric by its key, in the order of tables and of JSON."""
