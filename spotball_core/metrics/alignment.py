"""Compute alignment with people: the distance between two distributions of guesses (Spot the Ball, section 4.5, eq. 3).

Distances are Wasserstein-1 with Euclidean cost between cell centers. This cost is a metric, so mass that two
distributions share on a cell does not move in an optimal plan. Only their differences are transported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from spotball_core.errors import OptionError, unknown_name
from spotball_core.grid import MOST_DENSE, Grid
from spotball_core.metrics.inputs import Guesses, grid_for, pair_of, ratio, unwrap
from spotball_core.metrics.matched import DISTANCE, matched
from spotball_core.metrics.metric import Unit, metric
from spotball_core.metrics.transport import (
    MOST_COUNTED,
    MOST_MOVED,
    step_of,
    transport,
    transport_of_few,
    transport_on_a_line,
)
from spotball_core.typing import BoolArray, FloatArray, IntArray

_NOISE = 1e-15
"""Differences in probability up to this size are rounding errors of the normalization, not mass."""

_CLOSE = 1e-3
"""Limit of the total absolute difference below which distributions are subtracted exactly, to avoid rounding errors."""


@metric(
    title="Wasserstein distance",
    symbol="W",
    unit="px",
    direction="lower",
    equation="3",
    needs=("reference",),
    family="alignment",
    by_size=True,
    unit_option="wasserstein_unit",
    options=lambda data: {"unit": data.options.wasserstein_unit, "grid": data.grid},
)
def wasserstein(
    guesses: Guesses,
    reference: Guesses,
    *,
    unit: Unit = "px",
    grid: Grid | None = None,
    threads: int | None = None,
) -> FloatArray:
    r"""Compute the exact two-dimensional Wasserstein distance between two distributions over the cells (eq. 3).

    $$W(P, Q) = \min_{\gamma \ge 0} \sum_{j,k} \gamma_{jk} D_{jk}
    \quad \text{s.t. } \sum_k \gamma_{jk} = P_j,\ \sum_j \gamma_{jk} = Q_k$$

    Both sides are normalized to sum to 1; unparsed answers are excluded. The transport problem is solved exactly. On
    the grid from the paper, and on most grids of up to 250 cells, it is solved in integers, so every solver returns an
    identical result.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        reference: the distribution to compare with, in the same forms; the leading axes of arrays broadcast.
        unit: "px" for pixels between cell centers, "cell" for distances in rows and columns, "diagonal" for shares of
            the image's diagonal.
        grid: the grid (default: the grid from the paper).
        threads: number of threads for large problems, at least 1 (default: one per processor). It does not change the
            result.

    Returns:
        Shape (...), in [0, diagonal], lower is closer. NaN if either side is empty.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length, or if the solver does not reach
            the optimum.
        OptionError: for an unknown unit, or threads below 1.

    Examples:
        >>> float(wasserstein(["D5", "D6"], ["D5", "D8"]))  # half of the mass moves 2 cells of 64 pixels
        64.0
    """
    if threads is not None and threads < 1:
        raise OptionError(f"found {threads}, expected at least 1", field="threads")
    grid = grid_for(grid)
    costs = _Costs(*_grid_and_scale(grid, unit))
    p, q = _pair(guesses, reference, grid)
    flat_p, flat_q = p.reshape(-1, grid.n_cells), q.reshape(-1, grid.n_cells)
    known = np.flatnonzero(flat_p.any(axis=-1) & flat_q.any(axis=-1))
    flat_p, flat_q = flat_p[known], flat_q[known]
    if min(grid.rows, grid.cols) == 1:
        values = transport_on_a_line(_differences(flat_p, flat_q), costs.shortest)
    elif grid.n_cells > MOST_DENSE:
        values = transport_of_few(_differences(flat_p, flat_q), costs, threads)
    else:
        values = _from_table(flat_p, flat_q, cost_matrix(grid, unit), threads)
    out = np.full(p.shape[:-1], np.nan)
    out.reshape(-1)[known] = values
    return unwrap(out)


wasserstein_matched = matched(wasserstein, by=DISTANCE, symbol="Ŵ")
r"""Estimate the mean of `wasserstein` over images, independent of both sides' numbers of responses.

