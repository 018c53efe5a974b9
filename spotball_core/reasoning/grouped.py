"""Assign rationales to groups and images, and select those that have a category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.schema.report import Interval, MetricValue
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import reading_order
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
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


Weights = Callable[[int], FloatArray]
"""Function that returns how often each resample contains each of n images, shape (resamples, n)."""


def drawn_images(resamples: int, seed: int) -> Weights:
    """Return a function that resamples n images; it returns the same resamples whenever n is the same."""
    return lru_cache(maxsize=None)(lambda n: resample_weights(n, resamples, seed))


def ratios_of_sums(above: FloatArray, below: FloatArray, draws: Weights) -> list[MetricValue]:
    """Return ratios of two sums over images, with bootstrap intervals.

    Args:
        above: what each image adds to each numerator, shape (n_sums, n_images).
        below: what each image adds to the common denominator, shape (n_images,). Images that add 0 do not belong to the
            group; at least one image adds more than 0.
        draws: resamples of the images, from `drawn_images`.

    Examples:
        >>> (share,) = ratios_of_sums(np.array([[1.0, 0.0, 0.0]]), np.array([2.0, 2.0, 0.0]), drawn_images(0, 0))
        >>> share.value, share.n_images
        (0.25, 2)
    """
    included = below > 0
    parts = np.concatenate([above, below[None]])[:, included]
    sums, resampled = parts.sum(axis=1), draws(int(included.sum())) @ parts.T
    ratios = resampled[:, :-1] / resampled[:, -1:]
    return [
        MetricValue(value=float(total / sums[-1]), ci95=percentile_interval(values), n_images=int(included.sum()))
        for total, values in zip(sums[:-1], ratios.T, strict=True)
    ]


def sums_by(group: IntArray, image: IntArray, shape: tuple[int, int], values: FloatArray) -> FloatArray:
    """Return the sums of values, shape (n,), by group and image; `shape` is (n_groups, n_images)."""
    flat = np.bincount(group * shape[1] + image, weights=values, minlength=shape[0] * shape[1])
    return flat.astype(float).reshape(shape)


@dataclass(frozen=True)
class Stratified:
    """Comparison of the means of two kinds of rationales within strata.

    Attributes:
        a: weighted mean over strata of the mean of the first kind.
        b: weighted mean over strata of the mean of the second kind.
        ci95: 95% bootstrap interval of a - b; None without resamples.
        n_a: number of rationales of the first kind in strata with rationales of both kinds.
        n_b: number of rationales of the second kind in these strata.
        n_strata: number of strata with rationales of both kinds.
        n_images: number of images of those rationales.
    """

    a: float
    b: float
    ci95: Interval | None
    n_a: int
    n_b: int
    n_strata: int
    n_images: int


def stratified_difference(
    value: FloatArray, is_a: BoolArray, is_b: BoolArray, stratum: IntArray, image: IntArray, draws: Weights
) -> Stratified | None:
    r"""Compute the difference between two kinds of rationales within strata, as a weighted mean over strata.

    A stratum with $n_a$ and $n_b$ rationales of the two kinds has the weight $n_a n_b / (n_a + n_b)$, which is
    proportional to the inverse variance of its difference if all values have the same variance (Cochran's weights).
    Strata with only one kind are ignored. Each resample of the images has its own counts, means and weights.

    Args:
        value: the values to compare, shape (n,); NaN is excluded.
        is_a: which rationales are of the first kind.
        is_b: which rationales are of the second kind.
        stratum: each rationale's stratum, from 0.
        image: each rationale's image, from 0.
        draws: resamples of the images, from `drawn_images`.

    Returns:
        The comparison; None if no stratum has both kinds.
    """
    used = np.isfinite(value) & (is_a | is_b)
    value, is_a, stratum, image = value[used], is_a[used], stratum[used], image[used]
    if not len(value):
        return None
    present, image = np.unique(image, return_inverse=True)
    shape = (int(stratum.max()) + 1, len(present))
    counts, sums = [], []
    for kind in (is_a, ~is_a):
        counts.append(sums_by(stratum, image, shape, kind.astype(float)))
        sums.append(sums_by(stratum, image, shape, np.where(kind, value, 0.0)))
    has_both = (counts[0].sum(axis=1) > 0) & (counts[1].sum(axis=1) > 0)
    if not has_both.any():
        return None
    n_a, n_b, sum_a, sum_b = (table[has_both] for table in (*counts, *sums))
    (a,), (b,) = _weighted(*(table.sum(axis=1)[None] for table in (n_a, n_b, sum_a, sum_b)))
    has_either = (n_a + n_b).sum(axis=0) > 0
    weights = draws(int(has_either.sum()))
    many_a, many_b = _weighted(*(weights @ table[:, has_either].T for table in (n_a, n_b, sum_a, sum_b)))
    ci95 = percentile_interval(many_a - many_b) if len(weights) else None
    return Stratified(
        a=float(a),
        b=float(b),
        ci95=ci95,
        n_a=int(n_a.sum()),
        n_b=int(n_b.sum()),
        n_strata=int(has_both.sum()),
        n_images=int(has_either.sum()),
    )


def _weighted(n_a: FloatArray, n_b: FloatArray, sum_a: FloatArray, sum_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both kinds' weighted means, shape (m,), from tables (m, n_strata); NaN if no stratum has both kinds."""
    has_both = (n_a > 0) & (n_b > 0)
    safe_a, safe_b = np.where(has_both, n_a, 1.0), np.where(has_both, n_b, 1.0)
    weight = np.where(has_both, safe_a * safe_b / (safe_a + safe_b), 0.0)
    total = weight.sum(axis=1)
    total[total == 0] = np.nan
    return (weight * sum_a / safe_a).sum(axis=1) / total, (weight * sum_b / safe_b).sum(axis=1) / total
