"""Transport in whole numbers: POT's solver and a linear program find the very same numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ot.lp
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from spotball_core import wasserstein
from spotball_core.grid import Grid
from spotball_core.metrics import transport as module
from spotball_core.metrics.alignment import cost_matrix
from spotball_core.metrics.transport import step_of, transport
from spotball_core.metrics.transport_whole import least_costs
from tests.conftest import examples

from .strategies import Array, counts, grids

STANDARD = Grid.standard()
Solver = Callable[[Array, Array], Array]


@pytest.fixture(params=["Python", "Numba", "Numba's source"])
def solver(request: pytest.FixtureRequest) -> Solver:
    """What solves problems in whole numbers; Numba's also as the plain Python that it compiles."""
    if request.param == "Python":
        return least_costs
    pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    from spotball_core.metrics import transport_numba

    compiled: Any = transport_numba.least_costs
    found: Solver = compiled if request.param == "Numba" else compiled.py_func
    return found


def by_emd(rows: Array, costs: Array) -> list[int]:
    """One `ot.lp.emd` a row, its plan's cost summed in whole numbers."""
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
    """Whole numbers up to `most` either way, many of them 0, that sum to 0; none all 0."""
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


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize(("n_cells", "most"), [(3, 1), (6, 3), (12, 1), (24, 40), (60, 2), (60, 3000)])
def test_against_pots_solver(solver: Solver, kind: str, n_cells: int, most: int) -> None:
    draw = np.random.default_rng([n_cells, most])
    rows = rows_of(100, n_cells, most, draw)
    costs = np.asarray(COSTS[kind](n_cells, draw)).astype(np.int64)
    assert solver(rows, costs).tolist() == by_emd(rows, costs)


@pytest.mark.parametrize("kind", ["distances", "ties", "all 0"])
@pytest.mark.parametrize(("n_cells", "most"), [(4, 1), (12, 3), (24, 40)])
def test_against_a_linear_program(solver: Solver, kind: str, n_cells: int, most: int) -> None:
    draw = np.random.default_rng([n_cells, most, 1])
    rows = rows_of(25, n_cells, most, draw)
    costs = np.asarray(COSTS[kind](n_cells, draw)).astype(np.int64)
    assert solver(rows, costs) == pytest.approx([by_linprog(row, costs) for row in rows], rel=1e-9)


def test_by_hand(solver: Solver) -> None:
    # The cheapest first move, B to C for 1, is taken back: A to C and B to D cost 2 + 3, B to C and A to D 1 + 9.
    costs = np.array([[0, 9, 2, 9], [9, 0, 1, 3], [9, 9, 0, 9], [9, 9, 9, 0]])
    assert solver(np.array([[1, 1, -1, -1], [0, 5, -5, 0], [2, 0, 0, -2]]), costs).tolist() == [5, 5, 18]
    assert solver(np.zeros((0, 4), dtype=np.int64), costs).tolist() == []


def test_what_it_is_given_stays(solver: Solver) -> None:
    rows, costs = rows_of(5, 12, 9, np.random.default_rng(0)), np.arange(144).reshape(12, 12)
    before = rows.copy(), costs.copy()
    solver(rows, costs)
    assert (rows == before[0]).all()
    assert (costs == before[1]).all()


def solve_with(patch: pytest.MonkeyPatch, solver: str) -> None:
    """Move the limits between solvers so that one of them gets every problem; Numba's needs Numba."""
    patch.setattr(module, "_MOST_PAIRS", 10**9 if solver == "Python" else -1)
    patch.setattr(module, "_LEAST_FOR_NUMBA", 1 if solver == "Numba" else 10**9)


# Both ways of one distance -----------------------------------------------------------------------------------------


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), unit=st.sampled_from(["px", "cell", "diagonal"]))
def test_who_solves_does_not_change_a_bit(data: st.DataObject, unit: str) -> None:
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


