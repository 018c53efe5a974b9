"""Exact transport of whole numbers at whole costs, compiled for many small problems (extra `speed`).

The method is that of `transport_whole`, on arrays: plain Python is fastest on lists, and Numba needs arrays.

Numba compiles it when it is first called, for a few seconds, and keeps what it made for later processes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from spotball_core.typing import IntArray

_FAR = 2**62
"""Farther than any path."""


def _least_costs(rows: IntArray, costs: IntArray) -> IntArray:
    """Least cost of moving what each row has above 0 to where it is below 0.

    Lets go of the interpreter's lock while it works.

    Args:
        rows: shape (n, n_cells), whole numbers in 64 bits, each row summing to 0.
        costs: shape (n_cells, n_cells), whole numbers in 64 bits, nowhere negative. What a row moves times the largest
            of them stays below 2**63.

    Returns:
        Shape (n,), whole numbers.
    """
    n, size = rows.shape
    values = np.zeros(n, np.int64)
    sources, sinks = np.empty(size, np.int64), np.empty(size, np.int64)
    supply, demand = np.empty(size, np.int64), np.empty(size, np.int64)
    # Prices: no cost is less than those of its source and its sink together, and where something flows it is the same.
    of_source, of_sink = np.empty(size, np.int64), np.empty(size, np.int64)
    to_sink, from_source, from_sink = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    sink_seen, source_seen = np.empty(size, np.bool_), np.empty(size, np.bool_)
    flow, cost = np.empty((size, size), np.int64), np.empty((size, size), np.int64)
    for row in range(n):
        n_sources = n_sinks = 0
        for cell in range(size):
            amount = rows[row, cell]
            if amount > 0:
                sources[n_sources], supply[n_sources] = cell, amount
                n_sources += 1
            elif amount < 0:
                sinks[n_sinks], demand[n_sinks] = cell, -amount
                n_sinks += 1
        for j in range(n_sinks):
            of_sink[j] = _FAR
        for i in range(n_sources):
            for j in range(n_sinks):
                cost[i, j] = costs[sources[i], sinks[j]]
                flow[i, j] = 0
                of_sink[j] = min(of_sink[j], cost[i, j])
        # What can go where it costs no more than the prices goes there.
        for i in range(n_sources):
            of_source[i] = _FAR
            for j in range(n_sinks):
                of_source[i] = min(of_source[i], cost[i, j] - of_sink[j])
            for j in range(n_sinks):
                if cost[i, j] == of_source[i] + of_sink[j]:
                    amount = min(supply[i], demand[j])
                    flow[i, j] = amount
                    supply[i] -= amount
                    demand[j] -= amount
        # The rest goes along shortest paths.
        for start in range(n_sources):
            while supply[start] > 0:
                for j in range(n_sinks):
                    to_sink[j] = cost[start, j] - of_source[start] - of_sink[j]
                    from_source[j] = start
                    sink_seen[j] = False
                for i in range(n_sources):
                    source_seen[i] = i == start
                while True:
                    end, length = -1, _FAR
                    for j in range(n_sinks):
                        # Of equally near sinks one that lacks something ends the search.
                        if not sink_seen[j] and (
                            to_sink[j] < length or (to_sink[j] == length and demand[end] == 0 and demand[j] > 0)
                        ):
                            end, length = j, to_sink[j]
                    if demand[end] > 0:
                        break
                    sink_seen[end] = True
                    for i in range(n_sources):
                        if not source_seen[i] and flow[i, end] > 0:
                            source_seen[i], from_sink[i] = True, end
                            here = length - of_source[i]
                            for j in range(n_sinks):
                                if not sink_seen[j] and here + cost[i, j] - of_sink[j] < to_sink[j]:
                                    to_sink[j] = here + cost[i, j] - of_sink[j]
                                    from_source[j] = i
                # Prices by which all paths found cost nothing more.
                for i in range(n_sources):
                    if source_seen[i]:
                        of_source[i] += length if i == start else length - to_sink[from_sink[i]]
                for j in range(n_sinks):
                    if sink_seen[j]:
                        of_sink[j] -= length - to_sink[j]
                amount, j = min(supply[start], demand[end]), end
                while from_source[j] != start:
                    i = from_source[j]
                    j = from_sink[i]
                    amount = min(amount, flow[i, j])
                supply[start] -= amount
                demand[end] -= amount
                i, j = from_source[end], end
                while True:
                    flow[i, j] += amount
                    if i == start:
                        break
                    j = from_sink[i]
                    flow[i, j] -= amount
                    i = from_source[j]
        for i in range(n_sources):
            for j in range(n_sinks):
                values[row] += flow[i, j] * cost[i, j]
    return values


def _compiled() -> Callable[[IntArray, IntArray], IntArray]:
    try:
        kept: Callable[[IntArray, IntArray], IntArray] = njit(nogil=True, cache=True)(_least_costs)
    except RuntimeError:
        # There is no folder to keep it in that may be written: each process compiles its own.
        kept = njit(nogil=True)(_least_costs)
    return kept


least_costs = _compiled()
"""`_least_costs`, compiled."""
