"""Align two images of the same scene by features or tracked corners, a homography and a local correction."""

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
_CORNERS = 300
_REACH = 50
"""Maximum distance in pixels of the tracked corners from the window to align."""
_ROUND_TRIP = 0.5
"""Maximum distance in pixels of a corner from its start, if it is tracked to the other image and back."""
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
    start = np.array([source.places[match.queryIdx] for match in good])
    end = np.array([target.places[match.trainIdx] for match in good])
    return _homography_of_points(start, end)


def corners(image: Image, window: Window, excluded: Bools) -> Floats:
    """Return the corners in and around a window of an image, as positions (x, y) in pixels, shape (n, 1, 2).

    Args:
        image: RGB, shape (height, width, 3).
        window: rows and columns of the image.
        excluded: mask of pixels to ignore, shape (height, width).
    """
    cv2 = opencv()
    rows, cols = window
    near = np.zeros(excluded.shape, dtype=np.uint8)
    near[max(rows.start - _REACH, 0) : rows.stop + _REACH, max(cols.start - _REACH, 0) : cols.stop + _REACH] = 255
    near[excluded] = 0
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    points = cv2.goodFeaturesToTrack(gray, _CORNERS, 0.005, 5, mask=near, blockSize=5)
    return np.zeros((0, 1, 2), np.float32) if points is None else np.asarray(points, dtype=np.float32)


def tracked(
    source: Image, target: Image, points: Floats, guess: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """Return the homography that maps the source's pixels to the target's near corners of the target.

    The corners are tracked by optical flow. A homography of a few corners fits a part of the scene better than one of
    the whole image if near and far objects move differently.

    Args:
        source: the source image.
        target: the target image.
        points: the target's corners, as returned by `corners`.
        guess: a first estimate of the homography; None if the corners have hardly moved.

    Returns:
        The matrix, shape (3, 3), or None if too few corners are tracked, or if the matrix distorts the image too much.
    """
    cv2 = opencv()
    if len(points) < _INLIERS[0]:
        return None
    first, second = (cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (target, source))
    start = points if guess is None else cv2.perspectiveTransform(points, np.linalg.inv(guess)).astype(np.float32)
    how = {"winSize": (21, 21), "maxLevel": 3, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
    there, seen, _ = cv2.calcOpticalFlowPyrLK(first, second, points, start.copy(), **how)
    back, seen_again, _ = cv2.calcOpticalFlowPyrLK(second, first, there, points.copy(), **how)
    good = (seen & seen_again).astype(np.bool_)[:, 0] & (np.linalg.norm(back - points, axis=2)[:, 0] < _ROUND_TRIP)
    return _homography_of_points(there[good, 0], points[good, 0])


def _homography_of_points(start: Floats, end: Floats) -> NDArray[np.float64] | None:
    """Return the homography that maps points to points, or None if too few points fit it or it distorts too much."""
    cv2 = opencv()
    if len(start) < _INLIERS[0]:
        return None
    matrix, inliers = cv2.findHomography(start, end, cv2.RANSAC, _REPROJECTION, maxIters=1000, confidence=0.999)
    if matrix is None or inliers.sum() < max(_INLIERS[0], _INLIERS[1] * len(start)):
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
