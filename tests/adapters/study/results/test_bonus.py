"""Test bonuses against examples made by hand and against integer arithmetic."""

from __future__ import annotations

import stat
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.bonus import amount, bonuses, unpaid_rules, write_bonuses
from spotball_adapters.study.results.exclusion import exclusion_of
from spotball_adapters.study.results.participations import GivenAnswer
from spotball_adapters.study.server.description import description
from spotball_adapters.study.server.images import Images
from spotball_adapters.study.setup.config import ExclusionConfig
from spotball_adapters.study.setup.design import load
from tests.adapters.study.made import study
from tests.adapters.study.stored import given, person


@pytest.mark.parametrize(
    ("answers", "most", "paid"),
    [
        # 46 of 150 clicks are hits: 1.00 x 46 / 150 = 0.3066..., which is rounded down to 0.30.
        ([given("C2", "C2", "C2")] * 15 + [given("C3", "F9", "A1")] + [given("F9", "A1", "B1")] * 34, "1.00", "0.30"),
        ([given("C2", "F9", "A1")], "1", "0.33"),
        ([given("C2", "C3", "A1")], "1", "0.66"),
        ([given("F9", "F9", "F9")], "1.00", "0.00"),
        ([given("C2", "C2", "C2")], "1.00", "1.00"),
        # 0.29 * 100 is 28.999999999999996 in floating point, which would be rounded down to 0.28.
        ([given("C2", "C3", "C2")], "0.29", "0.29"),
        # Checks and images without ground truth are ignored.
        ([given("C2", "A1"), given("C2", "C3", check=True), given("C2", "C3", ball=())], "1", "0.50"),
        ([], "1", "0.00"),
    ],
)
def test_bonus_amount_equals_hand_computed_examples(answers: list[GivenAnswer], most: str, paid: str) -> None:
    assert str(amount(person(*answers), Decimal(most))) == paid


@over(st.integers(0, 200), st.integers(0, 200), st.integers(0, 10_000))
def test_bonus_amount_is_rounded_down_to_whole_cents(right: int, wrong: int, cents: int) -> None:
    most = Decimal(cents) / 100
    paid = amount(person(given(*["C2"] * right, *["F9"] * wrong)), most)
    in_cents = int(paid * 100)
    assert paid * 100 == in_cents
    if right + wrong:
        assert 0 <= cents * right - in_cents * (right + wrong) < right + wrong
    assert Decimal(0) <= paid <= most


@pytest.mark.parametrize(
    ("rules", "stated"),
    [
        ({"min_seconds_per_image": 1.5, "also": ("clock",)}, (1.5, True)),
        ({"min_seconds_per_image": 1.5}, (1.5, False)),
        ({"also": ("clock", "patterned")}, (None, True)),
        ({"checks": "all", "same_cell": True}, (None, False)),
    ],
)
def test_page_states_exactly_the_rules_that_cost_the_bonus(
    tmp_path: Path, rules: dict[str, Any], stated: tuple[float | None, bool]
) -> None:
    design = load(study(tmp_path, images=2))
    exclusion = ExclusionConfig(**rules)
    design = replace(design, config=design.config.model_copy(update={"exclusion": exclusion}))
    pay = description(design, Images({}, (), b""), pilot=False)["pay"]
    assert (pay["min_seconds"], pay["clock"]) == stated
    assert pay["checks"] is True
    assert {"fast": stated[0] is not None, "clock": stated[1]} == {
        rule: rule in unpaid_rules(exclusion_of(exclusion)) for rule in ("fast", "clock")
    }


def test_bonus_file_lists_only_platform_participants_with_a_bonus_and_is_readable_only_by_its_owner(
    tmp_path: Path,
) -> None:
    clicked = {"a": ("C2", "C2", "A1"), "b": ("A1", "A1", "A1"), "c": ("C2", "C2", "C2"), "d": ("C2", "A1", "A1")}
    people = [person(given(*cells), name=name) for name, cells in clicked.items()]
    amounts = bonuses(people, {"a": "pid-a", "b": "pid-b", "d": "pid-d"}, Decimal("1.00"))
    write_bonuses(amounts, tmp_path / "bonus.csv")
    assert (tmp_path / "bonus.csv").read_text() == "PROLIFIC_PID,amount\npid-a,0.66\npid-d,0.33\n"
    # The file contains platform IDs, so only its owner may read it.
    assert stat.S_IMODE((tmp_path / "bonus.csv").stat().st_mode) == 0o600
