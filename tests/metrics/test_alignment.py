"""Test Wasserstein distances against cases computed by hand, linear programming, and the axioms of a metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import assume, example, given, settings, strategies as st
from scipy.optimize import linprog

from spotball_core import wasserstein, wasserstein_1d
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from tests.conftest import examples
from tests.failures import raises

from .strategies import Array, counts, distances, grids, masses

STANDARD = Grid.standard()
GRID = Grid(2, 3, 30, 40)  # cells of 10 x 20 pixels: A1 A2 A3 over B1 B2 B3

SCALE = 1e6
"""HiGHS accepts constraint errors of 1e-10, so masses of 1e-9 are scaled up to be well above that."""


def transport_programme(p: Array, q: Array, cost: Array) -> float:
    """Solve eq. 3 with all n x n variables by linear programming in SciPy.

    One of the 2n equations follows from the others. It is excluded, because the two sums agree only up to rounding.
    """
    n = len(p)
    leaving = scipy.sparse.kron(scipy.sparse.eye(n), np.ones((1, n)))
    arriving = scipy.sparse.kron(np.ones((1, n)), scipy.sparse.eye(n))
    needed = np.arange(2 * n) != n + np.argmax(q)
    largest = cost.max() or 1.0
    result = linprog(
        (cost / largest).ravel(),
        A_eq=scipy.sparse.vstack([leaving, arriving]).tocsr()[needed],
        b_eq=SCALE * np.concatenate([p / p.sum(), q / q.sum()])[needed],
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    return float(result.fun) * float(largest) / SCALE


@st.composite
def pairs(draw: st.DrawFn, max_rows: int = 4, max_cols: int = 4) -> tuple[Grid, Array, Array]:
    grid = draw(grids(max_rows, max_cols))
    return grid, draw(masses(grid.n_cells)), draw(masses(grid.n_cells))


Pair = tuple[Grid, Array, Array]


def one_cell(grid: Grid, label: str) -> Array:
    return grid.mask([label]).astype(float)


def test_wasserstein_equals_values_computed_by_hand() -> None:
    # Half of the mass moves from D6 to D8, two cells of 64 pixels.
    assert wasserstein(["D5", "D6"], ["D5", "D8"]) == 64
    # A quarter stays in A1, a quarter moves from A1 to A2 (10), and a half from B3 to A3 (20).
    p, q = [2, 0, 0, 0, 0, 2], [1, 1, 2, 0, 0, 0]
    assert wasserstein(p, q, grid=GRID) == pytest.approx(10 / 4 + 20 / 2, rel=1e-12)
    # The mass moves vertically, A1 to B1 and B3 to A3 (20 each), and not along the diagonals.
    assert wasserstein([1, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], grid=GRID) == pytest.approx(20, rel=1e-12)

    # The cells are one pixel apart. Moving each mass one step right costs 3/3, as does moving A1 to A4.
    line = Grid(1, 4, 4, 1)
    assert wasserstein([1, 1, 1, 0], [0, 1, 1, 1], grid=line) == pytest.approx(1, rel=1e-12)
    # If A2 goes to its neighbor A3, A1 must go to A4: 1 + 3. Moving both by two cells costs 2 + 2, the same.
    assert wasserstein([1, 1, 0, 0], [0, 0, 1, 1], grid=line) == pytest.approx((1 + 3) / 2, rel=1e-12)


def test_wasserstein_1d_equals_values_computed_by_hand() -> None:
    # Half of the mass moves by two columns of 64 pixels. The rows do not change.
    assert wasserstein_1d(["D5", "D6"], ["D5", "D8"]) == (64 + 0) / 2
    # Columns (1/2, 0, 1/2) to (1/4, 1/4, 1/2) move a quarter by 10. Rows (1/2, 1/2) to (1, 0) move a half by 20.
    found = wasserstein_1d([2, 0, 0, 0, 0, 2], [1, 1, 2, 0, 0, 0], grid=GRID)
    assert found == pytest.approx((10 / 4 + 20 / 2) / 2, rel=1e-12)
    # The 1D distance does not depend on how rows and columns are combined.
    assert wasserstein_1d([1, 0, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], grid=GRID) == 0


@given(data=st.data(), grid=grids(5, 5))
def test_wasserstein_between_two_cells_is_their_distance(data: st.DataObject, grid: Grid) -> None:
    cell = st.tuples(st.integers(1, grid.rows), st.integers(1, grid.cols))
    (row, col), (row2, col2) = data.draw(cell), data.draw(cell)
    dx, dy = (col - col2) * grid.width / grid.cols, (row - row2) * grid.height / grid.rows
    one, other = (grid.mask([place]).astype(float) for place in ((row, col), (row2, col2)))
    assert wasserstein(one, 7 * other, grid=grid) == pytest.approx(math.hypot(dx, dy), rel=1e-12)
    assert wasserstein_1d(one, 7 * other, grid=grid) == pytest.approx((abs(dx) + abs(dy)) / 2, rel=1e-12)


@settings(max_examples=examples(150))
@given(pair=pairs())
def test_wasserstein_equals_linear_programming_and_is_symmetric_and_bounded(pair: Pair) -> None:
    grid, p, q = pair
    expected = transport_programme(p, q, distances(grid))
    # The tolerance allows for rounding of the mass that p and q have in common.
    found = wasserstein(p, q, grid=grid)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-14 * grid.diagonal)
    assert wasserstein(q, p, grid=grid) == pytest.approx(found, rel=1e-9, abs=1e-14 * grid.diagonal)
    assert 0 <= found <= distances(grid).max() * (1 + 1e-12)
    assert found <= grid.diagonal


DEGENERATE: dict[str, Pair] = {
    "one cell each": (STANDARD, one_cell(STANDARD, "A1"), one_cell(STANDARD, "F10")),
    "disjoint": (STANDARD, np.repeat([1.0, 0.0], 30), np.repeat([0.0, 1.0], 30)),
    "one cell in all": (STANDARD, one_cell(STANDARD, "D5"), np.ones(60)),
    "unequal supports": (STANDARD, np.eye(60)[[0, 9, 50]].sum(0), np.tile([0.0, 1.0, 2.0], 20)),
    "all but one cell": (STANDARD, np.ones(60), np.ones(60) - one_cell(STANDARD, "D5")),
    "1 x n": (Grid(1, 12, 641, 359), np.arange(12.0), np.arange(12.0)[::-1]),
    "n x 1": (Grid(12, 1, 641, 359), np.arange(12.0), np.arange(12.0)[::-1]),
    "1 x 2": (Grid(1, 2, 641, 359), np.array([1.0, 0.0]), np.array([0.25, 0.75])),
    "flat cells": (Grid(3, 4, 4000, 3), np.arange(12.0), np.arange(12.0)[::-1] ** 2),
    "a tiny image": (Grid(3, 4, 1e-6, 1e-6), np.arange(12.0), np.arange(12.0)[::-1] ** 2),
    "tiny masses": (GRID, np.array([1e-9, 2e-9, 0, 0, 0, 1]), np.array([0, 0, 0, 3e-9, 0, 1])),
    "tiny and large": (GRID, np.array([1, 1e-9, 0.5, 0, 1e-9, 0]), np.array([0.5, 1e-9, 0, 1, 0, 1e-9])),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_wasserstein_of_degenerate_distributions_equals_linear_programming(case: str) -> None:
    grid, p, q = DEGENERATE[case]
    expected = transport_programme(p, q, distances(grid))
    assert wasserstein(p, q, grid=grid) == pytest.approx(expected, rel=1e-9, abs=0)
    assert wasserstein(q, p, grid=grid) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12])
def test_wasserstein_includes_a_tiny_mass_in_a_distant_cell(tiny: float) -> None:
    almost, all_of_it = np.array([1 - tiny, 0, tiny, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0])
    # The mass in A3 is 20 pixels from A1. The total mass is 1 up to rounding.
    for found in (wasserstein(almost, all_of_it, grid=GRID), wasserstein(all_of_it, almost, grid=GRID)):
        assert found == pytest.approx(20 * tiny / math.fsum(almost), rel=1e-12, abs=0)
    # The same with counts: one of 10^9 + 1 answers is in A3.
    found = wasserstein([10**9, 0, 1, 0, 0, 0], [10**9, 0, 0, 0, 0, 0], grid=GRID)
    assert found == pytest.approx(20 / (10**9 + 1), rel=1e-12, abs=0)


@given(pair=pairs())
@example(pair=(GRID, np.array([1.0, 0, 0, 0, 0, 0]), np.array([1 - 1e-9, 1e-9, 0, 0, 0, 0])))
@example(pair=(STANDARD, np.arange(60.0), np.ones(60)))
@example(pair=(STANDARD, np.ones(60), np.arange(60.0)))
def test_wasserstein_is_0_for_equal_distributions_only(pair: Pair) -> None:
    grid, p, q = pair
    for same in (p, p / p.sum(), 3 * p):
        assert wasserstein(same, p, grid=grid) == wasserstein(p, same, grid=grid) == 0
    differ = np.abs(p / p.sum() - q / q.sum()).max()
    assume(differ == 0 or differ > 1e-13)
    assert (wasserstein(p, q, grid=grid) == 0) == (differ == 0)


@given(grid=grids(), data=st.data())
def test_wasserstein_obeys_the_triangle_inequality(grid: Grid, data: st.DataObject) -> None:
    p, q, r = (data.draw(masses(grid.n_cells)) for _ in range(3))
    detour = wasserstein(p, r, grid=grid) + wasserstein(r, q, grid=grid)
    assert wasserstein(p, q, grid=grid) <= detour * (1 + 1e-9) + 1e-14 * grid.diagonal


@given(pair=pairs(3, 3), down=st.integers(0, 2), right=st.integers(0, 2))
def test_wasserstein_does_not_change_if_both_distributions_are_shifted(pair: Pair, down: int, right: int) -> None:
    grid, p, q = pair
    larger = Grid(grid.rows + 2, grid.cols + 2, grid.cell_width * (grid.cols + 2), grid.cell_height * (grid.rows + 2))

    def moved(mass: Array) -> Array:
        field = np.zeros((larger.rows, larger.cols))
        field[down : down + grid.rows, right : right + grid.cols] = mass.reshape(grid.rows, grid.cols)
        return field.reshape(-1)

    for measure in (wasserstein, wasserstein_1d):
        expected = measure(p, q, grid=grid)
        assert measure(moved(p), moved(q), grid=larger) == pytest.approx(expected, rel=1e-9, abs=1e-14 * grid.diagonal)


@given(grid=grids(3, 3), data=st.data(), down=st.integers(0, 3), right=st.integers(0, 3))
def test_wasserstein_between_a_distribution_and_its_shifted_copy_is_the_length_of_the_shift(
    grid: Grid, data: st.DataObject, down: int, right: int
) -> None:
    larger = Grid(grid.rows + 3, grid.cols + 3, grid.cell_width * (grid.cols + 3), grid.cell_height * (grid.rows + 3))
    field = np.zeros((larger.rows, larger.cols))
    field[: grid.rows, : grid.cols] = data.draw(counts(grid.n_cells)).reshape(grid.rows, grid.cols)
    moved = np.roll(field, (down, right), axis=(0, 1))
    way = math.hypot(right * grid.cell_width, down * grid.cell_height)
    assert wasserstein(field.reshape(-1), moved.reshape(-1), grid=larger) == pytest.approx(way, rel=1e-9)


@given(pair=pairs(), factor=st.sampled_from([0.01, 0.5, 3, 1000]))
def test_wasserstein_scales_with_the_image_size(pair: Pair, factor: float) -> None:
    grid, p, q = pair
    larger = Grid(grid.rows, grid.cols, grid.width * factor, grid.height * factor)
    for measure in (wasserstein, wasserstein_1d):
        expected = factor * measure(p, q, grid=grid)
        assert measure(p, q, grid=larger) == pytest.approx(expected, rel=1e-9, abs=1e-14 * larger.diagonal)


def test_wasserstein_units_equal_values_computed_by_hand() -> None:
    # A1 to B3 is 20 pixels right and 20 down, or 2 columns and 1 row. The diagonal of the 30 x 40 image is 50.
    one, other = [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]
    assert wasserstein(one, other, grid=GRID) == pytest.approx(math.hypot(20, 20), rel=1e-12)
    assert wasserstein(one, other, grid=GRID, unit="px") == pytest.approx(math.hypot(20, 20), rel=1e-12)
    assert wasserstein(one, other, grid=GRID, unit="cell") == pytest.approx(math.hypot(2, 1), rel=1e-12)
    assert wasserstein(one, other, grid=GRID, unit="diagonal") == pytest.approx(math.hypot(20, 20) / 50, rel=1e-12)


@settings(max_examples=examples(50))
@given(pair=pairs())
def test_wasserstein_units_equal_linear_programming(pair: Pair) -> None:
    grid, p, q = pair
    in_cells = distances(Grid(grid.rows, grid.cols, grid.cols, grid.rows))
    found = wasserstein(p, q, grid=grid, unit="cell")
    assert found == pytest.approx(transport_programme(p, q, in_cells), rel=1e-9, abs=1e-13)
    share = wasserstein(p, q, grid=grid, unit="diagonal")
    assert share * grid.diagonal == pytest.approx(wasserstein(p, q, grid=grid), rel=1e-9, abs=1e-13)
    assert 0 <= share < 1


@pytest.mark.parametrize(
    ("options", "where"),
    [
        *(({"unit": unit}, "unknown-name:unit") for unit in ("pixels", "", "PX", None)),
        *(({"threads": threads}, "invalid-option:threads") for threads in (0, -1)),
    ],
)
def test_wasserstein_with_an_invalid_option_raises_option_error(options: dict[str, Any], where: str) -> None:
    with raises(OptionError, where):
        wasserstein([1] * 60, [1] * 60, **options)


@given(pair=pairs(5, 5))
def test_wasserstein_1d_equals_scipy(pair: Pair) -> None:
    grid, p, q = pair
    xs, ys = (np.arange(grid.cols) + 0.5) * grid.cell_width, (np.arange(grid.rows) + 0.5) * grid.cell_height
    p_field, q_field = p.reshape(grid.rows, grid.cols), q.reshape(grid.rows, grid.cols)
    along_x = scipy.stats.wasserstein_distance(xs, xs, p_field.sum(axis=0), q_field.sum(axis=0))
    along_y = scipy.stats.wasserstein_distance(ys, ys, p_field.sum(axis=1), q_field.sum(axis=1))
    found = wasserstein_1d(p, q, grid=grid)
    assert found == pytest.approx((along_x + along_y) / 2, rel=1e-9, abs=1e-14 * grid.diagonal)
    # |dx| + |dy| is at most twice the Euclidean distance, and the optimal plan of a marginal costs at most as much as
    # the joint plan.
    assert found <= wasserstein(p, q, grid=grid) * (1 + 1e-9) + 1e-14 * grid.diagonal
