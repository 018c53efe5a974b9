"""Solve integer transport problems exactly in plain Python, for batches too small to justify loading a solver.

The method is successive shortest paths: a source's remaining supply moves along the cheapest path until no supply is
left. Prices of the cells, carried over from path to path, make all costs nonnegative, so Dijkstra's algorithm finds
each path. All numbers are integers: nothing is rounded, and the plan is optimal. (Ahuja, Magnanti and Orlin, Network
Flows, 1993, section 9.7; the initial prices follow Jonker and Volgenant, Computing 38, 1987.)
"""

from __future__ import annotations

from operator import sub

import numpy as np

from spotball_core.typing import IntArray


def least_costs(rows: IntArray, costs: IntArray) -> IntArray:
    """Return the minimum cost of moving each row's surplus (above 0) to its deficits (below 0).

    Args:
        rows: shape (n, n_cells), integers; each row sums to 0 and is not all 0.
        costs: shape (n_cells, n_cells), nonnegative integers. The minimum costs must be below 2**63.

    Returns:
        Shape (n,), integers.

    Examples:
        >>> costs = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        >>> least_costs(np.array([[2, 1, -1, -2], [1, -1, 2, -2]]), costs)
        array([7, 3])
    """
    values = np.zeros(len(rows), dtype=np.int64)
    for i, row in enumerate(rows):
        sources, sinks = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        supply, demand, cost = row[sources], -row[sinks], costs[np.ix_(sources, sinks)]
        if len(sources) < len(sinks):
            # Solve the reversed problem. A search looks at all sinks, so fewer sinks are faster.
            supply, demand, cost = demand, supply, cost.T
        values[i] = _least_cost(supply.tolist(), demand.tolist(), cost.tolist())
    return values


def _least_cost(supply: list[int], demand: list[int], cost: list[list[int]]) -> int:
    """Return the minimum cost of one problem, and set `supply` and `demand` to 0 in place.

    A cost is never less than the sum of the prices of its source and sink; it is equal if the route carries flow.
    """
    sources, sinks = range(len(supply)), range(len(demand))
    flow = [[0] * len(demand) for _ in sources]
    of_sink = [min(costs) for costs in zip(*cost, strict=True)]
    of_source = [min(map(sub, costs, of_sink)) for costs in cost]
    # First, use every route whose cost equals its prices.
    for i in sources:
        for j in sinks:
            if cost[i][j] == of_source[i] + of_sink[j]:
                amount = min(supply[i], demand[j])
                flow[i][j] = amount
                supply[i] -= amount
                demand[j] -= amount
    for start in sources:
        while supply[start]:
            end, from_source, from_sink = _shortest_path(start, demand, cost, flow, of_source, of_sink)
            gaining, back = _arcs(start, end, from_source, from_sink)
            amount = min(supply[start], demand[end], *(flow[i][j] for i, j in back))
            for i, j in gaining:
                flow[i][j] += amount
            for i, j in back:
                flow[i][j] -= amount
            supply[start] -= amount
            demand[end] -= amount
    return sum(
        amount * each
        for flows, costs in zip(flow, cost, strict=True)
        for amount, each in zip(flows, costs, strict=True)
    )


def _shortest_path(
    start: int,
    demand: list[int],
    cost: list[list[int]],
    flow: list[list[int]],
    of_source: list[int],
    of_sink: list[int],
) -> tuple[int, list[int], dict[int, int]]:
    """Find the shortest path from a source to a sink with remaining demand, and adjust the prices in place.

    Returns:
        The sink; for each sink the previous source on its path; and for each reached source, except `start`, the
        previous sink.
    """
    distance = [each - of_source[start] - price for each, price in zip(cost[start], of_sink, strict=True)]
    from_source = [start] * len(demand)
    from_sink: dict[int, int] = {}
    open_sinks, closed = set(range(len(demand))), []
    while True:
        length = min(distance[j] for j in open_sinks)
        nearest = [j for j in open_sinks if distance[j] == length]
        end = next((j for j in nearest if demand[j]), None)
        if end is not None:
            break
        open_sinks.remove(nearest[0])
        closed.append(nearest[0])
        for i, flows in enumerate(flow):
            if flows[nearest[0]] and i != start and i not in from_sink:
                from_sink[i] = nearest[0]
                base = length - of_source[i]
                for j in open_sinks:
                    through = base + cost[i][j] - of_sink[j]
                    if through < distance[j]:
                        distance[j], from_source[j] = through, i
    of_source[start] += length
    for i, j in from_sink.items():
        of_source[i] += length - distance[j]
    for j in closed:
        of_sink[j] -= length - distance[j]
    return end, from_source, from_sink


def _arcs(
    start: int, end: int, from_source: list[int], from_sink: dict[int, int]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the arcs (source, sink) that gain flow and those that lose flow on the path from `start` to `end`."""
    gaining, back = [(from_source[end], end)], []
    while gaining[-1][0] != start:
        source = gaining[-1][0]
        back.append((source, from_sink[source]))
        gaining.append((from_source[from_sink[source]], from_sink[source]))
    return gaining, back
