"""Test whether a respondent is at chance, to separate the type `at chance` from `gap without head bias`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.gaze.battery.modeling import by_stimulus
from spotball_core.gaze.plain_tests import equivalence_p, one_sample
from spotball_core.schema.record import Record

if TYPE_CHECKING:
    import polars as pl

MARGIN: Final = 0.05
"""Largest difference from chance at which a share counts as equal to chance."""


class AtChance(Record):
    """Whether a respondent chooses the gaze target and the head target as often as uniform guessing does.

    An equivalence test (two one-sided tests, TOST) over photos shows for each of the two shares whether its difference
    from chance is at most `margin`. A nonsignificant difference would not show that a share equals chance.

    Attributes:
        verdict: whether both equivalence tests are significant, so that both shares equal chance within the margin.
        accuracy: accuracy minus chance, mean over photos of all conditions.
        accuracy_p: p value of the equivalence test of `accuracy`.
        head: share of the head target minus chance, mean over incongruent photos; None for fewer than two such photos,
            and the verdict then depends on `accuracy` alone.
        head_p: p value of the equivalence test of `head`; None if `head` is None.
        margin: largest difference from chance that counts as equal to chance.
    """

    verdict: bool
    accuracy: float
    accuracy_p: float
    head: float | None
    head_p: float | None
    margin: float = MARGIN


def at_chance(rows: pl.DataFrame, *, alpha: float = 0.05) -> AtChance | None:
    """Test whether a respondent is at chance. Unmatched choices count as wrong.

    Args:
        rows: one respondent's trials, from `measures.with_measures`.
        alpha: level of the equivalence tests.

    Returns:
        The result; None for fewer than two photos.
    """
    import polars as pl

    accuracy = _excess(rows, "correct")
    if accuracy is None:
        return None
    head = _excess(rows.filter(pl.col("condition") == "incongruent"), "is_head")
    close = accuracy[1] < alpha and (head is None or head[1] < alpha)
    return AtChance(
        verdict=close,
        accuracy=accuracy[0],
        accuracy_p=accuracy[1],
        head=head[0] if head else None,
        head_p=head[1] if head else None,
    )


def _excess(rows: pl.DataFrame, column: str) -> tuple[float, float] | None:
    import polars as pl

    photos = by_stimulus(rows, share=pl.col(column).fill_null(0.0))
    mean = one_sample(photos["share"].to_numpy() - 1 / np.asarray(photos["n_objects"], dtype=float))
    return None if mean is None else (mean.estimate, equivalence_p(mean.estimate, mean.se, MARGIN, mean.df))
