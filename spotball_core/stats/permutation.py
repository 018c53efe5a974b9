"""Permutation tests that swap two labels, and Holm's correction for multiple tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.random import generator_for
from spotball_core.typing import BoolArray, FloatArray

_BLOCK = 2_000_000
"""Maximum number of values in memory at once."""

_CACHED = 50_000_000
"""Maximum number of values in a cached array of random label swaps, which has one byte per value."""

ROUNDING = 1e-12
"""Differences a - b that are equal up to this share of |a| + |b| count as ties, because rounding separates them."""


@dataclass(frozen=True)
class Swaps:
    """The ways to swap the labels of two respondents, each on a subset of n images.

    If there are at most `permutations` ways (2^n), each is used once; otherwise `permutations` random ways are drawn.

    Attributes:
        n: number of images, at least 1.
        permutations: maximum number of ways, at least 1.
        seed: seed of the random ways to swap.

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
        for name, value in (("n", self.n), ("permutations", self.permutations)):
            if value < 1:
                raise OptionError(f"found {value}, expected at least 1", field=name)

    @property
    def exact(self) -> bool:
        """Whether all ways to swap labels are used, instead of random ways."""
        return self.n < 63 and 2**self.n <= self.permutations

    def __len__(self) -> int:
        return 2**self.n if self.exact else self.permutations

    def blocks(self, width: int = 1) -> Iterator[FloatArray]:
        """Yield arrays of shape (n_ways, n): 1 where an image's labels are swapped, else 0.

        Args:
            width: number of values that the caller computes per way to swap. A larger width gives smaller blocks.
        """
        block = max(1, _BLOCK // max(self.n, width))
        starts = range(0, len(self), block)
        if self.exact:
            for start in starts:
                ways = np.arange(start, min(start + block, len(self)))
                yield (ways[:, None] >> np.arange(self.n) & 1).astype(float)
        elif self.permutations * self.n <= _CACHED:
            every_way = _cached_ways(self.n, self.permutations, self.seed)
            for start in starts:
                yield every_way[start : start + block].astype(float)
        else:
            generator = generator_for(self.seed, "swaps", str(self.n))
            for start in starts:
                yield _random_ways(min(block, len(self) - start), self.n, generator).astype(float)

    def p_value(self, as_extreme: int) -> float:
        """Return the p value if this many ways give a statistic at least as extreme as the observed one.

        For random ways, the observed labels count as one more way: (1 + count) / (1 + n). The test at level alpha then
        has an error rate of at most alpha, for any number of ways.

        Examples:
            >>> Swaps(2, 10).p_value(2), Swaps(40, 999).p_value(4)
            (0.5, 0.005)
        """
        return as_extreme / len(self) if self.exact else (1 + as_extreme) / (1 + len(self))


@lru_cache(maxsize=4)
def _cached_ways(n: int, permutations: int, seed: int) -> BoolArray:
    """Return all random label swaps as a read-only array, which is cached because every metric is tested with them."""
    ways = _random_ways(permutations, n, generator_for(seed, "swaps", str(n)))
    ways.flags.writeable = False
    return ways


def _random_ways(ways: int, n: int, generator: np.random.Generator) -> BoolArray:
    swapped = np.empty((ways, n), dtype=bool)
    size = max(1, _BLOCK // n)
    for start in range(0, ways, size):
        part = swapped[start : start + size]
        part[:] = generator.random(part.shape) < 0.5
    return swapped


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p values, which control the family-wise error rate over all tests.

    The i-th smallest of m p values is multiplied by m - i + 1; it is at least the previous adjusted value and at most
    1. The method makes no assumption about dependence between tests.

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
