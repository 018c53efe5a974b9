"""Compute means over subsets of a respondent's trials, for tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from spotball_core.gaze.measures import Share, share
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

if TYPE_CHECKING:
    import polars as pl

SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Lower bounds of the classes of response times, in seconds; the first class includes all shorter times above 0."""


class Cell(Record):
    """Mean of a measure over a subset of a respondent's trials.

    Attributes:
        measure: `accuracy`, `wrongness` (among matched trials) or `head`, the share of choices of the head target.
        by: the variables that define the subset, with their values. `seconds_from` is the lower bound of a class of
            response times in seconds; the upper bound is twice this value. The first class (0.25) includes all shorter
            times, the last class (64) all longer times.
        value: the mean.
        ci95: 95% confidence interval of the mean, from resamples of the photos; None without resamples.
        chance: mean expected for uniform guessing on the same trials.
        n_trials: number of trials.
        n_stimuli: number of photos.
    """

    measure: Literal["accuracy", "wrongness", "head"]
    by: dict[str, str]
    value: float
    ci95: Interval | None
    chance: float
    n_trials: int
    n_stimuli: int


def cells_of(rows: pl.DataFrame, *, resamples: int, seed: int) -> list[Cell]:
    """Return means of accuracy, wrongness and head choices over subsets of the trials, for tables and figures.

    Args:
        rows: one respondent's trials, from `measures.with_measures`.
        resamples: number of resamples of the photos, for intervals.
        seed: seed of all random draws.
    """
    import polars as pl

    matched = rows.filter(pl.col("wrongness").is_not_null())
    facing = rows.filter(pl.col("condition") != "natural")
    agreeing = matched.filter(pl.col("condition") != "incongruent")
    rows = rows.with_columns(chance=1 / pl.col("n_objects"))
    facing = facing.with_columns(chance=1 / pl.col("n_objects"), offset=pl.col("head") - pl.col("gaze"))
    measures: Sequence[tuple[Literal["accuracy", "wrongness", "head"], str, str, pl.DataFrame, tuple[str, ...]]] = (
        ("accuracy", "correct", "chance", rows, ("condition",)),
        ("accuracy", "correct", "chance", rows, ("condition", "n_objects")),
        ("accuracy", "correct", "chance", rows, ("condition", "view")),
        ("accuracy", "correct", "chance", rows, ("condition", "proximity")),
        ("wrongness", "wrongness", "expected_wrongness", matched, ("condition",)),
        ("wrongness", "wrongness", "expected_wrongness", agreeing, ("proximity",)),
        ("wrongness", "wrongness", "expected_wrongness", agreeing, ("view", "proximity")),
        ("head", "is_head", "chance", facing, ("n_objects", "dist_eye_head")),
        ("head", "is_head", "chance", facing, ("n_objects", "offset")),
        ("accuracy", "correct", "chance", _timed(rows), ("seconds_from",)),
    )
    cells = []
    for measure, column, chance, of_these, keys in measures:
        for values, group in sorted(of_these.group_by(keys, maintain_order=True), key=lambda pair: str(pair[0])):
            mean = share(group[column], group["stimulus_id"], resamples=resamples, seed=seed)
            cells.append(_cell(measure, dict(zip(keys, values, strict=True)), mean, group[chance]))
    return cells


def _timed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the trials with a response time above 0, with the lower bound of its class in `seconds_from`."""
    import numpy as np
    import polars as pl

    timed = rows.filter(pl.col("response_time") > 0)
    kinds = np.searchsorted(SECONDS, timed["response_time"].to_numpy(), side="right") - 1
    return timed.with_columns(seconds_from=pl.Series(np.take(SECONDS, np.maximum(kinds, 0)), dtype=pl.Float64))


def _cell(
    measure: Literal["accuracy", "wrongness", "head"], by: Mapping[str, object], mean: Share, chance: pl.Series
) -> Cell:
    labels = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in by.items()}
    return Cell(
        measure=measure,
        by=labels,
        value=mean.value,
        ci95=mean.ci95,
        chance=float(chance.to_numpy().mean()),
        n_trials=mean.n_trials,
        n_stimuli=mean.n_stimuli,
    )
