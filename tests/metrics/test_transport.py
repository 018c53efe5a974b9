"""Test transport: batches must equal one `ot.emd2` call per pair, and solvers of whole numbers must equal POT."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import ot
import ot.lp.emd_wrap
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import wasserstein
from spotball_core.errors import DistributionError
from spotball_core.grid import Grid
from spotball_core.metrics import transport as module
from spotball_core.metrics.alignment import cost_matrix
from spotball_core.metrics.transport import step_of, transport, transport_on_a_line
from tests.conftest import examples
from tests.failures import raises

from .strategies import Array, counts, grids, masses

STANDARD = Grid.standard()
Solver = Callable[[Array, Array], Array]


def plain(p: Array, q: Array, grid: Grid) -> Array:
    """Return the cost from one `ot.emd2` call per pair on all cells, or NaN if a side is empty."""
    p, q = np.broadcast_arrays(p, q)
    out = np.full(p.shape[:-1], math.nan)
    for index in np.ndindex(out.shape):
        one, other = p[index], q[index]
        if one.any() and other.any():
            out[index] = ot.emd2(one / one.sum(), other / other.sum(), grid.distances, numItermax=10_000_000)
    return out


def close(expected: Array, grid: Grid) -> Any:
    # The tolerance allows for rounding of the mass that p and q have in common.
    return pytest.approx(expected, rel=1e-9, abs=1e-14 * grid.diagonal, nan_ok=True)


def solve_with(patch: pytest.MonkeyPatch, solver: str) -> None:
    """Make the given solver solve every problem in whole numbers. The Numba solver needs Numba."""
    patch.setattr(module, "_MOST_PAIRS", (-1, -1))
    patch.setattr(module, "find_spec", lambda name: solver == "Numba")


def numba_solver() -> Any:
    pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    from spotball_core.metrics import transport_numba

    return transport_numba


def counting(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that records the sizes of all problems that the solver of POT gets from now on."""
    solve_with(monkeypatch, "POT")
    solve: Callable[..., Any] = ot.lp.emd_wrap.emd_c
    sizes: list[tuple[int, int]] = []

    def counted(supply: Array, demand: Array, *rest: Any) -> Any:
        sizes.append((len(supply), len(demand)))
        return solve(supply, demand, *rest)

    monkeypatch.setattr(ot.lp.emd_wrap, "emd_c", counted)
    return sizes


def answers(n: int, seed: int, grid: Grid = STANDARD) -> tuple[Array, Array]:
    """Return counts of n images with 150 and with 20 answers, each over 5 to 25 cells."""
    rng = np.random.default_rng(seed)

    def draw(n_answers: int) -> Array:
        chosen = rng.random((n, grid.n_cells)).argsort(axis=1) < rng.integers(5, 26, (n, 1))
        weights = rng.random((n, grid.n_cells)) ** 3 * chosen
        return rng.multinomial(n_answers, weights / weights.sum(axis=1, keepdims=True)).astype(float)

    return draw(150), draw(20)


def everywhere(n: int) -> tuple[Array, Array]:
    """Return mass on all 60 cells. Each side is larger on half of them, so problems have 30 x 30 cells."""
    rng = np.random.default_rng(5)
    p, q = rng.uniform(1, 2, (n, 60)), rng.uniform(1, 2, (n, 60))
    p[:, ::2] += 5
    q[:, 1::2] += 5
    return p, q


