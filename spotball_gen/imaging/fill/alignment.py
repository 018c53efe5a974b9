"""Align two images of the same scene by features, a homography and a local correction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

_FEATURES = 1500
_RATIO = 0.8
"""Maximum ratio of the best match's distance to that of the second best match (Lowe's ratio test)."""
_INLIERS = (12, 0.25)
"""Minimum number and minimum share of matches that must be inliers of a homography."""
_REPROJECTION = 2.0
"""Maximum reprojection error of an inlier, in pixels."""
_WARP = 0.35
"""Maximum relative change of area by a homography. Pans and zooms between neighboring frames change it less."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Window = tuple[slice, slice]


@dataclass(frozen=True)
class Keypoints:
    """An image's features: their positions (x, y) in pixels, shape (n, 2), and ORB descriptors, shape (n, 32)."""

    places: Floats
    descriptors: NDArray[np.uint8]

    @classmethod
    def of(cls, image: Image, excluded: Bools | None = None) -> Keypoints:
        """Return the features of an image.

        Args:
            image: RGB, shape (height, width, 3).
            excluded: mask of pixels to ignore, such as players, shape (height, width).
        """
        cv2 = opencv()
        gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        mask = None if excluded is None else np.where(excluded, np.uint8(0), np.uint8(255))
        orb = cv2.ORB_create(nfeatures=_FEATURES, fastThreshold=7)
        keypoints, descriptors = orb.detectAndCompute(gray, mask)
        if descriptors is None:
            return cls(np.zeros((0, 2), np.float32), np.zeros((0, 32), np.uint8))
        return cls(np.array([point.pt for point in keypoints], np.float32), descriptors)


def homography(source: Keypoints, target: Keypoints) -> NDArray[np.float64] | None:
    """Return the homography that maps the source's pixels to the target's.

    Returns:
        The matrix, shape (3, 3), or None if too few features match, or if the matrix distorts the image too much.
    """
    cv2 = opencv()
    if min(len(source.places), len(target.places)) < _INLIERS[0]:
        return None
    pairs = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(source.descriptors, target.descriptors, k=2)
    good = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < _RATIO * pair[1].distance]
    if len(good) < _INLIERS[0]:
        return None
    start = np.array([source.places[match.queryIdx] for match in good])
    end = np.array([target.places[match.trainIdx] for match in good])
    matrix, inliers = cv2.findHomography(start, end, cv2.RANSAC, _REPROJECTION, maxIters=1000, confidence=0.999)
    if matrix is None or inliers.sum() < max(_INLIERS[0], _INLIERS[1] * len(good)):
        return None
    plausible = abs(float(np.linalg.det(matrix[:2, :2])) - 1) < _WARP and np.abs(matrix[2, :2]).max() < 1e-3
    return np.asarray(matrix, dtype=np.float64) if plausible else None


def warped(image: Image | Floats, matrix: NDArray[np.float64], window: Window) -> tuple[Floats, Bools]:
    """Return a window of the target image, computed by warping the source image.

    Args:
        image: the source, RGB, shape (height, width, 3).
        matrix: the homography from the source's pixels to the target's.
        window: rows and columns of the target.

    Returns:
        The pixels, shape (rows, columns, 3), and a mask of those that the source image covers, shape (rows, columns).
    """
    cv2 = opencv()
    rows, cols = window
    shift = np.array([[1, 0, -cols.start], [0, 1, -rows.start], [0, 0, 1]], dtype=np.float64)
    shifted = shift @ matrix
    size = cols.stop - cols.start, rows.stop - rows.start
    if np.array_equal(matrix, np.eye(3)):
        return image[window].astype(np.float32), np.ones((size[1], size[0]), dtype=np.bool_)
    pixels = cv2.warpPerspective(image.astype(np.float32), shifted, size, flags=cv2.INTER_LANCZOS4)
    known = cv2.warpPerspective(
        np.ones(image.shape[:2], np.float32), shifted, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT
    )
    return np.clip(pixels, 0, 255), known > 0.999


def refined(
    matrix: NDArray[np.float64], source: Image | Floats, target: Image, window: Window, seen: Bools
) -> NDArray[np.float64]:
    """Return a homography, corrected by the shift that best aligns the two images in a window.

    Near and far objects move differently, so one homography does not fit the whole image.

    Args:
        matrix: the homography from the source's pixels to the target's.
        source: the source image.
        target: the target image.
        window: rows and columns of the target.
        seen: mask of the window's pixels to compare, shape (rows, columns).

    Returns:
        The corrected matrix, or `matrix` unchanged if no plausible shift is found.
    """
    cv2 = opencv()
    aligned, known = warped(source, matrix, window)
    usable = (seen & known).astype(np.uint8) * np.uint8(255)
    if (usable > 0).mean() < 0.2:
        return matrix
    first, second = (
        cv2.GaussianBlur(cv2.cvtColor(pixels.astype(np.float32), cv2.COLOR_RGB2GRAY), (0, 0), 1.0)
        for pixels in (target[window], aligned)
    )
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 1e-3)
    shift = np.eye(2, 3, dtype=np.float32)
    try:
        _, shift = cv2.findTransformECC(first, second, shift, cv2.MOTION_TRANSLATION, criteria, usable, 5)
    except cv2.error:
        # The alignment does not converge without texture.
        return matrix
    if np.abs(shift[:, 2]).max() > 4:
        return matrix
    # ECC maps the target's pixels to the aligned ones.
    back = np.array([[1, 0, -shift[0, 2]], [0, 1, -shift[1, 2]], [0, 0, 1]], dtype=np.float64)
    return back @ matrix


def is_still(source: Image, target: Image, seen: Bools) -> bool:
    """Return whether the camera did not move between two images.

    It did not move if the first image differs less from the second than each version shifted by half a pixel does, and
    if the mean difference is below 12 gray levels.

    Args:
        source: the first image.
        target: the second image.
        seen: mask of the pixels to compare, shape (height, width).
    """
    cv2 = opencv()
    first, second = (cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32) for pixels in (source, target))
    height, width = first.shape
    middle = slice(1, -1), slice(1, -1)
    wanted = seen[middle].astype(np.uint8)

    def differs(down: int, across: int) -> float:
        """Return the mean difference after a shift by half a pixel, computed by averaging neighboring pixels."""
        next_pixels = first[1 + down : height - 1 + down, 1 + across : width - 1 + across]
        return float(cv2.mean(cv2.absdiff((first[middle] + next_pixels) / 2, second[middle]), wanted)[0])

    if not wanted.any():
        return False
    unmoved = differs(0, 0)
    return unmoved < min(differs(0, 1), differs(0, -1), differs(1, 0), differs(-1, 0)) and unmoved < 12
