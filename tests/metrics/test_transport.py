"""Test transport in batches against `ot.emd2` on one complete pair at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import ot
import ot.lp.emd_wrap
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import wasserstein
from spotball_core.errors import DistributionError, OptionError
from spotball_core.grid import Grid
from spotball_core.metrics import transport as module
from spotball_core.metrics.transport import transport, transport_on_a_line
from tests.conftest import examples
from tests.failures import raises

from .strategies import Array, grids, masses

STANDARD = Grid.standard()


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


def only_pot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have POT solve all problems that have no closed form."""
    monkeypatch.setattr(module, "_MOST_PAIRS", -1)
    monkeypatch.setattr(module, "find_spec", lambda name: None)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that records the sizes of all problems that the solver of POT gets from now on."""
    only_pot(monkeypatch)
    solve: Callable[..., Any] = ot.lp.emd_wrap.emd_c
    sizes: list[tuple[int, int]] = []

    def counted(supply: Array, demand: Array, *rest: Any) -> Any:
        sizes.append((len(supply), len(demand)))
        return solve(supply, demand, *rest)

    monkeypatch.setattr(ot.lp.emd_wrap, "emd_c", counted)
    return sizes


def answers(n: int, seed: int, grid: Grid = STANDARD) -> tuple[Array, Array]:
    """Return counts of 150 and of 20 answers, over 5 to 25 cells each."""
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


# Comparison with emd2 ----------------------------------------------------------------------------------------------


@st.composite
def batches(draw: st.DrawFn) -> tuple[Grid, Array, Array]:
    """Return batches with shapes that broadcast. Few distributions are used, so pairs repeat, and some are empty."""
    grid = draw(grids(5, 5))
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
def test_batches_equal_one_emd2_call_per_pair(batch: tuple[Grid, Array, Array], threads: int | None) -> None:
    grid, p, q = batch
    expected = plain(p, q, grid)
    found = wasserstein(p, q, grid=grid, threads=threads)
    assert np.shape(found) == expected.shape
    assert found == close(expected, grid)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shares=st.booleans())
def test_batches_of_answers_equal_one_emd2_call_per_pair(seed: int, shares: bool) -> None:
    p, q = answers(20, seed)
    if shares:
        q = np.random.default_rng(seed).dirichlet(np.full(60, 0.5), 20)
    assert wasserstein(p, q) == close(plain(p, q, STANDARD), STANDARD)


@pytest.mark.parametrize("grid", [Grid(12, 20, 640, 360), Grid(24, 40, 640, 360)], ids=str)
def test_large_grids_equal_one_emd2_call_per_pair(grid: Grid) -> None:
    rng = np.random.default_rng(0)
    p, q = answers(4, 0, grid)
    p[0], q[0] = rng.dirichlet(np.ones(grid.n_cells), 2)
    p[1], q[1] = rng.integers(0, 3, (2, grid.n_cells))
    q[2] = 1
    assert wasserstein(p, q, grid=grid) == close(plain(p, q, grid), grid)


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-9, 1e-6])
def test_masses_of_very_different_size_equal_one_emd2_call_per_pair(scale: float) -> None:
    p, q = answers(30, 1)
    p[:, ::2] *= scale
    q[:, 1::3] *= scale
    p[:, 0] += scale
    assert wasserstein(p, q) == close(plain(p, q, STANDARD), STANDARD)


@given(cells=st.integers(1, 12), data=st.data())
def test_grids_of_one_row_or_column_equal_emd2(cells: int, data: st.DataObject) -> None:
    p, q = data.draw(masses(cells)), data.draw(masses(cells))
    for grid in (Grid(1, cells, 100, 7), Grid(cells, 1, 7, 100)):
        assert wasserstein(p, q, grid=grid) == close(plain(p, q, grid), grid)


# By hand -----------------------------------------------------------------------------------------------------------


def test_transport_equals_values_computed_by_hand() -> None:
    # Cells are at 0, 1, 3 and 7. First, a quarter moves from 0 to 1 and a quarter from 3 to 7. Then one cell to all.
    at = np.array([0.0, 1, 3, 7])
    cost = np.abs(at[:, None] - at)
    differences = np.array(
        [
            [0.25, -0.25, 0.25, -0.25],
            [-0.25, 0.25, -0.25, 0.25],
            [0.75, -0.25, -0.25, -0.25],
            [-0.75, 0.25, 0.25, 0.25],
            [0, 0, 0.5, -0.5],
            [0, -0.0, 0, 0],
            [0, 1e-18, 0, 0],
            [0, 0, -1e-18, -1e-18],
        ]
    )
    expected = [(1 + 4) / 4, (1 + 4) / 4, (1 + 3 + 7) / 4, (1 + 3 + 7) / 4, 4 / 2, 0, 0, 0]
    assert transport(differences, cost) == pytest.approx(expected, rel=1e-15)
    assert transport(differences[:0], cost).shape == (0,)


def test_transport_on_a_line_equals_values_computed_by_hand() -> None:
    # The flows across the borders are 1/4, 0 and 1/4, then 1/2, 1 and 1/2.
    differences = np.array([[0.25, -0.25, 0.25, -0.25], [0.5, 0.5, -0.5, -0.5]])
    assert transport_on_a_line(differences, 10).tolist() == [5, 20]


# Which problems are solved, and how often --------------------------------------------------------------------------


def test_repeated_problems_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = answers(3, 2)
    expected = [wasserstein(one, other) for one, other in zip(p, q, strict=True)]
    solved = counting(monkeypatch)
    order = [0, 1, 2, 1, 1, 0, 2, 2]
    assert wasserstein(p[order], q[order]).tolist() == [expected[i] for i in order]
    assert len(solved) == 3
    # Scaled mass is the same problem. Equal distributions need no solver.
    assert wasserstein(np.array([p[0], 4 * p[0], p[0]]), np.array([q[0], q[0], 4 * p[0]])).tolist() == [
        *[expected[0]] * 2,
        0,
    ]
    assert len(solved) == 4


def test_solver_gets_only_the_cells_whose_mass_differs(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_problems_with_a_closed_form_do_not_call_the_solver(
    grid: Grid, p: Array, q: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = counting(monkeypatch)
    assert wasserstein(p, q, grid=grid) == pytest.approx(float(plain(p, q, grid)), rel=1e-12, abs=1e-12)
    # `ot.emd2` refers to the solver by another name, so its calls are not counted here.
    assert solved == []


# Threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numba", [True, False])
def test_results_do_not_depend_on_threads_or_batches(numba: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if numba:
        pytest.importorskip("numba", reason="needs Numba, of the extra speed")
        monkeypatch.setattr(module, "_FOR_THREADS", 2)
    else:
        only_pot(monkeypatch)
    # Several chunks of problems on all cells, which are large enough for threads, and some of answers.
    p, q = (
        np.concatenate(sides) for sides in zip(everywhere(3 * module._SHARED_CHUNK + 5), answers(9, 3), strict=True)
    )
    alone = [float(wasserstein(one, other)) for one, other in zip(p, q, strict=True)]
    for threads in (None, 1, 2, 5):
        assert wasserstein(p, q, threads=threads).tolist() == alone
    assert wasserstein(p[::-1], q[::-1], threads=2).tolist() == alone[::-1]
    monkeypatch.setattr(module, "_CHUNK", 2)
    assert wasserstein(p, q, threads=1).tolist() == alone


@pytest.mark.parametrize(
    ("threads", "expected"), [(1, {"here"}), (2, {"here", "elsewhere"}), (3, {"here", "elsewhere"})]
)
def test_large_problems_are_solved_in_threads_and_small_ones_in_the_main_thread(
    threads: int, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve: Callable[..., Any] = ot.lp.emd_wrap.emd_c
    seen: dict[str, set[bool]] = {}

    def watched(supply: Array, demand: Array, *rest: Any) -> Any:
        where = "here" if threading.current_thread() is threading.main_thread() else "elsewhere"
        seen.setdefault(where, set()).add(len(supply) * len(demand) >= module._LARGE)
        return solve(supply, demand, *rest)

    monkeypatch.setattr(ot.lp.emd_wrap, "emd_c", watched)
    only_pot(monkeypatch)
    p, q = (np.concatenate(sides) for sides in zip(everywhere(40), answers(9, 3), strict=True))
    wasserstein(p, q, threads=threads)
    assert seen.keys() == expected
    if threads > 1:
        assert seen == {"here": {False}, "elsewhere": {True}}


@pytest.mark.parametrize("threads", [0, -1])
def test_number_of_threads_below_1_raises_option_error(threads: int) -> None:
    with raises(OptionError, "invalid-option:threads"):
        wasserstein(["A1"], ["A2"], threads=threads)


# A solver that gives up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_solver_that_reaches_its_iteration_limit_raises_distribution_error(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q = everywhere(40)
    only_pot(monkeypatch)
    monkeypatch.setattr(module, "_MAX_PIVOTS", 1)
    with raises(DistributionError, "cannot-estimate"):
        wasserstein(p, q, threads=threads)


# Rounding and memory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_sum_beyond_2_to_the_53_is_not_rounded_at_each_step(order: list[int]) -> None:
    # Moving 2**26 costs 2**53, and two more cost 1 each. In floats, 2**53 + 1 + 1 is 2**53.
    cost = np.full((6, 6), 2.0**27)
    cost[1, 4] = cost[2, 5] = 1.0
    row = np.array([[2.0**26, 1, 1, -(2.0**26), -1, -1]])
    cells = [*order, *(3 + cell for cell in order)]
    table = module._Table(cost[np.ix_(cells, cells)])
    assert module._by_pot(row[:, cells], table, np.array([9]), 1, are_integers=True).tolist() == [2.0**53 + 2]


@pytest.mark.parametrize(("problems", "expected"), [(0.9, 1), (1.5, 1), (3.5, 3), (100, 8)])
def test_within_memory_returns_as_many_threads_as_fit_into_memory(
    problems: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = np.ones((1, 4000))
    row[:, ::2] = -1
    required = module._BYTES_PER_PAIR * 2000 * 2000
    monkeypatch.setattr(module, "available_memory", lambda: int(problems * required))
    assert module._within_memory(row, 8) == expected
