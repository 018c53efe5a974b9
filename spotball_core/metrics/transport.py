"""Exact transport of many differences between distributions, with the solver called bare.

A difference holds surplus (above 0) and lack (below 0) over the cells and sums to 0. What has a closed form gets it,
what occurs more than once is solved once, and the rest goes to the network simplex of the Python Optimal Transport
library, without the checks that `ot.emd2` repeats for each pair and that take several times as long as the solver.

Differences in whole numbers are solved in whole steps of cost (`step_of`). Their least cost is one whole number, so
every solver finds the same number to the last bit. Which solver is used depends only on the problems of the call: a few
small ones go to `transport_whole`, which needs no library (POT takes about a second to load); very many small ones go
to `transport_numba` where the extra `speed` is installed; all others go to POT.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Protocol

import numpy as np

from spotball_core.errors import DistributionError
from spotball_core.metrics.transport_whole import least_costs
from spotball_core.service.memory import available_memory, check_memory
from spotball_core.typing import FloatArray, IntArray

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

_MOST_PAIRS = 5_000
"""Sources times sinks, summed over the problems of a call, up to which `transport_whole` solves them: about 25 ms of
work, far less than POT takes to load."""

_BYTES_PER_PAIR = 48
"""What the compiled solver and the making of its costs take for each source and sink, measured and rounded up."""

_MUCH = 2**30
"""Bytes from which it matters how much memory there is."""

_LEAST_FOR_NUMBA = 10_000
"""Small problems in a call from which on `transport_numba` solves them: it then takes about as long as POT, loading
included."""


class Costs(Protocol):
    """What moving one unit from cell to cell costs.

    Attributes:
        longest: the largest cost between any two cells.
    """

    @property
    def longest(self) -> float:
        """The largest cost between any two cells."""
        ...

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        """The costs from m cells to n cells, given by their indices, shape (m, n)."""
        ...


def transport(
    differences: FloatArray, cost: FloatArray, threads: int | None = None, *, step: float | None = None
) -> FloatArray:
    """Least cost of moving each difference's surplus to where it lacks.

    Args:
        differences: shape (n, n_cells), finite, each row summing to 0 but for rounding.
        cost: shape (n_cells, n_cells), finite, nowhere negative.
        threads: how many share the large problems, 1 or more; one a processor if left out. The result is the same.
        step: solve in whole steps of the cost (`step_of`). Then the differences are whole numbers, of which each row
            moves at most `MOST_WHOLE`.

    Returns:
        Shape (n,); 0 where nothing is to be moved.

    Raises:
        DistributionError: where the solver does not reach the optimum.
        NotEnoughMemoryError: if a problem needs more memory than there is.

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
    several, large = (from_cells > 1) & (to_cells > 1), from_cells * to_cells >= _LARGE
    if step is not None:
        cost = np.rint(cost / step)
        if (from_cells * to_cells)[several].sum() <= _MOST_PAIRS:
            values[several] = least_costs(rows[several].astype(np.int64), cost.astype(np.int64)) * step
            return values[places]
    threads = threads or _processors()
    small = several & ~large
    if step is not None and (least := _numba(int(small.sum()))):
        values[small] = _shared(least, rows[small], cost, threads) * step
        small[:] = False
    for chosen, sharing in ((small, 1), (several & large, threads)):
        if chosen.any():
            values[chosen] = _solve(rows[chosen], _Table(cost), sharing, step is not None) * (step or 1.0)
    return values[places]


def transport_of_few(
    differences: FloatArray, costs: Costs, threads: int | None = None, *, step: float | None = None
) -> FloatArray:
    """As `transport`, on a grid of so many cells that the costs between all of them would not fit into memory.

    Each problem needs only the costs from the cells with surplus to those that lack.

    Args:
        step: as in `transport`, of the grid's costs (`step_for`).
    """
    rows, places = _distinct(differences)
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    values = np.zeros(len(rows))
    for i in np.flatnonzero((from_cells > 0) & (to_cells > 0) & (np.minimum(from_cells, to_cells) == 1)):
        row = rows[i] if from_cells[i] == 1 else -rows[i]
        cells = np.flatnonzero(row)
        values[i] = _from_one_cell(row[None, cells], costs.between(row.argmax(keepdims=True), cells))[0]
    several, large = (from_cells > 1) & (to_cells > 1), from_cells * to_cells >= _LARGE
    for chosen, sharing in ((several & ~large, 1), (several & large, threads or _processors())):
        if chosen.any():
            in_steps = costs if step is None else _InSteps(costs, step)
            values[chosen] = _solve(rows[chosen], in_steps, sharing, step is not None) * (step or 1.0)
    return values[places]