@st.composite
def batches(draw: st.DrawFn) -> tuple[Grid, Array, Array]:
    """Return batches with shapes that broadcast. Few distributions are used, so pairs repeat, and some are empty."""
    grid = draw(grids(5, 5) | grids(1, 12) | grids(12, 1))
    shapes = st.sampled_from(
        [((), ()), ((4,), (4,)), ((3, 1), (4,)), ((2, 3), ()), ((), (3, 1)), ((0,), ()), ((1,), (5,))]
    )
    known = draw(st.lists(masses(grid.n_cells), min_size=1, max_size=4))
    known.append(np.zeros(grid.n_cells))

    def fill(shape: tuple[int, ...]) -> Array:
        size = math.prod(shape)
        chosen = draw(st.lists(st.integers(0, len(known) - 1), min_size=size, max_size=size))
        factors = draw(st.lists(st.sampled_from([1, 3, 1e-6]), min_size=size, max_size=size))
        rows = [known[i] * factor for i, factor in zip(chosen, factors, strict=True)]
        return np.array(rows).reshape(*shape, grid.n_cells)

    p_shape, q_shape = draw(shapes)
    return grid, fill(p_shape), fill(q_shape)


@settings(max_examples=examples(200), deadline=None)
@given(batch=batches(), threads=st.sampled_from([None, 1, 2]))
def test_wasserstein_of_a_batch_equals_one_emd2_call_per_pair(
    batch: tuple[Grid, Array, Array], threads: int | None
) -> None:
    grid, p, q = batch
    expected = plain(p, q, grid)
    found = wasserstein(p, q, grid=grid, threads=threads)
    assert np.shape(found) == expected.shape
    assert found == close(expected, grid)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shares=st.booleans())
def test_wasserstein_of_a_batch_of_counts_or_probabilities_equals_one_emd2_call_per_pair(
    seed: int, shares: bool
) -> None:
    p, q = answers(20, seed)
    if shares:
        q = np.random.default_rng(seed).dirichlet(np.full(60, 0.5), 20)
    assert wasserstein(p, q) == close(plain(p, q, STANDARD), STANDARD)


@pytest.mark.parametrize("grid", [Grid(12, 20, 640, 360), Grid(24, 40, 640, 360)], ids=str)
def test_wasserstein_on_large_grids_equals_one_emd2_call_per_pair(grid: Grid) -> None:
    rng = np.random.default_rng(0)
    p, q = answers(4, 0, grid)
    p[0], q[0] = rng.dirichlet(np.ones(grid.n_cells), 2)
    p[1], q[1] = rng.integers(0, 3, (2, grid.n_cells))
    q[2] = 1
    assert wasserstein(p, q, grid=grid) == close(plain(p, q, grid), grid)


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-9, 1e-6])
def test_wasserstein_of_masses_of_very_different_sizes_equals_one_emd2_call_per_pair(scale: float) -> None:
    p, q = answers(30, 1)
    p[:, ::2] *= scale
    q[:, 1::3] *= scale
    p[:, 0] += scale
    assert wasserstein(p, q) == close(plain(p, q, STANDARD), STANDARD)


def test_transport_equals_values_computed_by_hand() -> None:
    # Cells are at 0, 1, 3 and 7. First, a quarter moves from 0 to 1 and a quarter from 3 to 7. Second, 0 gives a
    # quarter to each other cell. Third, a half moves from 3 to 7.
    at = np.array([0.0, 1, 3, 7])
    cost = np.abs(at[:, None] - at)
    moves = np.array([[0.25, -0.25, 0.25, -0.25], [0.75, -0.25, -0.25, -0.25], [0, 0, 0.5, -0.5]])
    nothing = np.array([[0, -0.0, 0, 0], [0, 1e-18, 0, 0], [0, 0, -1e-18, -1e-18]])
    expected = [(1 + 4) / 4, (1 + 3 + 7) / 4, 4 / 2]
    found = transport(np.concatenate([moves, -moves, nothing]), cost)
    assert found == pytest.approx([*expected, *expected, 0, 0, 0], rel=1e-15)
    assert transport(moves[:0], cost).shape == (0,)
    # On a line, the flows across the borders are 1/4, 0 and 1/4, then 1/2, 1 and 1/2.
    differences = np.array([[0.25, -0.25, 0.25, -0.25], [0.5, 0.5, -0.5, -0.5]])
    assert transport_on_a_line(differences, 10).tolist() == [5, 20]


