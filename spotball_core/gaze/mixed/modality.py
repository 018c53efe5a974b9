"""Test whether the random intercepts of a group form two clusters, which a normal distribution does not describe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.gaze.mixed.fitting import Fit
from spotball_core.typing import FloatArray

NODES = np.linspace(-10, 10, 101)
"""Random intercepts, in logits, at which likelihoods are evaluated; beyond them, answers are practically constant."""
LEAST_SD = 0.2
EVIDENCE = 10.0
"""Difference of BIC above which evidence is called very strong (Kass and Raftery 1995)."""
TROUGH = 0.75
"""Two modes count as separate if the density between them falls below this share of the density at the lower mode."""
GAIN = 2.0
"""Minimum gain in log likelihood of two normal components over any distribution with one mode."""
DECIDED = 0.6
"""If at least this share of the levels has only yes or only no answers, the levels may count as two clusters."""
LEAST_END = 0.1
ROUNDS = 1000
PEAKS = range(10, 91, 2)
"""Indices of the nodes that are tried as the mode of a distribution with one mode."""


@dataclass(frozen=True)
class Bimodality:
    """Whether a group's levels form two clusters, and the evidence for it.

    Attributes:
        bimodal: whether the levels form two clusters.
        group: name of the group.
        evidence: BIC of one normal component minus BIC of two normal components of equal width.
        modes: means of the two components, as random intercepts on the logit scale.
        shares: shares of the levels in each component; they sum to 1.
        sd: standard deviation of each component.
        always: share of levels whose answers are all yes.
        never: share of levels whose answers are all no.
    """

    bimodal: bool
    group: str
    evidence: float
    modes: tuple[float, float]
    shares: tuple[float, float]
    sd: float
    always: float
    never: float


def bimodal(fit: Fit, group: str) -> Bimodality:
    """Test for two clusters among the levels of a group, such as stimuli that a respondent always or never solves.

    A mixed model assumes normal random intercepts, and its coefficients then describe the median level. With two
    clusters, no level is near the median. Clusters are detected in two ways:

    - Given everything else in the fit, each level's likelihood is computed as a function of its intercept. Two normal
      distributions of equal width must describe the intercepts far better than one (BIC lower by 10), with a trough
      between two modes, and better than any distribution with one mode, however skewed. Unlike a histogram of rates,
      this takes into account that few answers reveal little about a level.
    - At least 60% of the levels have only yes or only no answers, with at least 10% of each kind, and the median level
      has at least four answers.

    Args:
        fit: a fit, which need not have converged, such as `SelectedFit.full`, which has all groups.
        group: one of the fit's groups.

    Raises:
        OptionError: for a group that is not in the fit.
    """
    code, levels = fit.codes(group), len(fit.modes[group])
    curves = _curves(fit, group)
    one_component = _fit_components(curves, np.array([0.0]), max(fit.sds[group], 0.5))
    starts = (0.5, 1.0, 2.0)
    two_components = max(
        (
            _fit_components(curves, one_component.means + reach * max(one_component.sd, 1.0) * np.array([-1, 1]), 0.5)
            for reach in starts
        ),
        key=lambda candidate: candidate.log_likelihood,
    )
    evidence = 2 * (two_components.log_likelihood - one_component.log_likelihood) - 2 * np.log(levels)
    yes = np.bincount(code, fit.data.successes, levels)
    all_ = np.bincount(code, fit.data.trials, levels)
    always, never = float(np.mean(yes == all_)), float(np.mean(yes == 0))
    decided = always + never >= DECIDED and min(always, never) >= LEAST_END and float(np.median(all_)) >= 4
    clusters = (
        evidence > EVIDENCE and two_components.has_trough and two_components.log_likelihood > _one_mode(curves) + GAIN
    )
    order = np.argsort(two_components.means)
    return Bimodality(
        bimodal=bool(decided or clusters),
        group=group,
        evidence=float(evidence),
        modes=(float(two_components.means[order[0]]), float(two_components.means[order[1]])),
        shares=(float(two_components.shares[order[0]]), float(two_components.shares[order[1]])),
        sd=two_components.sd,
        always=always,
        never=never,
    )


@dataclass(frozen=True)
class _Components:
    means: FloatArray
    shares: FloatArray
    sd: float
    log_likelihood: float

    @property
    def has_trough(self) -> bool:
        """Whether the density of the mixture has two modes with a trough between them."""
        fine = np.linspace(self.means.min() - self.sd, self.means.max() + self.sd, 400)
        density = (self.shares * np.exp(-0.5 * ((fine[:, None] - self.means) / self.sd) ** 2)).sum(axis=1)
        inner = density[1:-1]
        peaks = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:])) + 1
        if len(peaks) < 2:
            return False
        between = density[peaks[0] : peaks[1] + 1]
        return bool(between.min() < TROUGH * density[peaks].min())


def _curves(fit: Fit, group: str) -> FloatArray:
    """Return the likelihood of each level's intercept at the nodes (levels, nodes), up to a factor per level."""
    code, levels = fit.codes(group), len(fit.modes[group])
    without = fit.linear_predictor - fit.modes[group][code]
    yes = np.bincount(code, fit.data.successes, levels)
    fixed = np.bincount(code, fit.data.successes * without, levels)
    odds = np.exp(np.clip(without, -500, 500))
    logs = np.empty((levels, len(NODES)))
    for j, node in enumerate(NODES):
        no = fit.data.trials * np.log(1 + odds * np.exp(node))
        logs[:, j] = fixed + yes * node - np.bincount(code, no, levels)
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _fit_components(curves: FloatArray, means: FloatArray, sd: float) -> _Components:
    """Fit normal components of equal width by expectation maximization, from the given means and standard deviation."""
    shares = np.full(len(means), 1 / len(means))
    before = -np.inf
    for _ in range(ROUNDS):
        density = np.exp(-0.5 * ((NODES[:, None] - means) / sd) ** 2)
        density = shares * density / density.sum(axis=0)
        mixed = curves @ density.sum(axis=1)
        value = float(np.log(mixed).sum())
        if value - before < 1e-3:
            break
        before = value
        mass = density * (curves.T @ (1 / mixed))[:, None]  # expected levels at each node and component
        counts = mass.sum(axis=0)
        shares = counts / counts.sum()
        means = NODES @ mass / np.maximum(counts, 1e-300)
        sd = max(LEAST_SD, float(np.sqrt((mass * (NODES[:, None] - means) ** 2).sum() / counts.sum())))
    return _Components(means, shares, sd, value)


def _one_mode(curves: FloatArray) -> float:
    """Return the best log likelihood of distributions with one mode: mixtures of uniform ones that end at the mode."""
    totals = np.concatenate([np.zeros((len(curves), 1)), np.cumsum(curves, axis=1)], axis=1)
    best = -np.inf
    for peak in PEAKS:
        left = (totals[:, [peak + 1]] - totals[:, : peak + 1]) / np.arange(peak + 1, 0, -1)
        right = (totals[:, peak + 2 :] - totals[:, [peak]]) / np.arange(2, len(NODES) - peak + 1)
        steps = np.concatenate([left, right], axis=1)
        weights = np.full(steps.shape[1], 1 / steps.shape[1])
        before = -np.inf
        for _ in range(ROUNDS):
            mixed = steps @ weights
            value = float(np.log(mixed).sum())
            if value - before < 1e-2:
                break
            before = value
            weights *= steps.T @ (1 / mixed) / len(steps)
        best = max(best, value)
    return best
