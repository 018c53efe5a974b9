"""Exact transport of whole numbers at whole costs, in NumPy alone, for batches too small to load a solver for.

Successive shortest paths: what is left to move goes along the cheapest path, over cells that already give or take where
that is cheaper, until nothing is left. Each step moves at least one whole unit, so it ends, and along cheapest paths no
plan of the same amount ever costs less, so it ends at the optimum; nothing is rounded. All problems of a batch take
each step together. (Ahuja, Magnanti and Orlin, Network Flows, 1993, section 9.7.)
"""

from __future__ import annotations

import numpy as np

from spotball_core.grid import IntArray

_FAR = 2**60
"""Farther than any path: costs stay below 2**47 over all cells together."""


def least_costs(rows: IntArray, costs: IntArray) -> IntArray:
    """Least cost of moving what each row has above 0 to where it is below 0.

    Args:
        rows: shape (n, n_cells), whole numbers, each row summing to 0, none all 0.
        costs: shape (n_cells, n_cells), whole numbers, nowhere negative, below 2**47 / n_cells.

    Returns:
        Shape (n,), whole numbers.

    Examples:
        >>> costs = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        >>> least_costs(np.array([[2, 1, -1, -2], [1, -1, 2, -2]]), costs)
        array([7, 3])
    """
    sources, supply = _side(rows)
    sinks, demand = _side(-rows)
    cost = costs[sources[:, :, None], sinks[:, None, :]]
    flow = np.zeros_like(cost)
    values = np.zeros(len(rows), dtype=np.int64)
    at_work = np.arange(len(rows))
    while len(at_work):
        _move(supply, demand, cost, flow)
        left = supply.any(axis=1)
        if not left.all():
            values[at_work[~left]] = (flow[~left] * cost[~left]).sum(axis=(1, 2))
            at_work, supply, demand, cost, flow = (part[left] for part in (at_work, supply, demand, cost, flow))
    return values


def _side(rows: IntArray) -> tuple[IntArray, IntArray]:
    """The cells above 0 and what they hold, both (n, most cells above 0); others, holding 0, fill shorter rows."""
    above = rows > 0
    cells = np.argsort(~above, axis=1, kind="stable")[:, : above.sum(axis=1).max(initial=0)]
    return cells, np.maximum(np.take_along_axis(rows, cells, axis=1), 0)


def _move(supply: IntArray, demand: IntArray, cost: IntArray, flow: IntArray) -> None:
    """In each problem, move along one shortest path what it lets through; all arrays but the cost change in place."""
    nearest, from_source, from_sink = _paths(supply, demand, cost, flow)
    every = np.arange(len(supply))
    amount, origin = demand[every, nearest], np.zeros_like(nearest)
    there, back = [], []
    # From each path's end to its start; `on` are the problems whose path goes on.
    on, sink = every, nearest
    while len(on):
        source = origin[on] = from_source[on, sink]
        there.append((on, source, sink))
        sink = from_sink[on, source]
        goes_on = sink >= 0
        on, source, sink = on[goes_on], source[goes_on], sink[goes_on]
        back.append((on, source, sink))
        amount[on] = np.minimum(amount[on], flow[on, source, sink])
    amount = np.minimum(amount, supply[every, origin])
    for arcs in there:
        flow[arcs] += amount[arcs[0]]
    for arcs in back:
        flow[arcs] -= amount[arcs[0]]
    supply[every, origin] -= amount
    demand[every, nearest] -= amount


def _paths(supply: IntArray, demand: IntArray, cost: IntArray, flow: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Shortest paths from sources that have something left, by Bellman and Ford.

    Returns:
        In each problem: the nearest sink that lacks something, shape (n,); the source from which each sink is reached;
        and the sink by which each source is, taking back what flows there, -1 where the path starts at the source.
    """
    to_source = np.where(supply > 0, 0, _FAR)
    to_sink = np.full_like(demand, _FAR)
    from_source, from_sink = np.zeros_like(demand), np.full_like(supply, -1)
    while True:
        _nearer(to_sink, from_source, to_source[:, :, None] + cost, axis=1)
        if not _nearer(to_source, from_sink, np.where(flow > 0, to_sink[:, None, :] - cost, _FAR), axis=2):
            return np.where(demand > 0, to_sink, _FAR).argmin(axis=1), from_source, from_sink


def _nearer(distance: IntArray, origin: IntArray, ways: IntArray, axis: int) -> bool:
    """Take the ways that are shorter than what is known, in place; whether there are any."""
    best = ways.argmin(axis=axis)
    length = np.take_along_axis(ways, np.expand_dims(best, axis), axis=axis).squeeze(axis)
    # Only what is truly shorter: origins followed back then never run in a circle.
    nearer = length < distance
    distance[nearer], origin[nearer] = length[nearer], best[nearer]
    return bool(nearer.any())
