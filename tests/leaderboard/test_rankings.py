"""Test which entries are ranked together, and averages over sports."""

from __future__ import annotations

import math
from typing import ClassVar

import pytest

from spotball_core.errors import OptionError
from spotball_core.leaderboard.columns import CEILING_SCORE
from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.leaderboard.ranks import Rank
from spotball_core.schema import Ceiling, MetricValue
from tests.failures import raises
from tests.leaderboard.made import board_of, given, known, names, scored

ONE, TWO = {"gpt": (0.2, (0.15, 0.25))}, {"gemini": (0.6, (0.5, 0.7))}


def ranks_of(ranking: RankTable, metric: str = "accuracy") -> dict[str, Rank]:
    return {ranking.entries[place].respondent: rank for place, rank in ranking.ranks[metric].items()}


def first_accuracy(board: Leaderboard, respondent: str) -> MetricValue:
    entries = board.rankings[0].entries
    (found,) = [entry.metrics["accuracy"] for entry in entries if entry.respondent == respondent]
    return found


class TestRankedTogether:
    def test_reports_on_the_same_task_are_ranked_together(self) -> None:
        (ranking,) = board_of(given(ONE, data="1"), given(TWO, data="2")).rankings
        assert ranks_of(ranking) == {"gpt": Rank(2, (2, 2)), "gemini": Rank(1, (1, 1))}
        assert ranking.differs == ""

    @pytest.mark.parametrize(
        ("other", "reason"),
        [
            ({"version": "2"}, "version (in this ranking: 2)"),
            ({"scenes": "t"}, "scored images (in this ranking: 50, t)"),
            ({"n_images": 49, "scenes": "t"}, "scored images (in this ranking: 49, t)"),
            ({"bootstrap": 10}, "policy's bootstrap (in this ranking: 10)"),
            ({"seed": 1}, "policy's seed (in this ranking: 1)"),
            ({"tau": 0.1}, "policy's tau (in this ranking: 0.1)"),
            ({"images": "shared"}, "policy's images (in this ranking: shared)"),
            ({"cluster": "participant"}, "policy's cluster (in this ranking: participant)"),
            ({"reference": "human"}, "policy's reference (in this ranking: human)"),
        ],
    )
    def test_reports_with_different_settings_are_ranked_separately_with_the_reason(
        self, other: dict[str, object], reason: str
    ) -> None:
        board = board_of(given(ONE), given(TWO, data="2", **{"images": "all", **other}))
        assert names(board) == [{"gpt"}, {"gemini"}]
        assert all(ranks_of(ranking) == dict.fromkeys(ranks_of(ranking), Rank(1, (1, 1))) for ranking in board.rankings)
        first, second = board.rankings
        assert first.differs.startswith("Do not compare this ranking with ranking 2. They differ in: ")
        assert second.differs.startswith("Do not compare this ranking with ranking 1. They differ in: ")
        assert reason in second.differs

    def test_reports_with_different_reference_responses_are_ranked_separately(self) -> None:
        first, second = scored("gpt"), scored("gemini", people=1)
        board = board_of(first, second)
        assert names(board) == [{"human", "gpt"}, {"human", "gemini"}] * 3
        assert "They differ in: reference's responses (in this ranking: " in board.rankings[-1].differs
        together = board_of(first, scored("gemini"))
        assert all(entries == {"human", "gpt", "gemini"} for entries in names(together))

    def test_separate_reports_give_the_same_rankings_as_one_report(self) -> None:
        apart = board_of(scored("b"), scored("c"))
        whole = board_of(scored("b", "c"))
        # `scored` gives the first model of a report the lowest hit rate, so values differ, but the tasks are equal.
        assert [ranking.tasks for ranking in apart.rankings] == [ranking.tasks for ranking in whole.rankings]
        assert names(apart) == names(whole)

    def test_report_with_only_some_sports_is_ranked_only_in_these_sports(self) -> None:
        board = board_of(scored("gpt"), scored("gemini", scenes=known(("soccer",))))
        by_sport = {ranking.tasks[0].sport: ranking for ranking in board.rankings if not ranking.is_average}
        assert {entry.respondent for entry in by_sport["soccer"].entries} == {"human", "gpt", "gemini"}
        assert {entry.respondent for entry in by_sport["volleyball"].entries} == {"human", "gpt"}