@pytest.mark.parametrize(
    "answers", [(150, 20), (149, 47), (1009, 1013)], ids=["even", "odd", "as many as there may be"]
)
def test_answers_on_the_papers_grid(answers: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_too_much_to_count_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_step_is_small_and_a_power_of_two(grid: Grid, unit: str) -> None:
    cost = cost_matrix(grid, unit)
    step = step_of(cost)
    assert step is not None
    assert np.frexp(step)[0] == 0.5
    assert step / 2 < 1e-10 * cost[cost > 0].min()
    assert grid.n_cells * (cost.max() / step) <= 2**48


# Who solves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "loaded"),
    [
        ([1] * 300, []),
        ([20] * 20, []),
        ([100], ["ot"]),
        ([3000], ["ot"]),
        ([20_000], ["numba"]),
        ([1, 9000, 1], ["ot"]),
        ([9000, 9000], ["ot"]),
    ],
    ids=str,
)
def test_the_solver_depends_on_the_call_alone(calls: list[int], loaded: list[str]) -> None:
    if loaded == ["numba"]:
        pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    code = (
        "import sys, numpy as np; from spotball_core import wasserstein\n"
        "draw = np.random.default_rng(0)\n"
        f"for n in {calls}:\n"
        "    counts = draw.integers(0, 3, (2, n, 60)) * (draw.random((n, 60)) < 0.4)\n"
        "    counts[:, :, 0] += 1\n"
        "    wasserstein(*counts.astype(float))\n"
        "print(*sorted({'ot', 'numba'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == loaded


@pytest.mark.parametrize("before", [0, 50, 20_000])
def test_what_was_solved_before_changes_nothing(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(4)
    if before:
        p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, before)).astype(float)
        wasserstein(p, q)
    asked = []

    def watched(rows: Array, costs: Array) -> Array:
        asked.append(len(rows))
        return least_costs(rows, costs)

    # POT is loaded, by this file, and still a small call does not use it.
    assert "ot" in sys.modules
    monkeypatch.setattr(module, "least_costs", watched)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    wasserstein(p, q)
    assert asked == [5]


def test_numba_where_nothing_can_be_kept(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="needs Numba, of the extra speed")
    # A file in the place of the folder, and no home.
    (tmp_path / "__pycache__").touch()
    shutil.copy(Path(module.__file__).with_name("transport_numba.py"), tmp_path / "elsewhere.py")
    code = (
        "import numpy as np; from elsewhere import least_costs\n"
        "print(least_costs(np.array([[2, -2]]), np.array([[0, 3], [3, 0]])))\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.split() == ["[6]"]


def test_without_numba_pots_solver_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    solve_with(monkeypatch, "Numba")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "numba", None)
    draw = np.random.default_rng(2)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 5)).astype(float)
    plain = [ot.emd2(one / 20, other / 20, STANDARD.distances) for one, other in zip(p, q, strict=True)]
    assert wasserstein(p, q) == pytest.approx(plain, rel=1e-11)


def test_threads_share_what_numba_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work = set()

    def solve(rows: Array, costs: Array) -> Array:
        at_work.add(threading.get_ident())
        return least_costs(rows, costs)

    solve_with(monkeypatch, "Numba")
    monkeypatch.setattr(module, "_numba", lambda n: solve)
    draw = np.random.default_rng(3)
    p, q = draw.multinomial(20, np.full(60, 1 / 60), (2, 1000)).astype(float)
    expected = wasserstein(p, q, threads=1)
    assert at_work == {threading.get_ident()}
    at_work.clear()
    assert wasserstein(p, q, threads=2).tolist() == expected.tolist()
    assert at_work
    assert threading.get_ident() not in at_work


def test_shares_are_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "least_costs", lambda *given: pytest.fail("taken for whole numbers"))
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    # Over the borders pass 1/4, 1/2 and 0.4.
    assert transport(np.array([[0.25, 0.25, -0.1, -0.4]]), cost) == pytest.approx([1.15])
