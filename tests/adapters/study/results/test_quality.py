"""Test the signs of careless answers and explanations, with examples made by hand and published data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.exclusion import RULES, Exclusion
from spotball_adapters.study.results.explanations import duplicated, is_low_quality
from spotball_adapters.study.results.participations import Participation, Quality
from spotball_adapters.study.results.patterns import FEWEST, Places, pattern_share, repeated_share
from tests.adapters.study.people import given, person

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
    def test_shares_of_the_published_participants_are_low(self, real_release: Path) -> None:
        """Check the shares of the published clicks, which docstrings quote."""
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
        "text",
        [
            "The players all look to the left.",
            "Goalkeeper diving",
            "#7 jumps with his arm up",
            "Weil alle nach links schauen.",
            "選手が全員左を見ているから、ボールはそこ",
            "все смотрят налево",
            "Tüm oyuncular sağa bakıyor",
        ],
    )
    def test_genuine_explanation_is_not_low_quality(self, text: str) -> None:
        assert not is_low_quality(text)

    @pytest.mark.parametrize(
        "text",
        [
            "x",
            "ok ok ok",
            "aaaaaaaaaaaaa",
            "nice nice nice nice",
            "sdfghjkl",
            "kjhsd fkjhsdf kjhsdf",
            "aoeuidhtnsqjkx",
            ".....",
        ],
    )
    def test_meaningless_explanation_is_low_quality(self, text: str) -> None:
        assert is_low_quality(text)

    def test_explanation_that_repeats_the_question_is_low_quality(self) -> None:
        question = "Why do you think so? Please say in a sentence or two what in the image made you choose."
        assert is_low_quality(question.lower().removesuffix("choose."), question)
        assert not is_low_quality("I think so because of the image of two arms", question)

    def test_duplicated_counts_repeated_explanations_per_participant(self) -> None:
        long = "the players look at the ball on the left"
        texts = {"a": [long, "her arm is up"], "b": [f"  {long.upper()}! "], "c": ["her arm is up", "Her arm is up."]}
        # The text that "a" and "c" share is short, and may coincide by chance.
        assert duplicated(texts) == {"a": 1, "b": 1, "c": 2}


def with_quality(someone: Participation, **fields: object) -> Participation:
    return replace(someone, quality=Quality(**fields))  # type: ignore[arg-type]


class TestFlags:
    def flags(self, someone: Participation, seconds: float = 2.0) -> set[str]:
        return set(Exclusion(tuple(RULES), min_seconds=seconds).reasons(someone))

    def test_rule_fast_uses_browser_and_server_times(self) -> None:
        slow = person(*[given("D5", "A1", seconds=9)] * 3)
        assert self.flags(with_quality(slow, server_seconds=2.0)) == set()
        assert self.flags(with_quality(slow, server_seconds=1.9)) == {"fast"}
        quick = person(*[given("D5", "A1", seconds=1)] * 3)
        assert self.flags(with_quality(quick, server_seconds=60.0)) == {"fast"}

    @pytest.mark.parametrize(("share", "flagged"), [(0.49, False), (0.5, True), (None, False)])
    @pytest.mark.parametrize(("field", "rule"), [("repeated", "repeated"), ("patterned", "patterned")])
    def test_repeated_and_patterned_rules_flag_from_half_of_the_images(
        self, field: str, rule: str, share: float | None, flagged: bool
    ) -> None:
        assert (rule in self.flags(with_quality(person(given("D5", "A1")), **{field: share}))) is flagged

    def test_rule_repeated_has_a_higher_threshold_for_choices(self) -> None:
        chosen = replace(given("cup"), places=((0, 1),))
        assert self.flags(with_quality(person(chosen, given("vase")), repeated=0.6)) == set()
        assert self.flags(with_quality(person(chosen, given("vase")), repeated=0.9)) == {"repeated"}

    def test_explanation_rules_flag_from_half_of_the_explanations(self) -> None:
        said = [replace(given("D5", "A1"), explanation="They look there.") for _ in range(4)]
        for field, rule in (("poor_explanations", "explanations"), ("duplicated_explanations", "duplicates")):
            assert self.flags(with_quality(person(*said), **{field: 1})) == set()
            assert self.flags(with_quality(person(*said), **{field: 2})) == {rule}
        assert self.flags(person(given("D5", "A1"))) == set()
