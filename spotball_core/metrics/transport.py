"""Solve optimal transport exactly for many differences between distributions.

A difference is above 0 in cells with a surplus and below 0 in cells with a deficit, and sums to 0. The problem is to
move the surplus to the deficits at minimum cost. If one cell has all the surplus or all the deficit, the cost is
computed directly, otherwise by a solver. Equal problems are solved once.

Integer differences are solved with costs rounded to multiples of a step (`step_of`). Their minimum cost is a unique
integer, so every solver returns an identical result. Which solver is used depends on the problems of the call:

- `transport_numba` solves large batches of integer problems if the extra `speed` is installed. Loading it takes a
  second, so smaller batches suffice once it is loaded (`prepare`).
- The network simplex of the Python Optimal Transport library (POT) solves the rest. It is loaded without the rest of
  POT (`pot.solver`), and called without the checks that `ot.emd2` repeats for each pair.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Protocol

import numpy as np

from spotball_core.errors import DistributionError
from spotball_core.metrics import pot
from spotball_core.service.memory import available_memory, check_memory
from spotball_core.service.parallel import processors
from spotball_core.typing import FloatArray, IntArray

_MAX_PIVOTS = 10_000_000
_OPTIMAL = 1
"""What POT's solver returns if it reached the optimum."""

_LARGE = 600
"""Minimum size (sources times sinks) of problems that are distributed over threads.

The solver releases the interpreter's lock while it works. For smaller problems, passing the lock costs more than the
work: two threads were slower than one.
"""

_CHUNK, _SHARED_CHUNK = 1024, 16
"""Number of problems per batch for one thread, and for several threads: small, so that all finish at a similar time."""

_FOR_THREADS = 200
"""Minimum number of problems that Numba solves in several threads; for fewer, starting threads takes too long."""

MOST_COUNTED = 2**20
"""Maximum sum of the surplus in a difference of counts. Below it, mass times cost in steps stays below 2**63."""

MOST_MOVED = 2**51
"""Maximum sum of the surplus in an integer difference. POT's floats and Numba's integers represent it exactly."""

_BITS = 47
"""The step is chosen so that the largest cost in steps, times the number of cells, stays below two to this power.

POT's solver uses floats and treats up to 2e-15 of a path's length as 0. Below this limit, it still resolves each step.
"""

_LEAST_STEPS = 2**33
"""Minimum number of steps in the shortest distance; rounding to steps then changes it by at most 6e-11 of it."""

_MOST_PAIRS = 400_000, 50_000
"""Maximum of sources times sinks, summed over the problems of a call, that POT solves although Numba is installed.

The first number is for a process that has not loaded Numba. POT solves that number of pairs faster than Numba loads.
"""

_BYTES_PER_PAIR = 48
"""Bytes that POT's solver and its costs need per pair of source and sink, measured and rounded up."""

_MUCH = 2**30
"""Required memory in bytes above which the number of threads is limited by the available memory."""


class Costs(Protocol):
    """The cost of moving one unit of mass from cell to cell.

    Attributes:
        longest: the largest cost between any two cells.
    """

    @property
    def longest(self) -> float:
        """The largest cost between any two cells."""
        ...

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        """Return the costs from m cells to n cells, given by index, shape (m, n)."""
        ...


def transport(
    differences: FloatArray, cost: FloatArray, threads: int | None = None, *, step: float | None = None
) -> FloatArray:
    """Compute the minimum cost of moving each difference's surplus to its deficits.

    Args:
        differences: shape (n, n_cells), finite; each row sums to 0 up to rounding.
        cost: shape (n_cells, n_cells), finite, nonnegative.
        threads: number of threads for large problems, at least 1 (default: one per processor). It does not change the
            result.
        step: round the costs to integer multiples of this step, from `step_of` (default: do not round). The differences
            must then be integers, with a surplus of at most `MOST_MOVED` per row.

    Returns:
        Shape (n,); 0 if nothing has to move.

    Raises:
        DistributionError: if the solver does not reach the optimum.
        NotEnoughMemoryError: if a problem needs more memory than is available.

    Examples:
        >>> cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> transport(np.array([[0.5, 0.5, -0.5, -0.5], [0, 0, 0, 0]]), cost)
        array([2., 0.])
        >>> transport(np.array([[1.0, 1, -1, -1], [0, 0, 0, 0]]), cost, step=step_of(cost))
        array([4., 0.])
    """
    rows, places = _distinct(differences)
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    values = np.zeros(len(rows))
    moves = (from_cells > 0) & (to_cells > 0)
    for signed, lone in ((rows, moves & (from_cells == 1)), (-rows, moves & (to_cells == 1))):
        values[lone] = _from_one_cell(signed[lone], cost[signed[lone].argmax(axis=-1)])
    several = (from_cells > 1) & (to_cells > 1)
    if several.any():
        sizes, threads = (from_cells * to_cells)[several], threads or processors()
        if step is None:
            values[several] = _by_pot(rows[several], _Table(cost), sizes, threads)
        else:
            values[several] = _in_steps(rows[several], np.rint(cost / step), sizes, threads) * step
    return values[places]


