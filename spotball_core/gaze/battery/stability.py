"""Estimate how stable a type is: repeat the decision tree on bootstrap samples of the scenes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spotball_core.gaze.battery.run import Battery, TestPolicy
from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.mechanism.counts import SCENE
from spotball_core.random import generator_for
from spotball_core.schema.record import Record

if TYPE_CHECKING:
    import numpy as np
    import polars as pl


class Stability(Record):
    """How often a respondent gets each type in bootstrap samples of the scenes.

    Attributes:
        resamples: number of samples.
        types: number of samples by resulting type.
        share: share of the samples with the same type as all trials.
    """

    resamples: int
    types: dict[str, int]
    share: float


def stability(
    rows: pl.DataFrame,
    kind: Type,
    *,
    resamples: int,
    policy: TestPolicy | None = None,
    people: pl.DataFrame | None = None,
    seed: int = 0,
) -> Stability:
    """Repeat the decision tree on bootstrap samples of the scenes.

    Scenes are drawn with all their photos; a scene that is drawn twice counts as two scenes. Only the tests that
    determine the type are run. Their p values are not adjusted for multiple tests.

    Args:
        rows: one respondent's trials, from `measures.with_measures`.
        kind: the respondent's type, from all trials.
        resamples: number of samples, at least 1.
        policy: the policy of the tests (default: `TestPolicy()`); its correction for multiple tests is not used.
        people: people's trials for Test 1; None for the published accuracies of people.
        seed: seed of all random draws.
    """
    generator = generator_for(seed, "stability")
    types: Counter[Type] = Counter()
    for _ in range(resamples):
        sample = resampled_scenes(rows, generator)
        types[Battery(sample, policy, people).type()] += 1
    return Stability(resamples=resamples, types=dict(types.most_common()), share=types[kind] / resamples)


def resampled_scenes(rows: pl.DataFrame, generator: np.random.Generator) -> pl.DataFrame:
    """Return the trials of scenes drawn with replacement; if a scene is drawn again, its photos get new names.

    Args:
        rows: trials.
        generator: generator for the draws.
    """
    import polars as pl

    scenes = rows.select(SCENE).unique(maintain_order=True)
    drawn: pl.DataFrame = scenes[generator.integers(0, len(scenes), len(scenes)).tolist()]
    copies = drawn.with_columns(_copy=pl.int_range(pl.len()).over(SCENE))
    joined: pl.DataFrame = copies.join(rows, on=SCENE, how="inner", nulls_equal=True, maintain_order="left")
    named = pl.format("{}#{}", "stimulus_id", "_copy")
    stimulus = pl.when(pl.col("_copy") > 0).then(named).otherwise("stimulus_id")
    return joined.with_columns(stimulus_id=stimulus).select(rows.columns)
