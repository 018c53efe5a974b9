"""Test the exclusion rules with examples made by hand and with properties of any participant."""

from __future__ import annotations

import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.exclusion import RULES, Exclusion, exclusion_of
from spotball_adapters.study.results.participations import GivenAnswer
from spotball_adapters.study.setup.config import ExclusionConfig
from spotball_core.errors import OptionError
from tests.adapters.study.people import given, person
from tests.failures import raises

EVERY = Exclusion(tuple(RULES), min_seconds=4.0)

answers = st.builds(
    given,
    st.sampled_from(["C2", "C3", "D5", "A1"]),
    st.sampled_from(["C2", "C3", "D5", "A1"]),
    st.sampled_from(["C2", "C3", "D5", "A1"]),
    check=st.booleans(),
    seconds=st.floats(0, 60),
)


class TestChecks:
    """Test the rules about checks. The ball of each check is in C2 and C3."""

    @pytest.mark.parametrize(
        ("first", "second", "reasons"),
        [
            # All six clicks hit the ball; one cell is clicked two or three times.
            (("C2", "C2", "C3"), ("C3", "C3", "C3"), ()),
            # One of six clicks misses the ball: excluded by the rule of the paper.
            (("C2", "C3", "C3"), ("C2", "C4", "C3"), ("checks",)),
            # No click of one check hits the ball: excluded by both rules.
            (("C2", "C3", "C3"), ("D5", "D5", "A1"), ("checks", "checks-all")),
            (("D5", "D5", "A1"), ("C2", "C3", "C3"), ("checks", "checks-all")),
        ],
    )
    def test_check_rules_match_examples_made_by_hand(
        self, first: tuple[str, ...], second: tuple[str, ...], reasons: tuple[str, ...]
    ) -> None:
        someone = person(given("D5", "D6", "D7"), given(*first, check=True), given(*second, check=True))
        assert Exclusion(("checks", "checks-all")).reasons(someone) == reasons

    def test_miss_on_an_image_that_is_not_a_check_does_not_exclude(self) -> None:
        assert Exclusion().reasons(person(given("F1", "F2", "F3"), given("C2", "C2", "C2", check=True))) == ()

    def test_participant_without_checks_is_not_excluded_by_check_rules(self) -> None:
        assert Exclusion(("checks", "checks-all")).reasons(person(given("F1", "F2", "F3"))) == ()

    @over(st.lists(answers))
    def test_rule_checks_all_implies_rule_checks(self, some: list[GivenAnswer]) -> None:
        reasons = EVERY.reasons(person(*some))
        assert "checks" in reasons or "checks-all" not in reasons

    @over(st.lists(answers))
    def test_exclusion_ignores_the_order_of_clicks_and_answers(self, some: list[GivenAnswer]) -> None:
        turned = [given(*one.choices[::-1], check=one.check, seconds=one.seconds) for one in some]
        assert EVERY.reasons(person(*some)) == EVERY.reasons(person(*turned[::-1]))


class TestOthers:
    def test_rule_fast_compares_the_median_time_with_the_minimum(self) -> None:
        someone = person(*(given("C2", seconds=seconds) for seconds in (2.0, 90.0, 4.0)))
        assert Exclusion(("fast",), min_seconds=4.0).reasons(someone) == ()
        assert Exclusion(("fast",), min_seconds=4.1).reasons(someone) == ("fast",)

    def test_rule_same_cell_ignores_checks_and_requires_two_answers(self) -> None:
        check = given("C2", "C2", "C3", check=True)
        rule = Exclusion(("same-cell",))
        assert rule.reasons(person(given("D5", "D5", "D5"), check, given("D5", "D5", "D5"))) == ("same-cell",)
        assert rule.reasons(person(given("D5", "D5", "D5"), check, given("D5", "D5", "D6"))) == ()
        assert rule.reasons(person(given("D5", "D5", "D5"), check)) == ()

    def test_exclusion_without_rules_has_no_reasons(self) -> None:
        assert Exclusion(()).reasons(person(given("F1", check=True))) == ()

    @over(st.lists(answers), st.sets(st.sampled_from(sorted(RULES))))
    def test_rules_are_independent_of_each_other(self, some: list[GivenAnswer], names: set[str]) -> None:
        alone = {name for name in names if Exclusion((name,), min_seconds=4.0).reasons(person(*some))}
        assert set(Exclusion(tuple(names), min_seconds=4.0).reasons(person(*some))) == alone


class TestOptions:
    def test_options_override_the_exclusion_rules_of_study_toml(self) -> None:
        config = ExclusionConfig(checks="all", min_seconds_per_image=2.5, same_cell=True)
        assert exclusion_of(config) == Exclusion(("checks-all", "fast", "same-cell"), 2.5)
        assert exclusion_of(config, rules="checks, fast") == Exclusion(("checks", "fast"), 2.5)
        assert exclusion_of(config, rules="fast", min_seconds=4) == Exclusion(("fast",), 4)
        assert exclusion_of(config, rules="").rules == ()
        assert exclusion_of(ExclusionConfig(checks="none")).rules == ()

    def test_default_exclusion_is_the_rule_checks_from_the_paper(self) -> None:
        assert exclusion_of(ExclusionConfig()).rules == ("checks",)

    def test_min_seconds_adds_the_rule_fast(self) -> None:
        assert exclusion_of(ExclusionConfig(), min_seconds=3).rules == ("checks", "fast")

    @pytest.mark.parametrize(
        ("rules", "seconds", "said"),
        [
            ("checks,sleepy", None, "unknown-name:--exclude"),
            ("fast", None, "missing-option"),
            ("checks", 3.0, "conflicting-options"),
        ],
    )
    def test_invalid_exclusion_options_are_an_error(self, rules: str, seconds: float | None, said: str) -> None:
        with raises(OptionError, said):
            exclusion_of(ExclusionConfig(), rules=rules, min_seconds=seconds)
