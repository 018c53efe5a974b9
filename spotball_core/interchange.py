"""Convert frames and columns of other libraries to the types that metrics and readers accept.

This module supports frames that export Arrow data (pandas, Polars, PyArrow, DuckDB and others), Hugging Face datasets,
and array-like columns. None of these libraries is required. If columns are named after cells (A1, A2, ...) or the edges
of a box (x1, y1, x2, y2), they may be in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import DistributionError, GridError, InputError
from spotball_core.grid import Grid

if TYPE_CHECKING:
    import polars as pl


class ArrowFrame(Protocol):
    """A frame that exports Arrow data, such as a frame of pandas, Polars, PyArrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object:
        """Export the columns as Arrow data."""


class PolarsDataset(Protocol):
    """A dataset that can be converted to a Polars frame, such as a dataset of Hugging Face."""

    def to_polars(self) -> object:
        """Return the rows as a Polars frame."""


_SIDES = ("x1", "y1", "x2", "y2")


def is_foreign(values: object) -> bool:
    """Return whether the values are a frame or a column of another library, not an array, a list, a mapping or text."""
    if isinstance(values, (np.ndarray, np.generic, Sequence, Mapping)):
        return False
    return any(hasattr(values, name) for name in ("__arrow_c_stream__", "to_numpy", "to_polars"))


def frame_of(values: Any) -> pl.DataFrame:
    """Convert another library's frame to a Polars frame. Missing values become null.

    Raises:
        InputError: if the values are a single column, if a column has values of several types, or if two columns have
            the same name.
    """
    import polars as pl

    try:
        if hasattr(values, "to_polars"):
            return pl.DataFrame(values.to_polars())  # A Hugging Face dataset.
        try:
            if hasattr(values, "__arrow_c_stream__"):
                return pl.DataFrame(values)
        except ImportError:
            pass  # pandas exports no Arrow data without PyArrow.
        if not hasattr(values, "columns"):
            raise TypeError(f"a {type(values).__name__} without column names")
        return pl.DataFrame({str(name): _listed(values[name].to_numpy()) for name in values})
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        found = (str(error).splitlines() or [type(error).__name__])[0]
        expected = "a frame in which column names are unique and each column has one type of values"
        raise InputError.of("missing-column", "frame", "columns", found, expected) from error


def array_of_tensor(values: Any) -> Any:
    """Convert a PyTorch tensor to an array of float64. Other values are returned unchanged.

    NumPy itself cannot convert tensors that have gradients, are on a GPU, or are of type bfloat16.
    """
    if not hasattr(values, "detach"):
        return values
    try:
        return values.detach().cpu().double().numpy()
    except (TypeError, RuntimeError):
        return values  # A sparse tensor, or one without data: the conversion to an array will raise an error.