The distance between counted distributions is too large: two samples of the same people have a distance of 18 px if
each has 150 responses per image, and of 48 px if one has 10 and the other 150. The mean over images is corrected by

$$\hat W^2 = W_n^2 - \frac{W_{n/2}^2 - W_n^2}{\rho - 1}$$

with W(n/2) the distance between random halves of both sides' responses. The ratio rho, about 2, is measured on the
reference (`spotball_core.metrics.sampling`). The error depends on the spread of the guesses, the number of responses
and the distance. It is a few pixels for distances above 40 px and at least 20 responses per image, but can exceed the
distance if that is short and guesses are widely spread; `docs/explanation/statistics.md` has tables.

It takes the arguments of `wasserstein` for several images (arrays of shape (..., n_images, n_cells)), and `seed` and
`draws`, the seed and the number of random splits into halves. The value is near 0, possibly below 0, for a respondent
that answers like the reference. Images with fewer than 2 responses, or fewer than 4 of the reference, are excluded; NaN
if no image remains.
"""


@metric(
    title="1D Wasserstein distance",
    symbol="W1D",
    unit="px",
    direction="lower",
    needs=("reference",),
    family="alignment",
    by_size=True,
    options=lambda data: {"grid": data.grid},
)
def wasserstein_1d(guesses: Guesses, reference: Guesses, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the mean of the one-dimensional Wasserstein distances of the columns and of the rows, in pixels.

    $$W_{1D} = \tfrac12 \Big(\sum_c |F_P(c) - F_Q(c)|\, w + \sum_r |G_P(r) - G_Q(r)|\, h\Big)$$

    with F and G the cumulative distributions over columns and rows, and w and h a cell's width and height. The paper's
    supplement (8.1) names SciPy's `wasserstein_distance` with "coordinate weights", which is one-dimensional. This
    function implements the natural reading of that text, for comparison. It ignores the joint distribution of rows and
    columns.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        reference: the distribution to compare with, in the same forms; the leading axes of arrays broadcast.
        grid: the grid (default: the grid from the paper).

    Returns:
        Shape (...), in [0, (width + height) / 2], lower is closer. NaN if either side is empty.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.

    Examples:
        >>> float(wasserstein_1d(["D5", "D6"], ["D5", "D8"]))
        32.0
    """
    grid = grid_for(grid)
    p, q = _pair(guesses, reference, grid)
    p, q = ratio(p, p.sum(axis=-1, keepdims=True)), ratio(q, q.sum(axis=-1, keepdims=True))
    difference = (p - q).reshape(*p.shape[:-1], grid.rows, grid.cols)
    along_x = np.abs(difference.sum(axis=-2).cumsum(axis=-1)).sum(axis=-1) * grid.cell_width
    along_y = np.abs(difference.sum(axis=-1).cumsum(axis=-1)).sum(axis=-1) * grid.cell_height
    return unwrap((along_x + along_y) / 2)


wasserstein_1d_matched = matched(wasserstein_1d, by=DISTANCE, symbol="Ŵ1D")
"""Estimate the mean of `wasserstein_1d` over images, independent of both sides' numbers of responses.

Arguments and correction are those of `wasserstein_matched`, without `unit`.
"""


def cost_matrix(grid: Grid, unit: Unit) -> FloatArray:
    """Return the distances between cells in a unit, shape (n_cells, n_cells); raise OptionError for an unknown unit."""
    if unit == "cell":
        return grid.cell_distances
    _, scale = _grid_and_scale(grid, unit)
    return grid.distances / scale if scale != 1 else grid.distances


@dataclass(frozen=True)
class _Costs:
    """Distances between the cells of a grid in a unit, computed on demand; see `transport.Costs`."""

    grid: Grid
    scale: float

    @cached_property
    def longest(self) -> float:
        return float(self.between(np.array([0]), np.array([self.grid.n_cells - 1]))[0, 0])

    @cached_property
    def shortest(self) -> float:
        """The smallest distance above 0; 0 on a grid of one cell."""
        cells = np.arange(self.grid.n_cells).reshape(self.grid.rows, self.grid.cols)
        along = [self.between(line[:1], line[1:2]) for line in (cells[0], cells[:, 0])]
        return min((float(cost[0, 0]) for cost in along if cost.size), default=0.0)

    def between(self, sources: IntArray, sinks: IntArray) -> FloatArray:
        distances = self.grid.distances_between(sources, sinks)
        return distances / self.scale if self.scale != 1 else distances


