"""What a test finds: its verdict, its numbers, and the models behind them."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

Key = Literal["1", "view", "proximity", "2.1", "2.2", "2.3", "2.4", "3", "4"]

QUESTIONS: Final[dict[Key, str]] = {
    "1": "Is the respondent less accurate than people?",
    "view": "Are answers more wrong where the photo was taken from a side?",
    "proximity": "Are answers more wrong where objects are closer together?",
    "2.1": "Is the head target chosen more often than the gaze target?",
    "2.2": "Is the same object chosen more often than by chance where only the eyes move?",
    "2.3": "Is accuracy higher where head and eyes agree?",
    "2.4": "Are answers more wrong the farther the eyes are from the head target?",
    "3": "Are choices farther from the head target the farther the eyes are from it?",
    "4": "Is the head target chosen as often at all distances of the eyes but 0, as if a coin was flipped?",
}
"""What each test asks; the verdict true says yes."""

Method = Literal["GLMM", "logistic regression", "t-test", "z-test"]

Supports = Literal["head-dominant", "eye-head ambivalent", "neither"]


class _Sparse(Record):
    """A record that leaves out what it does not have."""

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
    """Whether a model needs its interactions: the likelihood-ratio test against the one without.

    Attributes:
        without: formula of the model without.
        chi2: of the test.
        df: its degrees of freedom.
        p: its p value.
        needed: whether it is below alpha; the coefficients are then those of the model with interactions.
    """

    without: str
    chi2: float
    df: int
    p: float
    needed: bool


class Model(_Sparse):
    """A fitted model.

    Attributes:
        formula: of the most complex fixed effects; marginal means and slopes are of this one.
        groups: standard deviation of each random intercept that was kept.
        dropped: random structures that were tried and not kept, and why.
        n_rows: rows fitted.
        log_likelihood: by Laplace's approximation.
        converged: whether it did.
        problem: why it is not relied on; empty if it is.
        interactions: whether they are needed; None where there are none.
        coefficients: of the model that is reported.
    """

    formula: str
    groups: dict[str, float] = Field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    n_rows: int
    log_likelihood: float
    converged: bool
    problem: str = ""
    interactions: Interactions | None = None
    coefficients: dict[str, Coefficient] = Field(default_factory=dict)


class Finding(_Sparse):
    """What one test finds in one respondent's trials.

    Attributes:
        verdict: the answer to the test's question; None where the trials do not allow one.
        question: what is asked.
        says: the answer in words, with its numbers.
        estimate: the quantity tested; its scale stands in `scale`.
        ci95: its interval.
        scale: what the estimate is.
        p: of the test.
        p_adjusted: after the adjustment for several tests; only with one.
        as_asked: whether the estimate has the sign that the question asks for.
        supports: of Test 4: which type the numbers speak for.
        method: what p comes from.
        reason: why there is no verdict, or why a t-test stands in for the model.
        notes: more to be borne in mind.
        n_trials: trials that entered.
        n_left_out: trials that would have, but are unmatched.
        n_stimuli: photos among them.
        numbers: what else belongs to the test, by name.
        models: those fitted.
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
        """The same with the verdict that a p value gives, which is kept where it was adjusted."""
        verdict = bool(self.as_asked) and p < alpha
        return self.model_copy(update={"verdict": verdict, "p_adjusted": p if adjusted else None})


def tested(key: Key, says: str, *, estimate: float, p: float, **more: Any) -> Finding:
    """A test with a p value, whose question asks for an estimate above 0; the verdict is still to be decided."""
    return Finding(
        verdict=None, question=QUESTIONS[key], says=says, estimate=estimate, p=p, as_asked=estimate > 0, **more
    )


def no_answer(key: Key, reason: str, **more: Any) -> Finding:
    """A test without verdict."""
    return Finding(verdict=None, question=QUESTIONS[key], says=f"No answer: {reason}.", reason=reason, **more)
