"""Test the files of a leaderboard: equal numbers in each, and any name shown as plain text."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.leaderboard.columns import DEFAULT, chosen, column
from spotball_core.leaderboard.rankings import Leaderboard
from spotball_core.leaderboard.sparklines import sparklines
from spotball_core.leaderboard.write import COLUMNS, page, to_frame, write_table
from spotball_core.schema import ScoreReport
from tests.failures import raises
from tests.leaderboard.made import board_of, given, scored
from tests.report.markup import Element, parsed

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "two\nlines",
    "=1+1",
    "@SUM(A1)",
    "[x](https://example.org)",
    "`code` {{ 1 + 1 }}",
    "\x1b[2J\x00\u202e",
    '"quoted": - # \\ \u00e9\u2028',
    "x" * 3000,
    "../../etc",
]
SCORES = {name: (0.1 + place / 20, (0.1, 0.9)) for place, name in enumerate(HOSTILE)}


@pytest.fixture(scope="module")
def report() -> ScoreReport:
    return scored("a", "b", "c")


def keys_of(report: ScoreReport) -> tuple[str, ...]:
    return chosen(None, board_of(report).metrics)


def rows(content: Element, place: int) -> list[list[str]]:
    return [[cell.text for cell in row.children] for row in content.all("table")[place].all("tr")]


class TestShownContent:
    def test_table_has_the_metrics_and_ranks_of_all_groups_of_the_report(
        self, report: ScoreReport, tmp_path: Path
    ) -> None:
        board = board_of(report)
        frame = to_frame(board)
        assert frame.columns == list(COLUMNS)
        write_table(board, tmp_path / "a.csv", tmp_path / "a.parquet")
        assert pl.read_parquet(tmp_path / "a.parquet").equals(frame)
        assert pl.read_csv(tmp_path / "a.csv", schema=frame.schema).equals(frame)
        for group in report.groups:
            of_group = frame.filter(sport=group.sport, respondent=group.respondent, n_sports=1)
            values = {key: metric.value for key, metric in group.metrics.items()}
            assert dict(of_group.select("metric", "value").iter_rows()) == values
            accuracy = of_group.row(by_predicate=pl.col("metric") == "accuracy", named=True)
            assert (accuracy["ci95_low"], accuracy["ci95_high"]) == group.metrics["accuracy"].ci95
            is_model = group.kind == "model"
            assert (accuracy["rank"] is not None, accuracy["n_ranked"]) == (is_model, 3 if is_model else None)
            assert accuracy["signature"] == report.signature
            assert accuracy["source"] == "reports/1.json"
        best = frame.filter((pl.col("metric") == "accuracy") & (pl.col("rank") == 1))
        assert best["respondent"].unique().to_list() == ["c"]

    def test_page_shows_the_chosen_metrics_sorted_by_the_first_and_an_unknown_metric_is_an_error(
        self, report: ScoreReport
    ) -> None:
        board = board_of(report)
        assert chosen(None, board.metrics) == DEFAULT[:5]
        keys = chosen(["euclidean_error", "accuracy"], board.metrics)
        table = rows(parsed(page(board, keys)), 0)
        shown = ["Respondent", "Prompt", "Euclidean error", "Accuracy", "Images", "Responses"]
        assert [head.split(" (")[0] for head in table[0]] == shown
        assert [row[0] for row in table[1:] if row[0] in "abc"] == ["c", "b", "a"]
        with raises(OptionError, "unknown-name:--metrics"):
            chosen(["nothing"], board.metrics)

    def test_page_sorts_uniform_guessing_by_its_value_and_marks_reference_and_baselines(self) -> None:
        board = board_of(given({"a": (0.02, None), "b": (0.2, None)}))
        assert [row[0] for row in rows(parsed(page(board, ("accuracy",))), 0)[1:]] == ["b", "uniform guessing", "a"]
        scores = dict.fromkeys(("human", "center", "gpt"), (0.5, (0.4, 0.6)))
        board = board_of(given(scores, kinds={"human": "human", "center": "baseline"}, reference="human"))
        shown = {row[0] for row in rows(parsed(page(board, ("accuracy",))), 0)[1:]}
        assert shown == {"human (reference)", "center (baseline)", "gpt", "uniform guessing"}

    def test_page_states_differences_between_rankings_and_shows_signatures_and_unique_captions(self) -> None:
        first, second = given({"a": (0.5, None)}), given({"b": (0.6, None)}, version="2", data="2")
        content = parsed(page(board_of(first, second), ("accuracy",)))
        sections = [section for section in content.all("section") if section.attributes["id"].startswith("ranking-")]
        assert len(sections) == 2
        for section, version, other in zip(sections, "12", "21", strict=True):
            assert (
                f"Do not compare this ranking with ranking {other}. They differ in: version (in this ranking: "
                f"{version})."
            ) in section.text
            assert f"spotball|v:{version}|scenes:s|" in section.text
        names = [table.all("caption")[0].text for table in content.all("table")]
        assert len(names) == len(set(names)) == 3
        assert all(header.text for header in content.all("th"))

    def test_page_states_why_a_metric_has_no_ranks(self) -> None:
        scores = {"a": (0.5, (0.4, 0.6)), "b": (0.7, (0.6, 0.8))}
        for metric, reason in (
            ("image_entropy", "Image entropy has no ranks: the metric depends on the number of responses."),
            ("near_player_rate", "Near-player rate has no ranks: the reference has no single value."),
            ("theirs", "theirs has no ranks: this installation does not have the metric."),
        ):
            board = board_of(given(scores, metric=metric))
            assert reason in page(board, (metric,))
        people = board_of(given({"human": (0.5, None)}, kinds={"human": "human"}))
        assert "Accuracy has no ranks: no model or baseline has a value." in page(people, ("accuracy",))
        assert "has no ranks" not in page(board_of(given(scores)), ("accuracy",))

    def test_page_has_unique_ids_and_no_external_links(self, report: ScoreReport) -> None:
        text = page(board_of(report), keys_of(report))
        assert not re.search("https?:", text)
        ids = [one.attributes["id"] for one in parsed(text).walk() if "id" in one.attributes]
        assert len(ids) == len(set(ids))


class TestHostileNames:
    def test_page_shows_hostile_names_as_text(self) -> None:
        text = page(board_of(given(SCORES, sport="<i>soccer</i>")), ("accuracy",))
        content = parsed(text)
        assert len(content.all("script")) == 1
        assert {"<script>alert(1)</script>", "two lines"} <= {row[0] for row in rows(content, 0)}
        assert not set(text) & {"\x1b", "\x00", "\u202e"}
        assert content.all("h2")[0].text == "1. <i>soccer</i> #"

    def test_csv_with_hostile_names_has_no_field_that_is_a_formula(self, tmp_path: Path) -> None:
        write_table(board_of(given(SCORES)), tmp_path / "a.csv", tmp_path / "a.parquet")
        with (tmp_path / "a.csv").open(newline="") as file:
            read = list(csv.DictReader(io.StringIO(file.read(), newline="")))
        assert len(read) == len(HOSTILE)
        assert not any((value or "").startswith(("=", "+", "@", "-")) for row in read for value in row.values())
        assert set(pl.read_parquet(tmp_path / "a.parquet")["respondent"]) == set(HOSTILE)


class TestSparklines:
    def at(self, board: Leaderboard, metric: str) -> dict[str, tuple[float | None, tuple[float, float] | None, bool]]:
        ranking = board.rankings[0]
        charts = sparklines(ranking, ranking.columns[metric])
        return {chart.mark.name: (chart.mark.x, chart.mark.ends, chart.is_beyond) for chart in charts.values()}

    def test_axis_goes_from_uniform_guessing_to_the_reference_with_higher_values_on_the_right(self) -> None:
        scores = {"human": (0.24, (0.24, 0.24)), "a": (0.14, (0.09, 0.19))}
        board = board_of(given(scores, kinds={"human": "human"}, reference="human"))
        assert self.at(board, "accuracy") == {
            "uniform guessing": (0, None, False),
            "human": (100, (100, 100), False),
            "a": (50, (25, 75), False),
        }

    def test_axis_is_reversed_if_lower_values_are_better(self) -> None:
        board = board_of(given({"a": (0.02, (0.01, 0.04)), "b": (0.0, None)}, metric="euclidean_error"))
        shown = self.at(board, "euclidean_error")
        assert shown["a"] == (50, (0, 75), False)
        assert shown["b"] == (100, None, False)
        assert shown["uniform guessing"][0] == 0

    def test_axis_is_reversed_if_the_reference_is_below_uniform_guessing(self) -> None:
        scores = {"human": (0.0, None), "a": (0.01, None)}
        board = board_of(given(scores, metric="near_player_rate", kinds={"human": "human"}, reference="human"))
        assert {name: x for name, (x, _, _) in self.at(board, "near_player_rate").items()} == {
            "uniform guessing": 0,
            "human": 100,
            "a": 75,
        }

    def test_baselines_beyond_the_values_of_others_are_at_the_end_of_the_axis(self) -> None:
        scores = {"a": (0.24, (0.14, 0.24)), "oracle": (1.0, (0.2, 1.0)), "worst": (0.0, None)}
        board = board_of(given(scores, kinds={"oracle": "baseline", "worst": "baseline"}))
        shown = self.at(board, "accuracy")
        assert (shown["a"], shown["oracle"], shown["worst"]) == (
            (100, (50, 100), False),
            (100, (80, 100), True),
            (0, None, True),
        )

    def test_closeness_has_an_axis_from_0_to_1(self) -> None:
        scores = {"human": (0.5, None), "a": (0.25, (0.0, 0.5))}
        board = board_of(given(scores, metric="ceiling_score", kinds={"human": "human"}, reference="human"))
        ranking = board.rankings[0]
        charts = sparklines(ranking, column("ceiling_score", ranking.policy))
        assert [(line.name, line.x) for line in charts[1].lines] == [("uniform guessing", 0), ("human", 100)]
        assert (charts[1].mark.x, charts[1].mark.ends, None in charts) == (25, (0, 50), False)

    def test_cells_have_charts_that_are_hidden_from_screen_readers(self, report: ScoreReport) -> None:
        content = parsed(page(board_of(report), ("accuracy",)))
        charts = [svg for cell in content.all("td") for svg in cell.all("svg")]
        assert len(charts) == sum(len(ranking.entries) + 1 for ranking in board_of(report).rankings)
        assert {svg.attributes["aria-hidden"] for svg in charts} == {"true"}
