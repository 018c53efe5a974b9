"""The records that `compare` returns: differences with intervals, p values and a sentence."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval, Signature
from spotball_core.schema.result import ResultRecord

SCHEMA_VERSION: Final = 1

Direction = Literal["a is better", "b is better", "a is higher", "b is higher", "equal"]
Verdict = Literal["clear", "suggestive", "unclear"]
Conclusion = Literal["a is better", "b is better", "a is higher", "b is higher", "equivalent", "undecided"]


class Difference(Record):
    """The difference between two respondents in one metric, on the same images.

    Attributes:
        a: the metric of a, on the images on which it has a value for both.
        b: the metric of b, on the same images.
        difference: a - b.
        ci95: 95% bootstrap interval of the difference; None without resamples.
        p: two-sided permutation p value, from labels swapped within images.
        p_holm: the p value after Holm's adjustment over the metrics.
        n_images: number of these images.
        effect_size: mean of the images' differences, divided by their standard deviation (n - 1); None if the metric
            has no value per image, or the differences do not vary.
        direction: which respondent is better, or higher if the metric has no better direction.
        verdict: "clear": the adjusted p value is at most 0.05 and the interval excludes 0; "suggestive": p is at most
            0.05, but only before the adjustment, or the interval includes 0; "unclear": anything else.
        detectable: the smallest true difference that these data detect with 80% power, after the correction for the
            number of metrics; None if no difference could be significant.
        margin: the largest difference that counts as equal; None if none was given.
        margin_ci: the interval that is inside the margin if the two are equivalent: 90% for one margin, and wider for
            several (Bonferroni).
        conclusion: with a margin, "equivalent" if `margin_ci` is within the margin, else the direction of a clear
            difference, else "undecided".
        sentence: the result in words.
        reason: why there is no difference, or a caution for reading it.
    """

    a: float | None = None
    b: float | None = None
    difference: float | None = None
    ci95: Interval | None = None
    p: float | None = None
    p_holm: float | None = None
    n_images: int | None = None
    effect_size: float | None = None
    direction: Direction | None = None
    verdict: Verdict | None = None
    detectable: float | None = None
    margin: float | None = None
    margin_ci: Interval | None = None
    conclusion: Conclusion | None = None
    sentence: str
    reason: str | None = None


class Contrast(Record):
    """The comparison of two respondents on the images of one sport, or of all sports.

    Attributes:
        sport: the sport; None for all sports, pooled.
        n_images: number of images that both answered and the policy keeps.
        resampled: the units that the intervals resample: "images", or "images and participants" (two-way).
        exact: whether the p values use all ways to swap labels instead of random ways.
        permutations: number of ways to swap labels that the p values use.
        metrics: one difference per metric, by key.
    """

    sport: str | None
    n_images: int
    resampled: Literal["images", "images and participants"]
    exact: bool
    permutations: int
    metrics: dict[str, Difference]


class Comparison(ResultRecord):
    """The result of `compare`, and the format of `spotball compare --format json`.

    Attributes:
        a: the first name; differences are a - b.
        b: the second name.
        prompts_a: the prompts of a's answers, pooled if there are several.
        prompts_b: the prompts of b's answers.
        contrasts: one for each sport that both answered, then one for all sports if there are several.
    """

    _forms: ClassVar[str] = "spotball_core.comparison.summary:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("contrasts",)

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: Signature
    policy: ScorePolicy
    a: str
    b: str
    prompts_a: tuple[str, ...]
    prompts_b: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    contrasts: tuple[Contrast, ...]
