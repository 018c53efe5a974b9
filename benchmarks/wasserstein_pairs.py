"""Claim: for 3,000 or more pairs, `wasserstein(P, Q)` with the extra `speed` is at least 6 times as fast as a loop over
`ot.emd2` on one core, and at least 10 times as fast on two cores. This applies to counts and to probabilities.
`wasserstein` is at least 250 times as fast as `scipy.optimize.linprog` and `scipy.stats.wasserstein_distance_nd`. The
results are the same.

- *Sparse* pairs compare 5 responses with 10.
- *Realistic* pairs compare 50 responses with 150, which are clustered around one to three spots of each image.
- *Repeating* pairs are realistic, but in a third of them one side uses a single cell, and another third occur twice.
- *Dense* pairs compare 50 responses with 150, which are spread evenly over all 60 cells.

Probabilities are random weights: on the cells of sparse responses, around the spots of realistic responses, or
Dirichlet(1) on all 60 cells.

All methods find the same values to 1e-9, and SciPy's methods to 1e-6. Each time is the shortest of several runs. Only
the times of whole processes include loading libraries. Numba compiles the solver once after its installation, and no
time includes these seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
from emd2 import by_emd2
from measure import figure, in_turn, processes_in_turn
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import wasserstein_distance_nd

from spotball_core import Grid, wasserstein

Array = NDArray[np.float64]
Way = Callable[[Array, Array], Array]
Case = Callable[[np.random.Generator, int], tuple[Array, Array]]

GRID = Grid.standard()
SEED = 2026
PAIRS = (3_000, 10_000)
SLOW_PAIRS = 10
ROUNDS, PROCESS_ROUNDS = 9, 5


def images(draw: np.random.Generator, n: int) -> Array:
    """Return the probability of each cell in n images: high around one to three spots, low elsewhere."""
    at = GRID.centers / GRID.cell_width
    weights = np.full((n, GRID.n_cells), 0.1 / GRID.n_cells)
    for likely in (1.0, 0.6, 0.4):
        center, width = draw.uniform([0, 0], [10, 6], (n, 2)), draw.uniform(0.6, 1.6, (n, 1))
        near = np.exp(-((at - center[:, None]) ** 2).sum(axis=-1) / (2 * width**2))
        weights += draw.random((n, 1)) * (draw.random((n, 1)) < likely) * near / near.sum(axis=1, keepdims=True)
    return weights / weights.sum(axis=1, keepdims=True)


def sparse_counts(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return counts of 5 responses, and of 10 responses to the same images."""
    cells = images(draw, pairs)
    return draw.multinomial(5, cells).astype(float), draw.multinomial(10, cells).astype(float)


