"""Test transport in whole numbers, which must equal the solver of POT and linear programming."""

from __future__ import annotations

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
import ot.lp
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from spotball_core import wasserstein
from spotball_core.grid import Grid
from spotball_core.metrics import transport as module
from spotball_core.metrics.alignment import cost_matrix
from spotball_core.metrics.transport import step_of, transport
from spotball_core.metrics.transport_whole import _least_cost, least_costs
from tests.conftest import examples

from .strategies import Array, counts, grids, masses

STANDARD = Grid.standard()
Solver = Callable[[Array, Array], Array]


def numba_solver() -> Any:
    pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    from spotball_core.metrics import transport_numba

    return transport_numba


@pytest.fixture(params=["Python", "Numba", "Numba's source"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """Return a solver of problems in whole numbers. The Numba solver also runs as uncompiled Python."""
    if request.param == "Python":
        return least_costs
    compiled = numba_solver()
    if request.param == "Numba's source":
        for name, function in vars(compiled).copy().items():
            if hasattr(function, "py_func"):
                monkeypatch.setattr(compiled, name, function.py_func)
    return lambda rows, costs: compiled.least_costs(rows, costs)[0]


def by_emd(rows: Array, costs: Array) -> list[int]:
    """Return the cost of the plan from one `ot.lp.emd` call per row, summed in whole numbers."""
    found = []
    for row in rows:
        sources, sinks = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        cost = costs[np.ix_(sources, sinks)]
        plan = ot.lp.emd(row[sources].astype(float), -row[sinks].astype(float), cost.astype(float))
        assert (plan == np.floor(plan)).all()
        found.append(int((plan.astype(np.int64) * cost).sum()))
    return found


def by_linprog(row: Array, costs: Array) -> float:
    sources, sinks = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
    leaving = scipy.sparse.kron(scipy.sparse.eye(len(sources)), np.ones((1, len(sinks))))
    arriving = scipy.sparse.kron(np.ones((1, len(sources))), scipy.sparse.eye(len(sinks)))
    result = linprog(
        costs[np.ix_(sources, sinks)].ravel(),
        A_eq=scipy.sparse.vstack([leaving, arriving]).tocsr(),
        b_eq=np.concatenate([row[sources], -row[sinks]]),
        method="highs-ds",
    )
    assert result.status == 0, result.message
    return float(result.fun)


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


@pytest.mark.slow
@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize(("n_cells", "most"), [(3, 1), (6, 3), (12, 1), (24, 40), (60, 2), (60, 3000)])
def test_least_costs_equal_pot_emd(solver: Solver, kind: str, n_cells: int, most: int) -> None:
    draw = np.random.default_rng([n_cells, most])
    rows = rows_of(100, n_cells, most, draw)
    costs = np.asarray(COSTS[kind](n_cells, draw)).astype(np.int64)
    assert solver(rows, costs).tolist() == by_emd(rows, costs)


@pytest.mark.parametrize("kind", ["distances", "ties", "all 0"])
@pytest.mark.parametrize(("n_cells", "most"), [(4, 1), (12, 3), (24, 40)])
def test_least_costs_equal_linear_programming(solver: Solver, kind: str, n_cells: int, most: int) -> None:
    draw = np.random.default_rng([n_cells, most, 1])
    rows = rows_of(25, n_cells, most, draw)
    costs = np.asarray(COSTS[kind](n_cells, draw)).astype(np.int64)
    assert solver(rows, costs) == pytest.approx([by_linprog(row, costs) for row in rows], rel=1e-9)


@pytest.mark.parametrize("most", [2**30, 2**45])
@pytest.mark.parametrize("kind", COSTS)
def test_costs_beyond_64_bits_are_exact(kind: str, most: int) -> None:
    draw = np.random.default_rng(most)
    rows, costs = rows_of(50, 24, most, draw), np.asarray(COSTS[kind](24, draw)).astype(np.int64)
    found = module._whole(*numba_solver().least_costs(rows, costs)).tolist()
    exact = []
    for row in rows:
        sources, sinks = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        exact.append(_least_cost(row[sources].tolist(), (-row[sinks]).tolist(), costs[np.ix_(sources, sinks)].tolist()))
    assert found == pytest.approx(exact, rel=1e-15)
    assert (
        found
        == module._by_pot(
            rows.astype(float), module._Table(costs.astype(float)), np.ones(50), 1, are_integers=True
        ).tolist()
    )


def test_whole_restores_a_sum_from_its_remainder_and_a_rounded_value() -> None:
    draw = np.random.default_rng(0)
    for exact in (0, 1, 2**62, 2**63, 2**64, 2**64 - 1, 3 * 2**70 + 5, *(int(2 ** (90 * x)) for x in draw.random(50))):
        remainder = np.array([exact % 2**64], np.uint64).astype(np.int64)
        found = [module._whole(remainder, np.array([float(exact) * (1 + error)]))[0] for error in (0, 1e-13, -1e-13)]
        assert found[0] == found[1] == found[2] == pytest.approx(exact, rel=1e-15)


def test_least_costs_equal_values_computed_by_hand(solver: Solver) -> None:
    # The cheapest move, B to C for 1, is not optimal: A to C and B to D cost 2 + 3, B to C and A to D 1 + 9.
    costs = np.array([[0, 9, 2, 9], [9, 0, 1, 3], [9, 9, 0, 9], [9, 9, 9, 0]])
    assert solver(np.array([[1, 1, -1, -1], [0, 5, -5, 0], [2, 0, 0, -2]]), costs).tolist() == [5, 5, 18]
    assert solver(np.zeros((0, 4), dtype=np.int64), costs).tolist() == []


def test_solver_does_not_change_its_arguments(solver: Solver) -> None:
    rows, costs = rows_of(5, 12, 9, np.random.default_rng(0)), np.arange(144).reshape(12, 12)
    before = rows.copy(), costs.copy()
    solver(rows, costs)
    assert (rows == before[0]).all()
    assert (costs == before[1]).all()


def solve_with(patch: pytest.MonkeyPatch, solver: str) -> None:
    """Make the given solver solve every problem of counts. The Numba solver needs Numba."""
    patch.setattr(module, "_MOST_PAIRS", 10**9 if solver == "Python" else -1)
    patch.setattr(module, "find_spec", lambda name: solver == "Numba")


# Equal results from every solver -----------------------------------------------------------------------------------


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), unit=st.sampled_from(["px", "cell", "diagonal"]))
def test_all_solvers_give_identical_results_for_counts(data: st.DataObject, unit: str) -> None:
    grid = data.draw(grids(5, 5))
    pairs = data.draw(st.lists(st.tuples(counts(grid.n_cells, 40), counts(grid.n_cells, 300)), min_size=1, max_size=5))
    p, q = (np.array(side) for side in zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        solve_with(patch, "POT")
        expected = wasserstein(p, q, grid=grid, unit=unit)
        for solver in ("Numba", "Python"):
            solve_with(patch, solver)
            assert wasserstein(p, q, grid=grid, unit=unit).tolist() == expected.tolist()
        alone = [float(wasserstein(one, other, grid=grid, unit=unit)) for one, other in pairs]
    assert alone == expected.tolist()


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), scale=st.sampled_from([1.0, 1e-3, 1e-9]))
def test_pot_and_numba_give_identical_results_for_probabilities(data: st.DataObject, scale: float) -> None:
    numba_solver()
    grid = data.draw(grids(5, 5))
    pairs = data.draw(st.lists(st.tuples(masses(grid.n_cells), masses(grid.n_cells)), min_size=1, max_size=5))
    p, q = (np.array(side) for side in zip(*pairs, strict=True))
    q = (1 - scale) * p + scale * q
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for solver in ("POT", "Numba"):
            solve_with(patch, solver)
            found.append(wasserstein(p, q, grid=grid).tolist())
            found.append([float(wasserstein(one, other, grid=grid)) for one, other in zip(p, q, strict=True)])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("concentration", [0.05, 0.3, 1, 30])