def transport_of_few(differences: FloatArray, costs: Costs, threads: int | None = None) -> FloatArray:
    """Compute `transport` on a grid whose full cost matrix would not fit into memory.

    Each problem needs only the costs from cells with surplus to cells with a deficit.
    """
    rows, places = _distinct(differences)
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    values = np.zeros(len(rows))
    for i in np.flatnonzero((from_cells > 0) & (to_cells > 0) & (np.minimum(from_cells, to_cells) == 1)):
        row = rows[i] if from_cells[i] == 1 else -rows[i]
        cells = np.flatnonzero(row)
        values[i] = _from_one_cell(row[None, cells], costs.between(row.argmax(keepdims=True), cells))[0]
    several = (from_cells > 1) & (to_cells > 1)
    if several.any():
        sizes = (from_cells * to_cells)[several]
        values[several] = _by_pot(rows[several], costs, sizes, threads or processors())
    return values[places]


def prepare() -> None:
    """Load the compiled solver if it is installed. This saves time before many calls, each with few problems."""
    if find_spec("numba"):
        import_module("spotball_core.metrics.transport_numba")


def step_of(cost: FloatArray) -> float | None:
    """Return the step to whose multiples costs are rounded, a power of two; None if it would be too coarse.

    It is too coarse if the shortest cost has too few steps, as in every grid of more than 512 cells.
    """
    longest, shortest = cost.max(), cost.min(where=cost > 0, initial=math.inf)
    step = 2.0 ** (math.frexp(longest)[1] - _BITS + math.ceil(math.log2(len(cost))))
    return step if shortest >= _LEAST_STEPS * step > 0 else None


def transport_on_a_line(differences: FloatArray, step: float) -> FloatArray:
    """Compute `transport` for cells in a row, `step` apart: the mass that crosses each border, times the step."""
    passing: FloatArray = np.abs(differences.cumsum(axis=-1)[..., :-1]).sum(axis=-1)
    return passing * step


