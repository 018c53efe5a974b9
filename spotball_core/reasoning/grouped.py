"""Assign rationales to groups and images, and select those that have a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import reading_order
from spotball_core.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

Name = tuple[str | None, str | None, Kind | None, str | None]
"""Sport, respondent, kind and prompt of a group. If a group is pooled over one of these, that one is None."""

_PARTS = ("sport", "respondent", "kind", "prompt")


@dataclass(frozen=True)
class GroupedRationales:
    """Responses to images that are not controls, and those of these responses that have a rationale.

    Attributes:
        responses: the responses, with the position of the scene in the column `_image`.
        n_controls: number of excluded responses to controls.
        rationales: the responses with a text whose embedding is finite and not zero, sorted by the number of their
            group, which is in the column `_group`.
        names: names of the groups, in the order of tables; each group has at least one rationale.
        n_images: number of all scenes.
    """

    responses: pl.DataFrame
    n_controls: int
    rationales: pl.DataFrame
    names: tuple[Name, ...]
    n_images: int

    @classmethod
    def of(cls, rows: pl.DataFrame, scenes: Sequence[Scene], has_direction: BoolArray) -> GroupedRationales:
        """Group the rows of `Rationales`.

        Args:
            rows: the rows of `Rationales`.
            scenes: the scenes that the rows refer to.
            has_direction: which texts have an embedding that is finite and not zero, shape (n_texts,).

        Raises:
            OptionError: if no rationale remains, or a row refers to a scene that is missing from `scenes`.
        """
        import polars as pl

        places = pl.DataFrame(
            {
                "sport": [scene.sport for scene in scenes],
                "image": [scene.image for scene in scenes],
                "_image": range(len(scenes)),
                "_control": [scene.control for scene in scenes],
            },
            schema_overrides={"_image": pl.Int64},
        )
        table = rows.join(places, on=["sport", "image"], how="left", maintain_order="left")
        if table["_image"].null_count():
            sport, image = table.filter(pl.col("_image").is_null()).select("sport", "image").row(0)
            raise OptionError(
                f"the scenes do not contain {sport}/{image}, an image with a rationale. Use the ids of the scenes file",
                code="unknown-image",
            )
        responses = table.filter(~pl.col("_control")).drop("_control")
        directed = pl.Series("text", np.flatnonzero(has_direction), dtype=pl.Int64)
        with_text = responses.filter(pl.col("text").is_in(directed.implode()))
        if with_text.is_empty():
            raise OptionError(
                "the embeddings of all rationales are zero or not finite. Use another embedder", code="unusable-model"
            )
        names = sorted(
            with_text.select(_PARTS).unique().rows(), key=lambda name: reading_order(name[0], name[2], *name[1::2])
        )
        numbers = pl.DataFrame(names, schema=_PARTS, orient="row").with_row_index("_group")
        with_text = with_text.join(numbers, on=_PARTS, how="left", maintain_order="left").sort(
            "_group", maintain_order=True
        )
        return cls(responses, len(table) - len(responses), with_text, tuple(names), len(scenes))

    @cached_property
    def group(self) -> IntArray:
        """The number of each rationale's group, shape (n,)."""
        return self.rationales["_group"].to_numpy().astype(np.int64)

    @cached_property
    def image(self) -> IntArray:
        """The position of each rationale's scene, shape (n,)."""
        return self.rationales["_image"].to_numpy()

    @cached_property
    def text(self) -> IntArray:
        """The index of each rationale's text, shape (n,)."""
        return self.rationales["text"].to_numpy()

    @cached_property
    def sizes(self) -> IntArray:
        """The number of rationales of each group, shape (n_groups,)."""
        return np.bincount(self.group, minlength=len(self.names))

    def distinct(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return each distinct pair of a group and a text, sorted by group, and how often the pair occurs."""
        width = int(self.text.max()) + 1
        pairs, times = np.unique(self.group * width + self.text, return_counts=True)
        return pairs // width, pairs % width, times.astype(float)

    @cached_property
    def n_responses(self) -> dict[Name, int]:
        """The number of responses of each sport, respondent, kind and prompt."""
        counts = self.responses.group_by(_PARTS).len()
        return {row[:4]: row[4] for row in counts.select(*_PARTS, "len").iter_rows()}

    def silent(self) -> tuple[str, ...]:
        """Return a warning for each respondent without any rationale."""
        speaking = {respondent for _, respondent, _, _ in self.names}
        silent: dict[str, int] = {}
        for (_, respondent, _, _), n in sorted(self.n_responses.items()):
            if respondent not in speaking:
                silent[str(respondent)] = silent.get(str(respondent), 0) + n
        return tuple(f"{name}: none of the {n:,} responses has a rationale" for name, n in silent.items())