def test_probabilities_on_the_standard_grid_equal_emd2_and_linear_programming(
    concentration: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q = np.random.default_rng(1).dirichlet(np.full(60, concentration), (2, 50))
    solve_with(monkeypatch, "POT")
    expected = wasserstein(p, q)
    assert transport(p - q, STANDARD.distances) == pytest.approx(expected, rel=1e-11)
    if find_spec("numba"):
        solve_with(monkeypatch, "Numba")
        for threads in (1, 3):
            assert wasserstein(p, q, threads=threads).tolist() == expected.tolist()
    plain = [ot.emd2(one / one.sum(), other / other.sum(), STANDARD.distances) for one, other in zip(p, q, strict=True)]
    assert expected == pytest.approx(plain, rel=1e-11)
    assert expected[0] == pytest.approx(by_linprog(p[0] - q[0], STANDARD.distances), rel=1e-6)


@pytest.mark.parametrize(
    "answers", [(150, 20), (149, 47), (1009, 1013)], ids=["even", "odd", "as many as there may be"]
)
def test_answers_on_the_standard_grid_equal_emd2_with_every_solver(
    answers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    p, q = (draw.multinomial(n, draw.dirichlet(np.full(60, 0.3), 50)).astype(float) for n in answers)
    solve_with(monkeypatch, "POT")
    expected = wasserstein(p, q)
    solve_with(monkeypatch, "Numba")
    for threads in (1, 3):
        assert wasserstein(p, q, threads=threads).tolist() == expected.tolist()
    solve_with(monkeypatch, "Python")
    assert wasserstein(p, q).tolist() == expected.tolist()
    plain = [ot.emd2(one / one.sum(), other / other.sum(), STANDARD.distances) for one, other in zip(p, q, strict=True)]
    assert expected == pytest.approx(plain, rel=1e-11)


def test_problems_too_large_for_whole_numbers_are_solved_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "least_costs", lambda *given: pytest.fail("solved in whole numbers"))
    solve_with(monkeypatch, "Python")
    draw = np.random.default_rng(1)
    p, q = (
        draw.multinomial(1009, np.full(6, 1 / 6)).astype(float),
        draw.multinomial(1049, np.full(6, 1 / 6)).astype(float),
    )
    for grid, ones, others in (
        (Grid(2, 3, 90, 60), p, q),
        (Grid(2, 3, 90, 60), p / 2, q),
        (Grid(2, 3, 90, 60), 1e300 * p, q),
        (Grid(2, 3, 90, 60e5), p % 7, q % 7),
    ):
        plain = ot.emd2(ones / ones.sum(), others / others.sum(), grid.distances)
        assert wasserstein(ones, others, grid=grid) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("grid", [STANDARD, Grid(12, 20, 640, 360), Grid(2, 2, 0.37, 0.1)], ids=str)
@pytest.mark.parametrize("unit", ["px", "cell", "diagonal"])
def test_step_of_is_a_small_power_of_two(grid: Grid, unit: str) -> None:
    cost = cost_matrix(grid, unit)
    step = step_of(cost)
    assert step is not None
    assert np.frexp(step)[0] == 0.5
    assert step / 2 < 1e-10 * cost[cost > 0].min()
    assert grid.n_cells * (cost.max() / step) <= 2**48


# Which solver is used ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "scale", "loads"),
    [([1] * 300, 1, False), ([20] * 20, 1, False), ([100], 1, True), ([1, 9000, 1], 1, True), ([1], 0.3, True)],
    ids=["single", "few", "many", "few and many", "shares"],
)
@pytest.mark.parametrize("numba", [True, False])
def test_solver_depends_only_on_the_size_and_kind_of_a_call(
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
    assert done.stdout.split() == (["numba" if numba else "ot"] if loads else [])


@pytest.mark.parametrize("before", [0, 50, 20_000])
def test_small_call_uses_the_python_solver_after_earlier_calls(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(4)
    if before:
        p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, before)).astype(float)
        wasserstein(p, q)
    asked = []

    def watched(rows: Array, costs: Array) -> Array:
        asked.append(len(rows))
        return least_costs(rows, costs)

    # This file has loaded POT, but a small call still does not use it.
    assert "ot" in sys.modules
    monkeypatch.setattr(module, "least_costs", watched)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    wasserstein(p, q)
    assert asked == [5]


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


def test_without_numba_the_solver_of_pot_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PAIRS", -1)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "spotball_core.metrics.transport_numba", raising=False)
    monkeypatch.setattr(module, "find_spec", {"numba": None}.get)
    draw = np.random.default_rng(2)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    plain = [ot.emd2(one / 20, other / 20, STANDARD.distances) for one, other in zip(p, q, strict=True)]
    assert wasserstein(p, q) == pytest.approx(plain, rel=1e-11)


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


@pytest.mark.parametrize(("rows", "cols"), [(19, 27), (2, 257), (23, 23)])
def test_step_of_a_large_grid_is_none(rows: int, cols: int) -> None:
    # The compiled solver multiplies the moved amount by up to twice the number of cells.
    assert step_of(Grid(rows, cols, cols, rows).distances) is None
    assert 2 * 512 * module.MOST_MOVED < 2**62


def test_probabilities_without_a_step_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "least_costs", lambda *given: pytest.fail("taken for whole numbers"))
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    # The flows across the borders are 1/4, 1/2 and 0.4.
    assert transport(np.array([[0.25, 0.25, -0.1, -0.4]]), cost) == pytest.approx([1.15])
