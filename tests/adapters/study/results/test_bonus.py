"""What accuracy earns, by hand and against whole numbers."""

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
    def test_by_hand(self) -> None:
        # 150 clicks, 46 of them right: 1.00 x 46 / 150 = 0.3066..., of which 0.30 is paid.
        images = [given("C2", "C2", "C2")] * 15 + [given("C3", "F9", "A1")] + [given("F9", "A1", "B1")] * 34
        assert amount(person(*images), Decimal("1.00")) == Decimal("0.30")
        # A third and two thirds.
        assert str(amount(person(given("C2", "F9", "A1")), Decimal(1))) == "0.33"
        assert str(amount(person(given("C2", "C3", "A1")), Decimal(1))) == "0.66"

    @pytest.mark.parametrize(("right", "wrong", "paid"), [(0, 3, "0.00"), (3, 0, "1.00")])
    def test_from_nothing_to_all(self, right: int, wrong: int, paid: str) -> None:
        assert str(amount(person(given(*clicking(right, wrong))), Decimal("1.00"))) == paid

    def test_no_cent_is_lost_to_floating_point(self) -> None:
        # 0.29 * 100 is 28.999999999999996 in floating point, and so would be paid 0.28.
        assert str(amount(person(given("C2", "C3", "C2")), Decimal("0.29"))) == "0.29"

    def test_checks_and_images_of_unknown_truth_do_not_count(self) -> None:
        someone = person(given("C2", "A1"), given("C2", "C3", check=True), given("C2", "C3", ball=()))
        assert amount(someone, Decimal(1)) == Decimal("0.50")

    def test_who_answered_nothing_earns_nothing(self) -> None:
        assert str(amount(person(), Decimal(1))) == "0.00"

    @over(st.integers(0, 200), st.integers(0, 200), st.integers(0, 10_000))
    def test_whole_cents_never_more_than_earned_and_less_than_a_cent_short(
        self, right: int, wrong: int, cents: int
    ) -> None:
        most = Decimal(cents) / 100
        paid = amount(person(given(*clicking(right, wrong))), most)
        in_cents = int(paid * 100)
        assert paid * 100 == in_cents
        if right + wrong:
            assert 0 <= cents * right - in_cents * (right + wrong) < right + wrong
        assert Decimal(0) <= paid <= most


class TestList:
    def test_names_who_earned_something_and_came_from_the_platform(self, tmp_path: Path) -> None:
        people = [
            person(given("C2", "C2", "A1"), name="a"),
            person(given("A1", "A1", "A1"), name="b"),
            person(given("C2", "C2", "C2"), name="c"),
            person(given("C2", "A1", "A1"), name="d"),
        ]
        amounts = bonuses(people, {"a": "pid-a", "b": "pid-b", "d": "pid-d"}, Decimal("1.00"))
        write_bonuses(amounts, tmp_path / "bonus.csv")
        assert (tmp_path / "bonus.csv").read_text() == "PROLIFIC_PID,amount\npid-a,0.66\npid-d,0.33\n"
        # It names people.
        assert stat.S_IMODE((tmp_path / "bonus.csv").stat().st_mode) == 0o600