def test_wasserstein_solves_repeated_pairs_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = answers(3, 2)
    expected = [wasserstein(one, other) for one, other in zip(p, q, strict=True)]
    solved = counting(monkeypatch)
    order = [0, 1, 2, 1, 1, 0, 2, 2]
    assert wasserstein(p[order], q[order]).tolist() == [expected[i] for i in order]
    assert len(solved) == 3
    # Scaled mass is the same problem. Equal distributions need no solver.
    found = wasserstein(np.array([p[0], 4 * p[0], p[0]]), np.array([q[0], q[0], 4 * p[0]]))
    assert found.tolist() == [expected[0], expected[0], 0]
    assert len(solved) == 4


def test_wasserstein_passes_only_cells_whose_mass_differs_to_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = counting(monkeypatch)
    p, q = np.zeros((2, 60))
    p[[0, 1, 2, 10, 20]], q[[0, 30, 31, 10, 20]] = [4, 2, 1, 1, 2], [4, 3, 1, 1, 1]
    assert wasserstein(p, q) == close(plain(p, q, STANDARD), STANDARD)
    assert solved == [(3, 2)]


@pytest.mark.parametrize(
    ("grid", "p", "q"),
    [
        (STANDARD, np.eye(60)[7], np.ones(60)),
        (STANDARD, np.ones(60), np.eye(60)[7]),
        (STANDARD, np.eye(60)[7], np.eye(60)[59]),
        (STANDARD, np.arange(60), np.arange(60) / 7),
        (STANDARD, np.arange(60), np.arange(60) + 5.0 * np.eye(60)[3]),
        (Grid(1, 9, 90, 10), np.arange(9), np.arange(9)[::-1]),
        (Grid(9, 1, 10, 90), np.arange(9), np.arange(9)[::-1]),
        (Grid(1, 1, 10, 90), np.ones(1), np.ones(1)),
    ],
    ids=["one source", "one sink", "one of each", "equal", "all but one lose", "a row", "a column", "1 x 1"],
)
def test_wasserstein_of_pairs_with_a_closed_form_does_not_call_the_solver(
    grid: Grid, p: Array, q: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = counting(monkeypatch)
    assert wasserstein(p, q, grid=grid) == pytest.approx(float(plain(p, q, grid)), rel=1e-12, abs=1e-12)
    # `ot.emd2` refers to the solver by another name, so its calls are not counted here.
    assert solved == []


@pytest.mark.parametrize("numba", [True, False])
def test_wasserstein_does_not_depend_on_threads_or_batches(numba: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if numba:
        pytest.importorskip("numba", reason="needs Numba, of the extra speed")
        monkeypatch.setattr(module, "_FOR_THREADS", 2)
    else:
        solve_with(monkeypatch, "POT")
    # Several chunks of problems on all cells, which are large enough for threads, and some smaller problems of counts.
    sides = zip(everywhere(3 * module._SHARED_CHUNK + 5), answers(9, 3), strict=True)
    p, q = (np.concatenate(side) for side in sides)
    alone = [float(wasserstein(one, other)) for one, other in zip(p, q, strict=True)]
    for threads in (None, 1, 2, 5):
        assert wasserstein(p, q, threads=threads).tolist() == alone
    assert wasserstein(p[::-1], q[::-1], threads=2).tolist() == alone[::-1]
    monkeypatch.setattr(module, "_CHUNK", 2)
    assert wasserstein(p, q, threads=1).tolist() == alone


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_wasserstein_solves_only_large_problems_in_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solve: Callable[..., Any] = ot.lp.emd_wrap.emd_c
    seen: dict[str, set[bool]] = {}

    def watched(supply: Array, demand: Array, *rest: Any) -> Any:
        where = "here" if threading.current_thread() is threading.main_thread() else "elsewhere"
        seen.setdefault(where, set()).add(len(supply) * len(demand) >= module._LARGE)
        return solve(supply, demand, *rest)

    monkeypatch.setattr(ot.lp.emd_wrap, "emd_c", watched)
    solve_with(monkeypatch, "POT")
    p, q = (np.concatenate(sides) for sides in zip(everywhere(40), answers(9, 3), strict=True))
    wasserstein(p, q, threads=threads)
    assert seen == ({"here": {False, True}} if threads == 1 else {"here": {False}, "elsewhere": {True}})


@pytest.mark.parametrize("threads", [1, 2])
def test_wasserstein_beyond_the_iteration_limit_of_the_solver_raises_distribution_error(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q = everywhere(40)
    solve_with(monkeypatch, "POT")
    monkeypatch.setattr(module, "_MAX_PIVOTS", 1)
    with raises(DistributionError, "cannot-estimate"):
        wasserstein(p, q, threads=threads)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_pot_solver_rounds_a_total_cost_above_2_to_the_53_only_once(order: list[int]) -> None:
    # Moving a mass of 2**26 costs 2**53, and moving two masses of 1 costs 1 each. In floats, 2**53 + 1 + 1 is 2**53.
    cost = np.full((6, 6), 2.0**27)
    cost[1, 4] = cost[2, 5] = 1.0
    row = np.array([[2.0**26, 1, 1, -(2.0**26), -1, -1]])
    cells = [*order, *(3 + cell for cell in order)]
    table = module._Table(cost[np.ix_(cells, cells)])
    assert module._by_pot(row[:, cells], table, np.array([9]), 1, are_integers=True).tolist() == [2.0**53 + 2]


@pytest.mark.parametrize(("problems", "expected"), [(0.9, 1), (1.5, 1), (3.5, 3), (100, 8)])
def test_within_memory_limits_the_number_of_threads_to_the_available_memory(
    problems: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.ones((2, 4000))
    rows[:, ::2] = -1
    required = module._BYTES_PER_PAIR * 2000 * 2000
    monkeypatch.setattr(module, "available_memory", lambda: int(problems * required))
    assert module._within_memory(rows, 8) == expected
    assert module._within_memory(rows, 1) == 1
    assert module._within_memory(rows[:, :100], 8) == 8


@pytest.fixture(params=["Numba", "Numba's source"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """Return Numba's solver of problems in whole numbers, compiled or as plain Python."""
    compiled = numba_solver()
    if request.param == "Numba's source":
        for name, function in vars(compiled).copy().items():
            if hasattr(function, "py_func"):
                monkeypatch.setattr(compiled, name, function.py_func)
    return lambda rows, costs: compiled.least_costs(rows, costs)[0]


def by_emd(rows: Array, costs: Array) -> list[int]:
    """Return the cost of the plan from POT's solver for each row, summed in whole numbers of any size."""
    found = []
    for row in rows:
        sources, sinks = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        cost = costs[np.ix_(sources, sinks)]
        sides = row[sources].astype(float), -row[sinks].astype(float)
        plan = ot.lp.emd_wrap.emd_c(*sides, cost.astype(float), 10_000_000, 1)[0]
        assert (plan == np.floor(plan)).all()
        found.append(int((plan.astype(np.int64).astype(object) * cost).sum()))
    return found


def rows_of(n: int, n_cells: int, most: int, draw: np.random.Generator) -> Array:
    """Return rows of whole numbers from -most to most that sum to 0. Many numbers are 0, but no row is all 0."""
    rows = draw.integers(-most, most, (n, n_cells), endpoint=True) * (draw.random((n, n_cells)) < draw.random((n, 1)))
    rows[np.arange(n), draw.integers(n_cells, size=n)] -= rows.sum(axis=1)
    none = ~rows.any(axis=1)
    rows[none, 0], rows[none, 1] = 1, -1
    return rows


COSTS = {
    "distances": lambda n, draw: np.rint(np.hypot(*(draw.random((2, n, 1)) - draw.random((2, 1, n)))) * 1e6),
    "a grid's": lambda n, draw: np.rint(
        Grid(3, n // 3, 640, 360).distances / step_of(Grid(3, n // 3, 640, 360).distances)
    ),
    "ties": lambda n, draw: draw.integers(0, 4, (n, n)),
    "all equal": lambda n, draw: np.full((n, n), 7),
    "all 0": lambda n, draw: np.zeros((n, n)),
    "of any size": lambda n, draw: np.rint(2 ** (41 * draw.random((n, n)))),
}


SIZES = [(3, 1), (6, 3), (12, 1), (24, 40), (60, 2), (60, 3000)]


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize(
    ("n", "n_cells", "most"),
    [(25, 3, 1), (25, 12, 3), (25, 24, 40), *(pytest.param(100, *size, marks=pytest.mark.slow) for size in SIZES)],
)
def test_least_costs_equal_pot_emd(solver: Solver, kind: str, n: int, n_cells: int, most: int) -> None:
    draw = np.random.default_rng([n_cells, most])
    rows = rows_of(n, n_cells, most, draw)
    costs = np.asarray(COSTS[kind](n_cells, draw)).astype(np.int64)
    assert solver(rows, costs).tolist() == by_emd(rows, costs)


@pytest.mark.parametrize("most", [2**30, 2**45])
@pytest.mark.parametrize("kind", COSTS)
def test_numba_solver_with_costs_beyond_64_bits_equals_pot(kind: str, most: int) -> None:
    draw = np.random.default_rng(most)
    rows, costs = rows_of(50, 24, most, draw), np.asarray(COSTS[kind](24, draw)).astype(np.int64)
    found = module._whole(*numba_solver().least_costs(rows, costs)).tolist()
    assert found == pytest.approx(by_emd(rows, costs), rel=1e-15)
    table = module._Table(costs.astype(float))
    assert found == module._by_pot(rows.astype(float), table, np.ones(50), 1, are_integers=True).tolist()


def test_whole_restores_a_sum_from_its_remainder_modulo_2_to_the_64_and_a_rounded_value() -> None:
    draw = np.random.default_rng(0)
    for exact in (0, 1, 2**62, 2**63, 2**64, 2**64 - 1, 3 * 2**70 + 5, *(int(2 ** (90 * x)) for x in draw.random(50))):
        remainder = np.array([exact % 2**64], np.uint64).astype(np.int64)
        found = [module._whole(remainder, np.array([float(exact) * (1 + error)]))[0] for error in (0, 1e-13, -1e-13)]
        assert found[0] == found[1] == found[2] == pytest.approx(exact, rel=1e-15)


def test_least_costs_equal_values_computed_by_hand_and_do_not_change_their_arguments(solver: Solver) -> None:
    # The cheapest move, B to C for 1, is not optimal: A to C and B to D cost 2 + 3, B to C and A to D 1 + 9.
    costs = np.array([[0, 9, 2, 9], [9, 0, 1, 3], [9, 9, 0, 9], [9, 9, 9, 0]])
    rows = np.array([[1, 1, -1, -1], [0, 5, -5, 0], [2, 0, 0, -2]])
    before = rows.copy(), costs.copy()
    assert solver(rows, costs).tolist() == [5, 5, 18]
    assert (rows == before[0]).all()
    assert (costs == before[1]).all()
    assert solver(np.zeros((0, 4), dtype=np.int64), costs).tolist() == []


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), unit=st.sampled_from(["px", "cell", "diagonal"]), are_counts=st.booleans())
def test_wasserstein_with_each_solver_gives_identical_results(data: st.DataObject, unit: Any, are_counts: bool) -> None:
    numba_solver()
    grid = data.draw(grids(5, 5))
    cells = grid.n_cells
    pair = st.tuples(counts(cells, 40), counts(cells, 300)) if are_counts else st.tuples(masses(cells), masses(cells))
    p, q = (np.array(side) for side in zip(*data.draw(st.lists(pair, min_size=1, max_size=5)), strict=True))
    if not are_counts:
        scale = data.draw(st.sampled_from([1.0, 1e-3, 1e-9]))
        q = (1 - scale) * p + scale * q
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for solver in ("POT", "Numba"):
            solve_with(patch, solver)
            found.append(wasserstein(p, q, grid=grid, unit=unit).tolist())
            found.append(
                [float(wasserstein(one, other, grid=grid, unit=unit)) for one, other in zip(p, q, strict=True)]
            )
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("drawn", [0.05, 0.3, 1, 30, (150, 20), (149, 47), (1009, 1013)], ids=str)
def test_wasserstein_with_each_solver_equals_emd2_on_the_standard_grid(
    drawn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check probabilities with this concentration, or two numbers of answers: even, odd, or the largest allowed."""
    draw = np.random.default_rng(0 if isinstance(drawn, tuple) else 1)
    if isinstance(drawn, tuple):
        p, q = (draw.multinomial(n, draw.dirichlet(np.full(60, 0.3), 50)).astype(float) for n in drawn)
    else:
        p, q = draw.dirichlet(np.full(60, drawn), (2, 50))
    solve_with(monkeypatch, "POT")
    expected = wasserstein(p, q)
    assert expected == pytest.approx(plain(p, q, STANDARD), rel=1e-11)
    if find_spec("numba"):
        solve_with(monkeypatch, "Numba")
        for threads in (1, 3):
            assert wasserstein(p, q, threads=threads).tolist() == expected.tolist()
    if not isinstance(drawn, tuple):
        assert transport(p - q, STANDARD.distances) == pytest.approx(expected, rel=1e-11)


def test_wasserstein_of_numbers_too_large_for_counts_equals_emd2() -> None:
    draw = np.random.default_rng(1)
    p, q = (draw.multinomial(n, np.full(6, 1 / 6)).astype(float) for n in (1009, 1049))
    for grid, ones, others in (
        (Grid(2, 3, 90, 60), p, q),
        (Grid(2, 3, 90, 60), p / 2, q),
        (Grid(2, 3, 90, 60), 1e300 * p, q),
        (Grid(2, 3, 90, 60e5), p % 7, q % 7),
    ):
        assert wasserstein(ones, others, grid=grid) == pytest.approx(float(plain(ones, others, grid)), rel=1e-9)


@pytest.mark.parametrize("grid", [STANDARD, Grid(12, 20, 640, 360), Grid(2, 2, 0.37, 0.1)], ids=str)
@pytest.mark.parametrize("unit", ["px", "cell", "diagonal"])
def test_step_of_is_a_small_power_of_two_or_none_for_large_grids(grid: Grid, unit: str) -> None:
    cost = cost_matrix(grid, unit)
    step = step_of(cost)
    assert np.frexp(step)[0] == 0.5
    assert step / 2 < 1e-10 * cost[cost > 0].min()
    assert grid.n_cells * (cost.max() / step) <= 2**48
    # Large grids have no step. The compiled solver multiplies the moved amount by up to twice the number of cells.
    for rows, cols in ((19, 27), (2, 257), (23, 23)):
        assert step_of(Grid(rows, cols, cols, rows).distances) is None
    assert 2 * 512 * module.MOST_MOVED < 2**62


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "scale", "loads"),
    [([1] * 300, 1, False), ([100] * 5, 1, False), ([6000], 1, True), ([1, 6000, 1], 0.3, True), ([1], 0.3, False)],
    ids=["single", "few", "many", "few and many shares", "shares"],
)
@pytest.mark.parametrize("numba", [True, False])
def test_wasserstein_loads_numba_only_for_many_pairs_in_one_call_and_never_all_of_pot(
    calls: list[int], scale: float, loads: bool, numba: bool
) -> None:
    if numba:
        pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    code = (
        "import sys, numpy as np; from spotball_core import wasserstein\n"
        "from spotball_core.metrics import transport\n"
        f"if not {numba}: transport.find_spec = lambda name: None\n"
        "draw = np.random.default_rng(0)\n"
        f"for n in {calls}:\n"
        "    counts = draw.integers(0, 3, (2, n, 60)) * (draw.random((n, 60)) < 0.4)\n"
        "    counts[:, :, 0] += 1\n"
        f"    wasserstein(*counts * {scale})\n"
        "print(*sorted({'ot', 'numba'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == (["numba"] if numba and loads else [])


@pytest.mark.parametrize("before", [0, 50, 20_000])
def test_wasserstein_of_few_pairs_uses_the_solver_of_pot_even_after_larger_calls(
    before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = numba_solver()
    draw = np.random.default_rng(4)
    if before:
        p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, before)).astype(float)
        wasserstein(p, q)
    monkeypatch.setattr(compiled, "least_costs", lambda *given: pytest.fail("solved with Numba"))
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    assert wasserstein(p, q) == pytest.approx(plain(p, q, STANDARD), rel=1e-11)


@pytest.mark.slow
def test_solver_of_pot_alone_equals_pot_which_can_be_imported_later() -> None:
    code = (
        "import sys, numpy as np\n"
        "from spotball_core import wasserstein\n"
        "found = wasserstein([1, 2, 3] + [0] * 57, [0] * 56 + [1, 1, 3, 1])\n"
        "assert not any(name.partition('.')[0] == 'ot' for name in sys.modules)\n"
        "import ot, ot.lp.emd_wrap\n"
        "from spotball_core import Grid\n"
        "p, q = np.array([1, 2, 3] + [0] * 57) / 6, np.array([0] * 56 + [1, 1, 3, 1]) / 6\n"
        "assert abs(ot.emd2(p, q, Grid.standard().distances) - found) < 1e-9\n"
        "assert ot.lp.emd_wrap.emd_c\n"
        "print(ot.emd2_1d([0.0, 1.0], [1.0, 2.0], metric='minkowski', p=1))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(1.0)


@pytest.mark.slow
def test_numba_solver_works_without_a_writable_cache_folder(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    # The cache folder is a file and the home folder does not exist, so Numba cannot store its cache.
    (tmp_path / "__pycache__").touch()
    shutil.copy(Path(module.__file__).with_name("transport_numba.py"), tmp_path / "elsewhere.py")
    code = (
        "import numpy as np; from elsewhere import least_costs\n"
        "print(*least_costs(np.array([[2, -2]]), np.array([[0, 3], [3, 0]]))[0])\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.split() == ["6"]


def test_wasserstein_without_numba_uses_the_solver_of_pot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PAIRS", (-1, -1))
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "spotball_core.metrics.transport_numba", raising=False)
    monkeypatch.setattr(module, "find_spec", {"numba": None}.get)
    draw = np.random.default_rng(2)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    assert wasserstein(p, q) == pytest.approx(plain(p, q, STANDARD), rel=1e-11)


def test_numba_solver_runs_in_threads_with_identical_results(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, at_work = numba_solver(), set()
    solve = compiled.least_costs

    def watched(rows: Array, costs: Array) -> Array:
        at_work.add(threading.get_ident())
        found: Array = solve(rows, costs)
        return found

    solve_with(monkeypatch, "Numba")
    monkeypatch.setattr(compiled, "least_costs", watched)
    draw = np.random.default_rng(3)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 1000)).astype(float)
    expected = wasserstein(p, q, threads=1)
    assert at_work == {threading.get_ident()}
    at_work.clear()
    assert wasserstein(p, q, threads=2).tolist() == expected.tolist()
    assert at_work
    assert threading.get_ident() not in at_work


def test_transport_of_probabilities_without_a_step_does_not_round_to_whole_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_in_steps", lambda *given: pytest.fail("taken for whole numbers"))
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    # The flows across the borders are 1/4, 1/2 and 0.4.
    assert transport(np.array([[0.25, 0.25, -0.1, -0.4]]), cost) == pytest.approx([1.15])
