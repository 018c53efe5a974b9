"""Exact transport of whole numbers at whole costs, compiled for many problems (extra `speed`).

The method is the network simplex on a tree of routes (Ahuja, Magnanti and Orlin, Network Flows, 1993, chapter 11). It
starts from routes chosen by Russell's rule (Operations Research 17, 1969), from which few steps are left. All numbers
are integers, and supplies are scaled so that every route of a tree is used: each step lowers the cost, so the method
ends, and the plan found is an optimum.

Numba compiles it when it is first called, for a few seconds, and keeps the result for later processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from spotball_core.typing import FloatArray, IntArray

_Function = TypeVar("_Function", bound=Callable[..., object])

_CLOSED = 2**60
"""Added to the rank of a cell that has nothing left; more than any cost."""

_FAR = 2**62
"""More than any rank, cost or amount."""

_BLOCK = 8
"""Sources among whose routes the next route is chosen. Fewer need more steps, and more need longer for each."""


class _Tree(NamedTuple):
    """A tree of routes over all cells, sources first.

    Prices are such that each route of the tree costs what its source and its sink are priced at together.
    """

    parent: IntArray
    depth: IntArray
    flow: IntArray
    """What moves between a cell and its parent."""
    price: IntArray
    child: IntArray
    """A cell's first child; -1 where there is none. `after` and `before` are the neighbors among its siblings."""
    after: IntArray
    before: IntArray


def _inner(function: _Function) -> _Function:
    """Compile a function that only compiled functions of this file call."""
    compiled: _Function = njit(nogil=True)(function)
    return compiled


def _kept(function: _Function) -> _Function:
    """Compile a function, and keep the result for later processes where a folder can be written."""
    try:
        compiled: _Function = njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # There is no folder to keep it in that may be written: each process compiles its own.
        compiled = njit(nogil=True)(function)
    return compiled


@_inner
def _hang(cell: int, parent: int, tree: _Tree) -> None:
    """Make a cell the first child of another."""
    tree.parent[cell] = parent
    tree.after[cell], tree.before[cell] = tree.child[parent], -1
    if tree.child[parent] >= 0:
        tree.before[tree.child[parent]] = cell
    tree.child[parent] = cell


@_inner
def _start(cost: IntArray, turned: IntArray, left: IntArray, order: IntArray, tree: _Tree) -> None:
    """Fill the tree by Russell's rule, and empty `left`, what each cell has left to move.

    The rule compares costs less the largest one of the source and of the sink. Next is a route that is best for both of
    its ends. It empties one of them, which then hangs from the other one.

    Args:
        turned: the costs with the sinks first.
        order: room for the cells in the order in which they are emptied.
    """
    n_sources, n_sinks = cost.shape
    n = n_sources + n_sinks
    # The ranks stand where the prices will.
    of_source, of_sink = tree.price[:n_sources], tree.price[n_sources:n]
    for i in range(n_sources):
        most = 0
        for j in range(n_sinks):
            most = max(most, cost[i, j])
        of_source[i] = -most
    for j in range(n_sinks):
        most = 0
        for i in range(n_sources):
            most = max(most, turned[j, i])
        of_sink[j] = -most
    for x in range(n):
        tree.child[x] = -1
    first = 0
    for k in range(n - 1):
        while left[first] == 0:
            first += 1
        i = first
        while True:
            least = _FAR
            for j in range(n_sinks):
                least = min(least, cost[i, j] + of_sink[j])
            sink = 0
            while cost[i, sink] + of_sink[sink] != least:
                sink += 1
            least = _FAR
            for j in range(n_sources):
                least = min(least, turned[sink, j] + of_source[j])
            if turned[sink, i] + of_source[i] == least:
                break
            i = 0
            while turned[sink, i] + of_source[i] != least:
                i += 1
        x, other = i, n_sources + sink
        amount = min(left[x], left[other])
        left[x] -= amount
        left[other] -= amount
        if left[x] > 0:
            x, other = other, x
        tree.price[x], tree.flow[x], order[k] = _CLOSED, amount, x
        _hang(x, other, tree)
    root = n_sources + sink
    tree.parent[root], tree.depth[root], tree.price[root] = -1, 0, 0
    for k in range(n - 2, -1, -1):
        x = order[k]
        other = tree.parent[x]
        tree.depth[x] = tree.depth[other] + 1
        tree.price[x] = cost[min(x, other), max(x, other) - n_sources] - tree.price[other]


