"""Describe comparisons in sentences that claim no more than the numbers support."""

from __future__ import annotations

from dataclasses import dataclass

from spotball_core.comparison.record import Conclusion, Difference, Direction, Verdict
from spotball_core.metrics.metric import Metric
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import Interval
from spotball_core.text.numbers import ALPHA, number, points, quantity, say_p


@dataclass(frozen=True)
class ContrastNumbers:
    """The numbers of one metric's comparison; see `Difference`."""

    a: float
    b: float
    ci95: Interval | None
    p: float
    p_holm: float
    n_images: int
    effect_size: float | None
    reason: str | None
    detectable: float | None = None
    margin: float | None = None
    margin_ci: Interval | None = None

    @property
    def difference(self) -> float:
        """The difference a - b."""
        return self.a - self.b


@dataclass(frozen=True)
class Narrator:
    """Write sentences about the numbers of one contrast.

    Attributes:
        a: the first respondent's name.
        b: the second respondent's name.
        policy: the policy, which sets the units.
        tests: number of metrics that were tested.
        floor: the smallest p value that is possible if all swaps of labels are used; 0 for random swaps.
    """

    a: str
    b: str
    policy: ScorePolicy
    tests: int
    floor: float

    def tell(self, metric: Metric, numbers: ContrastNumbers) -> Difference:
        """Return a difference with its direction, verdict and sentence."""
        unit = metric.unit_under(self.policy)
        values = f"{self.a} {quantity(numbers.a, unit)}, {self.b} {quantity(numbers.b, unit)}"
        summary = f"{metric.title_under(self.policy)}: {values}; {self._verdict(metric, numbers, unit)}"
        return Difference(
            a=numbers.a,
            b=numbers.b,
            difference=numbers.difference,
            ci95=numbers.ci95,
            p=numbers.p,
            p_holm=numbers.p_holm,
            n_images=numbers.n_images,
            effect_size=numbers.effect_size,
            direction=direction_of(metric, numbers.difference),
            verdict=verdict_of(numbers),
            detectable=numbers.detectable,
            margin=numbers.margin,
            margin_ci=numbers.margin_ci,
            conclusion=conclusion_of(metric, numbers),
            sentence="; ".join(filter(None, [summary, self._equal(metric, numbers, unit), numbers.reason])) + ".",
            reason=numbers.reason,
        )

    def tell_nothing(self, metric: Metric, a: float | None, b: float | None, reason: str) -> Difference:
        """Return a record without a difference, with a sentence that states the reason."""
        return Difference(
            a=a, b=b, reason=reason, sentence=f"{metric.title_under(self.policy)}: no comparison: {reason}."
        )

    def _verdict(self, metric: Metric, numbers: ContrastNumbers, unit: str) -> str:
        difference, verdict = numbers.difference, verdict_of(numbers)
        if not difference:
            return f"no difference on these images{_interval(numbers.ci95, unit)}"
        interval = _interval(numbers.ci95, unit, flip=difference < 0)
        lead = f"{self._who(metric, difference, ' is ')} by {points(difference, unit)}{interval}"
        corrected = f"p {say_p(numbers.p_holm)} corrected for {self.tests} tests"
        if self.floor > ALPHA:
            size_note = f"{numbers.n_images} image{'s are' if numbers.n_images > 1 else ' is'} too few for a test"
            return f"{lead}, but {size_note}: no p value can be below {self.floor:.2g}"
        if verdict == "clear":
            return f"{lead}, {corrected}: a clear difference"
        if verdict == "suggestive" and numbers.p_holm > ALPHA:
            chance = "weak evidence of a difference"
            return f"{lead}, p {say_p(numbers.p)}, but {corrected}: {chance}"
        if verdict == "suggestive":
            return f"{lead}, {corrected}, but the interval contains 0: weak evidence of a difference"
        could = "" if numbers.detectable is None else f"; {points(numbers.detectable, unit)} would be seen (80% power)"
        return f"no clear difference, p {say_p(numbers.p)}{self._either(metric, numbers.ci95, unit)}{could}"

    def _equal(self, metric: Metric, numbers: ContrastNumbers, unit: str) -> str:
        """State whether the two are equivalent; empty without a margin, or for a clear difference."""
        words = {"equivalent": "equivalent", "undecided": "not shown to be equivalent"}
        word = words.get(conclusion_of(metric, numbers) or "")
        return f"{word} within {points(numbers.margin or 0.0, unit)}" if word else ""

    def _who(self, metric: Metric, difference: float, between: str = " ") -> str:
        side, word = direction_of(metric, difference).split(" is ")
        return f"{self.a if side == 'a' else self.b}{between}{word}"

    def _either(self, metric: Metric, ci95: Interval | None, unit: str) -> str:
        """Describe the range of differences in an interval."""
        if ci95 is None:
            return ""
        low, high = (f"{self._who(metric, end)} by {points(end, unit)}" if end else "no difference" for end in ci95)
        return f"; the 95% interval ranges from {low} to {high}"


