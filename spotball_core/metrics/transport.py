"""Exact transport of many differences between distributions, with the solver called bare.

A difference holds surplus (above 0) and lack (below 0) over the cells and sums to 0. What has a closed form gets it,
what occurs more than once is solved once, and the rest goes to the network simplex of the Python Optimal Transport
library, without the checks that `ot.emd2` repeats for each pair and that take several times as long as the solver.

Differences in whole numbers are solved in whole steps of cost (`step_of`): their least cost is one whole number, and no
rounding is left for a solver to do its own way. So a few of them need not wait for the library, which takes most of a
second to load: `transport_whole` finds the same to the last bit. And very many of them go to `transport_numba`, where
the extra `speed` is installed: it takes a whole batch at once, and several threads do share it.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from spotball_core.errors import DistributionError
from spotball_core.grid import FloatArray, IntArray
from spotball_core.metrics.transport_whole import least_costs

_MAX_PIVOTS = 10_000_000
_LARGE = 600
"""Threads share problems of at least as many sources times sinks. The solver lets go of the interpreter's lock while it
works, but what it needs for smaller ones is less than handing the lock over takes: two threads were slower than one."""

_CHUNK, _SHARED_CHUNK = 1024, 16
"""Problems taken at a time: by one thread alone, and by each of several, which shall end together."""

_FOR_THREADS = 200
"""Problems that Numba solves in the time it takes to start a thread, many times over."""

MOST_WHOLE = 2**20
"""What may be moved at most in a difference of whole numbers: times the steps of a cost it stays below 2**63."""

_BITS = 47
"""Steps of all cells' costs together stay below two to this: the compiled solver, whose numbers are floats and who
takes 2e-15 of a path's length for nothing, then still sees each step."""

_LEAST_STEPS = 2**33
"""Steps that the shortest distance has at least; half a step is then 6e-11 of it."""

_light_work_left = 4e6
"""How much `transport_whole` may still do in this process before the library is worth its loading, which takes about as
long. It decides on time only: both find the same."""

_left_before_numba: float = 50_000
"""How many problems may still be solved in this process before Numba is worth its loading. It decides on time only."""


def transport(
    differences: FloatArray, cost: FloatArray, threads: int | None = None, *, whole: bool = False
) -> FloatArray:
    """Least cost of moving each difference's surplus to where it lacks.

    Args:
        differences: shape (n, n_cells), finite, each row summing to 0 but for rounding.
        cost: shape (n_cells, n_cells), finite, nowhere negative.
        threads: how many share the large problems, 1 or more; one a processor if left out. The result is the same.
        whole: solve in steps of the cost. Then the differences are whole numbers, of which each row moves at most
            `MOST_WHOLE`, and the cost has steps (`step_of`).

    Returns:
        Shape (n,); 0 where nothing is to be moved.

    Raises:
        DistributionError: where the solver does not reach the optimum.

    Examples:
        >>> cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
        >>> transport(np.array([[0.5, 0.5, -0.5, -0.5], [0, 0, 0, 0]]), cost)
        array([2., 0.])
        >>> transport(np.array([[1.0, 1, -1, -1], [0, 0, 0, 0]]), cost, whole=True)
        array([4., 0.])
    """
    rows, places = _distinct(differences)
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    values = np.zeros(len(rows))
    moves = (from_cells > 0) & (to_cells > 0)
    for signed, lone in ((rows, moves & (from_cells == 1)), (-rows, moves & (to_cells == 1))):
        values[lone] = _from_one_cell(signed[lone], cost)
    several, large = (from_cells > 1) & (to_cells > 1), from_cells * to_cells >= _LARGE
    step = step_of(cost) if whole else 1.0
    assert step is not None
    if whole:
        cost = np.rint(cost / step)
        if _is_light(from_cells[several], to_cells[several]):
            values[several] = least_costs(rows[several].astype(np.int64), cost.astype(np.int64)) * step
            return values[places]
    threads = threads or _processors()
    small = several & ~large
    if whole and (least := _numba(int(small.sum()))):
        values[small] = _shared(least, rows[small], cost, threads) * step
        small[:] = False
    for chosen, sharing in ((small, 1), (several & large, threads)):
        if chosen.any():
            values[chosen] = _solve(rows[chosen], cost, sharing, whole) * step
    return values[places]


def step_of(cost: FloatArray) -> float | None:
    """The step that whole costs are counted in, a power of two; None where it is too coarse for the shortest one."""
    step = 2.0 ** (math.frexp(cost.max())[1] - _BITS + math.ceil(math.log2(len(cost))))
    return step if cost.min(where=cost > 0, initial=math.inf) >= _LEAST_STEPS * step > 0 else None