def sparse_probabilities(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return random weights on the cells of 5 responses, and on those of 10."""
    p, q = sparse_counts(draw, pairs)
    return draw.gamma(p), draw.gamma(q)


def realistic_counts(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return counts of 50 responses, and of 150 responses. Of the 50, 40% are around other spots."""
    people = images(draw, pairs)
    model = 0.6 * people + 0.4 * images(draw, pairs)
    return draw.multinomial(50, model).astype(float), draw.multinomial(150, people).astype(float)


def realistic_probabilities(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return random weights on all cells, around the spots of realistic responses."""
    people = images(draw, pairs)
    model = 0.6 * people + 0.4 * images(draw, pairs)
    return draw.gamma(50 * model), draw.gamma(150 * people)


def dense_counts(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return counts of 50 responses, and of 150 responses, both uniform over all cells."""
    cells = np.full(GRID.n_cells, 1 / GRID.n_cells)
    return draw.multinomial(50, cells, pairs).astype(float), draw.multinomial(150, cells, pairs).astype(float)


def dense_probabilities(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return random probabilities on all cells."""
    p, q = draw.dirichlet(np.ones(GRID.n_cells), (2, pairs))
    return p, q


def repeating_counts(draw: np.random.Generator, pairs: int) -> tuple[Array, Array]:
    """Return realistic counts in which a third of the models use one cell and a third of the pairs occur twice."""
    model, people = realistic_counts(draw, pairs)
    third = pairs // 3
    model[:third] = np.eye(GRID.n_cells)[draw.integers(GRID.n_cells, size=third)]
    people[-third:], model[-third:] = people[third : 2 * third], model[third : 2 * third]
    return model, people


CASES: tuple[Case, ...] = (
    sparse_counts,
    realistic_counts,
    dense_counts,
    sparse_probabilities,
    realistic_probabilities,
    dense_probabilities,
    repeating_counts,
)


def without_numba(p: Array, q: Array) -> Array:
    """Return the distances computed without Numba on one core, as without the extra `speed`."""
    with patch("spotball_core.metrics.transport.find_spec", return_value=None):
        return wasserstein(p, q, threads=1)


def by_linprog(p: Array, q: Array) -> Array:
    n = GRID.n_cells
    leaving, arriving = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    sums = np.vstack([leaving, arriving])
    cost = GRID.distances.ravel()
    return np.array(
        [
            linprog(cost, A_eq=sums, b_eq=np.concatenate([a / a.sum(), b / b.sum()]), method="highs").fun
            for a, b in zip(p, q, strict=True)
        ]
    )


def by_scipy_stats(p: Array, q: Array) -> Array:
    at = GRID.centers
    return np.array([wasserstein_distance_nd(at, at, a, b) for a, b in zip(p, q, strict=True)])


WAYS: dict[str, Way] = {
    "ot.emd2": lambda p, q: by_emd2(p, q, GRID),
    "one core": lambda p, q: wasserstein(p, q, threads=1),
    "two cores": lambda p, q: wasserstein(p, q, threads=2),
    "one core without Numba": without_numba,
}
GOALS = {"one core": 6, "two cores": 10}
SLOW: dict[str, Way] = {"scipy.optimize.linprog": by_linprog, "scipy.stats.wasserstein_distance_nd": by_scipy_stats}


def times_of(ways: dict[str, Way], p: Array, q: Array, rounds: int, tolerance: float) -> dict[str, float]:
    """Return the time per pair of each method in microseconds. All methods must return the same result."""
    expected = WAYS["one core"](p, q)
    for name, way in ways.items():
        np.testing.assert_allclose(way(p, q), expected, rtol=tolerance, atol=tolerance, err_msg=name)
    times = in_turn({name: partial(way, p, q) for name, way in ways.items()}, rounds)
    return {name: seconds / len(p) * 1e6 for name, seconds in times.items()}


def compare(case: Case, pairs: int) -> None:
    """Print how many times as fast as `ot.emd2` each method is for a case."""
    times = times_of(WAYS, *case(np.random.default_rng(SEED), pairs), ROUNDS, 1e-9)
    for name in list(WAYS)[1:]:
        figure(
            f"speedup over ot.emd2: {pairs:,} pairs of {case.__name__.replace('_', ' ')}, {name}",
            times["ot.emd2"] / times[name],
            "times",
            at_least=GOALS.get(name),
            note=f"{times[name]:.1f} µs per pair; ot.emd2: {times['ot.emd2']:.1f} µs",
        )


PROCESS = f"""
import sys, numpy as np
way, n, counts = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "counts"
draw = np.random.default_rng({SEED})
cells = np.full(60, 1 / 60)
p, q = (draw.multinomial(k, cells, n) if counts else draw.dirichlet(60 * cells, n) for k in (50, 150))
if way == "ot.emd2":
    import ot
    from spotball_core import Grid
    cost = Grid.standard().distances
    [ot.emd2(a / a.sum(), b / b.sum(), cost) for a, b in zip(p, q)]
else:
    from spotball_core import wasserstein
    from spotball_core.metrics import transport
    if way == "without Numba":
        transport.find_spec = lambda name: None
    wasserstein(p, q)
"""


def whole_processes() -> None:
    """Print the duration of a whole process, for few and for many pairs."""
    for n, kind in ((1, "counts"), (1, "probabilities"), (100, "counts"), (3_000, "counts"), (3_000, "probabilities")):
        ways = ("with Numba", "without Numba", "ot.emd2")
        commands = {way: [sys.executable, "-c", PROCESS, way, str(n), kind] for way in ways}
        used = processes_in_turn(commands, PROCESS_ROUNDS)
        pairs = f"{n:,} {'pair' if n == 1 else 'pairs'} of dense {kind}"
        note = ", ".join(f"{way}: {used[way].seconds:.2f} s" for way in ways)
        for way in ways[:2]:
            ratio = used["ot.emd2"].seconds / used[way].seconds
            figure(f"speedup over ot.emd2: whole process, {pairs}, {way}", ratio, "times", note=note)


def main() -> None:
    """Print the speedups for pairs and for whole processes."""
    for pairs in PAIRS:
        for case in CASES:
            compare(case, pairs)
    p, q = realistic_counts(np.random.default_rng(SEED), PAIRS[0])
    own = times_of({"one core": WAYS["one core"]}, p, q, ROUNDS, 1e-9)["one core"]
    some = np.linspace(0, PAIRS[0] - 1, SLOW_PAIRS).astype(int)
    # HiGHS accepts constraint violations of 1e-7.
    for name, each in times_of(SLOW, p[some], q[some], 3, 1e-6).items():
        note = f"{own:.1f} µs per pair; SciPy: {each:.0f} µs, measured on {SLOW_PAIRS} pairs"
        figure(f"speedup over {name}: realistic counts, one core", each / own, "times", at_least=250, note=note)
    whole_processes()


if __name__ == "__main__":
    main()
