"""Build hand-written trials, one per photo."""

from __future__ import annotations

import polars as pl

from spotball_core.gaze.measures import with_measures


def photo(
    choice: int | None,
    *,
    gaze: int = 0,
    head: int | None = None,
    n: int = 2,
    proximity: int = 1,
    view: str = "front",
    times: int = 1,
    **more: object,
) -> list[dict[str, object]]:
    """Return rows for `times` photos that have the same answer."""
    condition = "natural" if head is None else "congruent" if head == gaze else "incongruent"
    row: dict[str, object] = {
        "respondent": "m",
        "prompt_id": "1",
        "condition": condition,
        "view": view,
        "proximity": proximity,
        "objects": "+".join("abcdefghi"[:n]),
        "n_objects": n,
        "gaze": gaze,
        "head": head,
        "choice": choice,
    }
    return [row | more for _ in range(times)]


SCHEMA: dict[str, pl.DataType] = {
    **dict.fromkeys(("respondent", "stimulus_id", "prompt_id", "participant", "sample"), pl.String()),
    "response_time": pl.Float64(),
    **dict.fromkeys(("condition", "view"), pl.String()),
    "proximity": pl.Int64(),
    "objects": pl.String(),
    **dict.fromkeys(("n_objects", "gaze", "head", "choice"), pl.Int64()),
    **dict.fromkeys(("actor", "scene"), pl.String()),
}


def table(*groups: list[dict[str, object]]) -> pl.DataFrame:
    """Return trials with measures, and number the photos that have no name."""
    rows = [row for group in groups for row in group]
    named = [{"stimulus_id": str(number), **row} for number, row in enumerate(rows)]
    return with_measures(pl.DataFrame(named, schema=SCHEMA))
