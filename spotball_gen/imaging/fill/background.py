"""Reconstruct the pixels behind the ball from neighboring frames, with a confidence per pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.imaging.fill.alignment import (
    Keypoints,
    Window,
    corners,
    homography,
    is_still,
    refined,
    tracked,
    warped,
)
from spotball_gen.imaging.fill.patches import membrane
from spotball_gen.imaging.shadows import ellipse
from spotball_gen.items.item import Box, Image
from spotball_gen.items.pictures import opencv

_SURROUNDINGS = 24
"""Width in pixels of the area around a hole in which frames are compared."""
_MISFIT = 8.0
"""Maximum median difference between a frame and the image after alignment, in gray levels. Around the hole, the lower
quartile of the difference must be at most half of this value.
"""
_GOOD = 3.0
"""If the median difference around the hole is below this value, no other alignment is tried."""
_SMALL = 0.25
"""Factor by which whole frames are resized before their brightness is compared."""
_FEWEST = 3
"""Minimum number of aligned neighboring frames, and minimum number of these frames that must show a pixel."""
_TOLERANCE = 8.0
"""Frames agree on a pixel if they differ by at most this many gray levels more than the noise."""
_BALL_LIKE = 0.5
"""A region of a neighboring frame looks like the ball if it differs from the ball by less than this share of the ball's
contrast, and if its correlation with the ball exceeds `_SHAPE`.
"""
_LEAST_CONTRAST = 12.0
_SHAPE = 0.5
"""A region of a neighboring frame looks like the ball only if the correlation of its brightness with the brightness of
the ball and the ball's edge is above this value.
"""
_RIM = 3
"""Width in pixels of the ball's edge."""
_OPEN = 3
"""Side length in pixels of a square. Groups of agreeing pixels that are too small to contain this square are used only
where there is no larger group.
"""
_SEAM = 2.0
"""Standard deviation in pixels of the blur that blends the pixels of two neighbors into each other."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Background:
    """The background in a window of an image, reconstructed from neighboring frames.

    Attributes:
        window: rows and columns of the image.
        pixels: RGB, shape (rows, columns, 3).
        confidence: share of neighboring frames that agree on each pixel, in [0, 1], shape (rows, columns); 0 for
            unknown pixels.
        frames: number of neighboring frames that could be aligned.
    """

    window: Window
    pixels: Floats
    confidence: Floats
    frames: int


def background(
    image: Image, hole: Bools, ball: Box, moving: Bools, neighbors: Sequence[Image | Floats]
) -> Background | None:
    """Return the pixels behind a hole, reconstructed from neighboring frames.

    Each neighbor is aligned by a homography and a local shift, and adapted to the image's brightness. If the homography
    of the whole image does not fit well near the hole, one of tracked corners near the hole is tried. Each pixel takes
    the value that most neighbors agree on, so players who pass by have no effect. If pixels next to the hole differ
    from the neighbors, something has moved there, and the nearby part of the hole gets a lower confidence.

    Args:
        image: RGB, shape (height, width, 3).
        hole: pixels to fill, shape (height, width).
        ball: box of the ball that hides these pixels. Pixels of a neighbor that show the ball are not used.
        moving: pixels not used for alignment, such as players, shape (height, width).
        neighbors: other frames of the same shot and size, the nearest in time first.

    Returns:
        The background, or None if fewer than three neighbors can be aligned.
    """
    window = _window(hole)
    inside, around = hole[window], ~hole[window] & ~moving[window]
    if around.mean() < 0.1:
        around = ~hole[window]
    target = image[window].astype(np.float32)
    stack, known, weights = _aligned(image, hole | moving, neighbors, window, around)
    if len(stack) < _FEWEST:
        return None
    noise = _noise(stack, target, around)
    for number, pixels in enumerate(stack):
        known[number] &= ~_ball_in(pixels, target, ball, window, image.shape)
    chosen, confidence = _agreed(stack, known, weights, _TOLERANCE + noise)
    still = _unmoved(chosen, target, ~inside & (confidence > 0), _TOLERANCE + noise)
    confidence = np.where(inside, confidence * still, confidence)
    # Choose regions instead of single pixels, whose edges would be visible.
    confidence = np.minimum(opencv().blur(confidence, (5, 5)), (confidence > 0) * 1.0).astype(np.float32)
    differences = target - chosen
    edge = around & (confidence > 0.5) & (np.abs(differences).max(axis=2) < _TOLERANCE + noise)
    chosen = np.where(inside[..., None], chosen + membrane(differences, edge, inside), target)
    return Background(window, np.clip(chosen, 0, 255).astype(np.float32), confidence, len(stack))


def _window(hole: Bools) -> Window:
    rows, cols = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
    return (
        slice(max(int(rows[0]) - _SURROUNDINGS, 0), min(int(rows[-1]) + _SURROUNDINGS + 1, hole.shape[0])),
        slice(max(int(cols[0]) - _SURROUNDINGS, 0), min(int(cols[-1]) + _SURROUNDINGS + 1, hole.shape[1])),
    )


@dataclass(frozen=True)
class _AlignedFrame:
    """A neighboring frame, aligned with the image.

    Attributes:
        pixels: its pixels in the window, RGB, shape (rows, columns, 3).
        shown: the pixels that the neighbor covers, shape (rows, columns).
        misfit: median difference from the image around the hole, in gray levels.
        least_misfit: lower quartile of these differences, because players may hide the rest of the surroundings.
    """

    pixels: Floats
    shown: Bools
    misfit: float
    least_misfit: float


def _aligned(
    image: Image, unused: Bools, neighbors: Sequence[Image | Floats], window: Window, around: Bools
) -> tuple[Floats, Bools, Floats]:
    """Return the neighbors that can be aligned with the image.

    Returns:
        For each of these neighbors, the pixels in the window, the mask of the pixels that the neighbor covers, and a
            weight, which is larger if the neighbor is more similar to the image.
    """
    target = image[window].astype(np.float32)
    target_features, target_corners = None, None

    def aligned_by(neighbor: Image | Floats, matrix: NDArray[np.float64], light: Floats | None) -> _AlignedFrame | None:
        """Return the neighbor aligned by a homography. Without `light`, its brightness is adapted near the hole."""
        pixels, shown = warped(neighbor, matrix, window)
        seen = around & shown
        if seen.mean() < 0.1:
            return None
        light = _gain(pixels[seen], target[seen]) if light is None else light
        pixels = np.clip(pixels * light, 0, 255)
        least, middle = np.quantile(np.abs(pixels - target).mean(axis=2)[seen], (0.25, 0.5))
        return _AlignedFrame(pixels, shown, float(middle), float(least))

    stack = []
    for neighbor in neighbors:
        rounded = neighbor.round().astype(np.uint8)
        still = is_still(rounded, image, ~unused)
        matrix: NDArray[np.float64] | None = np.eye(3)
        if not still:
            target_features = target_features or Keypoints.of(image, unused)
            matrix = homography(Keypoints.of(rounded), target_features)
        best = None
        if matrix is not None:
            matrix = matrix if still else refined(matrix, neighbor, image, window, around)
            light = _light(neighbor, matrix, image, unused)
            best = None if light is None else aligned_by(neighbor, matrix, light)
        if not still and (best is None or best.misfit > _GOOD):
            target_corners = corners(image, window, unused) if target_corners is None else target_corners
            local = tracked(rounded, image, target_corners, matrix)
            if local is not None:
                other = aligned_by(neighbor, refined(local, neighbor, image, window, around), None)
                if other and (best is None or other.misfit < best.misfit):
                    best = other
        if best and 2 * best.least_misfit <= _MISFIT:
            stack.append(best)
    if not stack:
        return np.zeros((0, *target.shape), np.float32), np.zeros((0, *around.shape), np.bool_), np.zeros(0, np.float32)
    weights = np.array([1 / (2 + 2 * of.least_misfit) for of in stack], np.float32)
    return np.array([of.pixels for of in stack], np.float32), np.array([of.shown for of in stack]), weights


def _light(neighbor: Image | Floats, matrix: NDArray[np.float64], image: Image, unused: Bools) -> Floats | None:
    """Return the gain per channel that adapts an aligned frame to the image's brightness, shape (3,).

    Returns:
        The gains, or None if too few pixels can be compared, or if the frame shows another scene.
    """
    cv2 = opencv()
    first, second = (
        cv2.resize(pixels, None, fx=_SMALL, fy=_SMALL, interpolation=cv2.INTER_AREA) for pixels in (neighbor, image)
    )
    scale = np.diag([_SMALL, _SMALL, 1.0])
    window = slice(0, second.shape[0]), slice(0, second.shape[1])
    pixels, shown = warped(first, scale @ matrix @ np.linalg.inv(scale), window)
    off = cv2.resize(unused.astype(np.uint8), second.shape[1::-1], interpolation=cv2.INTER_AREA) > 0
    seen = shown & ~off
    if seen.mean() < 0.2:
        return None
    aligned, target = pixels[seen], second[seen].astype(np.float32)
    gain = _gain(aligned, target)
    error = np.median(np.abs(np.clip(aligned * gain, 0, 255) - target).mean(axis=1))
    return gain if error <= _MISFIT else None


def _gain(pixels: Floats, target: Floats) -> Floats:
    """Return the gain per channel that adapts pixels to the brightness of others; shapes (n, 3), (n, 3) and (3,)."""
    gain: Floats = np.clip((np.median(target, axis=0) + 4) / (np.median(pixels, axis=0) + 4), 0.7, 1.4)
    return gain.astype(np.float32, copy=False)


def _noise(stack: Floats, target: Floats, around: Bools) -> float:
    """Return the typical difference between aligned frames without motion, in gray levels, at most 12.

    It is about twice the mean difference, and is estimated from the lower quartile, because something may have moved in
    most of the surroundings.
    """
    differences = np.median(np.abs(stack - target).mean(axis=3), axis=0)[around]
    return min(4 * float(np.quantile(differences, 0.25)), 12.0) if differences.size else 0.0


def _ball_in(pixels: Floats, target: Floats, ball: Box, window: Window, shape: tuple[int, ...]) -> Bools:
    """Return a mask of the pixels of a neighbor, near the ball's position, that look like the ball.

    Returns:
        Shape (rows, columns).
    """
    cv2 = opencv()
    core = ellipse(ball, shape, -0.1 * min(ball.width, ball.height))[window]
    near = ellipse(ball, shape, 8)[window] & ~ellipse(ball, shape, 3)[window]
    ball_pixels = np.zeros(core.shape, dtype=np.bool_)
    if core.sum() < 4 or not near.any():
        return ball_pixels
    contrast = float(np.linalg.norm(target[core].mean(axis=0) - target[near].mean(axis=0)))
    contrast = max(contrast, float(target[core].std(axis=0).mean()), _LEAST_CONTRAST)
    rows, cols = (np.flatnonzero(core.any(axis=axis)) for axis in (1, 0))
    top, left = max(int(rows[0]) - _RIM, 0), max(int(cols[0]) - _RIM, 0)
    box = slice(top, int(rows[-1]) + _RIM + 1), slice(left, int(cols[-1]) + _RIM + 1)
    weights = core[box].astype(np.float32)
    seen, wanted = (cv2.GaussianBlur(values, (0, 0), 0.8) for values in (pixels, target))
    costs = cv2.matchTemplate(seen, wanted[box], cv2.TM_SQDIFF, mask=np.dstack([weights] * 3))
    alike = np.sqrt(np.maximum(costs, 0) / weights.sum()) < _BALL_LIKE * contrast
    # Compare the edge as well, because a bright wall has the color of a ball but not its shape.
    gray, disk = (cv2.cvtColor(values, cv2.COLOR_RGB2GRAY) for values in (seen, wanted[box]))
    alike &= cv2.matchTemplate(gray, disk, cv2.TM_CCOEFF_NORMED) > _SHAPE
    grown = cv2.dilate(core[box].astype(np.uint8), np.ones((3, 3), dtype=np.uint8), iterations=2)
    for y, x in np.argwhere(alike):
        # A ball that is farther away hides other pixels, or other frames outvote it.
        if max(abs(y - top), abs(x - left)) <= len(rows):
            ball_pixels[y : y + grown.shape[0], x : x + grown.shape[1]] |= grown > 0
    # Slightly larger than the core, because the ball's edge mixes with its surroundings.
    margin = 2 * round(0.15 * min(ball.width, ball.height)) + 3
    widened: Bools = cv2.dilate(ball_pixels.astype(np.uint8), np.ones((margin, margin), np.uint8)) > 0
    return widened


def _agreed(stack: Floats, known: Bools, weights: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """Return for each pixel the value that most neighbors agree on, and the share of neighbors that agree.

    The values come from as few neighbors as possible, because an average of many frames would have less noise than the
    image.
    """
    cv2 = opencv()
    smooth = np.array([cv2.blur(pixels, (3, 3)) for pixels in stack])
    alike = np.zeros(known.shape, dtype=np.float32)
    for first in range(len(stack)):
        for second in range(len(stack)):
            near = np.abs(smooth[first] - smooth[second]).max(axis=2) < tolerance
            alike[first] += weights[second] * (near & known[second])
    alike *= known
    best = alike.max(axis=0)
    shown = known.sum(axis=0)
    total = (known * weights[:, None, None]).sum(axis=0)
    confidence = np.where(shown >= _FEWEST, best / np.maximum(total, 1e-6), 0)
    # Pixels that few neighbors show are less certain.
    confidence *= np.minimum(shown / max(_FEWEST, 0.4 * len(stack)), 1)
    agrees = alike >= 0.9 * best[None]
    square = np.ones((_OPEN, _OPEN), dtype=np.uint8)
    joined = np.array([cv2.morphologyEx(pixels.astype(np.uint8), cv2.MORPH_OPEN, square) > 0 for pixels in agrees])
    shares = np.zeros(agrees.shape, dtype=np.float32)
    left = best > 0
    for usable in (joined, agrees):
        while True:
            gains = (usable & left[None]).sum(axis=(1, 2)) * weights
            donor = int(np.argmax(gains))
            if not gains[donor]:
                break
            take = usable[donor] & left
            shares[donor][take] = 1
            left &= ~take
    # Blend neighbors into each other where both agree. A hard border would be visible, so all transitions are soft.
    soft = [cv2.GaussianBlur(pixels.astype(np.float32), (0, 0), _SEAM / 2) ** 2 for pixels in agrees]
    shares = np.array([cv2.GaussianBlur(share, (0, 0), _SEAM) for share in shares]) * soft
    chosen = np.einsum("nyx,nyxc->yxc", shares / np.maximum(shares.sum(axis=0), 1e-6), stack)
    return chosen.astype(np.float32), confidence.astype(np.float32)


def _unmoved(chosen: Floats, target: Floats, seen: Bools, tolerance: float) -> Floats:
    """Return how well the surroundings of each pixel match the neighbors, from 0 to 1, shape (rows, columns)."""
    cv2 = opencv()
    smooth = cv2.blur(np.where(seen[..., None], chosen - target, 0), (3, 3))
    same = (np.abs(smooth).max(axis=2) < tolerance) & seen
    sigma = 5.0
    spread = cv2.GaussianBlur(seen.astype(np.float32), (0, 0), sigma)
    share = cv2.GaussianBlur(same.astype(np.float32), (0, 0), sigma) / np.maximum(spread, 1e-6)
    # A majority is required, because a line that is off by half a pixel is not a player.
    result: Floats = np.clip((share - 0.3) / 0.5, 0, 1).astype(np.float32)
    return result