def _distinct(differences: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows, and for each row its index among them."""
    # Comparing bytes is far faster than comparing numbers.
    keys = np.ascontiguousarray(differences).view(f"V{differences.shape[1] * differences.itemsize}").reshape(-1)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return differences[first], places


def _from_one_cell(rows: FloatArray, costs: FloatArray) -> FloatArray:
    """Return the minimum cost of rows in which one cell has all the surplus, so that there is only one plan.

    Args:
        costs: costs from the cell with all the surplus to all cells, shape (n, n_cells).
    """
    demand = np.maximum(-rows, 0.0)
    demand *= rows.max(axis=-1, keepdims=True) / demand.sum(axis=-1, keepdims=True)
    value: FloatArray = (demand * costs).sum(axis=-1)
    return value


def _in_steps(rows: FloatArray, cost: FloatArray, sizes: IntArray, threads: int) -> FloatArray:
    """Return the minimum cost of integer rows at integer costs; each row has several sources and several sinks.

    Args:
        sizes: number of sources times number of sinks of each row.
    """
    is_loaded = "spotball_core.metrics.transport_numba" in sys.modules
    if sizes.sum() > _MOST_PAIRS[is_loaded] and find_spec("numba"):
        return _by_numba(rows.astype(np.int64), cost.astype(np.int64), threads)
    return _by_pot(rows, _Table(cost), sizes, threads, are_integers=True)


def _by_numba(rows: IntArray, cost: IntArray, threads: int) -> FloatArray:
    """Compute `_in_steps` with Numba. The solver releases the interpreter's lock, so threads share the rows."""
    from spotball_core.metrics.transport_numba import least_costs

    if threads == 1 or len(rows) < _FOR_THREADS:
        return _whole(*least_costs(rows, cost))
    from concurrent.futures import ThreadPoolExecutor

    # Use more parts than threads, so that the threads finish together.
    parts = np.array_split(rows, 4 * threads)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(
            [_whole(*costs_of_part) for costs_of_part in pool.map(lambda part: least_costs(part, cost), parts)]
        )


def _whole(remainders: IntArray, rounded: FloatArray) -> FloatArray:
    """Return exact integers as floats from their values modulo 2**64 and their rounded values."""
    values: FloatArray = np.rint((rounded - remainders) / 2.0**64) * 2.0**64 + remainders
    return values


@dataclass(frozen=True, slots=True)
class _Table:
    """Costs between all cells, as numbers of steps for integer problems."""

    cost: FloatArray

    @property
    def longest(self) -> float:
        return float(self.cost.max())

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        chosen: FloatArray = self.cost.take(sources, 0).take(sinks, 1)
        return chosen


def _by_pot(rows: FloatArray, costs: Costs, sizes: IntArray, threads: int, *, are_integers: bool = False) -> FloatArray:
    """Return the minimum cost of rows with several sources and sinks, by POT's solver. Threads share the large rows.

    Args:
        sizes: number of sources times number of sinks of each row.
        are_integers: whether rows and costs are integers.
    """
    values, large = np.empty(len(rows)), sizes >= _LARGE
    for chosen, sharing in ((~large, 1), (large, threads)):
        if chosen.any():
            values[chosen] = _solve(rows[chosen], costs, sharing, are_integers)
    return values


def _solve(rows: FloatArray, costs: Costs, threads: int, are_integers: bool) -> FloatArray:
    """Solve problems with POT, in one thread or in several threads that share the problems."""
    threads = _within_memory(rows, threads)
    solver = pot.solver()
    size = _CHUNK if threads == 1 else _SHARED_CHUNK

    def solve(start: int) -> tuple[FloatArray, set[int]]:
        chunk = rows[start : start + size]
        moved = np.maximum(chunk, 0.0).sum(axis=-1)
        # If the solver's sum would round, compute it again in integers.
        rounds = are_integers & (moved * costs.longest >= 2**53)
        values: FloatArray = np.empty(len(chunk))
        codes: set[int] = set()
        sides = zip(_masses(chunk, are_integers), _masses(-chunk, are_integers), strict=True)
        for i, ((sources, supply), (sinks, demand)) in enumerate(sides):
            between = costs.between(sources, sinks)
            plan, values[i], _, _, code = solver.emd_c(supply, demand, between, _MAX_PIVOTS, 1)
            codes.add(code)
            if rounds[i]:
                values[i] = _whole(np.vdot(plan.astype(np.int64), between.astype(np.int64)), values[i])
        return values if are_integers else values * moved, codes

    starts = range(0, len(rows), size)
    if threads == 1:
        solved = [solve(start) for start in starts]
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            solved = list(pool.map(solve, starts))
    for code in set().union(*(codes for _, codes in solved)) - {_OPTIMAL}:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = solver.check_result(code)
        if problem is not None:
            cause = problem.partition(".")[0]
            raise DistributionError(
                f"the transport solver did not reach the optimum: {cause}. Use a coarser grid", code="cannot-estimate"
            )
    return np.concatenate([values for values, _ in solved])


def _within_memory(rows: FloatArray, threads: int) -> int:
    """Return the number of threads, reduced if their working memory would exceed the available memory.

    Raises:
        NotEnoughMemoryError: if a single row needs more than the available memory.
    """
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    required = _BYTES_PER_PAIR * (from_cells * to_cells).astype(float)
    most = int(required.argmax())
    what = f"Two distributions that differ on {from_cells[most]:,} and {to_cells[most]:,} cells"
    check_memory(required[most], what)
    if required[most] * threads > _MUCH:
        threads = int(np.clip(available_memory() // required[most], 1, threads))
    return threads


def _masses(rows: FloatArray, are_integers: bool) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield, for each row, the cells above 0 and their mass: integers unchanged, other values normalized."""
    at, cells = np.nonzero(rows > 0)
    masses = rows[at, cells]
    starts = np.searchsorted(at, np.arange(len(rows)))
    if not are_integers:
        masses = masses / np.add.reduceat(masses, starts)[at]
    for start, end in pairwise([*starts.tolist(), len(at)]):
        yield cells[start:end], masses[start:end]