@_inner
def _exchange(source: int, sink: int, gap: int, n_sources: int, tree: _Tree) -> None:
    """Take a route into the tree, and take out the one that is emptied.

    Args:
        gap: what the route costs beyond the prices of its ends, below 0.
    """
    # The cells from the ends up to where they meet. Routes up from a cell of the end's own kind lose what moves.
    amount, leaving, below_source = _FAR, -1, False
    x, y = source, sink
    while x != y:
        if tree.depth[x] >= tree.depth[y]:
            if x < n_sources and tree.flow[x] < amount:
                amount, leaving, below_source = tree.flow[x], x, True
            x = tree.parent[x]
        else:
            if y >= n_sources and tree.flow[y] < amount:
                amount, leaving, below_source = tree.flow[y], y, False
            y = tree.parent[y]
    meeting = x
    x, y = source, sink
    while x != meeting:
        tree.flow[x] += -amount if x < n_sources else amount
        x = tree.parent[x]
    while y != meeting:
        tree.flow[y] += amount if y < n_sources else -amount
        y = tree.parent[y]
    # What hangs from the emptied route now hangs from the new one, turned around.
    top, parent = (source, sink) if below_source else (sink, source)
    x, flow = top, amount
    while True:
        previous = tree.parent[x]
        if tree.before[x] >= 0:
            tree.after[tree.before[x]] = tree.after[x]
        else:
            tree.child[previous] = tree.after[x]
        if tree.after[x] >= 0:
            tree.before[tree.after[x]] = tree.before[x]
        _hang(x, parent, tree)
        tree.flow[x], flow = flow, tree.flow[x]
        if x == leaving:
            break
        parent, x = x, previous
    of_sources = gap if below_source else -gap
    x = top
    while True:
        tree.depth[x] = tree.depth[tree.parent[x]] + 1
        tree.price[x] += of_sources if x < n_sources else -of_sources
        if tree.child[x] >= 0:
            x = tree.child[x]
            continue
        while x != top and tree.after[x] < 0:
            x = tree.parent[x]
        if x == top:
            break
        x = tree.after[x]


@_inner
def _improve(cost: IntArray, tree: _Tree) -> None:
    """Exchange routes until none costs less than the prices of its ends."""
    n_sources, n_sinks = cost.shape
    of_sink = tree.price[n_sources : n_sources + n_sinks]
    i = idle = 0
    while idle < n_sources:
        gap, source = 0, -1
        for _ in range(min(_BLOCK, n_sources)):
            least = _FAR
            for j in range(n_sinks):
                least = min(least, cost[i, j] - of_sink[j])
            least -= tree.price[i]
            if least < gap:
                gap, source = least, i
            i = i + 1 if i + 1 < n_sources else 0
        idle += _BLOCK
        if source >= 0:
            idle, j = 0, 0
            while cost[source, j] - of_sink[j] - tree.price[source] != gap:
                j += 1
            _exchange(source, n_sources + j, gap, n_sources, tree)


@_kept
def least_costs(rows: IntArray, costs: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the least cost of moving what each row has above 0 to where it is below 0.

    Lets go of the interpreter's lock while it works.

    Args:
        rows: shape (n, n_cells), whole numbers in 64 bits, each row summing to 0. What a row moves times twice the
            number of cells stays below 2**62.
        costs: shape (n_cells, n_cells), whole numbers in 64 bits, nowhere negative. The largest one times the number
            of cells stays below 2**59.

    Returns:
        The costs modulo 2**64, shape (n,), and the costs as floats, which are rounded.
    """
    n_rows, size = rows.shape
    values, rounded = np.zeros(n_rows, np.int64), np.zeros(n_rows)
    cells, left, order = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    store, turned_store = np.empty(size * size, np.int64), np.empty(size * size, np.int64)
    parts = np.empty((7, size), np.int64)
    tree = _Tree(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6])
    for row in range(n_rows):
        n = 0
        for sign in (1, -1):
            for cell in range(size):
                if sign * rows[row, cell] > 0:
                    cells[n] = cell
                    n += 1
            if sign == 1:
                n_sources = n
        if n == 0:
            continue
        n_sinks = n - n_sources
        # Each source has one more, and the last sink takes it all. That is too little to change the plan, and no route
        # of a tree is empty.
        scale = 2 * n_sources + 1
        for x in range(n):
            left[x] = abs(rows[row, cells[x]]) * scale + (1 if x < n_sources else 0)
        left[n - 1] += n_sources
        # Packed, so that they stay in the processor's cache.
        cost = store[: n_sources * n_sinks].reshape(n_sources, n_sinks)
        turned = turned_store[: n_sources * n_sinks].reshape(n_sinks, n_sources)
        for i in range(n_sources):
            for j in range(n_sinks):
                cost[i, j] = turned[j, i] = costs[cells[i], cells[n_sources + j]]
        _start(cost, turned, left, order, tree)
        _improve(cost, tree)
        for x in range(n):
            other = tree.parent[x]
            if other >= 0:
                amount = (tree.flow[x] + n_sources) // scale
                each = cost[min(x, other), max(x, other) - n_sources]
                values[row] += amount * each
                rounded[row] += float(amount) * float(each)
    return values, rounded
