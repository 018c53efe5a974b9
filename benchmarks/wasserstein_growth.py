"""Claim: on larger grids, the time of `wasserstein` grows less than the time of `ot.emd2`. From 60 to 960 cells, with
up to 20 cells in use, the growth factor of `wasserstein` is less than half the growth factor of `ot.emd2`.

The distributions are random, on grids of 60, 240 and 960 cells. Times are for one pair of distributions on one core.
The results equal those of `ot.emd2` to 1e-9.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from emd2 import by_emd2
from measure import figure, in_turn
from numpy.typing import NDArray

from spotball_core import Grid, wasserstein

Array = NDArray[np.float64]

GRIDS = (Grid(6, 10, 640, 360), Grid(12, 20, 640, 360), Grid(24, 40, 640, 360))
SUPPORTS = (5, 10, 20, 30, 60, 120, 240, 480, 960)
ROUNDS = 5
SECONDS = 0.2
"""Target duration of a batch, which determines the number of pairs per round."""


def pairs(grid: Grid, support: int, n: int) -> tuple[Array, Array]:
    """Return random shares on `support` cells of the grid, chosen independently for the two sides of each pair."""
    draw = np.random.default_rng(0)
    rows = np.zeros((2 * n, grid.n_cells))
    chosen = draw.random(rows.shape).argsort(axis=1)[:, :support]
    np.put_along_axis(rows, chosen, draw.dirichlet(np.ones(support), 2 * n), axis=1)
    return rows[:n], rows[n:]


def microseconds(grid: Grid, support: int) -> tuple[float, float]:
    """Return the time per pair in a batch on one core, and in a loop over `ot.emd2`."""
    p, q = pairs(grid, support, 3)
    wasserstein(p, q, grid=grid)  # Import the solver and compute the distances of the grid before the time is measured.
    start = time.perf_counter()
    np.testing.assert_allclose(wasserstein(p, q, grid=grid, threads=1), by_emd2(p, q, grid), rtol=1e-9)
    n = int(np.clip(3 * SECONDS / (time.perf_counter() - start), 3, 500))
    p, q = pairs(grid, support, n)
    ways = {"batch": lambda: wasserstein(p, q, grid=grid, threads=1), "loop": lambda: by_emd2(p, q, grid)}
    times = in_turn(ways, ROUNDS)
    return times["batch"] / n * 1e6, times["loop"] / n * 1e6


def draw_plot(file: str, found: dict[tuple[Grid, int], tuple[float, float]]) -> None:
    """Plot time against used cells, with a color per grid: the batch solid, `ot.emd2` dashed."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, 5), layout="constrained")
    axes = drawn.subplots()
    for number, grid in enumerate(GRIDS):
        supports = [support for at, support in found if at == grid]
        mine, peer = zip(*(found[grid, support] for support in supports), strict=True)
        axes.plot(supports, mine, f"C{number}-o", label=f"{grid.n_cells} cells, wasserstein(P, Q)")
        axes.plot(supports, peer, f"C{number}--s", label=f"{grid.n_cells} cells, loop over ot.emd2", markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="cells in use on each side", ylabel="µs a pair, one core")
    axes.grid(which="both", alpha=0.2)
    axes.legend()
    drawn.savefig(file)


def main() -> None:
    """Print times, ratios and growth, and plot them if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="draw the figures to this file")
    file = parser.parse_args().plot
    found = {}
    for grid in GRIDS:
        for support in (support for support in SUPPORTS if support <= grid.n_cells):
            mine, peer = found[grid, support] = microseconds(grid, support)
            note = f"{mine:.0f} µs per pair; ot.emd2: {peer:.0f} µs"
            figure(f"speedup over ot.emd2: {grid.n_cells} cells, {support} in use", peer / mine, "times", note=note)
    for support in (5, 10, 20):
        mine, peer = np.divide(found[GRIDS[-1], support], found[GRIDS[0], support])
        note = f"from 60 to 960 cells: {mine:.1f} times; ot.emd2: {peer:.1f} times"
        figure(f"growth of time relative to ot.emd2: {support} cells in use", mine / peer, "", below=0.5, note=note)
    if file:
        draw_plot(file, found)


if __name__ == "__main__":
    main()
