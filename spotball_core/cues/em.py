"""Weights of a mixture of known distributions, by expectation-maximization.

The log likelihood is concave in the weights: there is one maximum, and at every step it is known how far off it can
be. Several fits run at once, so that resamples cost little more than one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.typing import BoolArray, FloatArray

TOLERANCE = 1e-6
"""Fits end where the log likelihood is within this of its maximum, in nats an answer."""

_MOST_CYCLES = 10_000
_BLOCK = 25
_LEAST_SHARE = 0.01
"""An extrapolated weight keeps at least this share of what it was: EM cannot bring back what is 0."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How often each outcome was seen, and what every step needs of these counts.

    Attributes:
        counts: shape (n_fits, n_outcomes); not all 0.
        unseen: which outcomes were not seen, shape (n_fits, n_outcomes).
        total: number of answers, shape (n_fits, 1).
    """

    counts: FloatArray
    unseen: BoolArray
    total: FloatArray

    @classmethod
    def of(cls, counts: FloatArray) -> Outcomes:
        """From counts of shape (n_fits, n_outcomes)."""
        return cls(counts, counts <= 0, counts.sum(axis=-1, keepdims=True))

    def only(self, fits: BoolArray) -> Outcomes:
        """The outcomes of some of the fits, shape (n_fits,)."""
        return Outcomes(self.counts[fits], self.unseen[fits], self.total[fits])


def em_step(weights: FloatArray, outcomes: Outcomes, parts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One step of expectation-maximization.

    Args:
        weights: shape (n_fits, n_parts); each row sums to 1.
        outcomes: what was seen.
        parts: each part's probability of each outcome, shape (n_outcomes, n_parts).

    Returns:
        New weights, whose log likelihood is never lower, shape (n_fits, n_parts); the log likelihood of the old
        ones, shape (n_fits,); and the gradient an answer, shape (n_fits, n_parts), which at the maximum is 1 for
        parts in use and at most 1 for others.

    Examples:
        >>> outcomes = Outcomes.of(np.array([[3.0, 1.0]]))
        >>> weights, _, _ = em_step(np.array([[0.5, 0.5]]), outcomes, np.array([[0.5, 1.0], [0.5, 0.0]]))
        >>> weights.tolist()
        [[0.5, 0.5]]
    """
    # In place and without masks: most of a fit's time is spent here.
    probability = weights @ parts.T
    np.copyto(probability, 1.0, where=outcomes.unseen)  # adds nothing to what follows
    terms = np.log(probability)
    terms *= outcomes.counts
    likelihood = terms.sum(axis=-1)
    share = np.divide(outcomes.counts, probability, out=probability)
    gradient = (share @ parts) / outcomes.total
    return weights * gradient, likelihood, gradient


def fit_weights(counts: FloatArray, parts: FloatArray, allowed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Weights of largest likelihood, for several counts or several sets of parts at once.

    EM steps with extrapolation between them (SQUAREM, Varadhan and Roland 2008), taken only where it does not lower
    the likelihood.

    Args:
        counts: how often each outcome was seen, shape (n_fits, n_outcomes); not all 0.
        parts: each part's probability of each outcome, shape (n_outcomes, n_parts).
        allowed: which parts each fit may use, shape (n_fits, n_parts). Together they must give every outcome that
            was seen some probability, as a uniform part does.

    Returns:
        Weights, shape (n_fits, n_parts), each row sums to 1, and their log likelihoods, shape (n_fits,). These are
        within 1e-6 nats an answer of their maximum.

    Raises:
        OptionError: where an outcome that was seen has no probability in any allowed part, or the maximum is not
            reached.
    """
    # A block of fits stays in the processor's cache, and below the size at which matrix products start threads.
    if len(counts) > _BLOCK:
        cuts = range(0, len(counts), _BLOCK)
        fits = [fit_weights(counts[at : at + _BLOCK], parts, allowed[at : at + _BLOCK]) for at in cuts]
        return np.concatenate([weights for weights, _ in fits]), np.concatenate([likelihood for _, likelihood in fits])
    weights = allowed / allowed.sum(axis=-1, keepdims=True)
    if ((counts > 0) & (weights @ parts.T <= 0)).any():
        raise OptionError("an answer has no probability in any part of the mixture")
    likelihood = np.empty(len(weights))
    left, active = np.arange(len(weights)), Outcomes.of(counts)
    for _ in range(_MOST_CYCLES):
        first, likelihood[left], gradient = em_step(weights[left], active, parts)
        open_ = np.where(allowed[left], gradient, 0.0).max(axis=-1) > 1 + TOLERANCE
        if not open_.any():
            return weights, likelihood
        if not open_.all():
            left, active, first = left[open_], active.only(open_), first[open_]
        second, least, _ = em_step(first, active, parts)
        third, reached, _ = em_step(_extrapolated(weights[left], first, second), active, parts)
        weights[left] = np.where((reached >= least)[:, None], third, second)
    raise OptionError(f"the mixture's weights did not settle in {_MOST_CYCLES} cycles")


def _extrapolated(start: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Where the steps from start to first to second lead if they go on shrinking alike."""
    step, bend = first - start, second - 2 * first + start
    length, turn = np.linalg.norm(step, axis=-1), np.linalg.norm(bend, axis=-1)
    ahead = np.divide(length, turn, out=np.ones_like(length), where=turn > 0)[:, None]
    leapt = np.maximum(start + 2 * ahead * step + ahead**2 * bend, _LEAST_SHARE * second)
    extrapolated: FloatArray = leapt / leapt.sum(axis=-1, keepdims=True)
    return extrapolated