def values_of(values: object, grid: Grid | None) -> object:
    """Convert values of another library (a frame with one column per cell, a column, a tensor) or text to plain values.

    If the columns of a frame are named after the grid's cells, they are sorted in the grid's order, and cells without a
    column are 0. Otherwise the columns keep their order. Without a grid, cells are those of `Grid.standard()`.

    Returns:
        A list of labels, with None for missing ones (a list per row for a frame), or an array of numbers; other values
        are returned unchanged.

    Raises:
        GridError: if only some columns of a frame are named after cells, or two columns after the same cell.
        DistributionError: if a column named after a cell contains values that are not numbers, or another column of a
            frame contains lists.

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
            values = _by_cell(named, values, grid or Grid.standard())
        elif values.ndim == 1 and values.size and values.dtype.kind == "f" and np.isnan(values).all():
            return [None] * len(values)  # In a column of labels that are all missing, pandas stores NaN.
    return _listed(values) if isinstance(values, np.ndarray) and values.dtype.kind in "OUT" else values


def boxes_of_frame(values: object) -> NDArray[Any]:
    """Return the columns x1, y1, x2, y2 of a frame as boxes, shape (n_boxes, 4). Other columns are ignored.

    Raises:
        GridError: if one of the columns is missing, or contains values that are not numbers.
    """
    names, array = _columns(values)
    if missing := [side for side in _SIDES if side not in (names or ())]:
        raise GridError(
            f"a frame of boxes needs the columns {', '.join(_SIDES)}. Add {', '.join(missing)}", code="invalid-boxes"
        )
    assert names is not None
    try:
        return np.stack([np.asarray(array[:, names.index(side)], dtype=float) for side in _SIDES], axis=-1)
    except (TypeError, ValueError) as error:
        raise GridError(
            f"the columns {', '.join(_SIDES)} of a frame of boxes must contain numbers: {error}", code="invalid-boxes"
        ) from error


def _columns(values: Any) -> tuple[list[object] | None, NDArray[Any]]:
    """Return column names and values, shape (n_rows, n_columns); for a single column, None and shape (n_rows,)."""
    if hasattr(values, "__arrow_c_array__") and not hasattr(values, "columns"):
        import polars as pl

        values = pl.Series(values)  # PyArrow cannot export text, lists or missing values to NumPy without a copy.
    elif not hasattr(values, "to_numpy"):
        values = frame_of(values)
    array = values.to_numpy()
    # Polars returns two dimensions for a column of arrays as well.
    return (list(values.columns) if array.ndim == 2 and hasattr(values, "columns") else None), array


def _by_cell(names: list[object], array: NDArray[Any], grid: Grid) -> NDArray[Any]:
    places: dict[int, int] = {}
    strangers = []
    for at, name in enumerate(names):
        cell = _cell(name, grid)
        if cell is None:
            strangers.append(name)
        elif cell in places:
            raise GridError(
                f"two columns have the name of cell {grid.labels[cell]}: {names[places[cell]]!r} and {name!r}. "
                "Remove one of them"
            )
        else:
            places[cell] = at
    if not places:
        if array.dtype == object and (nested := [at for at, value in enumerate(array[:1].flat) if _is_nested(value)]):
            name = names[nested[0]]
            raise DistributionError(f"the column {name!r} of a frame contains lists. Pass the column: frame[{name!r}]")
        # pandas returns nullable numbers as objects.
        if array.dtype == object and all(isinstance(value, (int, float, np.number, np.bool_)) for value in array.flat):
            return array.astype(float)
        return array
    if strangers:
        raise GridError(
            f"some columns are named after cells of the grid {grid}, but the column {strangers[0]!r} is not. Remove "
            "or rename it"
        )
    mass = np.zeros((len(array), grid.n_cells))
    try:
        mass[:, list(places)] = array[:, list(places.values())]
    except (TypeError, ValueError) as error:
        raise DistributionError(f"a column named after a cell contains values that are not numbers: {error}") from error
    return mass


def _is_nested(value: object) -> bool:
    return isinstance(value, (np.ndarray, list, tuple))


def _cell(name: object, grid: Grid) -> int | None:
    try:
        return grid.index(name) if isinstance(name, str) else None
    except GridError:
        return None


def _listed(array: NDArray[Any]) -> list[Any]:
    """Return the array's values as a list, with None for each missing value, such as NaN."""
    return [
        None if not isinstance(value, str) and is_missing(value) else value for value in np.atleast_1d(array).tolist()
    ]


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, the missing values of pandas and NumPy, or text without letters.

    Examples:
        >>> [is_missing(value) for value in (None, float("nan"), " ", "D5", 0.0, [])]
        [True, True, True, False, False, False]
    """
    if value is None or isinstance(value, str):
        return not (value and value.strip())
    if isinstance(value, (int, float)):
        return value != value
    # NaN is not equal to itself; comparing NA raises TypeError. Arrays and lists are values.
    if isinstance(value, (np.ndarray, Sequence, Mapping)) and value is not np.ma.masked:
        return False
    try:
        return not bool(value == value)
    except TypeError:
        return True
    except (ValueError, RuntimeError):
        return False  # A tensor or a column.
