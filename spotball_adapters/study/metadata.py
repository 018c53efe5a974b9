"""Remove metadata from images before they are sent: EXIF, comments, and data after the image in its file.

A thumbnail in EXIF may show the ball that was removed from the image, and comments may mention it. Pixels and color
profiles are unchanged. The EXIF orientation is kept.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

_JPEG_KEPT = {0xE0, 0xE2, 0xEE}
"""JPEG application segments that are kept, because they affect colors: JFIF, the color profile, Adobe's color
transform."""

_PNG_REMOVED = {b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME"}
_PNG_START = b"\x89PNG\r\n\x1a\n"


def without_metadata(data: bytes, media_type: str, orientation: int = 1) -> bytes:
    """Return an image file's bytes without metadata.

    Args:
        data: a JPEG, PNG or WebP file.
        media_type: image/jpeg, image/png or image/webp.
        orientation: the EXIF orientation to keep, from 1 (upright) to 8.

    Raises:
        ValueError: if the file is truncated or damaged, or if it does not have the type `media_type`.
    """
    try:
        if media_type == "image/jpeg":
            return b"".join(_jpeg(data, orientation))
        if media_type == "image/png":
            return b"".join(_png(data, orientation))
        return _webp(data, orientation)
    except (struct.error, IndexError) as error:
        raise ValueError("the image file is truncated") from error


def _exif(orientation: int) -> bytes:
    """Return EXIF data in little-endian order that contain only the orientation."""
    entry = struct.pack("<HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"II*\0" + struct.pack("<IH", 8, 1) + entry + struct.pack("<I", 0)


def _jpeg(data: bytes, orientation: int) -> Iterator[bytes]:
    if data[:2] != b"\xff\xd8":
        raise ValueError("the file is not a JPEG")
    yield data[:2]
    if orientation != 1:
        exif = b"Exif\0\0" + _exif(orientation)
        yield b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    at = 2
    while True:
        while data[at + 1] == 0xFF:  # Fill bytes.
            at += 1
        if data[at] != 0xFF:
            raise ValueError("the JPEG file is damaged")
        marker = data[at + 1]
        if marker == 0xD9:
            yield data[at : at + 2]
            return
        end = at + 2 + struct.unpack_from(">H", data, at + 2)[0]
        is_metadata = (0xE0 <= marker <= 0xEF and marker not in _JPEG_KEPT) or marker == 0xFE
        # APP2 holds the color profile, but also the index of further images.
        is_metadata |= marker == 0xE2 and data[at + 4 : at + 16] != b"ICC_PROFILE\0"
        if marker == 0xDA:
            end = _end_of_scan(data, end)
        if not is_metadata:
            yield data[at:end]
        at = end


def _end_of_scan(data: bytes, at: int) -> int:
    """Return the offset of the first JPEG marker after the compressed pixels that begin at offset `at`."""
    while True:
        at = data.index(b"\xff", at)
        if data[at + 1] != 0 and not 0xD0 <= data[at + 1] <= 0xD7:
            return at
        at += 2


def _png(data: bytes, orientation: int) -> Iterator[bytes]:
    if data[:8] != _PNG_START:
        raise ValueError("the file is not a PNG")
    yield _PNG_START
    at, kind = 8, b""
    while kind != b"IEND":
        (length,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if end > len(data):
            raise ValueError("the image file is truncated")
        if kind not in _PNG_REMOVED:
            yield data[at:end]
        if kind == b"IHDR" and orientation != 1:
            yield _png_chunk(b"eXIf", _exif(orientation))
        at = end


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _webp(data: bytes, orientation: int) -> bytes:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        raise ValueError("the file is not a WebP")
    (size,) = struct.unpack_from("<I", data, 4)
    at, chunks = 12, []
    while at < 8 + size:
        kind = data[at : at + 4]
        (length,) = struct.unpack_from("<I", data, at + 4)
        end = at + 8 + length + length % 2
        if end > len(data):
            raise ValueError("the image file is truncated")
        chunk = data[at:end]
        if kind == b"VP8X":
            # The flags state which metadata exist: 8 for EXIF, 4 for XMP.
            flags = chunk[8] & ~0b1100 | (0b1000 if orientation != 1 else 0)
            chunk = chunk[:8] + bytes([flags]) + chunk[9:]
        if kind not in (b"EXIF", b"XMP "):
            chunks.append(chunk)
        at = end
    if orientation != 1:
        exif = _exif(orientation)
        chunks.append(b"EXIF" + struct.pack("<I", len(exif)) + exif + b"\0" * (len(exif) % 2))
    content = b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(content) + 4) + b"WEBP" + content
