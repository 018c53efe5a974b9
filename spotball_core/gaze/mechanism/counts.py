"""Count choices by photo, in the form that the cue model needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

SCENE: Final = ("objects", "proximity", "view", "actor", "scene")
"""Columns with equal values for all photos of a scene; these photos differ only in the directions of eyes and head."""


@dataclass(frozen=True)
class ChoiceCounts:
    """Numbers of choices of each object, by photo.

    Photos with the same number of objects, targets, proximity and side form a configuration: the model predicts the
    same shares for all of them.

    Attributes:
        counts: number of choices, shape (n_photos, most_objects), 0 beyond a photo's objects.
        configuration: index of each photo's configuration in the following arrays, shape (n_photos,).
        n_objects: number of objects, shape (n_configurations,).
        gaze: position of the gaze target, from 0, shape (n_configurations,).
        head: position of the head target, from 0, shape (n_configurations,).
        closeness: proximity minus 1, shape (n_configurations,).
        side: 1 for photos from the left or right and 0 from the front, shape (n_configurations,).
        scene: index of each photo's scene, from 0, shape (n_photos,).
    """

    counts: FloatArray
    configuration: IntArray
    n_objects: IntArray
    gaze: IntArray
    head: IntArray
    closeness: FloatArray
    side: FloatArray
    scene: IntArray

    @property
    def n_trials(self) -> int:
        """The number of counted trials."""
        return int(self.counts.sum())

    @property
    def n_scenes(self) -> int:
        """The number of scenes that the photos come from."""
        return int(self.scene.max()) + 1

    @property
    def repeated(self) -> bool:
        """Whether at least one photo has several trials, so that the noise per photo can be estimated."""
        return bool((self.counts.sum(axis=1) > 1).any())

    @cached_property
    def blocks(self) -> tuple[FloatArray, IntArray]:
        """Counts, shape (n_configurations, most_photos, most_objects), and indices of photos, padded with -1."""
        order = np.argsort(self.configuration, kind="stable")
        sizes = np.bincount(self.configuration, minlength=len(self.n_objects))
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        column = np.arange(len(order)) - starts
        photo = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int64)
        photo[self.configuration[order], column] = order
        counts = np.where(photo[:, :, None] >= 0, self.counts[photo], 0.0)
        return counts, photo


def count_choices(rows: pl.DataFrame) -> ChoiceCounts:
    """Count the choices of one respondent's trials with a known head target; unmatched choices are excluded.

    Args:
        rows: trials, with the columns of `Trials.frame`.

    Raises:
        OptionError: if no trial has a head target and a choice.
    """
    import polars as pl

    known = rows.filter(pl.col("head").is_not_null() & pl.col("choice").is_not_null())
    if known.is_empty():
        raise OptionError(
            "the cue model needs matched choices for congruent or incongruent photos", code="cannot-estimate"
        )
    keys = ("n_objects", "gaze", "head", "proximity", "side")
    photos = (
        known.with_columns(side=(pl.col("view") != "front").cast(pl.Int64))
        .group_by("stimulus_id", *keys, *(name for name in SCENE if name not in keys), maintain_order=True)
        .agg(*((pl.col("choice") == place).sum().alias(f"_{place}") for place in range(known["n_objects"].max())))  # type: ignore[arg-type]
    )
    scenes = photos.select(SCENE).unique(maintain_order=True).with_row_index("_scene")
    photos = photos.join(scenes, on=SCENE, how="left", maintain_order="left", nulls_equal=True)
    configurations = photos.select(keys).unique(maintain_order=True).with_row_index("_configuration")
    photos = photos.join(configurations, on=keys, how="left", maintain_order="left")
    fields = {name: configurations[name].cast(pl.Int64).to_numpy() for name in keys}
    return ChoiceCounts(
        counts=photos.select("^_[0-9]+$").to_numpy().astype(float),
        configuration=photos["_configuration"].cast(pl.Int64).to_numpy(),
        n_objects=fields["n_objects"],
        gaze=fields["gaze"],
        head=fields["head"],
        closeness=fields["proximity"].astype(float) - 1,
        side=fields["side"].astype(float),
        scene=photos["_scene"].cast(pl.Int64).to_numpy(),
    )
