"""Spend the samples of a run on the images on which answers differ most: `spotball run --adaptive accuracy`.

The run asks in rounds. The samples of each round depend only on the replies of earlier rounds, so that a resumed run
repeats the same rounds. See `spotball_core.planning.adaptive` for the method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spotball_adapters.runs.launch import RunResult
from spotball_adapters.runs.responses import ParsedReplies
from spotball_adapters.runs.runner import RunTally
from spotball_core.errors import OptionError, unknown_name
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.adaptive import allocation, combined, round_sizes
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.scene import Scene
from spotball_core.scoring.estimates import Estimator
from spotball_core.text.numbers import interval, quantity
from spotball_core.text.words import plural
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

Ended = RunResult[tuple[ParsedReplies, Path | None]]
Samples = Mapping[tuple[str, str], int]
"""Number of samples of each scene, by its key."""


def adaptive_metric(key: str, prompts: int) -> Metric:
    """Return the metric for `--adaptive`.

    Raises:
        OptionError: for an unknown metric, a metric that needs a reference, or several prompts.
    """
    if key not in METRICS:
        raise OptionError(unknown_name("metric", key, METRICS), code="unknown-name", field="--adaptive")
    if prompts != 1:
        raise OptionError(
            f"found {prompts} prompts, expected one. Start a run for each prompt",
            code="conflicting-options",
            field="--adaptive",
        )
    metric = METRICS[key]
    if "reference" in metric.needs or metric.over == "pool" or metric.is_matched or metric.by_size:
        raise OptionError(
            f"{key} is not a mean over answers. Use a metric such as accuracy or euclidean_error", field="--adaptive"
        )
    return metric


@dataclass(frozen=True)
class Rounds:
    """The rounds of a run.

    Attributes:
        metric: the metric whose noise they reduce.
        scenes: the scenes of the run.
        samples: mean number of samples per image in all rounds.
    """

    metric: Metric
    scenes: tuple[Scene, ...]
    samples: int

    def ask(self, ask: Callable[[Samples], Ended]) -> tuple[Ended, list[str]]:
        """Ask in rounds until all samples are complete, or replies are missing.

        Args:
            ask: starts or resumes the run with the given numbers of samples, and returns its result.

        Returns:
            The last result with the counts of all rounds, and lines about the estimate.
        """
        totals, tally, values = np.zeros(len(self.scenes), dtype=int), RunTally(total=0), []
        rows: pl.DataFrame | None = None
        sizes = round_sizes(self.samples)
        for size in sizes:
            before = totals
            new = np.full(len(totals), size) if rows is None else self._next(rows, totals, size)
            totals = before + new
            ended = ask({scene.key: int(n) for scene, n in zip(self.scenes, totals, strict=True)})
            tally = tally + ended.tally
            ended = replace(ended, tally=tally)
            if ended.left or ended.why or ended.error:
                return ended, []
            rows = ended.output[0].rows
            if not len(rows):
                return ended, []
            values.append(self._values(rows, before, totals))
        return ended, list(self._lines(combined(values, sizes), totals))

    def _next(self, rows: pl.DataFrame, totals: IntArray, size: int) -> IntArray:
        """Return the number of samples of each scene in the next round. Images without scored replies have 1."""
        estimator, new = self._estimator(rows, np.zeros_like(totals), totals), np.ones_like(totals)
        new[estimator.scenes] = allocation(estimator, self.metric, size)
        return new

    def _values(self, rows: pl.DataFrame, before: IntArray, after: IntArray) -> FloatArray:
        """Return each scene's mean over the samples of one round, shape (n_scenes,); NaN without scored replies."""
        estimator, values = self._estimator(rows, before, after), np.full(len(before), np.nan)
        values[estimator.scenes] = estimator.own(self.metric).values
        return values

    def _estimator(self, rows: pl.DataFrame, before: IntArray, after: IntArray) -> Estimator:
        """Return the estimator of the samples above `before` and up to `after` of each scene."""
        import polars as pl

        from spotball_core.dataset import load
        from spotball_core.scoring.groups import Scoring

        keys = pl.DataFrame([scene.key for scene in self.scenes], schema=["sport", "image"], orient="row")
        keys = keys.with_columns(_before=pl.Series(before), _after=pl.Series(after))
        chosen = rows.join(keys, on=["sport", "image"]).filter(
            (pl.col("sample") > pl.col("_before")) & (pl.col("sample") <= pl.col("_after"))
        )
        data = load(chosen.select(rows.columns), self.scenes)
        # By prompt only, so that all sports are one group, with its scenes in the order of the run.
        scoring = Scoring(data.counts, data.scenes, ScorePolicy.standard(by=("prompt",), bootstrap=0))
        return scoring.estimator(scoring.groups[0])

    def _lines(self, values: FloatArray, totals: IntArray) -> list[str]:
        """Describe the estimate and its 95% interval."""
        from scipy.special import stdtrit

        known, unit = values[np.isfinite(values)], self.metric.unit
        n = len(known)
        if n < 2:
            return [f"{self.metric.key}: fewer than 2 images have values"]
        mean = float(known.mean())
        half = float(stdtrit(n - 1, 0.975)) * float(known.std(ddof=1)) / math.sqrt(n)
        answers = f"{self.samples} samples each on average ({totals.min()} to {totals.max()})"
        value = f"{quantity(mean, unit)} {interval((mean - half, mean + half), unit)}"
        return [
            f"{self.metric.key} {value} from {plural(n, 'image')} with {answers}",
            "This estimate is unbiased. `spotball score` is not for this run: it counts all samples alike.",
        ]
