"""Test the exclusion rules with examples made by hand and with properties of any participant."""

from __future__ import annotations

import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.exclusion import RULES, Exclusion, exclusion_of
from spotball_adapters.study.results.participations import GivenAnswer
from spotball_adapters.study.setup.config import ExclusionConfig
from spotball_core.errors import OptionError
from tests.adapters.study.stored import given, person
from tests.failures import raises

EVERY = Exclusion(tuple(RULES), min_seconds=4.0)

cells = st.sampled_from(["C2", "C3", "D5", "A1"])
answers = st.builds(given, cells, cells, cells, check=st.booleans(), seconds=st.floats(0, 60))


def check(*cells: str) -> GivenAnswer:
    """Return an answer to an attention check whose ball is in C2 and C3."""
    return given(*cells, check=True)


class TestChecks:
    @pytest.mark.parametrize(
        ("some", "reasons"),
        [
            # All six clicks hit the ball; one cell is clicked two or three times.
            ([check("C2", "C2", "C3"), check("C3", "C3", "C3")], ()),
            # One of six clicks misses the ball: excluded by the rule of the paper.
            ([check("C2", "C3", "C3"), check("C2", "C4", "C3")], ("checks",)),
            # No click of one check hits the ball: excluded by both rules.
            ([check("C2", "C3", "C3"), check("D5", "D5", "A1")], ("checks", "checks-all")),
            ([check("D5", "D5", "A1"), check("C2", "C3", "C3")], ("checks", "checks-all")),
            # There is no check. Clicks that miss the ball on other images do not exclude.
            ([], ()),
        ],
    )
    def test_rules_checks_and_checks_all_agree_with_examples_made_by_hand(
        self, some: list[GivenAnswer], reasons: tuple[str, ...]
    ) -> None:
        someone = person(given("D5", "D6", "D7"), *some)
        assert Exclusion(("checks", "checks-all")).reasons(someone) == reasons
        assert Exclusion().reasons(someone) == reasons[:1]

    @over(st.lists(answers))
    def test_exclusion_ignores_the_order_of_clicks_and_answers_and_checks_all_implies_checks(
        self, some: list[GivenAnswer]
    ) -> None:
        turned = [given(*one.choices[::-1], check=one.check, seconds=one.seconds) for one in some]
        reasons = EVERY.reasons(person(*some))
        assert reasons == EVERY.reasons(person(*turned[::-1]))
        assert "checks" in reasons or "checks-all" not in reasons


class TestOtherRules:
    def test_rules_fast_and_same_cell_agree_with_examples_made_by_hand(self) -> None:
        # The median time is compared with the minimum.
        someone = person(*(given("C2", seconds=seconds) for seconds in (2.0, 90.0, 4.0)))
        assert Exclusion(("fast",), min_seconds=4.0).reasons(someone) == ()
        assert Exclusion(("fast",), min_seconds=4.1).reasons(someone) == ("fast",)
        # The rule "same-cell" ignores checks, and needs at least two answers on other images.
        rule, same, other = Exclusion(("same-cell",)), given("D5", "D5", "D5"), check("C2", "C2", "C3")
        assert rule.reasons(person(same, other, same)) == ("same-cell",)
        assert rule.reasons(person(same, other, given("D5", "D5", "D6"))) == ()
        assert rule.reasons(person(same, other)) == ()
        assert Exclusion(()).reasons(person(given("F1", check=True))) == ()

    @over(st.lists(answers), st.sets(st.sampled_from(sorted(RULES))))
    def test_reasons_of_combined_rules_are_those_of_each_rule_alone(
        self, some: list[GivenAnswer], names: set[str]
    ) -> None:
        alone = {name for name in names if Exclusion((name,), min_seconds=4.0).reasons(person(*some))}
        assert set(Exclusion(tuple(names), min_seconds=4.0).reasons(person(*some))) == alone


class TestOptions:
    def test_options_override_the_exclusion_rules_of_study_toml(self) -> None:
        config = ExclusionConfig(checks="all", min_seconds_per_image=2.5, same_cell=True)
        assert exclusion_of(config) == Exclusion(("checks-all", "fast", "same-cell"), 2.5)
        assert exclusion_of(config, rules="checks, fast") == Exclusion(("checks", "fast"), 2.5)
        assert exclusion_of(config, rules="").rules == ()
        assert exclusion_of(ExclusionConfig(checks="none")).rules == ()
        # By default, only the rule of the paper ("checks") applies. A minimum time adds the rule "fast".
        assert exclusion_of(ExclusionConfig()).rules == ("checks",)
        assert exclusion_of(ExclusionConfig(min_seconds_per_image=3)).rules == ("checks", "fast")

    @pytest.mark.parametrize(
        ("rules", "said"), [("checks,sleepy", "unknown-name:--exclude"), ("fast", "missing-option")]
    )
    def test_invalid_exclusion_options_are_an_error(self, rules: str, said: str) -> None:
        with raises(OptionError, said):
            exclusion_of(ExclusionConfig(), rules=rules)
