"""Handle NumPy's masked arrays: masked values are missing, but `np.asarray` would drop the mask."""

from __future__ import annotations

import numpy as np

from spotball_core.errors import SpotballError


def without_mask(values: object, what: str, error: type[SpotballError], *, missing: float | None = None) -> object:
    """Return values without a mask, or raise an error for a mask without a defined meaning.

    Args:
        values: anything that NumPy converts to an array; lists may contain masked arrays.
        what: the values' name in messages.
        error: the type of the raised error.
        missing: the value for a row (along the last axis) that is fully masked; None if masked values are not allowed.

    Returns:
        The values unchanged if none is masked.

    Raises:
        SpotballError: of the given type, if a row is partly masked, or masked values are not allowed.

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
        raise error(
            f"{what} has {mask.sum():,} masked values, expected none. Fill these values, or remove their images"
        )
    if mask.ndim == 0 or (mask.any(axis=-1) != mask.all(axis=-1)).any():
        raise error(
            f"{what} has {mask.sum():,} masked values, expected rows that are masked completely or not at all. Fill "
            "the masked values of the other rows, for example with .filled(0)"
        )
    return np.where(mask, np.asarray(missing, dtype=np.result_type(array.dtype, type(missing))), array.data)


def _is_masked(values: object) -> bool:
    if isinstance(values, list | tuple):
        return any(map(_is_masked, values))
    return isinstance(values, np.ma.MaskedArray)


def _joined(values: object) -> np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]]:
    """Return one masked array; for a list, the masks of its items are combined."""
    if isinstance(values, list | tuple):
        return np.ma.stack([_joined(value) for value in values])  # type: ignore[no-any-return, unused-ignore]
    return np.ma.asarray(values)  # type: ignore[no-any-return, unused-ignore]
