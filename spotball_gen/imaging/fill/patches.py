"""Fill a hole with a copy of a similar place in the same image, as in exemplar-based inpainting.

The copied place is the one whose surroundings are most similar to those of the hole. Its pixels are copied in one
piece, so they keep the image's texture, noise and compression artifacts.
"""

from __future__ import annotations

from dataclasses import dataclass

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


_RING = (5, 12)
"""Minimum and maximum width in pixels of the ring around a hole that is compared with other places."""
_FAINT = 0.02
"""Factor for the weights of players' pixels in a ring that contains enough other pixels."""
_FEW = 0.3
"""Players' pixels count fully if less than this share of the ring is free of players."""
_FAR = 0.15
"""Relative cost added at a distance of half the image's diagonal, because places near the hole have similar light."""
_BLOCK_TOLERANCE = 1.1
"""A place that is aligned with the compression blocks is preferred if the square root of its cost is at most this many
times that of the best place.
"""
_SHIFT = 30.0
"""Maximum change of a copied pixel, in gray levels, when it is adapted to the light at the hole."""
_SOFT = 1.0
"""Standard deviation in pixels of the blur that smooths the differences at a hole's edge."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class PatchFill:
    """An image with a filled hole.

    Attributes:
        image: RGB, shape (height, width, 3). Filled pixels are not rounded.
        filled: mask of the filled pixels, shape (height, width).
        error: maximum error over the connected parts of the hole, in gray levels. The error of a part is the root mean
            square difference between its surroundings and those of the copied place.
    """

    image: Floats
    filled: Bools
    error: float


def fill_from_patches(image: Image | Floats, hole: Bools, barred: Bools, band: Bools | None = None) -> PatchFill:
    """Fill each connected part of a hole with a copy of another place of the image.

    Args:
        image: RGB, shape (height, width, 3). Pixels in the hole are not read.
        hole: pixels to fill, shape (height, width).
        barred: pixels not to copy, such as players, shape (height, width). They may be copied if most pixels around the
            hole are such pixels.
        band: pixels around the hole into which the copy is blended, shape (height, width), or None for none.

    Returns:
        The image, the mask of the filled pixels, and the error. A part of the hole is not filled if no place in the
            image is large enough to replace it.

    Source:
        Criminisi, Pérez, Toyama (2004). Region filling and object removal by exemplar-based image inpainting. IEEE
        Transactions on Image Processing 13(9). Unlike in the paper, each connected part is copied in one piece.

    Examples:
        >>> stripes = np.repeat(np.tile(np.array([40, 200], np.uint8), 32)[None, :, None], 64, axis=0).repeat(3, axis=2)
        >>> hole = np.zeros((64, 64), dtype=bool)
        >>> hole[20:28, 20:28] = True
        >>> broken = stripes.copy()
        >>> broken[hole] = 0
        >>> bool((fill_from_patches(broken, hole, np.zeros_like(hole)).image.round() == stripes).all())
        True
    """
    cv2 = opencv()
    whole = hole if band is None else hole | band
    count, labels = cv2.connectedComponents(whole.astype(np.uint8), connectivity=8)
    result, filled, error = image.astype(np.float32), np.zeros_like(hole), 0.0
    grid = block_grid(image, whole)
    # Fill the largest part last, because the others are in its surroundings.
    for label in sorted(range(1, count), key=lambda number: int((labels == number).sum())):
        part = labels == label
        if not (part & hole).any():
            continue
        copied = _copied(result, part, whole & ~filled, barred, grid)
        if copied is None:
            continue
        pixels, rms = copied
        share = blend_weights(part & hole, part)[part][:, None]
        result[part] = share * pixels + (1 - share) * result[part]
        filled |= part
        error = max(error, rms)
    return PatchFill(result, filled, error)


def _copied(
    image: Floats, part: Bools, hole: Bools, barred: Bools, grid: tuple[int, int] | None
) -> tuple[Floats, float] | None:
    """Return the pixels for one connected part of a hole, shape (n, 3), and the error, or None if no place is large
    enough.
    """
    cv2 = opencv()
    rows, cols = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    reach = int(np.clip(max(len(rows), len(cols)) / 2, *_RING))
    top, left = max(rows[0] - reach, 0), max(cols[0] - reach, 0)
    window = slice(top, rows[-1] + reach + 1), slice(left, cols[-1] + reach + 1)
    inside, weights = part[window], _ring_weights(part[window], hole[window], barred[window], reach)
    if not weights.any():
        return None
    players_around = (weights * barred[window]).sum() > 0.5 * weights.sum()
    forbidden = hole | barred if not players_around else hole
    costs = _costs(image, window, weights)
    oddness = _oddness(image, window, weights, inside)
    pattern = (inside | (weights > _FAINT)).astype(np.float32)
    touches = cv2.matchTemplate(forbidden.astype(np.float32), inside.astype(np.float32), cv2.TM_CCORR)
    overlaps = cv2.matchTemplate(hole.astype(np.float32), pattern, cv2.TM_CCORR)
    free = (touches < 0.5) & (overlaps < 0.5)
    if not free.any():
        return None
    down, across = np.mgrid[: costs.shape[0], : costs.shape[1]]
    distance = np.hypot(down - top, across - left) / np.hypot(*image.shape[:2])
    ranked = np.where(free, (costs + oddness + 1) * (1 + _FAR * distance / 0.5), np.inf)
    y, x = np.unravel_index(int(np.argmin(ranked)), ranked.shape)
    if grid is not None:
        aligned = ((down - top) % grid[0] == 0) & ((across - left) % grid[1] == 0)
        in_phase = np.where(aligned, ranked, np.inf)
        at = np.unravel_index(int(np.argmin(in_phase)), ranked.shape)
        if in_phase[at] <= _BLOCK_TOLERANCE**2 * ranked[y, x]:
            y, x = at
    height, width = inside.shape
    source = image[y : y + height, x : x + width]
    shift = membrane(image[window] - source, weights > _FAINT, inside)
    return np.clip((source + shift)[inside], 0, 255), float(np.sqrt(max(costs[y, x], 0.0)))


def blend_weights(core: Bools, whole: Bools) -> Floats:
    """Return the weight of the fill at each pixel, shape (height, width): 1 in the core, 0 outside the whole mask, and
    decreasing in between.

    The weight changes slowly at both ends, because an abrupt change would be visible as an edge in smooth images.
    """
    cv2 = opencv()
    inward = cv2.distanceTransform(whole.astype(np.uint8), cv2.DIST_L2, 5)
    outward = cv2.distanceTransform((~core).astype(np.uint8), cv2.DIST_L2, 5)
    share = np.where(core, 1, inward / np.maximum(inward + outward, 1e-6))
    weights: Floats = (share**2 * (3 - 2 * share)).astype(np.float32)
    return weights


def _ring_weights(part: Bools, hole: Bools, barred: Bools, reach: int) -> Floats:
    """Return weights of the pixels around a part of the hole: larger near it, small for players, 0 in the hole."""
    distance = opencv().distanceTransform((~part).astype(np.uint8), opencv().DIST_L2, 5)
    weights = np.where((distance <= reach) & ~hole & ~part, np.exp(-distance / reach), 0).astype(np.float32)
    free = weights * ~barred
    if free.sum() > _FEW * weights.sum():
        weights = np.where(barred, _FAINT * weights, weights)
    result: Floats = weights
    return result


def _costs(image: Floats, window: tuple[slice, slice], weights: Floats) -> Floats:
    """Return the weighted mean square difference between the hole's surroundings and those of each possible copy.

    The result has one value for each position of the window in the image.

    A constant difference in brightness counts less, because `membrane` removes it.
    """
    cv2 = opencv()
    total = float(weights.sum())
    # Values are centered, to keep rounding errors small.
    template = image[window]
    mean = (template * weights[..., None]).sum(axis=(0, 1)) / total
    planes, template = image - mean, template - mean
    squares = cv2.matchTemplate(np.einsum("yxc,yxc->yx", planes, planes), weights, cv2.TM_CCORR)
    costs: Floats = (squares + float((weights[..., None] * template**2).sum())) / total
    for channel in range(3):
        plane = np.ascontiguousarray(planes[..., channel])
        products = cv2.matchTemplate(plane, weights * template[..., channel], cv2.TM_CCORR)
        means = cv2.matchTemplate(plane, weights, cv2.TM_CCORR) / total
        # `membrane` removes differences in brightness up to this value.
        costs -= 2 * products / total + 0.75 * np.minimum(np.abs(means), _SHIFT) ** 2
    return np.maximum(costs / 3, 0)


def _oddness(image: Floats, window: tuple[slice, slice], weights: Floats, inside: Bools) -> Floats:
    """Return penalties for positions whose pixels have other colors or more texture than the hole's surroundings.

    The hole's inside is unknown, but probably similar to its surroundings.

    Returns:
        Penalties in squared gray levels, one for each position at which the window fits into the image.
    """
    cv2 = opencv()
    pattern = inside.astype(np.float32) / float(inside.sum())
    share = weights / weights.sum()
    fine = cv2.transform(cv2.absdiff(image, cv2.GaussianBlur(image, (0, 0), 1.5)), np.full((1, 3), 1 / 3))
    texture = cv2.matchTemplate(fine, pattern, cv2.TM_CCORR) - float((fine[window] * share).sum())
    odd: Floats = np.maximum(texture, 0) ** 2
    for channel in range(3):
        plane = image[..., channel]
        mean = float((plane[window] * share).sum())
        spread = float(np.sqrt(((plane[window] - mean) ** 2 * share).sum()))
        apart = np.abs(cv2.matchTemplate(plane - mean, pattern, cv2.TM_CCORR)) - spread
        odd = odd + np.maximum(apart, 0) ** 2 / 3
    return odd.astype(np.float32)


def membrane(difference: Floats, known: Bools, inside: Bools) -> Floats:
    """Return the correction inside a hole that continues the differences at its edge as smoothly as possible.

    Args:
        difference: target minus current values, shape (height, width, 3); used only where known.
        known: pixels whose difference is known, shape (height, width).
        inside: the hole, shape (height, width).

    Returns:
        The correction, shape (height, width, 3): 0 outside the hole, and at most 30 gray levels inside, to limit the
            effect of a wrong edge.

    Source:
        Pérez, Gangnet, Blake (2003). Poisson image editing. ACM Transactions on Graphics 22(3).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    cv2 = opencv()
    # Smooth the edge slightly, so that its noise is not continued.
    spread = cv2.GaussianBlur(known.astype(np.float32), (0, 0), _SOFT)[..., None]
    wanted = cv2.GaussianBlur(np.where(known[..., None], np.clip(difference, -_SHIFT, _SHIFT), 0), (0, 0), _SOFT)
    wanted = np.where(known[..., None], wanted / np.maximum(spread, 1e-6), 0)
    number = np.full(inside.shape, -1)
    number[inside] = np.arange(int(inside.sum()))
    ys, xs = np.nonzero(inside)
    # A weak pull to 0 everywhere determines the values where no edge is known.
    degree = np.full(len(ys), 1e-3)
    sums = np.zeros((len(ys), 3))
    rows: list[NDArray[np.int64]] = []
    cols: list[NDArray[np.int64]] = []
    for down, across in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        y, x = ys + down, xs + across
        within = (y >= 0) & (y < inside.shape[0]) & (x >= 0) & (x < inside.shape[1])
        y, x = np.where(within, y, 0), np.where(within, x, 0)
        linked, edge = within & inside[y, x], within & known[y, x]
        degree += linked | edge
        sums[edge] += wanted[y, x][edge]
        rows.append(np.flatnonzero(linked))
        cols.append(number[y, x][linked])
    equations, unknowns = np.concatenate(rows), np.concatenate(cols)
    diagonal = np.arange(len(ys))
    matrix = coo_array(
        (
            np.concatenate([degree, np.full(len(equations), -1.0)]),
            (np.concatenate([diagonal, equations]), np.concatenate([diagonal, unknowns])),
        )
    )
    correction = np.zeros(difference.shape, dtype=np.float32)
    correction[inside] = splu(matrix.tocsc()).solve(sums)
    return correction
