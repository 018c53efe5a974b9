"""Write images to PNG files or uncompressed PPM files, and read them on first access."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError
from spotball_core.service.files import replacing
from spotball_gen.items.png import SIGNATURE, quick_png


@cache
def opencv() -> Any:
    """Return the module cv2 of OpenCV.

    Raises:
        MissingExtraError: if OpenCV is not installed.
    """
    # Exceptions here report damaged images, so OpenCV's log is off. It reads this variable when it is imported.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError("generating items", "gen") from error
    return cv2


class PictureFile:
    """An image in a file, which is read on first access.

    Args:
        path: the file.
        array: the pixels, or None to read them from the file.
        gray: whether the image has only one channel, like a mask.
    """

    def __init__(self, path: Path, array: NDArray[np.uint8] | None = None, *, gray: bool = False) -> None:
        self.path, self.gray = path, gray
        self._array = None if array is None else _frozen(array)

    @classmethod
    def write(cls, path: Path, array: NDArray[np.uint8], *, packed: bool = True) -> PictureFile:
        """Write pixels to a file, and return the `PictureFile`. When the method returns, the file is safely on disk.

        Args:
            path: the file.
            array: RGB of shape (height, width, 3), or gray of shape (height, width).
            packed: whether to write PNG; see `save`.

        Raises:
            OSError: if the file cannot be written.
        """
        picture = cls(path, array, gray=array.ndim == 2)
        picture.save(packed=packed)
        return picture

    def save(self, *, packed: bool = True) -> None:
        """Write the file if the pixels are in memory. When the method returns, the file is safely on disk.

        Args:
            packed: whether to write PNG. Otherwise, the file is an uncompressed PPM (or PGM, for gray), which takes a
                tenth of the time and about twice the space.

        Raises:
            OSError: if the file cannot be written.
        """
        if self._array is None:
            return
        height, width = self._array.shape[:2]
        header = f"{'P5' if self.gray else 'P6'} {width} {height} 255\n".encode()
        parts = (quick_png(self._array),) if packed else (header, np.ascontiguousarray(self._array).data)
        with replacing(self.path) as beside, beside.open("wb") as file:
            file.writelines(parts)
            file.flush()
            # Files that the ledger lists must survive a power failure, as the ledger does.
            os.fsync(file.fileno())

    @property
    def array(self) -> NDArray[np.uint8]:
        """Return the pixels, read-only: RGB (height, width, 3), or gray (height, width).

        Raises:
            OSError: if the file is missing or is not an image.
        """
        if self._array is None:
            self._array = _frozen(decoded(self.path, gray=self.gray))
        return self._array

    def pack(self) -> None:
        """Convert the file to PNG unless it is PNG already. When the method returns, the file is safely on disk.

        Raises:
            OSError: if the file cannot be read or written.
        """
        with self.path.open("rb") as file:
            is_png = file.read(len(SIGNATURE)) == SIGNATURE
        if not is_png:
            self.write(self.path, self.array)

    def within(self, folder: Path) -> str:
        """Return the file's path relative to a folder."""
        return self.path.relative_to(folder).as_posix()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PictureFile) and (self.path, self.gray) == (other.path, other.gray)

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"PictureFile({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pixels are not pickled. The receiver reads them from the file.
        return _unread, (self.path, self.gray)


def decoded(path: Path, *, gray: bool = False) -> NDArray[np.uint8]:
    """Return the pixels of an image file: RGB, or one channel if gray.

    Raises:
        OSError: if the file is missing or is not an image.
    """
    cv2 = opencv()
    data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    pixels = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE if gray else cv2.IMREAD_COLOR) if len(data) else None
    if pixels is None:
        raise OSError(f"{path}: the image cannot be read")
    array: NDArray[np.uint8] = pixels if gray else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
    return array


def _unread(path: Path, gray: bool) -> PictureFile:
    return PictureFile(path, gray=gray)


def _frozen(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    view = array.view()
    view.flags.writeable = False
    return view
