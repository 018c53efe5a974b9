"""Run all tests for one respondent, and determine its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from spotball_core.gaze.battery import eyes, head_bias, performance, scene_effects
from spotball_core.gaze.battery.chance import at_chance, refined
from spotball_core.gaze.battery.findings import QUESTIONS, Finding, Key
from spotball_core.gaze.battery.types import Type, type_of
from spotball_core.gaze.plain_tests import adjusted
from spotball_core.schema.record import Record

if TYPE_CHECKING:
    import polars as pl

ORDER: Final[tuple[Key, ...]] = tuple(QUESTIONS)


class TestPolicy(Record):
    """Settings that affect verdicts.

    Attributes:
        alpha: p values below it are significant.
        multiplicity: `none` compares each p value with alpha, as in the paper. `holm` adjusts a respondent's p values
            for the number of tests. Test 4 is not part of this: its comparisons are always adjusted among themselves.
    """

    __test__ = False

    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    multiplicity: Literal["none", "holm"] = "none"


class Battery:
    """Run the tests of one respondent; each test runs when its result is first requested.

    Attributes:
        findings: the findings of the tests that have run so far, with their verdicts at alpha.
    """

    def __init__(self, rows: pl.DataFrame, alpha: float, people: pl.DataFrame | None = None) -> None:
        """Store one respondent's trials, from `measures.with_measures`, and people's trials for Test 1."""
        self.findings: dict[Key, Finding] = {}
        self._rows, self._alpha, self._people = rows, alpha, people

    def __getitem__(self, key: Key) -> Finding:
        """Return the finding of a test; run the test if it has not run yet."""
        if key not in self.findings:
            for name, finding in self._tested(key).items():
                tested = finding.p is not None
                p = finding.p or 0.0
                self.findings[name] = finding.decided(p, self._alpha, adjusted=False) if tested else finding
        return self.findings[key]

    def _tested(self, key: Key) -> dict[Key, Finding]:
        rows, alpha = self._rows, self._alpha
        if key in ("proximity", "view"):
            return scene_effects.proximity_and_view(rows, alpha=alpha)
        tests: dict[Key, Callable[[], Finding]] = {
            "1": lambda: performance.performance_gap(rows, self._people),
            "2.1": lambda: head_bias.head_more_often(rows, alpha=alpha),
            "2.2": lambda: head_bias.same_choice(rows),
            "2.3": lambda: head_bias.better_when_congruent(rows, alpha=alpha),
            "2.4": lambda: head_bias.more_wrong_with_distance(rows, alpha=alpha),
            "3": lambda: eyes.gaze_responsiveness(rows, alpha=alpha),
            "4": lambda: eyes.coin_flipping(rows, alpha=alpha),
        }
        return {key: tests[key]()}


def run_battery(
    rows: pl.DataFrame, policy: TestPolicy | None = None, *, people: pl.DataFrame | None = None
) -> tuple[dict[Key, Finding], Type]:
    """Run every test, in the paper's order, and return the findings and the type.

    Args:
        rows: one respondent's trials, from `measures.with_measures`.
        policy: alpha and the correction for multiple tests (default: `TestPolicy()`).
        people: people's trials for Test 1; None for the published accuracies of people (`performance.PUBLISHED`).
    """
    policy = policy or TestPolicy()
    battery = Battery(rows, policy.alpha, people)
    findings = {key: battery[key] for key in ORDER}
    if policy.multiplicity != "none":
        tested = [key for key in ORDER if findings[key].p is not None]
        p_values = adjusted([findings[key].p or 0.0 for key in tested], policy.multiplicity)
        for key, p in zip(tested, p_values, strict=True):
            findings[key] = findings[key].decided(p, policy.alpha, adjusted=True)
    return findings, refined(type_of(findings.__getitem__), at_chance(rows, alpha=policy.alpha))
