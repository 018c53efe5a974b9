"""Define the rules that exclude participants. Exclusions are computed from the stored data, and no data is deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from spotball_adapters.study.results.participations import Participation
from spotball_adapters.study.setup.config import ExclusionConfig
from spotball_core.errors import OptionError, unknown_name

_FREQUENT, _FREQUENT_CHOICES = 0.5, 0.9


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that excludes participants for one reason.

    Attributes:
        description: a text that states which participants the rule excludes.
        broken: function that returns whether the rule excludes a participant, given the minimum number of seconds per
            image.
    """

    description: str
    broken: Callable[[Participation, float], bool]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The rules by which an analysis excludes participants.

    Attributes:
        rules: names of the rules, which are keys of `RULES`.
        min_seconds: minimum seconds per image, for the rule `fast`.

    Raises:
        OptionError: if a rule is unknown, or if the rule `fast` is used but `min_seconds` is 0.
    """

    rules: tuple[str, ...] = ("checks",)
    min_seconds: float = 0.0

    def __post_init__(self) -> None:
        if unknown := [name for name in self.rules if name not in RULES]:
            raise OptionError(unknown_name("rule", unknown[0], RULES), code="unknown-name", field="--exclude")
        if "fast" in self.rules and self.min_seconds <= 0:
            raise OptionError(
                "the rule `fast` needs a minimum time. Set min_seconds_per_image in study.toml", code="missing-option"
            )

    def reasons(self, person: Participation) -> tuple[str, ...]:
        """Return the names of the rules that exclude a participant, in the order of `RULES`; empty if none does."""
        return tuple(
            name for name, rule in RULES.items() if name in self.rules and rule.broken(person, self.min_seconds)
        )


def exclusion_of(config: ExclusionConfig, rules: str | None = None) -> Exclusion:
    """Return the exclusion rules of study.toml, or those that are named.

    Args:
        config: the exclusion settings in study.toml.
        rules: comma-separated keys of `RULES` that replace the rules of study.toml; None to keep these.

    Raises:
        OptionError: if a rule is unknown, or if the rule `fast` is used but study.toml has no minimum time.

    Examples:
        >>> exclusion_of(ExclusionConfig(checks="all", min_seconds_per_image=2.5)).rules
        ('checks-all', 'fast')
    """
    seconds = config.min_seconds_per_image
    if rules is not None:
        return Exclusion(tuple(name.strip() for name in rules.split(",") if name.strip()), seconds)
    checks = {"any": ("checks",), "all": ("checks-all",), "none": ()}[config.checks]
    return Exclusion((*checks, *["fast"] * (seconds > 0), *["same-cell"] * config.same_cell, *config.also), seconds)


def _missed_a_check(person: Participation, _: float) -> bool:
    return any(not all(answer.hits) for answer in person.answers if answer.check)


def _missed_a_check_with_every_click(person: Participation, _: float) -> bool:
    return any(not any(answer.hits) for answer in person.answers if answer.check)


def _fast(person: Participation, min_seconds: float) -> bool:
    seconds = [answer.seconds for answer in person.answers]
    # A script can report any time, but it cannot change the server's clock.
    on_server = person.quality.server_seconds
    return bool(seconds) and (median(seconds) < min_seconds or (on_server is not None and on_server < min_seconds))


def _same_cell(person: Participation, _: float) -> bool:
    answers = [answer for answer in person.answers if not answer.check]
    return len(answers) > 1 and len({choice for answer in answers for choice in answer.choices}) == 1


def _is_frequent(person: Participation, share: float | None) -> bool:
    # With few options, half of the answers repeat by chance.
    is_choice = any(len(answer.places) == 1 and not answer.clicks for answer in person.answers)
    return share is not None and share >= (_FREQUENT_CHOICES if is_choice else _FREQUENT)


def _at_least_half(n: int, person: Participation) -> bool:
    return 0 < len(person.explanations) <= 2 * n


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "checks": Rule(
            "participants with at least one click outside the ball's cells, or one wrong choice, on an attention check",
            _missed_a_check,
        ),
        "checks-all": Rule(
            "participants with all clicks outside the ball's cells, or a wrong choice, on an attention check",
            _missed_a_check_with_every_click,
        ),
        "fast": Rule(
            "participants with a median time per image below `min_seconds_per_image` by the browser's clock, or a mean "
            "time below it by the server's clock",
            _fast,
        ),
        "same-cell": Rule("participants who gave the same answer to all test images", _same_cell),
        "clock": Rule(
            "participants whose browser reports more time on images than the server measured",
            lambda person, _: person.quality.impossible_times,
        ),
        "repeated": Rule(
            "participants with nearly equal answers to at least half of the test images (nine tenths in studies of the "
            "task `choice`)",
            lambda person, _: _is_frequent(person, person.quality.repeated),
        ),
        "patterned": Rule(
            "participants whose answers follow a pattern, such as A1, A2, A3, on at least half of the test images "
            "(nine tenths in studies of the task `choice`)",
            lambda person, _: _is_frequent(person, person.quality.patterned),
        ),
        "explanations": Rule(
            "participants with at least half of their explanations too short, random, or copied from the question",
            lambda person, _: _at_least_half(person.quality.poor_explanations, person),
        ),
        "fullscreen": Rule(
            "participants who left full screen, if the study requires full screen",
            lambda person, _: bool(person.quality.left_fullscreen),
        ),
        "small-window": Rule(
            "participants who answered an image in a window smaller than the study requires",
            lambda person, _: person.quality.small_windows > 0,
        ),
        "duplicates": Rule(
            "participants with at least half of their explanations repeated, or equal to those of another participant",
            lambda person, _: _at_least_half(person.quality.duplicated_explanations, person),
        ),
    }
)
"""All exclusion rules by name. Each is also a column of participants.csv. The Spot the Ball paper used `checks`
(its section 4.4)."""

TIMES = ("fast", "clock")
"""Names of the rules that check response times. A participant who breaks such a rule probably did not do the task, so
by default no bonus is paid.
"""
