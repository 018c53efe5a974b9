"""Test whether the templates' labels matter: compare margins and shares with those under random labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.random import generator_for
from spotball_core.reasoning.classify import closest
from spotball_core.reasoning.similarity import ROUNDING, mean_over, set_numbers
from spotball_core.typing import FloatArray, IntArray

_LABELINGS = 256
"""Number of random assignments per batch."""

_ROWS, _CACHED = 8192, 512
"""Numbers of rationales per batch: for matrix products, which are slow in small batches, and for other operations,
whose data should fit into the processor's cache."""


@dataclass(frozen=True)
class LabelTest:
    """A permutation test: a statistic under the templates' labels and under random labels.

    Attributes:
        observed: the statistic under the templates' labels.
        expected: mean of the statistic over random assignments of the templates to sets of the same sizes.
        p: share of the assignments, including the observed one, with at least the observed value.
    """

    observed: float
    expected: float
    p: float


@dataclass(frozen=True)
class Relabeled:
    """Sums over the rationales of each group, under the true labels (first) and under random ones.

    Attributes:
        n: number of rationales, shape (n_groups,).
        margin: sum of their margins, shape (n_groups, 1 + n_labelings).
        closest: number of rationales closest to each category, shape (n_categories, n_groups, 1 + n_labelings).
    """

    n: FloatArray
    margin: FloatArray
    closest: FloatArray

    def margin_test(self, groups: Sequence[int]) -> LabelTest:
        """Test whether the mean margin of the given groups' rationales is larger than under random labels.

        If rationales distinguish the categories, they are closer to one set of templates than to the others. Sets of
        randomly assigned templates are similar to each other, so a rationale is about equally close to all of them.
        """
        return _test(self.margin[groups].sum(axis=0) / self.n[groups].sum())

    def share_test(self, groups: Sequence[int]) -> LabelTest:
        """Test whether the categories' shares differ more from equal shares than under random labels.

        The statistic is the largest difference between a share and 1 / (number of categories).
        """
        shares = self.closest[:, groups].sum(axis=1) / self.n[groups].sum()
        return _test(np.abs(shares - 1 / len(shares)).max(axis=0))


def _test(values: FloatArray) -> LabelTest:
    observed, random = values[0], values[1:]
    as_extreme = int((random >= observed - ROUNDING).sum())
    return LabelTest(float(observed), float(random.mean()), (1 + as_extreme) / (1 + len(random)))


def relabel(
    cosines: FloatArray,
    weights: FloatArray,
    group: IntArray,
    sizes: Sequence[int],
    *,
    offsets: Sequence[FloatArray],
    labelings: int = 1000,
    seed: int = 0,
) -> list[Relabeled]:
    """Compute margins and shares of groups of rationales under the templates' labels and under random labels.

    Args:
        cosines: cosine of each rationale with each template, shape (n, k), without empty rationales. The templates are
            ordered by their set (category).
        weights: number of times each rationale occurs, shape (n,).
        group: each rationale's group number, from 0, in ascending order, shape (n,).
        sizes: number of templates in each set.
        offsets: for each result, what is subtracted from the cosines with each template, shape (k,): zeros without
            centering, or each template's mean cosine with the reference texts.
        labelings: number of random assignments of the templates to sets of these sizes, at least 1.
        seed: seed of the assignments, which depend only on the seed, the sizes and the number.

    Returns:
        One result for each of `offsets`.

    Raises:
        OptionError: if `labelings` is less than 1.
    """
    n_sets = len(sizes)
    means = mean_over(_labelings(sizes, labelings, seed), n_sets)  # (1 + labelings, k, n_sets)
    n_groups = int(group[-1]) + 1
    shape = (len(offsets), n_groups, len(means))
    margin, count = np.zeros(shape), np.zeros((n_sets, *shape))
    edges = np.searchsorted(group, np.arange(n_groups + 1))
    for start in range(0, len(means), _LABELINGS):
        block = slice(start, min(start + _LABELINGS, len(means)))
        columns = [np.ascontiguousarray(means[block, :, number].T) for number in range(n_sets)]
        shifts = [[offset @ column for column in columns] for offset in offsets]
        for place, rows in _row_blocks(edges):
            products, share = [cosines[rows] @ column for column in columns], weights[rows]
            for first in range(0, len(share), _CACHED):
                cached = slice(first, first + _CACHED)
                for corpus, shift in enumerate(shifts):
                    apart, wins = _margins([part[cached] - off for part, off in zip(products, shift, strict=True)])
                    margin[corpus, place, block] += np.einsum("i,ij->j", share[cached], apart)
                    for number, win in enumerate(wins):
                        count[number, corpus, place, block] += np.einsum("i,ij->j", share[cached], win)
    n = np.add.reduceat(weights, edges[:-1]) if len(weights) else np.zeros(n_groups)
    return [Relabeled(n, margin[corpus], count[:, corpus]) for corpus in range(len(offsets))]


def _labelings(sizes: Sequence[int], labelings: int, seed: int) -> IntArray:
    """Return the set number of each template, shape (1 + labelings, k): the true sets first, then random sets."""
    if labelings < 1:
        raise OptionError(f"found {labelings}, expected at least 1", field="labelings")
    true = set_numbers(sizes)
    generator = generator_for(seed, "labelings", *map(str, sizes))
    return np.concatenate([true[None], generator.permuted(np.tile(true, (labelings, 1)), axis=1)])


def _row_blocks(edges: IntArray) -> Iterator[tuple[int, slice]]:
    """Yield each group's number with a block of its rows; large groups have several blocks."""
    for place, (first, last) in enumerate(pairwise(edges)):
        for start in range(first, last, _ROWS):
            yield place, slice(start, min(start + _ROWS, last))


def _margins(similarity: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Return each rationale's margin (0 for ties), and for each set whether it alone is the closest (1, else 0)."""
    best, second = np.maximum(similarity[0], similarity[1]), np.minimum(similarity[0], similarity[1])
    for values in similarity[2:]:
        second = np.maximum(second, np.minimum(best, values))
        best = np.maximum(best, values)
    margin = best - second
    margin[margin <= ROUNDING] = 0.0
    return margin, [((values == best) & (margin > 0)).astype(float) for values in similarity]


def kept_without(cosines: FloatArray, sizes: Sequence[int]) -> list[FloatArray | None]:
    """Return, for each template, whether each rationale keeps its category without that template.

    Args:
        cosines: cosine of each rationale with each template, shape (n, k), with the templates ordered by their set
            (category). For centering, subtract each template's mean cosine with the reference texts.
        sizes: number of templates in each set.

    Returns:
        For each template, an array of shape (n,): 1 if the category stays the same, else 0. None for the only template
        of a set.
    """
    sets = set_numbers(sizes)
    sums = np.stack([cosines[:, sets == number].sum(axis=1) for number in range(len(sizes))], axis=1)
    number = np.array(sizes, dtype=float)
    before, _ = closest(sums / number)
    out: list[FloatArray | None] = []
    for place, own_set in enumerate(sets):
        if sizes[own_set] == 1:
            out.append(None)
            continue
        similarity = sums / number
        similarity[:, own_set] = (sums[:, own_set] - cosines[:, place]) / (sizes[own_set] - 1)
        out.append((closest(similarity)[0] == before).astype(float))
    return out
