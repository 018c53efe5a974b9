"""Claim: the time of a pair follows the cells that its two distributions use more than the grid: from 60 to 960 cells,
with as many in use, it grows at most half as much as that of `ot.emd2`.

`--plot FILE` draws time against cells in use for each grid.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import ot
from numpy.typing import NDArray

from spotball_core import Grid, wasserstein

Array = NDArray[np.float64]

GRIDS = (Grid(6, 10, 640, 360), Grid(12, 20, 640, 360), Grid(24, 40, 640, 360))
SUPPORTS = (5, 10, 20, 30, 60, 120, 240, 480, 960)
ROUNDS = 5
SECONDS = 0.2
"""A round's pairs are as many as take the batch about this long."""


def pairs(grid: Grid, support: int, n: int) -> tuple[Array, Array]:
    """Random shares on so many cells of the grid, on each side its own."""
    draw = np.random.default_rng(0)
    rows = np.zeros((2 * n, grid.n_cells))
    chosen = draw.random(rows.shape).argsort(axis=1)[:, :support]
    np.put_along_axis(rows, chosen, draw.dirichlet(np.ones(support), 2 * n), axis=1)
    return rows[:n], rows[n:]


def by_emd2(p: Array, q: Array, grid: Grid) -> Array:
    return np.array([ot.emd2(a, b, grid.distances, numItermax=10_000_000) for a, b in zip(p, q, strict=True)])


def microseconds(grid: Grid, support: int) -> tuple[float, float]:
    """A pair's time in a batch on one core and in a loop over `ot.emd2`, shortest of rounds in turn."""
    p, q = pairs(grid, support, 3)
    wasserstein(p, q, grid=grid)  # Imports the solver and measures the grid, once.
    start = time.perf_counter()
    np.testing.assert_allclose(wasserstein(p, q, grid=grid, threads=1), by_emd2(p, q, grid), rtol=1e-9)
    n = int(np.clip(3 * SECONDS / (time.perf_counter() - start), 3, 500))
    p, q = pairs(grid, support, n)
    mine = peer = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        wasserstein(p, q, grid=grid, threads=1)
        middle = time.perf_counter()
        by_emd2(p, q, grid)
        mine, peer = min(mine, middle - start), min(peer, time.perf_counter() - middle)
    return mine / n * 1e6, peer / n * 1e6


def draw_plot(file: str, found: dict[tuple[Grid, int], tuple[float, float]]) -> None:
    """Time against cells in use, a color a grid: solid the batch, dashed `ot.emd2`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for number, grid in enumerate(GRIDS):
        supports = [support for at, support in found if at == grid]
        mine, peer = zip(*(found[grid, support] for support in supports), strict=True)
        axes.plot(supports, mine, f"C{number}-o", label=f"{grid.n_cells} cells, wasserstein(P, Q)")
        axes.plot(supports, peer, f"C{number}--s", label=f"{grid.n_cells} cells, loop over ot.emd2", markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="cells in use on each side", ylabel="µs a pair, one core")
    axes.grid(which="both", alpha=0.2)
    axes.legend()
    figure.savefig(file)


def main() -> None:
    """Print the times and ratios, and draw them where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="draw the figures to this file")
    file = parser.parse_args().plot
    found = {}
    print(f"random shares, one core, shortest of {ROUNDS} rounds in turn; results equal to ot.emd2 to 1e-9")
    for grid in GRIDS:
        for support in (support for support in SUPPORTS if support <= grid.n_cells):
            mine, peer = found[grid, support] = microseconds(grid, support)
            print(f"{grid.n_cells:4} cells, {support:4} in use: {mine:8.0f} µs a pair,", end=" ")
            print(f"ot.emd2 {peer:8.0f}, ratio {peer / mine:.1f}")
    for support in (5, 10, 20):
        mine, peer = np.divide(found[GRIDS[-1], support], found[GRIDS[0], support])
        print(
            f"ratio {mine / peer:.2f} of the growth from 60 to 960 cells to that of ot.emd2, {support} in use: "
            f"{mine:.1f} times to {peer:.1f} (claim: at most 0.5)"
        )
    if file:
        draw_plot(file, found)


if __name__ == "__main__":
    main()