def step_of(cost: FloatArray) -> float | None:
    """The step that whole costs are counted in, a power of two; None where it is too coarse for the shortest one."""
    return step_for(cost.max(), cost.min(where=cost > 0, initial=math.inf), len(cost))


def step_for(longest: float, shortest: float, n_cells: int) -> float | None:
    """As `step_of`, from the largest cost, the smallest one that is not 0, and the number of cells."""
    step = 2.0 ** (math.frexp(longest)[1] - _BITS + math.ceil(math.log2(n_cells)))
    return step if shortest >= _LEAST_STEPS * step > 0 else None


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


def _from_one_cell(rows: FloatArray, costs: FloatArray) -> FloatArray:
    """Cost where one cell has all surplus: every lack is met from there, so there is but one plan.

    Args:
        costs: from that cell to all, for each row.
    """
    demand = np.maximum(-rows, 0.0)
    demand *= rows.max(axis=-1, keepdims=True) / demand.sum(axis=-1, keepdims=True)
    value: FloatArray = (demand * costs).sum(axis=-1)
    return value


def _numba(n: int) -> Callable[[IntArray, IntArray], IntArray] | None:
    """Return `transport_numba`'s solver if there are enough problems and Numba is installed."""
    if n < _LEAST_FOR_NUMBA or not find_spec("numba"):
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


@dataclass(frozen=True, slots=True)
class _Table:
    """Costs between all cells, in steps where they are solved in steps."""

    cost: FloatArray

    @property
    def longest(self) -> float:
        return float(self.cost.max())

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        found: FloatArray = self.cost.take(sources, 0).take(sinks, 1)
        return found


@dataclass(frozen=True, slots=True)
class _InSteps:
    """Costs in whole steps."""

    costs: Costs
    step: float

    @property
    def longest(self) -> float:
        return round(self.costs.longest / self.step)

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        found: FloatArray = np.rint(self.costs.between(sources, sinks) / self.step)
        return found


def _solve(rows: FloatArray, costs: Costs, threads: int, whole: bool) -> FloatArray:
    """Cost of rows that have several cells on both sides, by the compiled solver."""
    threads = _within_memory(rows, threads)
    # Imported here: POT looks for every array library there is, which costs most of a second.
    from ot.lp.emd_wrap import check_result, emd_c

    size = _CHUNK if threads == 1 else _SHARED_CHUNK

    def solve(start: int) -> tuple[FloatArray, set[int]]:
        chunk = rows[start : start + size]
        moved = np.maximum(chunk, 0.0).sum(axis=-1)
        # Where the solver's own sum would round, it is taken again in whole numbers.
        rounds = whole & (moved * costs.longest >= 2**53)
        values: FloatArray = np.empty(len(chunk))
        codes: set[int] = set()
        sides = zip(_masses(chunk, whole), _masses(-chunk, whole), strict=True)
        for i, ((sources, supply), (sinks, demand)) in enumerate(sides):
            between = costs.between(sources, sinks)
            plan, values[i], _, _, code = emd_c(supply, demand, between, _MAX_PIVOTS, 1)
            codes.add(code)
            if rounds[i]:
                values[i] = np.vdot(plan.astype(np.int64), between.astype(np.int64))
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


def _within_memory(rows: FloatArray, threads: int) -> int:
    """How many threads may share the rows, so that what each of them has in hand fits into memory.

    Raises:
        NotEnoughMemoryError: if a single row does not fit.
    """
    from_cells, to_cells = (rows > 0).sum(axis=-1), (rows < 0).sum(axis=-1)
    required = _BYTES_PER_PAIR * (from_cells * to_cells).astype(float)
    most = int(required.argmax())
    what = f"Two distributions that differ on {from_cells[most]:,} and {to_cells[most]:,} cells"
    check_memory(required[most], what)
    if required[most] * threads > _MUCH:
        threads = int(np.clip(available_memory() // required[most], 1, threads))
    return threads


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
