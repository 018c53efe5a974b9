"""Select the random intercepts of a model, and compare nested models by a likelihood-ratio test."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2 as chi_squared

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed.designs import Design
from spotball_core.gaze.mixed.fitting import Fit, fit, refit
from spotball_core.gaze.mixed.search import SINGULAR

AS_GOOD = 1e-4
"""If dropping groups lowers the log likelihood by less than this, no other set of this size is tried."""


@dataclass(frozen=True)
class Dropped:
    """A set of groups with random intercepts that was tried and rejected.

    Attributes:
        groups: names of the groups with random intercepts.
        reason: why it was rejected.
        log_likelihood: log likelihood of its fit.
    """

    groups: tuple[str, ...]
    reason: str
    log_likelihood: float


@dataclass(frozen=True)
class SelectedFit:
    """A fit with as many random intercepts as possible, and the sets of groups that were rejected.

    Attributes:
        fit: the selected fit.
        full: the fit with all groups, whether or not it was selected.
        groups: groups with intercepts in the selected fit; empty for an ordinary logistic regression.
        dropped: rejected sets of groups, in the order in which they were tried.
    """

    fit: Fit
    full: Fit
    groups: tuple[str, ...]
    dropped: tuple[Dropped, ...]


def choose(
    y: ArrayLike,
    design: Design,
    groups: Mapping[str, ArrayLike],
    *,
    weights: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> SelectedFit:
    """Fit a model with as many random intercepts as possible without singularity or failure to converge.

    All groups are tried first, then all sets with one group fewer, and so on. Among feasible sets with the same
    number of groups, the one with the highest likelihood is selected. If no set is feasible, an ordinary logistic
    regression is selected, even if it did not converge (see `Fit.converged`).

    Args:
        y: answers, as for `fit`.
        design: fixed effects, the same in all fits.
        groups: all groups that may have random intercepts, as for `fit`.
        weights: number of trials of each row, as for `fit`.
        offset: values added to the linear predictor.

    Raises:
        OptionError: if `fit` raises it for the same data.
    """
    full = fit(y, design, groups, weights=weights, offset=offset)
    dropped: list[Dropped] = []
    for size in range(len(groups), -1, -1):
        best: Fit | None = None
        for names in _by_promise(full, size):
            candidate = full if size == len(groups) else refit(full, names)
            if size and (reason := _reason(candidate)):
                dropped.append(Dropped(names, reason, candidate.log_likelihood))
            elif best is None:
                best = candidate
            else:
                worse, best = sorted((best, candidate), key=lambda option: option.log_likelihood)
                dropped.append(
                    Dropped(tuple(worse.sds), f"{', '.join(best.sds)} has a higher likelihood", worse.log_likelihood)
                )
            if best and full.converged and best.log_likelihood > full.log_likelihood - AS_GOOD:
                break
        if best:
            return SelectedFit(best, full, tuple(best.sds), tuple(dropped))
    raise AssertionError("the selection always keeps an ordinary logistic regression")


def _by_promise(full: Fit, size: int) -> list[tuple[str, ...]]:
    """Return all sets of `size` groups. Sets without the groups whose intercepts vary least come first."""
    sets = itertools.combinations(full.sds, size)
    return sorted(sets, key=lambda names: sum(sd**2 for name, sd in full.sds.items() if name not in names))


def _reason(candidate: Fit) -> str:
    if not candidate.converged:
        return f"did not converge: {candidate.message}"
    if candidate.singular:
        none = [name for name, sd in candidate.sds.items() if sd < SINGULAR]
        return f"singular: {', '.join(none)} has zero variance"
    return ""


class LikelihoodRatio(NamedTuple):
    """Result of a likelihood-ratio test: chi-squared value, degrees of freedom and p value."""

    chi2: float
    df: int
    p: float


def likelihood_ratio(smaller: Fit, larger: Fit) -> LikelihoodRatio:
    """Test whether a larger model fits better than a model nested in it.

    The models must be nested; this is not checked. For an additional random intercept, the test is conservative,
    because a standard deviation cannot be below 0.

    Args:
        smaller: fit with fewer parameters.
        larger: fit with more parameters to the same answers.

    Raises:
        OptionError: if the fits have different answers, numbers of trials or offsets, or if the larger model does not
            have more parameters.
    """
    same_data = all(
        np.array_equal(a, b)
        for a, b in (
            (smaller.data.successes, larger.data.successes),
            (smaller.data.trials, larger.data.trials),
            (smaller.data.offset, larger.data.offset),
        )
    )
    if not same_data:
        raise OptionError("a likelihood-ratio test needs two fits to the same answers")
    df = larger.parameters - smaller.parameters
    if df < 1:
        raise OptionError(
            f"the larger model has {larger.parameters} parameters, expected more than the "
            f"{smaller.parameters} of the smaller"
        )
    chi2 = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    return LikelihoodRatio(chi2, df, float(chi_squared.sf(chi2, df)))