def direction_of(metric: Metric, difference: float) -> Direction:
    """Return which respondent is better, or higher if the metric has no better direction.

    Examples:
        >>> from spotball_core.metrics.registry import METRICS
        >>> direction_of(METRICS["euclidean_error"], 3.0), direction_of(METRICS["overlap_rate"], 0.1)
        ('b is better', 'a is higher')
    """
    if difference == 0:
        return "equal"
    if metric.direction in ("higher", "lower"):
        return "a is better" if (difference > 0) == (metric.direction == "higher") else "b is better"
    return "a is higher" if difference > 0 else "b is higher"


def verdict_of(numbers: ContrastNumbers) -> Verdict:
    """Return the strength of the evidence for a difference; see `Difference`.

    Examples:
        >>> from dataclasses import replace
        >>> p = {"p": 0.001, "p_holm": 0.01}
        >>> found = ContrastNumbers(2.0, 1.0, (0.5, 1.5), **p, n_images=50, effect_size=1.0, reason=None)
        >>> verdict_of(found), verdict_of(replace(found, p_holm=0.4)), verdict_of(replace(found, ci95=(-0.5, 2.5)))
        ('clear', 'suggestive', 'suggestive')
        >>> verdict_of(replace(found, p=0.3, p_holm=1.0))
        'unclear'
    """
    if not numbers.difference or numbers.p > ALPHA:
        return "unclear"
    without_0 = numbers.ci95 is None or numbers.ci95[0] > 0 or numbers.ci95[1] < 0
    return "clear" if numbers.p_holm <= ALPHA and without_0 else "suggestive"


def conclusion_of(metric: Metric, numbers: ContrastNumbers) -> Conclusion | None:
    """Return the conclusion for the margin; None without a margin. See `Difference`.

    Examples:
        >>> from spotball_core.metrics.registry import METRICS
        >>> p = {"p": 0.3, "p_holm": 1.0}
        >>> found = ContrastNumbers(2.0, 1.9, (-0.2, 0.4), **p, n_images=50, effect_size=1.0, reason=None)
        >>> accuracy = METRICS["accuracy"]
        >>> [
        ...     conclusion_of(accuracy, ContrastNumbers(**{**vars(found), "margin": 0.5, "margin_ci": ends}))
        ...     for ends in ((-0.1, 0.3), (-0.1, 0.6))
        ... ]
        ['equivalent', 'undecided']
    """
    if numbers.margin is None:
        return None
    if numbers.margin_ci is not None and max(map(abs, numbers.margin_ci)) < numbers.margin:
        return "equivalent"
    direction = direction_of(metric, numbers.difference)
    return direction if verdict_of(numbers) == "clear" and direction != "equal" else "undecided"


def _interval(ci95: Interval | None, unit: str, *, flip: bool = False) -> str:
    if ci95 is None:
        return ""
    low, high = (-ci95[1], -ci95[0]) if flip else ci95
    return f" (95% interval {number(low, unit)} to {number(high, unit)})"
