"""Fit binomial models with crossed random intercepts, test them, and compute marginal means."""

from spotball_core.gaze.mixed.designs import Design, design
from spotball_core.gaze.mixed.fitting import Fit, fit
from spotball_core.gaze.mixed.means import MarginalMeans, marginal_means, pairwise, slopes
from spotball_core.gaze.mixed.modality import Bimodality, bimodal
from spotball_core.gaze.mixed.structure import Dropped, LikelihoodRatio, SelectedFit, choose, likelihood_ratio

__all__ = [
    "Bimodality",
    "Design",
    "Dropped",
    "Fit",
    "LikelihoodRatio",
    "MarginalMeans",
    "SelectedFit",
    "bimodal",
    "choose",
    "design",
    "fit",
    "likelihood_ratio",
    "marginal_means",
    "pairwise",
    "slopes",
]
