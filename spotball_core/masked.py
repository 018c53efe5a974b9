"""Handle NumPy's masked arrays. Masked values are missing, but `np.asarray` would drop the mask and use them."""

from __future__ import annotations

import numpy as np

from spotball_core.errors import SpotballError


def without_mask(values: object, what: str, error: type[SpotballError], *, missing: float | None = None) -> object:
    """Return values without a mask: rows that are fully masked are filled, any other mask raises an error.

    Args:
        values: anything that NumPy converts to an array; lists may contain masked arrays.
        what: name of the values in error messages.
        error: type of the raised error.
        missing: the value that fills a row (along the last axis) if it is fully masked; None if masked values are not
            allowed.

    Returns:
        An array without a mask. Values that are not masked arrays are returned unchanged.

    Raises:
        SpotballError: of the type `error`, if a row is only partly masked, or if masked values are not allowed.

    Examples:
        >>> rows = np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [1, 1]])
        >>> without_mask(rows, "mass", SpotballError, missing=0).tolist()
        [[1, 2], [0, 0]]
    """
    if not _is_masked(values):
        return values
    array = _joined(values)
    mask = np.ma.getmaskarray(array)
    if not mask.any():
        return array.data
    if missing is None:
        raise error(f"found {mask.sum():,} masked values, expected none. Fill or remove them", field=what)
    if mask.ndim == 0 or (mask.any(axis=-1) != mask.all(axis=-1)).any():
        raise error(
            f"found {mask.sum():,} masked values, expected rows that are masked completely or not at all. Fill the "
            "masked values of the other rows, for example with .filled(0)",
            field=what,
        )
    return np.where(mask, np.asarray(missing, dtype=np.result_type(array.dtype, type(missing))), array.data)


def _is_masked(values: object) -> bool:
    if isinstance(values, list | tuple):
        return any(map(_is_masked, values))
    return isinstance(values, np.ma.MaskedArray)


def _joined(values: object) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]]:
    """Return the values as one masked array. The items of a list are stacked with their masks."""
    if isinstance(values, list | tuple):
        return np.ma.stack([_joined(value) for value in values])  # type: ignore[no-any-return, unused-ignore]
    return np.ma.asarray(values)  # type: ignore[no-any-return, unused-ignore]
