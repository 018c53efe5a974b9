"""Compute the gain of each group of cues in predicting guesses on held-out images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.cues.logit import ChoiceData, held_out_likelihood
from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray, IntArray

LEAVE_ONE_OUT = 100
"""Up to this number of images, each image is its own fold."""

FOLDS = 20
"""Number of folds if there are more than `LEAVE_ONE_OUT` images."""

MOST_GROUPS = 10
"""Maximum number of groups of cues, because all their subsets are fitted."""

BITS = 1 / math.log(2)
"""Bits per nat."""


@dataclass(frozen=True, slots=True)
class SubsetGains:
    """Held-out gains over uniform guessing, for the model with each subset of the groups of cues.

    Attributes:
        groups: names of the groups.
        gains: gains summed over each image's guesses, in bits, shape (2 ** n_groups, n_images). Bit k of a subset's
            index states whether group k is in it.
    """

    groups: tuple[str, ...]
    gains: FloatArray

    def of(self, groups: Sequence[str]) -> FloatArray:
        """Return the gain of the model with the given groups, shape (n_images,). Unknown groups are ignored."""
        gain: FloatArray = self.gains[sum(1 << k for k, group in enumerate(self.groups) if group in groups)]
        return gain

    @property
    def whole(self) -> FloatArray:
        """Return the gain of the model with all groups, shape (n_images,)."""
        gain: FloatArray = self.gains[-1]
        return gain

    def shapley(self) -> FloatArray:
        """Return each group's Shapley value: its contribution to the gain, averaged over all orders of adding groups.

        Shapley values are linear in the gains, so they can be computed per image. They sum to the gain of the whole
        model.

        Returns:
            The Shapley values in bits, shape (n_groups, n_images).

        Examples:
            >>> SubsetGains(("a", "b"), np.array([[0.0], [1.0], [3.0], [5.0]])).shapley().tolist()
            [[1.5], [3.5]]
        """
        n, every = len(self.groups), np.arange(len(self.gains))
        sizes = (every[:, None] >> np.arange(n) & 1).sum(axis=-1)
        values = np.empty((n, self.gains.shape[1]))
        for group in range(n):
            without = every[every >> group & 1 == 0]
            shares = np.array(
                [math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in sizes[without]]
            )
            values[group] = shares @ (self.gains[without | 1 << group] - self.gains[without])
        return values


def folds_of(n_images: int) -> IntArray:
    """Return the fold of each image, from 0, shape (n_images,): one per image, or 20 folds for many images."""
    folds: IntArray = np.arange(n_images) % (n_images if n_images <= LEAVE_ONE_OUT else FOLDS)
    return folds


def subset_gains(data: ChoiceData, groups: Sequence[str], *, ridge: float) -> SubsetGains:
    """Compute the held-out gains of the models with each subset of the groups of cues.

    Args:
        data: guesses to at least two images, and the cues' scores.
        groups: the group of each cue, shape (n_cues,).
        ridge: strength of the penalty, as in `fit_logit`.

    Raises:
        OptionError: for more than 10 groups, fewer than two images, or a negative ridge, or if the maximum is not
            reached.
    """
    names = tuple(dict.fromkeys(groups))
    if len(names) > MOST_GROUPS:
        raise OptionError(f"found {len(names)} groups of cues, expected at most {MOST_GROUPS}. Use fewer cues")
    fold = folds_of(len(data.counts))
    member = np.array([names.index(group) for group in groups], dtype=int)
    uniform = -data.sizes * np.log(data.counts.shape[1])
    gains = np.zeros((2 ** len(names), len(data.counts)))
    for subset in range(1, len(gains)):
        cues = np.flatnonzero(subset >> member & 1)
        gains[subset] = held_out_likelihood(data.of_cues(cues), fold, ridge=ridge) - uniform
    return SubsetGains(names, BITS * gains)