class TestEntries:
    def test_same_score_in_several_reports_is_one_entry_with_all_sources_despite_rounding(self) -> None:
        (ranking,) = board_of(given({**ONE, **TWO}, data="1"), given(ONE, data="2")).rankings
        first, second = ranking.entries
        assert (first.respondent, first.sources) == ("gpt", ("reports/1.json", "reports/2.json"))
        assert (second.respondent, second.sources) == ("gemini", ("reports/1.json",))
        assert ranks_of(ranking)["gpt"].rank == 2
        board = board_of(given(ONE), given({"gpt": (0.2 + 1e-15, (0.15, 0.25))}))
        assert len(board.rankings[0].entries) == 1

    def test_different_scores_of_one_respondent_are_separate_entries(self) -> None:
        (ranking,) = board_of(given(ONE, data="1"), given({"gpt": (0.9, (0.8, 0.95))}, data="2")).rankings
        found = [(entry.sources, entry.is_one_of_several) for entry in ranking.entries]
        assert found == [(("reports/1.json",), True), (("reports/2.json",), True)]
        assert [rank.rank for rank in ranking.ranks["accuracy"].values()] == [2, 1]

    def test_ceiling_adds_the_ceiling_score_metric(self) -> None:
        report = given(ONE)
        half = dict.fromkeys(("split_half", "leave_one_out_accuracy", "participant_accuracy"), MetricValue(value=0.5))
        other = {"n_participants": 9, "n_images": 50, "splits": 1, "uniform": 100.0, "sampling_floor": {}, **half}
        score = {"soccer/gpt/base": MetricValue(value=0.4, ci95=(0.3, 0.5))}
        ceiling = Ceiling(sport="soccer", reference="human", score=score, signature="", **other)
        board = board_of(report, report.model_copy(update={"ceilings": (ceiling,)}))
        (entry,) = board.rankings[0].entries
        assert entry.metrics.keys() == {"accuracy", CEILING_SCORE}
        assert entry.metrics[CEILING_SCORE].value == 0.4
        assert ranks_of(board.rankings[0], CEILING_SCORE) == {"gpt": Rank(1, (1, 1))}


class TestRankedRespondents:
    KINDS: ClassVar = {"human": "human", "center": "baseline"}

    def test_only_models_are_ranked_and_other_respondents_are_shown(self) -> None:
        scores = {**ONE, **TWO, "human": (0.9, (0.8, 0.95)), "center": (0.1, (0.05, 0.15))}
        (ranking,) = board_of(given(scores, kinds=self.KINDS)).rankings
        assert ranks_of(ranking).keys() == {"gpt", "gemini"}
        assert ranks_of(ranking)["gemini"] == Rank(1, (1, 1))
        order = [ranking.entries[place].respondent for place in ranking.order("accuracy")]
        assert order == ["human", "gemini", "gpt", "center"]

    def test_baselines_are_ranked_if_there_are_no_models(self) -> None:
        scores = {"center": (0.1, (0.05, 0.15)), "oracle": (0.9, (0.8, 0.95)), "human": (0.5, None)}
        kinds = dict.fromkeys(("center", "oracle"), "baseline") | {"human": "human"}
        (ranking,) = board_of(given(scores, kinds=kinds)).rankings
        assert ranks_of(ranking).keys() == {"center", "oracle"}

    def test_rates_are_ranked_by_distance_from_the_reference_and_center_ratio_by_distance_from_1(self) -> None:
        scores = {"a": (0.9, (0.89, 0.91)), "b": (0.45, (0.44, 0.46)), "human": (0.5, (0.49, 0.51))}
        report = given(scores, metric="near_player_rate", kinds=self.KINDS, reference="human")
        (ranking,) = board_of(report).rankings
        assert ranks_of(ranking, "near_player_rate") == {"a": Rank(2, (2, 2)), "b": Rank(1, (1, 1))}
        assert [ranking.entries[place].respondent for place in ranking.order("near_player_rate")] == ["human", "b", "a"]
        (without,) = board_of(given(scores, metric="near_player_rate", kinds=self.KINDS)).rankings
        assert without.ranks["near_player_rate"] == {}
        scores = {"a": (0.8, (0.79, 0.81)), "b": (1.1, (1.09, 1.11))}
        (ranking,) = board_of(given(scores, metric="center_ratio")).rankings
        assert ranks_of(ranking, "center_ratio") == {"a": Rank(2, (2, 2)), "b": Rank(1, (1, 1))}

    @pytest.mark.parametrize("metric", ["wasserstein", "image_entropy", "made_by_another_package"])
    def test_metric_that_cannot_be_compared_has_no_ranks_and_a_reason(self, metric: str) -> None:
        (ranking,) = board_of(given({**ONE, **TWO}, metric=metric)).rankings
        assert ranking.ranks[metric] == {}
        assert ranking.columns[metric].why_not


