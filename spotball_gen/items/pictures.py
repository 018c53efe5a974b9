"""Pictures in files: PNG, so that not a pixel changes, read when first wanted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError
from spotball_core.service.files import replacing
from spotball_gen.items.png import quick_png


def opencv() -> Any:
    """The module cv2.

    Raises:
        MissingExtraError: if it is not installed.
    """
    # What it says of damaged pictures is in the exceptions here; it reads this once, when first imported.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError("making items", "gen") from error
    return cv2


class PictureFile:
    """A picture in a PNG file, which need not have been read yet.

    Args:
        path: the file.
        array: its pixels, if they are at hand.
        gray: one channel, as a mask has it.
    """

    def __init__(self, path: Path, array: NDArray[np.uint8] | None = None, *, gray: bool = False) -> None:
        self.path, self.gray = path, gray
        self._array = None if array is None else _frozen(array)

    @classmethod
    def write(cls, path: Path, array: NDArray[np.uint8], *, packed: bool = True) -> PictureFile:
        """Write pixels, RGB of shape (height, width, 3) or gray of shape (height, width); on the disk once it returns.

        Raises:
            OSError: if the file cannot be written.
        """
        picture = cls(path, array, gray=array.ndim == 2)
        picture.save(packed=packed)
        return picture

    def save(self, *, packed: bool = True) -> None:
        """Write its file, if its pixels are at hand; on the disk once it returns.

        Args:
            packed: whether the file is compressed, which takes ten times as long.

        Raises:
            OSError: if the file cannot be written.
        """
        if self._array is None:
            return
        data = quick_png(self._array, packed=packed)
        with replacing(self.path) as beside, beside.open("wb") as file:
            file.write(data)
            file.flush()
            # What the ledger says is there must outlive a power cut, as the ledger does.
            os.fsync(file.fileno())

    @property
    def array(self) -> NDArray[np.uint8]:
        """The pixels, read-only: RGB (height, width, 3), or (height, width) where gray.

        Raises:
            OSError: if the file is missing or holds no picture.
        """
        if self._array is None:
            self._array = _frozen(decoded(self.path, gray=self.gray))
        return self._array

    def pack(self) -> None:
        """Compress its file, unless that was done; on the disk once it returns.

        Raises:
            OSError: if the file cannot be read or written.
        """
        if self.path.stat().st_size > self.array.size:
            self.save()

    def without_pixels(self) -> PictureFile:
        """The same picture, its pixels not held in memory."""
        return PictureFile(self.path, gray=self.gray)

    def within(self, folder: Path) -> str:
        """The file's name from a folder on."""
        return self.path.relative_to(folder).as_posix()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PictureFile) and (self.path, self.gray) == (other.path, other.gray)

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"PictureFile({str(self.path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pixels stay behind: who gets it reads them from the file.
        return _unread, (self.path, self.gray)


def decoded(path: Path, *, gray: bool = False) -> NDArray[np.uint8]:
    """Pixels of a picture's file, RGB, or one channel where gray.

    Raises:
        OSError: if the file is missing or holds no picture.
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
