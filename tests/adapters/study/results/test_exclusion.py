"""Who is left out, by cases worked out by hand, and what must hold of anybody."""

from __future__ import annotations

import pytest
from hypothesis import given as over, strategies as st

from spotball_adapters.study.results.exclusion import RULES, Exclusion, exclusion_of
from spotball_adapters.study.results.participations import GivenAnswer
from spotball_adapters.study.setup.config import ExclusionConfig
from spotball_core.errors import OptionError
from tests.adapters.study.people import given, person

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
    """The ball of each check is in C2 and C3."""

    @pytest.mark.parametrize(
        ("first", "second", "reasons"),
        [
            # All six clicks on the ball, one of its cells named twice or thrice.
            (("C2", "C2", "C3"), ("C3", "C3", "C3"), ()),
            # One click of six beside it: out by the paper's rule.
            (("C2", "C3", "C3"), ("C2", "C4", "C3"), ("checks",)),
            # No click of the second check on the ball: out by either.
            (("C2", "C3", "C3"), ("D5", "D5", "A1"), ("checks", "checks-all")),
            (("D5", "D5", "A1"), ("C2", "C3", "C3"), ("checks", "checks-all")),
        ],
    )
    def test_by_hand(self, first: tuple[str, ...], second: tuple[str, ...], reasons: tuple[str, ...]) -> None:
        someone = person(given("D5", "D6", "D7"), given(*first, check=True), given(*second, check=True))
        assert Exclusion(("checks", "checks-all")).reasons(someone) == reasons

    def test_a_miss_on_any_other_image_is_no_reason(self) -> None:
        assert Exclusion().reasons(person(given("F1", "F2", "F3"), given("C2", "C2", "C2", check=True))) == ()

    def test_who_saw_no_check_misses_none(self) -> None:
        assert Exclusion(("checks", "checks-all")).reasons(person(given("F1", "F2", "F3"))) == ()

    @over(st.lists(answers))
    def test_who_misses_with_every_click_misses_with_one(self, some: list[GivenAnswer]) -> None:
        reasons = EVERY.reasons(person(*some))
        assert "checks" in reasons or "checks-all" not in reasons

    @over(st.lists(answers))
    def test_every_click_counts_alike(self, some: list[GivenAnswer]) -> None:
        turned = [given(*one.choices[::-1], check=one.check, seconds=one.seconds) for one in some]
        assert EVERY.reasons(person(*some)) == EVERY.reasons(person(*turned[::-1]))


class TestOthers:
    def test_fast_is_less_than_so_many_seconds_on_the_median_image(self) -> None:
        someone = person(*(given("C2", seconds=seconds) for seconds in (2.0, 90.0, 4.0)))
        assert Exclusion(("fast",), min_seconds=4.0).reasons(someone) == ()
        assert Exclusion(("fast",), min_seconds=4.1).reasons(someone) == ("fast",)

    def test_the_same_cell_throughout_checks_aside(self) -> None:
        check = given("C2", "C2", "C3", check=True)
        rule = Exclusion(("same-cell",))
        assert rule.reasons(person(given("D5", "D5", "D5"), check, given("D5", "D5", "D5"))) == ("same-cell",)
        assert rule.reasons(person(given("D5", "D5", "D5"), check, given("D5", "D5", "D6"))) == ()
        assert rule.reasons(person(given("D5", "D5", "D5"), check)) == ()

    def test_nobody_is_excluded_without_rules(self) -> None:
        assert Exclusion(()).reasons(person(given("F1", check=True))) == ()

    @over(st.lists(answers), st.sets(st.sampled_from(sorted(RULES))))
    def test_rules_do_not_depend_on_each_other(self, some: list[GivenAnswer], names: set[str]) -> None:
        alone = {name for name in names if Exclusion((name,), min_seconds=4.0).reasons(person(*some))}
        assert set(Exclusion(tuple(names), min_seconds=4.0).reasons(person(*some))) == alone


class TestOptions:
    def test_study_toml_decides_unless_told_otherwise(self) -> None:
        config = ExclusionConfig(checks="all", min_seconds_per_image=2.5, same_cell=True)
        assert exclusion_of(config) == Exclusion(("checks-all", "fast", "same-cell"), 2.5)
        assert exclusion_of(config, rules="checks, fast") == Exclusion(("checks", "fast"), 2.5)
        assert exclusion_of(config, rules="fast", min_seconds=4) == Exclusion(("fast",), 4)
        assert exclusion_of(config, rules="").rules == ()
        assert exclusion_of(ExclusionConfig(checks="none")).rules == ()

    def test_the_default_is_the_rule_of_the_paper(self) -> None:
        assert exclusion_of(ExclusionConfig()).rules == ("checks",)

    def test_seconds_add_the_rule_that_asks_for_them(self) -> None:
        assert exclusion_of(ExclusionConfig(), min_seconds=3).rules == ("checks", "fast")

    @pytest.mark.parametrize(
        ("rules", "seconds", "said"),
        [
            ("checks,sleepy", None, "unknown rule 'sleepy'"),
            ("fast", None, "needs a minimum time per image"),
            ("checks", 3.0, "only with the rule `fast`"),
        ],
    )
    def test_what_cannot_be_asked_for(self, rules: str, seconds: float | None, said: str) -> None:
        with pytest.raises(OptionError, match=said):
            exclusion_of(ExclusionConfig(), rules=rules, min_seconds=seconds)