def transport_on_a_line(differences: FloatArray, step: float) -> FloatArray:
    """As `transport`, for cells in a row with `step` between neighbors: what passes each border, times the step."""
    passing: FloatArray = np.abs(differences.cumsum(axis=-1)[..., :-1]).sum(axis=-1)
    return passing * step


def _distinct(differences: FloatArray) -> tuple[FloatArray, IntArray]:
    """Rows without repetition, and for each row its place among them."""
    # Compared as bytes, which is far faster than number by number.
    keys = np.ascontiguousarray(differences).view(f"V{differences.shape[1] * differences.itemsize}").reshape(-1)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return differences[first], places


def _from_one_cell(rows: FloatArray, cost: FloatArray) -> FloatArray:
    """Cost where one cell has all surplus: every lack is met from there, so there is but one plan."""
    demand = np.maximum(-rows, 0.0)
    demand *= rows.max(axis=-1, keepdims=True) / demand.sum(axis=-1, keepdims=True)
    value: FloatArray = (demand * cost[rows.argmax(axis=-1)]).sum(axis=-1)
    return value


def _is_light(from_cells: IntArray, to_cells: IntArray) -> bool:
    """Whether problems of these sizes are better solved without the library; what is granted counts as used."""
    global _light_work_left
    most_from, most_to = from_cells.max(initial=0), to_cells.max(initial=0)
    # Paths to find, and what each costs: looking at all pairs of cells, and as much as for 1000 of them in any case.
    work = (most_from + most_to) * (len(from_cells) * most_from * most_to + 1000)
    if "ot" in sys.modules or work > _light_work_left:
        return False
    _light_work_left -= work
    return True


def _numba(n: int) -> Callable[[IntArray, IntArray], IntArray] | None:
    """`transport_numba` for so many problems, once it is worth its loading; None before, and without the extra."""
    global _left_before_numba
    _left_before_numba -= n
    if _left_before_numba > 0 or not find_spec("numba"):
        return None
    from spotball_core.metrics.transport_numba import least_costs

    return least_costs


def _shared(
    solve: Callable[[IntArray, IntArray], IntArray], rows: FloatArray, cost: FloatArray, threads: int
) -> FloatArray:
    """What a solver that lets go of the interpreter's lock finds, of whole numbers, the rows shared among threads."""
    whole, costs = rows.astype(np.int64), cost.astype(np.int64)
    if threads == 1 or len(rows) < _FOR_THREADS:
        return solve(whole, costs).astype(float)
    from concurrent.futures import ThreadPoolExecutor

    # In more parts than threads, which shall end together.
    parts = np.array_split(whole, 4 * threads)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda part: solve(part, costs), parts))).astype(float)


def _solve(rows: FloatArray, cost: FloatArray, threads: int, whole: bool) -> FloatArray:
    """Cost of rows that have several cells on both sides, by the compiled solver."""
    # Imported here: POT looks for every array library there is, which costs most of a second.
    from ot.lp.emd_wrap import check_result, emd_c

    size = _CHUNK if threads == 1 else _SHARED_CHUNK

    def solve(start: int) -> tuple[FloatArray, set[int]]:
        chunk = rows[start : start + size]
        moved = np.maximum(chunk, 0.0).sum(axis=-1)
        # Where the solver's own sum would round, it is taken again in whole numbers.
        rounds = whole & (moved * cost.max() >= 2**53)
        values: FloatArray = np.empty(len(chunk))
        codes: set[int] = set()
        sides = zip(_masses(chunk, whole), _masses(-chunk, whole), strict=True)
        for i, ((sources, supply), (sinks, demand)) in enumerate(sides):
            costs = cost.take(sources, 0).take(sinks, 1)
            plan, values[i], _, _, code = emd_c(supply, demand, costs, _MAX_PIVOTS, 1)
            codes.add(code)
            if rounds[i]:
                values[i] = np.vdot(plan.astype(np.int64), costs.astype(np.int64))
        return values if whole else values * moved, codes

    starts = range(0, len(rows), size)
    if threads == 1:
        solved = [solve(start) for start in starts]
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            solved = list(pool.map(solve, starts))
    for code in set().union(*(codes for _, codes in solved)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = check_result(code)
        if problem is not None:
            raise DistributionError(f"the transport solver did not reach the optimum: {problem}")
    return np.concatenate([values for values, _ in solved])


def _masses(rows: FloatArray, whole: bool) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each row, the cells above 0 and what is on each: whole numbers as they are, others over their sum."""
    at, cells = np.nonzero(rows > 0)
    masses = rows[at, cells]
    starts = np.searchsorted(at, np.arange(len(rows)))
    if not whole:
        masses = masses / np.add.reduceat(masses, starts)[at]
    for start, end in pairwise([*starts.tolist(), len(at)]):
        yield cells[start:end], masses[start:end]


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