class TestSelection:
    def test_leaderboard_of_selected_sports_and_prompts_has_only_their_rankings_and_unknown_names_are_errors(
        self,
    ) -> None:
        report = scored("gpt", "gemini")
        board = board_of(report, sports=["soccer"], prompts=["base"])
        assert [ranking.title for ranking in board.rankings] == ["soccer"]
        with raises(OptionError, "unknown-name:--sport"):
            board_of(report, sports=["chess"])
        with raises(OptionError, "unknown-name:--prompt"):
            board_of(report, prompts=["cot"])
        (pooled,) = board_of(scored("gpt", by=("respondent", "prompt"))).rankings
        assert (pooled.title, pooled.is_average) == ("All images", False)

    def test_report_that_cannot_be_ranked_raises_option_error_or_is_noted_if_another_report_is_ranked(self) -> None:
        with raises(OptionError, "no-data"):
            board_of(scored("gpt", by=("sport", "prompt")))
        old = scored("gpt").model_copy(update={"image_sets": ()})
        with raises(OptionError, "no-data"):
            board_of(old)
        board = board_of(old, scored("gemini"))
        assert {entry.respondent for ranking in board.rankings for entry in ranking.entries} == {"human", "gemini"}
        assert board.notes[0].startswith("reports/1.json is from an older version and does not record")


class TestAverages:
    def board(self, **choices: object) -> Leaderboard:
        soccer = {"gpt": (0.2, (0.1, 0.4)), "gemini": (0.6, (0.5, 0.7))}
        volleyball = {"gpt": (0.4, (0.3, 0.5))}
        return board_of(
            given(soccer, data="1", **choices), given(volleyball, sport="volleyball", scenes="v", data="2", **choices)
        )

    def test_average_is_the_mean_of_sports_with_a_combined_interval(self) -> None:
        board = self.board()
        assert [ranking.title for ranking in board.rankings] == ["Average over 2 sports", "soccer", "volleyball"]
        assert names(board)[0] == {"gpt"}
        found = first_accuracy(board, "gpt")
        assert found.value == pytest.approx((0.2 + 0.4) / 2)
        # The interval reaches sqrt(0.1² + 0.1²) / 2 below the mean and sqrt(0.2² + 0.1²) / 2 above it.
        assert found.ci95 == pytest.approx((0.3 - math.sqrt(0.02) / 2, 0.3 + math.sqrt(0.05) / 2))
        assert board.rankings[0].uniform == {"accuracy": pytest.approx(0.04)}
        assert board.rankings[0].n_images == 100
        # If participants are resampled, the average has no interval.
        found = first_accuracy(self.board(cluster="participant"), "gpt")
        assert (found.value, found.ci95) == (pytest.approx(0.3), None)

    def test_average_omits_a_metric_without_a_value_in_each_sport(self) -> None:
        rate = given({"gpt": (0.1, None)}, metric="overlap_rate", sport="x", scenes="x", data="2")
        assert board_of(given(ONE, data="1"), rate).rankings[0].entries[0].metrics == {}

    def test_leaderboard_has_no_average_without_exactly_one_comparable_score_in_each_sport(self) -> None:
        tennis = {"sport": "tennis", "scenes": "x", "data": "2"}
        board = board_of(given(ONE, data="1"), given(TWO, **tennis))
        assert [ranking.title for ranking in board.rankings] == ["soccer", "tennis"]
        (note,) = board.notes
        assert note.startswith(
            "No respondent has scores for all of soccer and tennis, so there is no average over these sports."
        )
        board = board_of(given(ONE, data="1"), given(ONE, version="2", **tennis), given(TWO, data="3"))
        assert not any(ranking.is_average for ranking in board.rankings)
        board = board_of(*(one.report for one in self.board().reports), given(ONE, scenes="u", data="3"))
        assert [ranking.title for ranking in board.rankings] == ["soccer", "soccer", "volleyball"]
        assert "gpt has several scores for one sport, so it has no average over sports." in board.notes

    def test_average_of_scored_reports_is_the_mean_of_their_values(self) -> None:
        report = scored("gpt", "gemini")
        ranking = board_of(report).rankings[0]
        assert ranking.is_average
        for entry in ranking.entries:
            groups = [group for group in report.groups if group.respondent == entry.respondent]
            for key, found in entry.metrics.items():
                values = [group.metrics[key].value for group in groups]
                assert found.value == (None if None in values else pytest.approx(sum(values) / 2))
