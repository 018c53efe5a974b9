"""Estimate whether categories are associated with correct answers, closeness to the ball, or closeness to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.metrics.task import truth_distances
from spotball_core.reasoning.categories import STATISTICS, Categories
from spotball_core.reasoning.grouped import GroupedRationales
from spotball_core.reasoning.intervals import stratified_difference
from spotball_core.reasoning.records import CategoryContrast, Outcome, Statistic
from spotball_core.schema.response import Kind
from spotball_core.schema.scene import Scene
from spotball_core.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    import polars as pl

_UNKNOWN = {
    "accuracy": "the scenes do not contain the ball's position",
    "euclidean_error": "no rationale with a guessed cell belongs to a scene with a known ball position",
    "distance_to_people": "no rationale with a guessed cell belongs to an image that people answered",
}


def outcomes(grouped: GroupedRationales, scenes: Sequence[Scene]) -> dict[Outcome, FloatArray]:
    """Return the outcomes of each rationale's answer, shape (n,) each; NaN if an outcome is undefined.

    Returns:
        `accuracy`: 1 if the named cell holds the ball, else 0; unparsed answers are wrong. `euclidean_error`: distance
            in pixels from the cell to the nearest cell with the ball. `distance_to_people`: mean distance in pixels
            from the cell to the cells that people (respondents of kind human) named on the image; it is not defined for
            people themselves. Answers given as probabilities name no cell, so they have no outcome.
    """
    rows = grouped.rationales
    has_cell = ~rows["cell"].is_null().to_numpy()
    cell = rows["cell"].fill_null(0).to_numpy()
    spread = rows["spread"].fill_null(value=False).to_numpy()
    hit, error, apart = (table[grouped.image, cell] for table in _tables(grouped, scenes))
    known_truth = ~np.isnan(hit)
    return {
        "accuracy": np.where(spread | ~known_truth, np.nan, np.where(has_cell, hit, 0.0)),
        "euclidean_error": np.where(has_cell, error, np.nan),
        "distance_to_people": np.where(has_cell & (rows["kind"] != "human").to_numpy(), apart, np.nan),
    }


def _tables(grouped: GroupedRationales, scenes: Sequence[Scene]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return three outcomes of naming each cell, shape (n_images, n_cells) each: hit, error and distance to people."""
    n_cells = scenes[0].layout.n_cells
    people = _people(grouped.responses, len(scenes), n_cells)
    hit, error, apart = (np.full((len(scenes), n_cells), np.nan) for _ in range(3))
    for place, scene in enumerate(scenes):
        if scene.truth is not None:
            hit[place] = scene.truth.mask
            error[place] = truth_distances(scene.truth.mask, scene.layout)
        if people[place].any():
            apart[place] = scene.layout.distance_sums(people[place]) / people[place].sum()
    return hit, error, apart


def _people(responses: pl.DataFrame, n_images: int, n_cells: int) -> FloatArray:
    """Return the number of times people named each cell of each image."""
    import polars as pl

    rows = responses.filter((pl.col("kind") == "human") & pl.col("cell").is_not_null())
    flat = rows["_image"].to_numpy() * n_cells + rows["cell"].to_numpy()
    return np.bincount(flat, minlength=n_images * n_cells).astype(float).reshape(n_images, n_cells)


def contrasts(
    grouped: GroupedRationales, categories: Categories, scenes: Sequence[Scene]
) -> tuple[CategoryContrast, ...]:
    """Return how outcomes differ between categories, for each respondent, then for all models if there are several."""
    values = outcomes(grouped, scenes)
    return tuple(
        contrast
        for outcome, value in values.items()
        for respondent, kind, places in _whom(grouped)
        if outcome != "distance_to_people" or kind != "human"
        for contrast in _of(outcome, value, respondent, kind, np.isin(grouped.group, places), grouped, categories)
    )


def _whom(grouped: GroupedRationales) -> Iterator[tuple[str | None, Kind, list[int]]]:
    """Yield each respondent, its kind and its groups' indices; then None for all models, if there are several."""
    by_respondent: dict[tuple[str, Kind], list[int]] = {}
    for place, (_, respondent, kind, _) in enumerate(grouped.names):
        by_respondent.setdefault((str(respondent), kind or "model"), []).append(place)
    order: Mapping[str, int] = {"human": 0, "model": 1, "baseline": 2}
    for (respondent, kind), places in sorted(by_respondent.items(), key=lambda item: (order[item[0][1]], item[0][0])):
        yield respondent, kind, places
    models = [places for (_, kind), places in by_respondent.items() if kind == "model"]
    if len(models) > 1:
        yield None, "model", [place for places in models for place in places]


def _of(
    outcome: Outcome,
    value: FloatArray,
    respondent: str | None,
    kind: Kind,
    inside: BoolArray,
    grouped: GroupedRationales,
    categories: Categories,
) -> Iterator[CategoryContrast]:
    names = categories.templates.names
    pairs = [(0, names[1])] if len(names) == 2 else [(place, "others") for place in range(len(names))]
    statistic: Statistic
    for statistic in STATISTICS:
        number = categories.of_text[statistic][grouped.text[inside]]
        for place, other_name in pairs:
            about = {"outcome": outcome, "statistic": statistic, "respondent": respondent, "kind": kind}
            about |= {"a": names[place], "b": other_name}
            is_a = number == place
            is_b = (number >= 0) & ~is_a
            difference = stratified_difference(
                value[inside], is_a, is_b, grouped.group[inside], grouped.image[inside], categories.draws
            )
            if difference is None:
                reason = (
                    f"no combination of sport and prompt has rationales of both {names[place]} and {other_name} with a "
                    "known outcome"
                )
                if not np.isfinite(value[inside]).any():
                    reason = _UNKNOWN[outcome]
                yield CategoryContrast.model_validate(about | {"reason": reason})
                continue
            numbers = {
                "n_a": difference.n_a,
                "n_b": difference.n_b,
                "n_strata": difference.n_strata,
                "n_images": difference.n_images,
            }
            worth = {
                "value_a": difference.a,
                "value_b": difference.b,
                "difference": difference.a - difference.b,
                "ci95": difference.ci95,
            }
            yield CategoryContrast.model_validate(about | worth | numbers)
