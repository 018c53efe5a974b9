"""Write every number of a leaderboard as one table, in CSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

COLUMNS = (
    *("ranking", "sport", "n_sports", "respondent", "kind", "prompt", "is_reference", "metric"),
    *("value", "ci95_low", "ci95_high", "rank", "rank_low", "rank_high", "n_ranked", "unit", "better"),
    *("n_images", "n_responses", "n_unparsed", "reason", "version", "comparable", "signature", "source"),
)

_COUNTS = (
    *("ranking", "n_sports", "rank", "rank_low", "rank_high", "n_ranked"),
    *("n_images", "n_responses", "n_unparsed"),
)
_VALUES = ("value", "ci95_low", "ci95_high")


def to_frame(board: Leaderboard) -> pl.DataFrame:
    """Return one row for each ranking, entry and metric, with its rank.

    For averages over sports, `sport` is null and `n_sports` is the number of sports. `better` is `higher`, `lower`,
    `reference` (values nearer to the reference's are better) or `one` (values nearer to 1 are better); it is null for
    metrics that are not ranked. Rows may be compared if they have the same value of `comparable`.
    """
    import polars as pl

    schema: dict[str, pl.DataType] = dict.fromkeys(COLUMNS, pl.String())
    schema |= dict.fromkeys(_COUNTS, pl.Int64()) | dict.fromkeys(_VALUES, pl.Float64())
    schema["is_reference"] = pl.Boolean()
    rows = (row for ranking in board.rankings for row in _rows(ranking))
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def write_table(board: Leaderboard, csv: Path, parquet: Path) -> None:
    """Write the table as Parquet, and as CSV in which spreadsheet programs do not run text as formulas."""
    frame = to_frame(board)
    csv_frame(frame).write_csv(csv)
    frame.write_parquet(parquet)


def _rows(ranking: RankTable) -> Iterator[tuple[Any, ...]]:
    sport = None if ranking.is_average else ranking.tasks[0].sport
    n_sports = None if ranking.tasks[0].sport is None else len(ranking.tasks)
    for place, entry in enumerate(ranking.entries):
        name = (entry.respondent, entry.kind, entry.prompt, entry.is_reference)
        counts = (entry.n_images, entry.n_responses, entry.n_unparsed)
        origin = (ranking.tasks[0].version, ranking.signature, "; ".join(entry.signatures), "; ".join(entry.sources))
        for key, column in ranking.columns.items():
            value = entry.metrics.get(key)
            if value is None:
                continue
            rank = ranking.ranks[key].get(place)
            ranks = (rank.rank, *(rank.interval or (None, None)), len(ranking.ranks[key])) if rank else (None,) * 4
            values = (key, value.value, *(value.ci95 or (None, None)))
            yield (
                *(ranking.number, sport, n_sports, *name, *values, *ranks, column.unit, column.better),
                *(*counts, value.reason, *origin),
            )
