"""Test the leaderboard of the published data that is available."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from spotball_core import import_release, score
from spotball_core.leaderboard.write import write_leaderboard
from tests.leaderboard.made import write


@pytest.mark.real
def test_leaderboard_of_the_published_soccer_data_has_the_published_scores(real_release: Path, tmp_path: Path) -> None:
    import_release(real_release).write(tmp_path / "dataset")
    report = score(tmp_path / "dataset", reference="human", bootstrap=200, ceiling=True)
    write(report, tmp_path / "reports/all.json")
    write_leaderboard([tmp_path / "reports"], tmp_path / "out")
    readme = (tmp_path / "out/README.md").read_text()
    # 1441 of 7500 and 81 of 1000 responses are right. 113.36 px is in table 2 of the paper.
    for said in ("| human (reference) | base | 19.2 ", "| 113.4 ", "| 50 | 7,500 |", "| gemini | cot | 8.1 "):
        assert said in readme
    assert "| uniform guessing |  | 3.7 |" in readme
    frame = pl.read_parquet(tmp_path / "out/leaderboard.parquet")
    ranked = frame.filter(pl.col("rank").is_not_null())
    assert set(ranked.select("respondent", "rank", "rank_low", "rank_high").iter_rows()) == {("gemini", 1, 1, 1)}
    assert {"accuracy", "wasserstein_matched", "ceiling_score", "near_player_rate"} <= set(ranked["metric"])
