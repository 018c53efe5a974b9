"""Open image files from untrusted sources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""The only formats that are decoded, regardless of the file's ending.

Pillow supports further formats, and starts Ghostscript for PostScript.
"""


_HEAD = 1000


def open_image(source: Path | IO[bytes], formats: Sequence[str] = FORMATS) -> Image:
    """Open an image and read its size, but do not decode its pixels yet; the image is a context manager.

    Args:
        source: a file, or a stream of a file's bytes.
        formats: the accepted formats, as Pillow names them.

    Raises:
        OSError: if the file cannot be read or is not in one of the accepted formats. Pillow raises other errors for
            damaged files.
    """
    from PIL import Image as Images, UnidentifiedImageError

    try:
        return Images.open(source, formats=tuple(formats))
    except UnidentifiedImageError:
        # Pillow's message contains the name of a Python object.
        raise UnidentifiedImageError(_kind(source)) from None


def _kind(source: Path | IO[bytes]) -> str:
    """Describe a file that is not in an accepted format."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            head = file.read(_HEAD)
    else:
        source.seek(0)
        head = source.read(_HEAD)
    text = head.lower()
    if b"<svg" in text:
        return "an SVG drawing"
    if b"<html" in text or b"<!doctype" in text:
        return "an HTML page"
    return "an empty file" if not head else "another format"
