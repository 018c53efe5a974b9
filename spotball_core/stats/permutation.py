"""Permutation tests by swapping two labels, and what many tests at once cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray

_BLOCK = 2_000_000
"""Numbers in memory at once."""

ROUNDING = 1e-12
"""Statistics that differ by less than this share of their parts are ties: the rest is rounding."""


@dataclass(frozen=True)
class Swaps:
    """Ways to swap the labels of two respondents within some of n images and not within others.

    All 2^n ways, once each, where there are no more of them than `permutations`; else that many drawn at random.

    Attributes:
        n: number of images, at least 1.
        permutations: how many to draw at most, at least 1.
        seed: seed of the draws.

    Examples:
        >>> swaps = Swaps(2, 10)
        >>> swaps.exact, np.concatenate(list(swaps.blocks())).tolist()
        (True, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> swaps = Swaps(40, 1000)
        >>> swaps.exact, len(swaps)
        (False, 1000)
    """

    n: int
    permutations: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 1 or self.permutations < 1:
            raise OptionError(f"{self.permutations} permutations of {self.n} images cannot be made")

    @property
    def exact(self) -> bool:
        """Whether all ways are there."""
        return self.n < 63 and 2**self.n <= self.permutations

    def __len__(self) -> int:
        return 2**self.n if self.exact else self.permutations

    def blocks(self, width: int = 1) -> Iterator[FloatArray]:
        """Shape (n_ways, n) each: 1 where an image's labels are swapped, 0 where not.

        Args:
            width: how many numbers are made of each way; blocks are the smaller the more. All blocks together are
                the same, whatever the width.
        """
        block = max(1, _BLOCK // max(self.n, width))
        generator = generator_for(self.seed, "swaps", str(self.n))
        for start in range(0, len(self), block):
            stop = min(start + block, len(self))
            if self.exact:
                yield (np.arange(start, stop)[:, None] >> np.arange(self.n) & 1).astype(float)
            else:
                yield (generator.random((stop - start, self.n)) < 0.5).astype(float)

    def p_value(self, as_extreme: int) -> float:
        """The p value where this many ways give a statistic at least as extreme as the one observed.

        Drawn ways count the observed labels as one more of them, (1 + count) / (1 + n), so that a test at level
        alpha errs no more often than that, however few were drawn.

        Examples:
            >>> Swaps(2, 10).p_value(2), Swaps(40, 999).p_value(4)
            (0.5, 0.005)
        """
        return as_extreme / len(self) if self.exact else (1 + as_extreme) / (1 + len(self))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values: whatever is below alpha errs at all, over all tests, no more often than alpha.

    The i-th smallest of m is multiplied by m - i + 1, never falls below the one before it and never exceeds 1. It
    needs no assumption about how the tests depend on each other.

    Examples:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    steps = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    adjusted = np.empty_like(p)
    adjusted[order] = steps
    return [float(value) for value in adjusted]
