"""Define the grid on an image, and the geometry of its cells.

Conventions: x runs right and y runs down, in pixels, from the image's top left corner. Rows are lettered from the top
(A, B, ..., Z, AA, ...), and columns are numbered from the left; both count from 1. A cell's area is half-open (it
includes its left and top edges, not its right and bottom edges), so each point has exactly one cell; the image's far
edges belong to the last cells. Arrays over cells run row by row: the index of row `r`, column `c` is `(r - 1) * cols +
(c - 1)`.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import DistributionError, GridError
from spotball_core.masked import without_mask
from spotball_core.service.memory import check_memory
from spotball_core.typing import BoolArray, FloatArray, IntArray

MOST_DENSE = 4096
"""Maximum number of cells for which a grid stores all distances (134 MB); for more, they are computed on demand."""

MOST_CELLS = 1_000_000
"""Maximum number of cells of a grid."""

_MOST_DIRECT = 5_000_000
"""Maximum number of distances that `distance_sums` computes on a large grid; for more, it uses Fourier transforms."""

_BLOCK = 64
"""Number of cells whose distances to all others are computed at a time."""

# Bounded, because Python raises its own error when it converts thousands of digits to a number.
_LETTERS_FIRST = re.compile(r"\s*([A-Za-z]{1,9})\s*([0-9]{1,9})\s*", re.ASCII)
_NUMBER_FIRST = re.compile(r"\s*([0-9]{1,9})\s*([A-Za-z]{1,9})\s*", re.ASCII)


def row_name(row: int) -> str:
    """Return the letters of a row counted from 1: A ... Z, AA, AB, ...

    Examples:
        >>> row_name(1), row_name(26), row_name(27), row_name(703)
        ('A', 'Z', 'AA', 'AAA')
    """
    if row < 1:
        raise GridError(f"found {row}, expected at least 1. Rows count from 1", field="row")
    name = ""
    while row:
        row, letter = divmod(row - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def row_number(name: str) -> int:
    """Return the row, counted from 1, for its letters; the inverse of `row_name`.

    Examples:
        >>> row_number("d"), row_number("AA")
        (4, 27)
    """
    number = 0
    for letter in name.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def parse_label(label: str) -> tuple[int, int]:
    """Return the row and column, counted from 1, that a label names, for a grid of any size.

    The label may be written as `D5`, `d5`, ` D 5 ` or `5D`.

    Raises:
        GridError: if the text is not a cell label.

    Examples:
        >>> parse_label("D5"), parse_label("5d"), parse_label(" aa 12 ")
        ((4, 5), (4, 5), (27, 12))
    """
    if match := _LETTERS_FIRST.fullmatch(label):
        letters, digits = match.groups()
    elif match := _NUMBER_FIRST.fullmatch(label):
        digits, letters = match.groups()
    else:
        raise GridError(
            f"{label!r} is not a cell label. Write a row letter and a column number, such as D5", code="invalid-cell"
        )
    return row_number(letters), int(digits)


@dataclass(frozen=True)
class Grid:
    """A grid of `rows` x `cols` equal cells over an image of `width` x `height` pixels.

    Examples:
        >>> grid = Grid.standard()
        >>> grid.index("D5"), grid.label(34), grid.label((4, 5))
        (34, 'D5', 'D5')
        >>> grid.centers[34].tolist()
        [288.0, 210.0]
        >>> grid.cell_at(639.9, 0), grid.cell_at(640, 360)
        ('A10', 'F10')
    """

    rows: int
    cols: int
    width: float
    height: float

    def __post_init__(self) -> None:
        for name in ("rows", "cols"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise GridError(f"found {value!r}, expected a whole number of at least 1", field=name)
        if self.rows * self.cols > MOST_CELLS:
            found = f"{self.rows:,} rows x {self.cols:,} columns"
            raise GridError(
                f"found {found}, expected at most {MOST_CELLS:,} cells. Use a coarser grid",
                code="too-large",
                field="rows, cols",
            )
        for name in ("width", "height"):
            value = getattr(self, name)
            if not (0 < value <= sys.float_info.max):
                raise GridError(f"found {value!r}, expected a positive number of pixels", field=name)

    @classmethod
    def standard(cls) -> Grid:
        """Return the grid from the paper: 6 x 10 over 640 x 360 pixels (Spot the Ball, section 3.2)."""
        return cls(rows=6, cols=10, width=640, height=360)

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}@{self.width:g}x{self.height:g}"

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return self.rows * self.cols

    @property
    def cell_width(self) -> float:
        """The width of a cell in pixels."""
        return self.width / self.cols

    @property
    def cell_height(self) -> float:
        """The height of a cell in pixels."""
        return self.height / self.rows

    @property
    def cell_area(self) -> float:
        """The area of a cell in square pixels."""
        return self.cell_width * self.cell_height

    @property
    def diagonal(self) -> float:
        """The diagonal of the image in pixels."""
        return float(np.hypot(self.width, self.height))

    # Labels, (row, column), index ----------------------------------------------------------------------------

    def position(self, cell: str | int | tuple[int, int]) -> tuple[int, int]:
        """Return the row and column, counted from 1, of a label, an index or a (row, column) pair.

        Raises:
            GridError: if the grid has no such cell.

        Examples:
            >>> Grid.standard().position("5D"), Grid.standard().position(0)
            ((4, 5), (1, 1))
        """
        if isinstance(cell, str):
            row, col = parse_label(cell)
        elif isinstance(cell, tuple):
            if len(cell) != 2:
                raise GridError(
                    f"{cell!r} is not a pair (row, column) of whole numbers from 1, such as (4, 5)", code="invalid-cell"
                )
            row, col = (_whole(number, cell) for number in cell)
        else:
            index = _whole(cell, cell)
            if not 0 <= index < self.n_cells:
                raise GridError(
                    f"index {cell} is outside the grid, whose {self.n_cells} cells "
                    f"have the indices 0 to {self.n_cells - 1}",
                    code="outside-grid",
                )
            row, col = divmod(index, self.cols)
            row, col = row + 1, col + 1
        if not (1 <= row <= self.rows and 1 <= col <= self.cols):
            raise GridError(
                f"{cell!r} is outside the grid, whose cells run from A1 to {row_name(self.rows)}{self.cols}",
                code="outside-grid",
            )
        return row, col

    def index(self, cell: str | int | tuple[int, int]) -> int:
        """Return the index, from 0, of a label, an index or a (row, column) pair; errors are those of `position`."""
        if isinstance(cell, str) and (known := self._index_of.get(cell)) is not None:
            return known
        row, col = self.position(cell)
        return (row - 1) * self.cols + col - 1

    def label(self, cell: str | int | tuple[int, int]) -> str:
        """Return the canonical label of a cell, such as `D5`; errors are those of `position`."""
        row, col = self.position(cell)
        return f"{row_name(row)}{col}"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of all cells, in index order."""
        rows = map(row_name, range(1, self.rows + 1))
        return tuple(f"{row}{col}" for row in rows for col in range(1, self.cols + 1))

    @cached_property
    def _index_of(self) -> dict[str, int]:
        """Each cell's index by its canonical label."""
        return {label: index for index, label in enumerate(self.labels)}

    def mask(self, cells: Iterable[str | int | tuple[int, int]]) -> BoolArray:
        """Return a boolean array over the cells, true for the given cells.

        Examples:
            >>> int(Grid.standard().mask(["C2", "C3"]).sum())
            2
        """
        mask = np.zeros(self.n_cells, dtype=bool)
        mask[[self.index(cell) for cell in cells]] = True
        return mask

    # Geometry ------------------------------------------------------------------------------------------------

    @cached_property
    def centers(self) -> FloatArray:
        """Centers of the cells, shape (n_cells, 2), as (x, y) in pixels. Read-only."""
        xs = (np.arange(self.cols) + 0.5) * self.cell_width
        ys = (np.arange(self.rows) + 0.5) * self.cell_height
        return _frozen(np.column_stack([np.tile(xs, self.rows), np.repeat(ys, self.cols)]))

    @cached_property
    def rectangles(self) -> FloatArray:
        """Rectangles of the cells, shape (n_cells, 4), as (x1, y1, x2, y2) in pixels. Read-only."""
        xs = np.linspace(0, self.width, self.cols + 1)
        ys = np.linspace(0, self.height, self.rows + 1)
        left, top = np.tile(xs[:-1], self.rows), np.repeat(ys[:-1], self.cols)
        right, bottom = np.tile(xs[1:], self.rows), np.repeat(ys[1:], self.cols)
        return _frozen(np.column_stack([left, top, right, bottom]))

    @cached_property
    def distances(self) -> FloatArray:
        """Euclidean distances between cell centers, shape (n_cells, n_cells), in pixels. Read-only.

        Raises:
            NotEnoughMemoryError: if they do not fit into memory; use `distances_between` or `distance_sums` then.
        """
        n = self.n_cells
        check_memory(8.0 * n * n, f"The distances between all {n:,} cells of a grid of {self.rows} x {self.cols}")
        distances = np.empty((n, n))
        cells = np.arange(n)
        for block in np.array_split(cells, -(-n // _BLOCK)):
            distances[block] = self.distances_between(block, cells)
        return _frozen(distances)

    def distances_between(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the Euclidean distances between the centers of two sets of cells, in pixels.

        Args:
            first: indices of m cells.
            second: indices of n cells.

        Returns:
            Shape (m, n); the same numbers as in `distances`.

        Examples:
            >>> Grid.standard().distances_between(np.array([0]), np.array([0, 1, 2])).tolist()
            [[0.0, 64.0, 128.0]]
        """
        x, y = self.centers.T
        distances: FloatArray = np.hypot(np.subtract.outer(x[first], x[second]), np.subtract.outer(y[first], y[second]))
        return distances

    def distances_from(self, cell: int) -> FloatArray:
        """Return the Euclidean distances from the center of the cell with this index to all cells, shape (n_cells,)."""
        if self.n_cells <= MOST_DENSE:
            row: FloatArray = self.distances[cell]
            return row
        computed: FloatArray = self.distances_between(np.array([cell]), np.arange(self.n_cells))[0]
        return computed

    def distance_sums(self, weights: ArrayLike) -> FloatArray:
        """Return, for each cell, the weighted sum of its distances to all cells, in pixels.

        On a large grid, the sums for many cells are convolutions, computed by Fourier transforms. They are exact up to
        about 1e-12 of the largest sum.

        Args:
            weights: weight of each cell, shape (..., n_cells).

        Returns:
            Shape (..., n_cells).

        Examples:
            >>> Grid(1, 3, 30, 10).distance_sums([1, 0, 2]).tolist()
            [40.0, 30.0, 20.0]
        """
        weights = np.asarray(weights, dtype=float)
        if self.n_cells <= MOST_DENSE:
            weighted: FloatArray = weights @ self.distances
            return weighted
        flat = weights.reshape(-1, self.n_cells)
        used, cells = np.flatnonzero(flat.any(axis=0)), np.arange(self.n_cells)
        if len(used) * self.n_cells > _MOST_DIRECT:
            return self._convolved(flat).reshape(weights.shape)
        sums = np.zeros(flat.shape)
        for block in np.array_split(used, -(-len(used) // _BLOCK)) if len(used) else ():
            sums += flat[:, block] @ self.distances_between(block, cells)
        return sums.reshape(weights.shape)

    def _convolved(self, flat: FloatArray) -> FloatArray:
        """Compute `distance_sums` for weights of shape (n, n_cells)."""
        # The distance of two cells depends only on their difference in rows and columns.
        down = np.arange(-self.rows, self.rows) * self.cell_height
        across = np.arange(-self.cols, self.cols) * self.cell_width
        shape = len(down), len(across)
        kernel = np.fft.rfft2(np.fft.ifftshift(np.hypot(down[:, None], across)))
        sums = np.empty(flat.shape)
        for row, weights in zip(sums, flat, strict=True):
            spectrum = np.fft.rfft2(weights.reshape(self.rows, self.cols), shape)
            row[:] = np.fft.irfft2(spectrum * kernel, shape)[: self.rows, : self.cols].reshape(-1)
        return np.maximum(sums, 0.0)

    @cached_property
    def cell_distances(self) -> FloatArray:
        """Distances between cell centers in rows and columns instead of pixels, shape (n_cells, n_cells). Read-only."""
        return Grid(self.rows, self.cols, width=self.cols, height=self.rows).distances

    @cached_property
    def center_distances(self) -> FloatArray:
        """Distance of each cell's center from the image's center, shape (n_cells,), in pixels. Read-only."""
        # Count from the center, so that the middle cell of an odd number has a distance of exactly 0.
        dx = (np.arange(self.cols) * 2 + 1 - self.cols) * (self.cell_width / 2)
        dy = (np.arange(self.rows) * 2 + 1 - self.rows) * (self.cell_height / 2)
        return _frozen(np.hypot(dx[None], dy[:, None]).reshape(-1))

    def indices_at(self, x: ArrayLike, y: ArrayLike) -> IntArray:
        """Return the index of the cell that holds each point; -1 outside the image. `x` and `y` (pixels) broadcast.

        Raises:
            GridError: for masked points.

        Examples:
            >>> Grid.standard().indices_at([0, 64, 640, 641], [0, 0, 360, 0]).tolist()
            [0, 1, 59, -1]
        """
        x, y = (np.asarray(without_mask(values, "x, y", GridError), dtype=float) for values in (x, y))
        x, y = np.broadcast_arrays(x, y)
        inside = (x >= 0) & (x <= self.width) & (y >= 0) & (y <= self.height)
        x, y = np.where(inside, x, 0), np.where(inside, y, 0)
        # Compare with the same edges as `rectangles`, so that a point always lies in its cell's rectangle.
        col = np.searchsorted(np.linspace(0, self.width, self.cols + 1)[1:-1], x, side="right")
        row = np.searchsorted(np.linspace(0, self.height, self.rows + 1)[1:-1], y, side="right")
        return np.where(inside, row * self.cols + col, -1).astype(np.int64)

    def cell_at(self, x: float, y: float) -> str:
        """Return the label of the cell that holds a point given in pixels.

        Raises:
            GridError: if the point is outside the image.
        """
        index = int(self.indices_at(x, y))
        if index < 0:
            raise GridError(
                f"point ({x}, {y}) is outside the image of {self.width:g} x {self.height:g} pixels. Give pixels",
                code="outside-grid",
            )
        return self.label(index)

    def pool(self, maps: ArrayLike) -> FloatArray:
        """Sum maps of pixels, such as heat maps, into cells.

        A map may have any resolution: it is stretched over the image. A pixel on the border of cells is divided by
        area, so the sum over the cells equals the sum over the pixels. Divide the result by its sum to get
        probabilities.

        Args:
            maps: shape (..., height, width), with the top row of pixels first.

        Returns:
            Shape (..., n_cells).

        Raises:
            DistributionError: if the maps are empty, have fewer than two axes, or have values that are not finite
                numbers.

        Examples:
            >>> grid = Grid(rows=1, cols=2, width=640, height=360)
            >>> grid.pool([[1, 2, 4], [1, 2, 4]]).tolist()
            [4.0, 10.0]
        """
        array = _maps(maps)
        height, width = array.shape[-2:]
        down, across = _overlaps(self.rows, height), _overlaps(self.cols, width)
        pooled: FloatArray = down @ array @ across.T
        return pooled.reshape(*array.shape[:-2], self.n_cells)

    def box_shares(self, boxes: ArrayLike) -> FloatArray:
        """Return the share of each cell's area that each box covers (the quotient in eq. 6 of Spot the Ball).

        Args:
            boxes: shape (..., 4), as (x1, y1, x2, y2) in pixels; a row of NaN is a missing box and covers nothing.

        Returns:
            Shape (..., n_cells), each in [0, 1].

        Raises:
            GridError: if the last axis does not have length 4, only some numbers of a box are NaN, a number is
                infinite, or a box has x2 < x1 or y2 < y1.

        Examples:
            >>> shares = Grid.standard().box_shares([32, 0, 96, 60])
            >>> shares[:3].tolist()
            [0.5, 0.5, 0.0]
        """
        x1, y1, x2, y2 = _edges(boxes)
        left, top, right, bottom = self.rectangles.T
        wide = np.clip(np.minimum(right, x2) - np.maximum(left, x1), 0, None)
        high = np.clip(np.minimum(bottom, y2) - np.maximum(top, y1), 0, None)
        # Divide by the rectangles' area, which `cell_area` rounds, so that a fully covered cell has a share of exactly
        # 1.
        shares: FloatArray = np.nan_to_num(wide * high / ((right - left) * (bottom - top)), nan=0.0)
        return shares

    def box_distances(self, boxes: ArrayLike) -> FloatArray:
        """Return the distance from each cell's center to each box, 0 inside or on it, in pixels (Spot the Ball, eq. 4).

        Args:
            boxes: shape (..., 4), as (x1, y1, x2, y2) in pixels; a row of NaN is a missing box at infinite distance.

        Returns:
            Shape (..., n_cells).

        Raises:
            GridError: in the same cases as `box_shares`.

        Examples:
            >>> float(Grid.standard().box_distances([64, 0, 128, 60])[0])
            32.0
        """
        x1, y1, x2, y2 = _edges(boxes)
        x, y = self.centers.T
        dx = np.maximum(np.maximum(x1 - x, x - x2), 0)
        dy = np.maximum(np.maximum(y1 - y, y - y2), 0)
        distances: FloatArray = np.nan_to_num(np.hypot(dx, dy), nan=np.inf, posinf=np.inf)
        return distances

    def cells_in(self, box: ArrayLike, *, min_share: float = 0.0) -> dict[str, float]:
        """Return the labels of the cells that a box covers, with the covered share of each cell's area.

        Args:
            box: (x1, y1, x2, y2) in pixels.
            min_share: exclude cells of which the box covers this share or less.

        Examples:
            >>> Grid.standard().cells_in((90.5, 140.625, 117.5, 165.375))
            {'C2': 0.174...}
        """
        shares = self.box_shares(box)
        return {self.labels[i]: float(shares[i]) for i in np.flatnonzero(shares > min_share)}


def _whole(number: SupportsIndex, cell: object) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise GridError(
            f"{cell!r} is not a cell. Give a label such as D5, an index, or a pair (row, column)", code="invalid-cell"
        ) from None


def _maps(values: ArrayLike) -> FloatArray:
    try:
        if hasattr(values, "detach"):
            values = values.detach().cpu().double()  # A PyTorch tensor, which may have gradients or be on a GPU.
        array = np.asarray(without_mask(values, "maps", DistributionError), dtype=float)
    except DistributionError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise DistributionError(
            f"expected numbers of shape (..., height, width) ({error})", code="wrong-shape", field="maps"
        ) from error
    if array.ndim < 2 or not array.size:
        raise DistributionError(
            f"found shape {array.shape}, expected (..., height, width) with at least one pixel",
            code="wrong-shape",
            field="maps",
        )
    if not np.isfinite(array).all():
        raise DistributionError("a map contains NaN or infinity. Replace these values, for example by 0", field="maps")
    return array


def _overlaps(cells: int, pixels: int) -> FloatArray:
    """Return the share of each pixel's length that each cell covers along one axis, shape (cells, pixels)."""
    # In units in which the axis is cells * pixels long, all edges are whole numbers, so the shares are exact.
    cell, pixel = np.arange(cells)[:, None] * pixels, np.arange(pixels) * cells
    overlap = np.minimum(cell + pixels, pixel + cells) - np.maximum(cell, pixel)
    shares: FloatArray = np.clip(overlap, 0, None) / cells
    return shares


def _edges(boxes: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    boxes = without_mask(boxes, "boxes", GridError, missing=np.nan)  # type: ignore[assignment]
    try:
        array = np.asarray(boxes, dtype=float)
    except (TypeError, ValueError) as error:
        raise GridError(
            f"expected an array of numbers of shape (..., 4): x1, y1, x2, y2 ({error})",
            code="invalid-boxes",
            field="boxes",
        ) from error
    if array.ndim == 0 or array.shape[-1] != 4:
        raise GridError(
            f"found shape {array.shape}, expected (..., 4): x1, y1, x2, y2", code="invalid-boxes", field="boxes"
        )
    if not (np.isfinite(array).all(axis=-1) | np.isnan(array).all(axis=-1)).all():
        raise GridError(
            "a box contains NaN or infinity. Use NaN for all four numbers of a missing box",
            code="invalid-boxes",
            field="boxes",
        )
    if np.any(array[..., 2] < array[..., 0]) or np.any(array[..., 3] < array[..., 1]):
        raise GridError(
            "a box has x2 < x1 or y2 < y1. Give corners as x1, y1, x2, y2, not x, y, width, height",
            code="invalid-boxes",
            field="boxes",
        )
    x1, y1, x2, y2 = (array[..., i, None] for i in range(4))
    return x1, y1, x2, y2


def _frozen(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
