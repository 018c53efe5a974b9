"""Define the records of a test's result: its verdict, its numbers, and the models from which they were computed."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

Key = Literal["1", "view", "proximity", "2.1", "2.2", "2.3", "2.4", "3", "4"]

QUESTIONS: Final[dict[Key, str]] = {
    "1": "Is the respondent less accurate than people?",
    "view": "Are choices farther from the gaze target in photos taken from a side?",
    "proximity": "Are choices farther from the gaze target if the objects are closer together?",
    "2.1": "Is the head target chosen more often than the gaze target?",
    "2.2": "Is the same object chosen more often than by chance in photos that differ only in the eyes?",
    "2.3": "Is accuracy higher if head and eyes point to the same object?",
    "2.4": "Do choices get farther from the gaze target as the eyes move away from the head target?",
    "3": "Do choices get farther from the head target as the eyes move away from it?",
    "4": "If the eyes look at another object, is the head target chosen equally often at all distances of the eyes?",
}
"""The question that each test answers; the verdict True means yes."""

Method = Literal["GLMM", "logistic regression", "t-test", "z-test"]

Supports = Literal["head-dominant", "eye-head ambivalent", "neither"]


class _Sparse(Record):
    """A record that omits empty fields when it is converted to JSON."""

    @model_serializer(mode="wrap")
    def _without_blanks(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if key == "verdict" or not _blank(value)}


def _blank(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not value)


class Coefficient(Record):
    """A fixed effect on the logit scale, with Wald's test and interval."""

    estimate: float
    se: float
    z: float
    p: float
    ci95: Interval


class Interactions(Record):
    """Likelihood-ratio test of whether a model needs its interactions.

    Attributes:
        without: formula of the model without the tested interactions.
        chi2: chi-squared value of the test.
        df: degrees of freedom of the test.
        p: p value of the test.
        needed: whether p is below alpha; the coefficients are then those of the model with interactions.
    """

    without: str
    chi2: float
    df: int
    p: float
    needed: bool


class Model(_Sparse):
    """A fitted model.

    Attributes:
        formula: formula with the most complex fixed effects that could be fitted; marginal means and slopes come from
            this model.
        groups: standard deviation of each random intercept that was kept, by grouping variable.
        dropped: sets of random intercepts that were tried and rejected, with reasons.
        n_rows: number of fitted rows.
        log_likelihood: log likelihood by Laplace's approximation.
        dispersion: factor of the variances in the finding; above 1 if the steps of a choice vary more than independent
            steps.
        converged: whether the fit converged.
        problem: why the model is unreliable and a t-test replaces it; empty if the model is used.
        interactions: test of whether the interactions are needed; None if there are none or the test was not possible.
        coefficients: fixed effects of the model with interactions if these are needed, else of the model without them.
    """

    formula: str
    groups: dict[str, float] = Field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    n_rows: int
    log_likelihood: float
    dispersion: float = 1.0
    converged: bool
    problem: str = ""
    interactions: Interactions | None = None
    coefficients: dict[str, Coefficient] = Field(default_factory=dict)


class Finding(_Sparse):
    """The result of one test for one respondent's trials.

    Attributes:
        verdict: the answer to the test's question; None if the trials do not allow one.
        question: the test's question.
        says: the answer in words, with its numbers.
        estimate: the tested quantity, on the scale named in `scale`.
        ci95: 95% confidence interval of the estimate.
        scale: what the estimate measures, in words.
        p: p value of the test.
        p_adjusted: p value adjusted for multiple tests; None if p values are not adjusted.
        as_asked: whether the estimate has the sign that is necessary for the answer "yes"; None if there is no
            estimate.
        supports: for Test 4, the type that the numbers support; None for other tests.
        method: the method that computed p.
        reason: why there is no verdict, or why a t-test replaces the model.
        notes: further remarks.
        n_trials: number of trials used.
        n_left_out: number of trials excluded because they are unmatched.
        n_stimuli: number of photos used.
        numbers: further numbers of the test, by name.
        models: the fitted models.
    """

    verdict: bool | None
    question: str
    says: str
    estimate: float | None = None
    ci95: Interval | None = None
    scale: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    as_asked: bool | None = None
    supports: Supports | None = None
    method: Method | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()
    n_trials: int = 0
    n_left_out: int = 0
    n_stimuli: int = 0
    numbers: dict[str, Any] = Field(default_factory=dict)
    models: tuple[Model, ...] = ()

    def decided(self, p: float, alpha: float, *, adjusted: bool) -> Finding:
        """Return a copy whose verdict is yes if p is below alpha and the estimate has the required sign.

        Args:
            p: the p value that is compared with alpha.
            alpha: level of the test.
            adjusted: whether p is adjusted for multiple tests and is stored in `p_adjusted`.
        """
        verdict = bool(self.as_asked) and p < alpha
        return self.model_copy(update={"verdict": verdict, "p_adjusted": p if adjusted else None})


def tested(key: Key, says: str, *, estimate: float, p: float, **more: Any) -> Finding:
    """Return a finding whose verdict is not set yet; the answer "yes" requires an estimate above 0."""
    return Finding(
        verdict=None, question=QUESTIONS[key], says=says, estimate=estimate, p=p, as_asked=estimate > 0, **more
    )


def no_answer(key: Key, reason: str, **more: Any) -> Finding:
    """Return a finding that states why the trials do not allow the test."""
    return Finding(verdict=None, question=QUESTIONS[key], says=f"No answer: {reason}.", reason=reason, **more)
