"""Test bonuses against examples made by hand and against integer arithmetic."""

from __future__ import annotations

import stat
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.bonus import amount, bonuses, write_bonuses
from tests.adapters.study.people import given, person


def clicking(right: int, wrong: int) -> tuple[str, ...]:
    return ("C2",) * right + ("F9",) * wrong


class TestAmount:
    def test_amount_matches_examples_computed_by_hand(self) -> None:
        # 46 of 150 clicks are hits: 1.00 x 46 / 150 = 0.3066..., which is rounded down to 0.30.
        images = [given("C2", "C2", "C2")] * 15 + [given("C3", "F9", "A1")] + [given("F9", "A1", "B1")] * 34
        assert amount(person(*images), Decimal("1.00")) == Decimal("0.30")
        # One third and two thirds are hits.
        assert str(amount(person(given("C2", "F9", "A1")), Decimal(1))) == "0.33"
        assert str(amount(person(given("C2", "C3", "A1")), Decimal(1))) == "0.66"

    @pytest.mark.parametrize(("right", "wrong", "paid"), [(0, 3, "0.00"), (3, 0, "1.00")])
    def test_amount_is_zero_without_hits_and_the_maximum_with_only_hits(
        self, right: int, wrong: int, paid: str
    ) -> None:
        assert str(amount(person(given(*clicking(right, wrong))), Decimal("1.00"))) == paid

    def test_amount_loses_no_cent_to_floating_point(self) -> None:
        # 0.29 * 100 is 28.999999999999996 in floating point, which would be rounded down to 0.28.
        assert str(amount(person(given("C2", "C3", "C2")), Decimal("0.29"))) == "0.29"

    def test_amount_ignores_checks_and_images_without_ground_truth(self) -> None:
        someone = person(given("C2", "A1"), given("C2", "C3", check=True), given("C2", "C3", ball=()))
        assert amount(someone, Decimal(1)) == Decimal("0.50")

    def test_amount_without_answers_is_zero(self) -> None:
        assert str(amount(person(), Decimal(1))) == "0.00"

    @over(st.integers(0, 200), st.integers(0, 200), st.integers(0, 10_000))
    def test_amount_is_rounded_down_to_whole_cents(self, right: int, wrong: int, cents: int) -> None:
        most = Decimal(cents) / 100
        paid = amount(person(given(*clicking(right, wrong))), most)
        in_cents = int(paid * 100)
        assert paid * 100 == in_cents
        if right + wrong:
            assert 0 <= cents * right - in_cents * (right + wrong) < right + wrong
        assert Decimal(0) <= paid <= most


class TestList:
    def test_bonus_file_lists_platform_participants_who_earned_something(self, tmp_path: Path) -> None:
        people = [
            person(given("C2", "C2", "A1"), name="a"),
            person(given("A1", "A1", "A1"), name="b"),
            person(given("C2", "C2", "C2"), name="c"),
            person(given("C2", "A1", "A1"), name="d"),
        ]
        amounts = bonuses(people, {"a": "pid-a", "b": "pid-b", "d": "pid-d"}, Decimal("1.00"))
        write_bonuses(amounts, tmp_path / "bonus.csv")
        assert (tmp_path / "bonus.csv").read_text() == "PROLIFIC_PID,amount\npid-a,0.66\npid-d,0.33\n"
        # The file contains platform IDs, so only its owner may read it.
        assert stat.S_IMODE((tmp_path / "bonus.csv").stat().st_mode) == 0o600
