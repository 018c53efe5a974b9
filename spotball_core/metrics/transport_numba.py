"""Solve integer transport problems exactly with compiled code, for many problems (extra `speed`).

The method is the network simplex on a tree of routes (Ahuja, Magnanti and Orlin, Network Flows, 1993, chapter 11). It
starts from routes chosen by Russell's rule (Operations Research 17, 1969), so that few steps remain. All numbers are
integers, and supplies are scaled so that every route of a tree carries flow. Each step therefore lowers the cost, the
method terminates, and the plan is optimal.

Numba compiles the code at the first call, which takes a few seconds, and caches it for later processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from spotball_core.typing import FloatArray, IntArray

_Function = TypeVar("_Function", bound=Callable[..., object])

_CLOSED = 2**60
"""Rank (see `_start`) of a cell without remaining supply or demand; larger than any cost."""

_FAR = 2**62
"""A number larger than any rank, cost or amount."""

_BLOCK = 8
"""Number of sources whose routes are compared to choose the next route.

With fewer sources, more steps are needed. With more sources, each step takes longer.
"""


class _Tree(NamedTuple):
    """A tree of routes that connects all cells; sources have the first indices.

    The cost of each route in the tree equals the sum of the prices of its source and its sink.
    """

    parent: IntArray
    depth: IntArray
    flow: IntArray
    """The amount that moves between a cell and its parent."""
    price: IntArray
    child: IntArray
    """A cell's first child; -1 if there is none. `after` and `before` are a cell's next and previous sibling."""
    after: IntArray
    before: IntArray


def _inner(function: _Function) -> _Function:
    """Compile a function without caching it, because only compiled functions of this module call it."""
    compiled: _Function = njit(nogil=True)(function)
    return compiled


def _kept(function: _Function) -> _Function:
    """Compile a function, and cache the result for later processes if the cache folder is writable."""
    try:
        compiled: _Function = njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # There is no writable cache folder, so each process compiles its own copy.
        compiled = njit(nogil=True)(function)
    return compiled


@_inner
def _hang(cell: int, parent: int, tree: _Tree) -> None:
    """Make a cell the first child of another cell."""
    tree.parent[cell] = parent
    tree.after[cell], tree.before[cell] = tree.child[parent], -1
    if tree.child[parent] >= 0:
        tree.before[tree.child[parent]] = cell
    tree.child[parent] = cell


@_inner
def _start(cost: IntArray, turned: IntArray, left: IntArray, order: IntArray, tree: _Tree) -> None:
    """Fill the tree by Russell's rule, and use up `left`, the remaining amount of each cell.

    The rule rates a route by its cost minus the largest costs of its source and of its sink; lower is better. A cell's
    rank is the negative of its largest cost. The next route is the best route for both its source and its sink. The
    flow on this route empties one of the two cells, which then becomes a child of the other cell.

    Args:
        turned: the transposed costs, shape (n_sinks, n_sources).
        order: an output array for the cells in the order in which they are emptied.
    """
    n_sources, n_sinks = cost.shape
    n = n_sources + n_sinks
    # The ranks temporarily use the array of prices.
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
    """Add a route to the tree, and remove the route that is emptied.

    Args:
        gap: the route's cost minus the prices of its ends, below 0.
    """
    # Visit the cells from both ends up to their common ancestor. Routes up from a cell of the end's own kind lose flow.
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
    # The subtree of the emptied route now hangs from the new route, in reversed direction.
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
    """Exchange routes until no route costs less than the prices of its ends."""
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
    """Return the minimum cost of moving each row's positive amounts to its negative ones.

    The function releases the interpreter's lock while it works.

    Args:
        rows: shape (n, n_cells), 64-bit integers; each row sums to 0. A row's moved amount times twice the number of
            cells must stay below 2**62.
        costs: shape (n_cells, n_cells), nonnegative 64-bit integers. The largest cost times the number of cells must
            stay below 2**59.

    Returns:
        The costs modulo 2**64, shape (n,), and the costs as rounded floats.
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
        # Each source gets one extra unit, and the last sink receives all of them. This is too little to change the
        # plan, and no route of a tree is empty.
        scale = 2 * n_sources + 1
        for x in range(n):
            left[x] = abs(rows[row, cells[x]]) * scale + (1 if x < n_sources else 0)
        left[n - 1] += n_sources
        # Copy into a compact array, so that it stays in the processor's cache.
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
