"""The records that `plan` returns: variance components, detectable differences, and designs for an effect."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import Field

from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.record import Record
from spotball_core.schema.report import Signature
from spotball_core.schema.result import ResultRecord

SCHEMA_VERSION: Final = 1


class Components(Record):
    """The variance components of a metric for one respondent, in squared units of the metric.

    Attributes:
        images: variance between images; None if the pilot has too few answers per image to separate it.
        answers: variance of one answer within an image: the answers' noise is `answers` / k, plus `answers_squared` /
            k^2, for k answers; None if it cannot be separated.
        answers_squared: see `answers`; 0 for metrics that are means of answers.
        participants: variance between participants; None if the answers do not name them, or for metrics that are not
            means of answers.
        n_participants: number of participants.
        prompts: variance between prompts; None for one prompt, or for metrics that are not means of answers.
        best_allocation: the share of the answers that would suffice for the same precision on the same images if each
            image had the best number of answers. It is too low if the pilot has few answers per image.
    """

    images: float | None
    answers: float | None
    answers_squared: float | None
    participants: float | None = None
    n_participants: int | None = None
    prompts: float | None = None
    best_allocation: float | None = None


class Design(Record):
    """A design: numbers of images and of answers per image of each respondent.

    Attributes:
        images: number of images.
        answers: number of answers of each respondent to each image.
        detects: the smallest difference that is detected with the planned power; None if there is none.
        cost: the price of its images and answers; None without prices.
    """

    images: int
    answers: int
    detects: float | None
    cost: float | None = None


class MetricPlan(Record):
    """The plan for one metric. Values have the metric's unit, and shares are between 0 and 1.

    Attributes:
        unit: unit of the metric.
        effect: the difference to detect; None if none is given for this metric.
        n_images: number of the pilot's images on which the metric has a value for both respondents.
        respondents: the variance components of each respondent.
        difference: variance of the true differences between images; None if it cannot be separated from the answers'
            noise.
        pilot: the pilot's own design, with the median number of answers.
        at_best: the smallest difference that the pilot's images detect with infinitely many answers.
        images: number of images needed for the effect, by number of answers; None if no number is enough.
        needed: the number of images needed with the pilot's number of answers.
        needed_ci95: 95% interval of `needed`, because the pilot's variances are estimates.
        enough_answers: the number of answers from which infinitely many would improve the smallest detectable
            difference by at most 5%; None if it is above 200.
        cheapest: the cheapest design for the effect; None without prices, or if no design is enough.
        curves: detectable differences of several designs.
        reason: why the metric has no plan; None if it has one.
    """

    unit: str
    effect: float | None = None
    n_images: int = 0
    respondents: dict[str, Components] = Field(default_factory=dict)
    difference: float | None = None
    pilot: Design | None = None
    at_best: float | None = None
    images: dict[int, int | None] = Field(default_factory=dict)
    needed: int | None = None
    needed_ci95: tuple[int, int | None] | None = None
    enough_answers: int | None = None
    cheapest: Design | None = None
    curves: tuple[Design, ...] = ()
    reason: str | None = None


class Measured(Record):
    """What a pilot shows about a metric: all that its plan needs. Variances have squared units of the metric.

    Attributes:
        unit: unit of the metric.
        n_images: number of images on which the metric has a value for both respondents.
        answers: median number of answers per image, of the respondent with fewer.
        respondents: the variance components of each respondent.
        between: variance of the true difference between images; see `design.Spread` for this and the next four.
        first: coefficient of 1 / k in the answers' noise.
        second: coefficient of 1 / k^2.
        people: variance between participants for one answer per image.
        step: the difference between the two scores of an answer, if there are only two; else 0.
        only: the number of answers for which the variances hold; None if they hold for any number.
        variance: variance of the pilot's differences between images.
        variance_ci95: 95% interval of the variance of a difference with the pilot's number of answers.
        pilot_people: variance of the pilot's mean difference that its participants cause.
    """

    unit: str
    n_images: int
    answers: int
    respondents: dict[str, Components]
    between: float
    first: float
    second: float
    people: float
    step: float
    only: int | None
    variance: float
    variance_ci95: tuple[float, float] | None
    pilot_people: float


class Pilot(Record):
    """What a pilot shows about two respondents, for all metrics.

    Attributes:
        provenance: how the numbers were computed.
        policy: the policy of the scores.
        warnings: what to keep in mind.
        a: the first respondent.
        b: the second respondent; None for two respondents like a.
        sport: the sport whose images were used; None for all.
        tests: number of metrics that `compare` tests.
        metrics: the numbers of each metric, or the reason why there are none, by key.
    """

    provenance: Signature
    policy: ScorePolicy
    warnings: tuple[str, ...] = ()
    a: str
    b: str | None
    sport: str | None
    tests: int
    metrics: dict[str, Measured | str]


class Plan(ResultRecord):
    """The result of `plan`, and the format of `spotball plan --format json`.

    Attributes:
        a: the first respondent.
        b: the second respondent; None if the plan is for two respondents like a.
        sport: the sport whose images were used; None for all.
        power: the probability with which an effect is to be detected.
        tests: number of tests for which p values are corrected: each is planned at the level 0.05 / tests, the first
            step of Holm's method.
        price_answer: price of one answer of both respondents together; None without prices.
        price_image: price of one image; None without prices.
        metrics: the plan of each metric, by key.
    """

    _forms: ClassVar[str] = "spotball_core.planning.text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("metrics",)

    schema_version: Literal[1] = SCHEMA_VERSION
    signature: str
    provenance: Signature
    policy: ScorePolicy
    warnings: tuple[str, ...] = ()
    a: str
    b: str | None
    sport: str | None
    power: float
    tests: int
    price_answer: float | None
    price_image: float | None
    metrics: dict[str, MetricPlan]
