"""Frames and columns of other libraries, brought to what the metrics and the readers take.

Whatever shows its columns as Arrow data (pandas, Polars, PyArrow, DuckDB and others) or as arrays will do; none of
these libraries is needed for it. Columns named for cells or for a box's sides are put in order by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import DistributionError, GridError
from spotball_core.grid import Grid

if TYPE_CHECKING:
    import polars as pl

_SIDES = ("x1", "y1", "x2", "y2")


def is_foreign(values: object) -> bool:
    """Whether this is a frame or a column rather than an array, a list, a mapping or text."""
    if isinstance(values, (np.ndarray, np.generic, Sequence, Mapping)):
        return False
    return hasattr(values, "__arrow_c_stream__") or hasattr(values, "to_numpy")


def frame_of(values: Any) -> pl.DataFrame:
    """A Polars frame of another library's frame; whatever is missing there is null."""
    import polars as pl

    try:
        return pl.DataFrame(values)
    except ImportError:
        # pandas gives no Arrow data without PyArrow.
        return pl.DataFrame({str(name): _listed(values[name].to_numpy()) for name in values})


def values_of(values: object, grid: Grid | None) -> object:
    """Labels or numbers, from a frame with a column a cell, from a column, or from an array of text.

    A frame's columns are taken in the grid's order where they are named for its cells (cells without a column hold 0),
    else in the order they stand in.

    Returns:
        A list of labels, None where one is missing, or an array of numbers; anything else as it is.

    Raises:
        GridError: for a frame of which only some columns are named for cells, or two for the same one.

    Examples:
        >>> import polars as pl
        >>> frame = pl.DataFrame({"B1": [1], "A2": [5]})
        >>> values_of(frame, Grid(2, 2, 64, 36)).tolist()
        [[0.0, 5.0, 1.0, 0.0]]
        >>> values_of(pl.Series(["A2", None]), None)
        ['A2', None]
    """
    if is_foreign(values):
        named, values = _columns(values)
        if named is not None:
            return _by_cell(named, values, grid or Grid.standard())
    return _listed(values) if isinstance(values, np.ndarray) and values.dtype.kind in "OUT" else values


def boxes_of_frame(values: object) -> NDArray[Any]:
    """Boxes from a frame with the columns x1, y1, x2, y2 in any order, others beside them; shape (n_boxes, 4).

    Raises:
        GridError: where one of the columns is missing.
    """
    names, array = _columns(values)
    if missing := [side for side in _SIDES if side not in (names or ())]:
        raise GridError(f"a frame of boxes needs the columns {', '.join(_SIDES)}; missing {', '.join(missing)}")
    assert names is not None
    return np.stack([np.asarray(array[:, names.index(side)], dtype=float) for side in _SIDES], axis=-1)


def _columns(values: Any) -> tuple[list[object] | None, NDArray[Any]]:
    """Names and values, shape (n_rows, n_columns), of a frame; no names for a single column, shape (n_rows,)."""
    if not hasattr(values, "to_numpy"):
        values = frame_of(values)
    array = values.to_numpy()
    return (list(values.columns) if array.ndim == 2 else None), array


def _by_cell(names: list[object], array: NDArray[Any], grid: Grid) -> NDArray[Any]:
    places: dict[int, int] = {}
    strangers = []
    for at, name in enumerate(names):
        cell = _cell(name, grid)
        if cell is None:
            strangers.append(name)
        elif cell in places:
            raise GridError(f"two columns are the cell {grid.labels[cell]}: {names[places[cell]]!r} and {name!r}")
        else:
            places[cell] = at
    if not places:
        return array
    if strangers:
        raise GridError(f"some columns are named for cells of the grid {grid}, but not {strangers[0]!r}")
    mass = np.zeros((len(array), grid.n_cells))
    try:
        mass[:, list(places)] = array[:, list(places.values())]
    except (TypeError, ValueError) as error:
        raise DistributionError(f"a column named for a cell holds what is no number: {error}") from error
    return mass


def _cell(name: object, grid: Grid) -> int | None:
    try:
        return grid.index(name) if isinstance(name, str) else None
    except GridError:
        return None


def _listed(array: NDArray[Any]) -> list[Any]:
    """The array's values, None where one is missing, however the other library says so."""
    return [value if _is_there(value) else None for value in array.tolist()]


def _is_there(value: Any) -> bool:
    # Neither NaN nor NA equals itself; NA does not even say so.
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False
