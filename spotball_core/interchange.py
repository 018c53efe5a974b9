"""Frames and columns of other libraries, brought to what the metrics and the readers take.

Frames that export Arrow data (pandas, Polars, PyArrow, DuckDB and others), Hugging Face datasets, and columns as arrays
work; none of these libraries is required. Columns named for cells or for a box's sides are put in order by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import DistributionError, GridError, InputError, Problem
from spotball_core.grid import Grid

if TYPE_CHECKING:
    import polars as pl


class ArrowFrame(Protocol):
    """A frame that exports Arrow data: of pandas, Polars, PyArrow, DuckDB and other libraries."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object:
        """Export the columns as Arrow data."""


_SIDES = ("x1", "y1", "x2", "y2")


def is_foreign(values: object) -> bool:
    """Whether this is a frame or a column rather than an array, a list, a mapping or text."""
    if isinstance(values, (np.ndarray, np.generic, Sequence, Mapping)):
        return False
    return any(hasattr(values, name) for name in ("__arrow_c_stream__", "to_numpy", "to_polars"))


def frame_of(values: Any) -> pl.DataFrame:
    """Return a Polars frame of another library's frame; values that are missing there are null.

    Raises:
        InputError: for a column without a frame, a column that mixes types, or two columns of one name.
    """
    import polars as pl

    try:
        if hasattr(values, "to_polars"):
            return pl.DataFrame(values.to_polars())  # a dataset of Hugging Face
        try:
            if hasattr(values, "__arrow_c_stream__"):
                return pl.DataFrame(values)
        except ImportError:
            pass  # pandas gives no Arrow data without PyArrow.
        if not hasattr(values, "columns"):
            raise TypeError(f"a {type(values).__name__} without named columns")
        return pl.DataFrame({str(name): _listed(values[name].to_numpy()) for name in values})
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        found = (str(error).splitlines() or [type(error).__name__])[0]
        expected = "a frame with one type of values in each column, and each column once"
        raise InputError([Problem("frame", None, "columns", found, expected)]) from error


def array_of_tensor(values: Any) -> Any:
    """Return the values of a PyTorch tensor as an array; anything else unchanged.

    NumPy itself reads neither tensors with gradients, nor those on a GPU, nor bfloat16.
    """
    if not hasattr(values, "detach"):
        return values
    try:
        return values.detach().cpu().double().numpy()
    except (TypeError, RuntimeError):
        return values  # A sparse tensor, or one without data: what takes an array refuses it.


def values_of(values: object, grid: Grid | None) -> object:
    """Labels or numbers, from a frame with a column a cell, from a column, or from an array of text.

    A frame's columns are taken in the grid's order where they are named for its cells (cells without a column hold 0),
    else in the order they stand in.

    Returns:
        A list of labels, None where one is missing, or an array of numbers; anything else unchanged.

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
    values = array_of_tensor(values)
    if is_foreign(values):
        named, values = _columns(values)
        if named is not None:
            return _by_cell(named, values, grid or Grid.standard())
    return _listed(values) if isinstance(values, np.ndarray) and values.dtype.kind in "OUT" else values


def boxes_of_frame(values: object) -> NDArray[Any]:
    """Boxes from a frame with the columns x1, y1, x2, y2 in any order, others beside them; shape (n_boxes, 4).

    Raises:
        GridError: where one of the columns is missing, or holds anything but numbers.
    """
    names, array = _columns(values)
    if missing := [side for side in _SIDES if side not in (names or ())]:
        raise GridError(f"a frame of boxes needs the columns {', '.join(_SIDES)}; missing {', '.join(missing)}")
    assert names is not None
    try:
        return np.stack([np.asarray(array[:, names.index(side)], dtype=float) for side in _SIDES], axis=-1)
    except (TypeError, ValueError) as error:
        raise GridError(f"the columns {', '.join(_SIDES)} of a frame of boxes need numbers: {error}") from error


def _columns(values: Any) -> tuple[list[object] | None, NDArray[Any]]:
    """Names and values, shape (n_rows, n_columns), of a frame; no names for a single column, shape (n_rows,)."""
    if hasattr(values, "__arrow_c_array__") and not hasattr(values, "columns"):
        import polars as pl

        values = pl.Series(values)  # PyArrow's own arrays refuse what NumPy cannot share: text, lists, missing values.
    elif not hasattr(values, "to_numpy"):
        values = frame_of(values)
    array = values.to_numpy()
    # Polars makes two dimensions of a column of arrays as well.
    return (list(values.columns) if array.ndim == 2 and hasattr(values, "columns") else None), array


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
        # pandas gives nullable numbers as objects.
        if array.dtype == object and all(isinstance(value, (int, float, np.number, np.bool_)) for value in array.flat):
            return array.astype(float)
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
    # NaN is not equal to itself; comparing NA raises TypeError. A value may also be an array, in a column of lists.
    try:
        return value is not None and (isinstance(value, np.ndarray) or bool(value == value))
    except TypeError:
        return False
