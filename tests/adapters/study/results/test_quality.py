"""Test the signs of careless answers and explanations, with examples made by hand and published data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.exclusion import RULES, Exclusion
from spotball_adapters.study.results.explanations import duplicated, is_low_quality
from spotball_adapters.study.results.participations import (
    FEWEST,
    GivenAnswer,
    Places,
    Quality,
    pattern_share,
    repeated_share,
)
from tests.adapters.study.stored import given, person

cells = st.tuples(st.integers(1, 6), st.integers(1, 10))
answers = st.lists(st.tuples(cells, cells, cells), min_size=FEWEST, max_size=30)


class TestPatterns:
    def test_repeated_share_counts_nearly_identical_answers_in_any_order_of_clicks(self) -> None:
        same: Places = ((3, 5), (3, 6))
        turned, beside, far = ((3, 6), (3, 5)), ((3, 5), (3, 7)), ((3, 7), (3, 8))
        assert repeated_share([same] * 4 + [turned] * 2 + [beside] * 2 + [far] * 2) == 0.8
        assert repeated_share([same] * 7) is None

    @pytest.mark.parametrize(
        ("one_by_one", "share"),
        [
            # Row by row: 36 of 39 moves go one cell to the right, and 3 go to a new row.
            ([((i // 10 + 1, i % 10 + 1),) for i in range(40)], 36 / 39),
            # The answer repeats on every third image.
            ([((1, 1),), ((2, 5),), ((6, 9),)] * 4, 1.0),
            # The same cell on every image counts as repeated, not as patterned.
            ([((3, 3),)] * 12, 0.0),
        ],
    )
    def test_pattern_share_matches_examples_made_by_hand(self, one_by_one: list[Places], share: float) -> None:
        assert pattern_share(one_by_one) == pytest.approx(share)

    @over(answers)
    def test_repeated_and_pattern_shares_are_in_range(self, some: list[Places]) -> None:
        repeated, patterned = repeated_share(some), pattern_share(some)
        assert repeated is not None
        assert patterned is not None
        assert 1 / len(some) <= repeated <= 1
        assert 0 <= patterned <= 1
        # The order of images does not affect the repeated share.
        assert repeated_share(some[::-1]) == repeated

    @pytest.mark.real
    def test_repeated_and_pattern_shares_of_the_published_participants_are_at_most_20_percent(
        self, real_release: Path
    ) -> None:
        """Check the shares of the published clicks. Docstrings of the package quote these numbers."""
        clicks = pl.read_csv(real_release / "data/responses/humans/soccer_clicks.csv").sort("id", "order", "click")
        shares = []
        for _, of_person in clicks.group_by("id"):
            by_image = of_person.sort("order", "click").group_by("order", maintain_order=True)
            places = [tuple(zip(rows["row"], rows["col"], strict=True)) for _, rows in by_image]
            shares.append((repeated_share(places), pattern_share(places)))
        assert len(shares) == 50
        assert max(repeated or 0 for repeated, _ in shares) == pytest.approx(0.2)
        assert max(patterned or 0 for _, patterned in shares) == pytest.approx(0.163, abs=0.001)


class TestExplanations:
    @pytest.mark.parametrize(
        ("text", "is_low"),
        [
            ("The players all look to the left.", False),
            ("Goalkeeper diving", False),
            ("#7 jumps with his arm up", False),
            ("Weil alle nach links schauen.", False),
            ("選手が全員左を見ているから、ボールはそこ", False),
            ("все смотрят налево", False),
            ("Tüm oyuncular sağa bakıyor", False),
            ("x", True),
            ("ok ok ok", True),
            ("aaaaaaaaaaaaa", True),
            ("nice nice nice nice", True),
            ("sdfghjkl", True),
            ("kjhsd fkjhsdf kjhsdf", True),
            ("aoeuidhtnsqjkx", True),
            (".....", True),
        ],
    )
    def test_only_a_meaningless_explanation_is_low_quality(self, text: str, is_low: bool) -> None:
        assert is_low_quality(text) is is_low

    def test_explanation_that_repeats_the_question_is_low_quality(self) -> None:
        question = "Why do you think so? Please say in a sentence or two what in the image made you choose."
        assert is_low_quality(question.lower().removesuffix("choose."), question)
        assert not is_low_quality("I think so because of the image of two arms", question)

    def test_duplicated_counts_repeated_explanations_per_participant(self) -> None:
        long = "the players look at the ball on the left"
        texts = {"a": [long, "her arm is up"], "b": [f"  {long.upper()}! "], "c": ["her arm is up", "Her arm is up."]}
        # The text that "a" and "c" share is short, so it may coincide by chance and does not count.
        assert duplicated(texts) == {"a": 1, "b": 1, "c": 2}


class TestFlags:
    def flags(self, *answers: GivenAnswer, **quality: Any) -> set[str]:
        """Return the rules that a participant with these answers and this quality breaks."""
        someone = replace(person(*answers), quality=Quality(**quality))
        return set(Exclusion(tuple(RULES), min_seconds=2.0).reasons(someone))

    @pytest.mark.parametrize(
        ("seconds", "server_seconds", "flags"), [(9, 2.0, set()), (9, 1.9, {"fast"}), (1, 60.0, {"fast"})]
    )
    def test_rule_fast_flags_a_short_time_in_the_browser_or_at_the_server(
        self, seconds: float, server_seconds: float, flags: set[str]
    ) -> None:
        assert self.flags(*[given("D5", "A1", seconds=seconds)] * 3, server_seconds=server_seconds) == flags

    @pytest.mark.parametrize(("share", "is_flagged"), [(0.49, False), (0.5, True), (None, False)])
    @pytest.mark.parametrize("rule", ["repeated", "patterned"])
    def test_rules_repeated_and_patterned_flag_shares_of_at_least_half(
        self, rule: str, share: float | None, is_flagged: bool
    ) -> None:
        assert (rule in self.flags(given("D5", "A1"), **{rule: share})) is is_flagged

    def test_rule_repeated_has_a_higher_threshold_for_choices(self) -> None:
        chosen = replace(given("cup"), places=((0, 1),))
        assert self.flags(chosen, given("vase"), repeated=0.6) == set()
        assert self.flags(chosen, given("vase"), repeated=0.9) == {"repeated"}

    def test_rules_explanations_and_duplicates_flag_if_at_least_half_of_the_explanations_are_affected(self) -> None:
        said = [replace(given("D5", "A1"), explanation="They look there.") for _ in range(4)]
        for field, rule in (("poor_explanations", "explanations"), ("duplicated_explanations", "duplicates")):
            assert self.flags(*said, **{field: 1}) == set()
            assert self.flags(*said, **{field: 2}) == {rule}
        assert self.flags(given("D5", "A1")) == set()
