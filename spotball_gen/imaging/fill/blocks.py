"""Detect an image's JPEG compression (block grid and quality), so that filled pixels can be compressed alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

BLOCK = 8
"""Side length of JPEG, MPEG and H.264 blocks, in pixels."""
_EXCESS = 2.0
"""Minimum difference between the brightness steps at block edges and those within blocks, in standard deviations."""
_QUALITIES = range(32, 99)
_DIPS = 0.02, 1.0
"""Minimum dip of a quality. Recompression with the quality of an image changes the image less than recompression with
similar qualities; the dip is the relative difference. The first value is for images with a visible block grid, the
second for other images. Smooth images that were never compressed have dips of up to 0.7, because their values are
rounded.
"""
_COARSER = 0.5
"""`jpeg_quality` returns the lowest quality whose dip is at least this share of the largest dip."""
_LOOK = 160, 240
"""Number of rows and number of columns to examine on each side of the excluded pixels."""


def block_grid(image: Image | NDArray[np.float32], excluded: NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return the periods (down, across) of an image's block grid, in pixels.

    Args:
        image: RGB, shape (height, width, 3).
        excluded: pixels to ignore, shape (height, width).

    Returns:
        (8, 8), or None if the image shows no blocks, for example because it was resized.

    Examples:
        >>> blocks = np.random.default_rng(0).integers(0, 255, (12, 12, 3)).repeat(8, axis=0).repeat(8, axis=1)
        >>> block_grid(blocks.astype(np.uint8), np.zeros((96, 96), dtype=bool))
        (8, 8)
    """
    gray = opencv().cvtColor(image, opencv().COLOR_RGB2GRAY).astype(np.float32)
    for values, barred in ((gray, excluded), (gray.T, excluded.T)):
        steps = np.abs(np.diff(values, axis=1))
        # Use second differences, because edges of objects are wider than one pixel.
        peaks = steps[:, 1:-1] - (steps[:, :-2] + steps[:, 2:]) / 2
        seen = ~(barred[:, 1:-2] | barred[:, 2:-1])
        peaks = np.where(seen, np.clip(peaks, -BLOCK, BLOCK), 0)
        phase = (np.arange(peaks.shape[1]) + 1) % BLOCK
        by_phase = np.array([peaks[:, phase == number].mean() for number in range(BLOCK)])
        others = by_phase[:-1]
        if by_phase[-1] <= others.max() or by_phase[-1] < others.mean() + _EXCESS * others.std():
            return None
    return BLOCK, BLOCK


def jpeg_quality(image: Image, excluded: NDArray[np.bool_]) -> int | None:
    """Return the JPEG quality with which an image was compressed.

    Recompression with the same quality changes an image less than with a slightly higher or lower quality.

    Args:
        image: RGB, shape (height, width, 3). The block grid must start at its top left corner.
        excluded: pixels to ignore, shape (height, width).

    Returns:
        OpenCV's quality, from 35 to 95, which may be wrong by 1 or 2, or None if no quality fits.

    Source:
        Farid (2009). Exposing digital forgeries from JPEG ghosts. IEEE Transactions on Information Forensics and
        Security 4(1).

    Examples:
        >>> noise = np.random.default_rng(0).normal(0, 40, (96, 96))
        >>> smooth = np.clip(128 + opencv().GaussianBlur(noise, (0, 0), 1.2), 0, 255).astype(np.uint8)
        >>> smooth = np.dstack([smooth] * 3)
        >>> jpeg_quality(recompressed(smooth, 71), np.zeros((96, 96), dtype=bool))
        71
        >>> jpeg_quality(smooth, np.zeros((96, 96), dtype=bool)) is None
        True
    """
    rows, cols = (
        _aligned(np.flatnonzero(excluded.any(axis=axis)), look, excluded.shape[1 - axis])
        for axis, look in ((1, _LOOK[0]), (0, _LOOK[1]))
    )
    cv2 = opencv()
    gray = np.ascontiguousarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[rows, cols])
    seen = (~excluded[rows, cols]).astype(np.uint8)

    def change(quality: int) -> float:
        _, data = cv2.imencode(".jpg", gray, [cv2.IMWRITE_JPEG_QUALITY, quality])
        return float(cv2.mean(cv2.absdiff(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), gray), seen)[0])

    changes = {quality: change(quality) for quality in _QUALITIES}
    dips = {
        quality: (changes[quality - 3] + changes[quality + 3]) / 2 / max(changes[quality], 1e-3) - 1
        for quality in list(changes)[3:-3]
    }
    largest = max(dips.values())
    if largest < _DIPS[0] or (largest < _DIPS[1] and block_grid(image, excluded) is None):
        return None
    # A finer quantization whose steps divide the true ones changes the image equally little.
    return min(quality for quality, dip in dips.items() if dip >= _COARSER * largest)


def _aligned(inside: NDArray[np.intp], look: int, length: int) -> slice:
    """Return a slice around the given rows or columns that starts at a multiple of 16, the side length in pixels of a
    chroma block."""
    if not len(inside):
        return slice(0, length)
    start = max(int(inside[0]) - look, 0) // (2 * BLOCK) * (2 * BLOCK)
    return slice(start, min(int(inside[-1]) + look, length))


def recompressed(image: Image, quality: int) -> Image:
    """Return an image after JPEG compression.

    Args:
        image: RGB, shape (height, width, 3).
        quality: OpenCV's quality, from 0 to 100.
    """
    cv2 = opencv()
    _, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    result: Image = cv2.cvtColor(cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    return result


def whole_blocks(pixels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of all blocks that contain at least one of the given pixels, shape (height, width).

    Examples:
        >>> pixels = np.zeros((20, 20), dtype=bool)
        >>> pixels[9, 17] = True
        >>> np.argwhere(whole_blocks(pixels))[[0, -1]].tolist()
        [[8, 16], [15, 19]]
    """
    height, width = pixels.shape
    padded = np.pad(pixels, ((0, -height % BLOCK), (0, -width % BLOCK)))
    blocks = padded.reshape(padded.shape[0] // BLOCK, BLOCK, -1, BLOCK).any(axis=(1, 3))
    complete: NDArray[np.bool_] = blocks.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)[:height, :width]
    return complete
