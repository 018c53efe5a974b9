"""Test that large grids, whose cell distances are computed as needed, give equal values with less memory."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linear_sum_assignment

from spotball_core import energy_score, euclidean_error, expected_error, grid as grid_module, wasserstein
from spotball_core.errors import NotEnoughMemoryError
from spotball_core.grid import MOST_DENSE, Grid
from spotball_core.metrics import alignment as alignment_module
from spotball_core.service import memory as memory_module
from tests.conftest import examples
from tests.failures import raises

from .strategies import counts, grids, items, masses

LARGE = Grid(200, 200, 640, 360)


@contextmanager
def computed_as_needed() -> Iterator[None]:
    """Treat every grid as a large one, whose distances are computed as needed."""
    with mock.patch.object(grid_module, "MOST_DENSE", 0), mock.patch.object(alignment_module, "MOST_DENSE", 0):
        yield


def fresh(grid: Grid) -> Grid:
    return Grid(grid.rows, grid.cols, grid.width, grid.height)


class TestDistancesComputedAsNeeded:
    @given(data=st.data(), unit=st.sampled_from(["px", "cell", "diagonal"]))
    @settings(max_examples=examples(250), deadline=None)
    def test_wasserstein_without_stored_distances_gives_the_same_values(self, data: st.DataObject, unit: Any) -> None:
        grid = data.draw(grids(6, 6))
        cells = grid.n_cells
        pair = st.tuples(counts(cells), counts(cells)) | st.tuples(masses(cells), masses(cells))
        p, q = (np.array(side) for side in zip(*data.draw(st.lists(pair, min_size=1, max_size=5)), strict=True))
        expected = wasserstein(p, q, unit=unit, grid=grid)
        with computed_as_needed():
            found = wasserstein(p, q, unit=unit, grid=fresh(grid))
        longest = {"px": grid.diagonal, "cell": math.hypot(grid.rows, grid.cols), "diagonal": 1.0}[unit]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * longest)

    @given(item=items(max_rows=9, max_cols=9))
    @settings(max_examples=examples(100), deadline=None)
    def test_energy_score_and_distance_errors_without_stored_distances_give_the_same_values(self, item: Any) -> None:
        batch = np.array([item.counts, item.counts[::-1], 0 * item.counts])
        for metric in (energy_score, expected_error, euclidean_error):
            expected = metric(batch, item.truth, grid=item.grid)
            with computed_as_needed():
                found = metric(batch, item.truth, grid=fresh(item.grid))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * item.grid.diagonal)

    @given(grid=grids(5, 30), data=st.data())
    def test_grid_distances_computed_as_needed_equal_stored_ones(self, grid: Grid, data: st.DataObject) -> None:
        cells = st.lists(st.integers(0, grid.n_cells - 1), min_size=1, max_size=9).map(np.array)
        first, second = data.draw(cells), data.draw(cells)
        np.testing.assert_array_equal(grid.distances_between(first, second), grid.distances[np.ix_(first, second)])
        with computed_as_needed():
            np.testing.assert_array_equal(grid.distances_from(int(first[0])), grid.distances[first[0]])


class TestLargeGrids:
    def test_wasserstein_on_a_large_grid_equals_the_optimal_assignment_of_scipy(self) -> None:
        # Both sides have the same number of answers, one per cell. SciPy finds the cheapest pairing.
        rng = np.random.default_rng(0)
        cells = rng.choice(LARGE.n_cells, size=(3, 2, 60), replace=False)
        p, q = np.zeros((3, LARGE.n_cells)), np.zeros((3, LARGE.n_cells))
        expected = []
        for i, (sources, sinks) in enumerate(cells):
            p[i, sources], q[i, sinks] = 1, 1
            steps = LARGE.centers[sources][:, None] - LARGE.centers[sinks][None]
            cost = np.hypot(steps[..., 0], steps[..., 1])
            expected.append(cost[linear_sum_assignment(cost)].mean())
        assert wasserstein(p, q, grid=LARGE) == pytest.approx(expected, rel=1e-9)
        assert wasserstein(p / 60, q * 0.3, grid=LARGE) == pytest.approx(expected, rel=1e-9)
        assert "distances" not in vars(LARGE)

    def test_distance_metrics_on_a_large_grid_equal_values_computed_from_cell_centers(self) -> None:
        everywhere, corner = np.ones(LARGE.n_cells), np.eye(1, LARGE.n_cells)[0]
        x, y = LARGE.centers.T
        expected = np.hypot(x - x[0], y - y[0]).mean()
        for first, second in ((everywhere, corner), (corner, everywhere)):
            assert wasserstein(first, second, grid=LARGE) == pytest.approx(expected, rel=1e-12)
        assert expected_error(everywhere, "A1", grid=LARGE) == pytest.approx(expected, rel=1e-12)
        assert euclidean_error(everywhere, "A1", grid=LARGE) == pytest.approx(expected, rel=1e-12)
        at = LARGE.centers[[LARGE.index("B7"), LARGE.index("GR200")]]
        apart = float(np.hypot(*(at[0] - at[1])))
        assert energy_score(["B7", "GR200"], "B7", grid=LARGE) == pytest.approx(apart / 2 - apart / 4, rel=1e-12)


def test_grid_distances_and_wasserstein_beyond_the_available_memory_raise_not_enough_memory_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_module, "available_memory", lambda: 2e9)
    for name in ("distances", "cell_distances"):
        with raises(NotEnoughMemoryError, "out-of-memory"):
            getattr(fresh(LARGE), name)
    for share in (0.0, 0.5):
        p = np.arange(LARGE.n_cells) % 2 + share
        with raises(NotEnoughMemoryError, "out-of-memory"):
            wasserstein(p, p[::-1], grid=LARGE)


def test_available_memory_is_plausible_and_not_checked_for_small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**20 < memory_module.available_memory() < 2**50
    monkeypatch.setattr(memory_module, "available_memory", lambda: 0.0)
    assert Grid(60, 60, 640, 360).distances.shape == (3600, 3600)
    assert MOST_DENSE**2 * 8 <= memory_module._SMALL


LIMITED = """
import resource, sys
import numpy as np
from spotball_core.errors import NotEnoughMemoryError
from spotball_core.grid import Grid
from spotball_core.service.memory import available_memory

limit = 3 * 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert 2**28 < available_memory() < limit
try:
    Grid(200, 200, 640, 360).distances
except NotEnoughMemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_grid_distances_beyond_the_memory_limit_of_the_process_raise_not_enough_memory_error() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    assert "need 12.8 GB of memory, but only " in done.stdout