def _grid_and_scale(grid: Grid, unit: Unit) -> tuple[Grid, float]:
    """Return a grid, and the number to divide its distances between cells by to get distances in the unit."""
    if unit == "px":
        return grid, 1.0
    if unit == "cell":
        return Grid(grid.rows, grid.cols, width=grid.cols, height=grid.rows), 1.0
    if unit == "diagonal":
        return grid, grid.diagonal
    raise OptionError(unknown_name("unit", str(unit), ("px", "cell", "diagonal")), code="unknown-name", field="unit")


def _pair(guesses: Guesses, reference: Guesses, grid: Grid) -> tuple[FloatArray, FloatArray]:
    p, q = np.broadcast_arrays(*pair_of(guesses, reference, grid))
    return p, q


def _from_table(p: FloatArray, q: FloatArray, cost: FloatArray, threads: int | None) -> FloatArray:
    """Return the distance between each row of `p` and the same row of `q`, given the costs between all cells."""
    step = step_of(cost)
    if step is None:
        return transport(_differences(p, q), cost, threads)
    values, counts = np.empty(len(p)), _are_counts(p, q)
    for chosen, in_whole_numbers in ((counts, _differences_of_counts), (~counts, _differences_of_shares)):
        if chosen.any():
            differences, parts = in_whole_numbers(p[chosen], q[chosen])
            values[chosen] = transport(differences, cost, threads, step=step) / parts
    return values


def _are_counts(p: FloatArray, q: FloatArray) -> BoolArray:
    """Return for which rows `p` and `q` are integers that are small enough for `transport` to solve exactly."""
    p_sum, q_sum = p.sum(axis=-1), q.sum(axis=-1)
    are_counts: BoolArray = (
        (p == np.floor(p)).all(axis=-1) & (q == np.floor(q)).all(axis=-1) & (np.maximum(p_sum, q_sum) <= MOST_COUNTED)
    )
    are_counts[are_counts] = (
        np.lcm(p_sum[are_counts].astype(np.int64), q_sum[are_counts].astype(np.int64)) <= MOST_COUNTED
    )
    return are_counts


def _differences_of_counts(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return integer differences between distributions given as counts, and the integer that represents a mass of 1."""
    p_sum, q_sum = p.sum(axis=-1), q.sum(axis=-1)
    total = np.lcm(p_sum.astype(np.int64), q_sum.astype(np.int64)).astype(float)
    differences: FloatArray = p * (total / p_sum)[:, None] - q * (total / q_sum)[:, None]
    # Divide by common factors, so that proportional counts are solved only once.
    shared = np.maximum(np.gcd.reduce(differences.astype(np.int64), axis=-1), 1)
    return differences / shared[:, None], total / shared


def _differences_of_shares(p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what `_differences_of_counts` returns, but for any mass, with an error below 1e-14 of the moved mass."""
    differences = _differences(p, q)
    # Use half of the limit of `transport`, so that rounding up stays below it.
    parts: FloatArray = MOST_MOVED / 2 / 2.0 ** np.frexp(np.abs(differences).sum(axis=-1) / 2)[1]
    differences = np.rint(differences * parts[:, None])
    rows, most = np.arange(len(differences)), np.abs(differences).argmax(axis=-1)
    differences[rows, most] -= differences.sum(axis=-1)
    return differences, parts


def _differences(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the differences between normalized distributions, row by row; rounding errors are set to 0."""
    differences: FloatArray = p / p.sum(axis=-1, keepdims=True) - q / q.sum(axis=-1, keepdims=True)
    differences[np.abs(differences) <= _NOISE] = 0.0
    sizes = np.abs(differences).sum(axis=-1)
    for i in np.flatnonzero((sizes > 0) & (sizes < _CLOSE)):
        own_masses, others = list(map(Fraction, p[i].tolist())), list(map(Fraction, q[i].tolist()))
        p_sum, q_sum = sum(own_masses), sum(others)
        differences[i] = [float(a / p_sum - b / q_sum) for a, b in zip(own_masses, others, strict=True)]
    return differences
