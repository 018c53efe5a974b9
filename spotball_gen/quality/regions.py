"""Compare an inpainted region with its surroundings, and with untouched regions of the same shape.

Noise, texture and color inside the region, and gradients at its edge, are compared with a ring around it. The same
features are computed for untouched regions of this shape at random positions in the image. If the inpainting is
invisible, the features of the inpainted region are as common as those of the untouched regions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Box, Image
from spotball_gen.items.pictures import opencv

FEATURES = ("noise", "texture", "seam", "color")
"""Features of a region. `noise` and `texture` are logarithms of ratios of the inside to the ring around it, and `seam`
of the region's edge to the ring. `color` is the logarithm of 1 plus the distance between the colors of inside and ring.
"""

FEWEST = 20
"""Minimum number of untouched regions for a result."""

_NOISE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32) / 6
"""Filter that responds to noise but hardly to structure (Immerkaer, 1996)."""
_LEAST = 0.25
"""Gray levels added to both sides of a ratio, so that flat areas do not give infinite ratios."""
_FAINT = 0.01
"""Weight of players' pixels in the means. Other pixels have weight 1, so players hardly affect the features."""
_RIM = 2
"""Number of pixels around a player's box that the player's edges affect."""
_TRIES = 8
"""Number of random positions that are tried for each desired untouched region."""
_WAYS = ((1, 0), (0, 1))

Mask = NDArray[np.uint8]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """The artifact score of an inpainted region.

    Attributes:
        percentile: share of the untouched regions with a smaller `distance`, in [0, 1]; ties count half.
        distance: root mean square deviation of the features from their medians, in robust standard deviations.
        features: values of the region, by the names in `FEATURES`.
        untouched: number of untouched regions that the region was compared with.
    """

    percentile: float
    distance: float
    features: Mapping[str, float]
    untouched: int


def changed_outside(image: Image, painted: Image, mask: Mask) -> int:
    """Return the number of pixels outside the mask that differ from the original.

    Examples:
        >>> image, mask = np.zeros((2, 2, 3), np.uint8), np.array([[255, 0], [0, 0]], np.uint8)
        >>> painted = image.copy()
        >>> painted[0] = 1
        >>> changed_outside(image, painted, mask)
        1
    """
    return int(((image != painted).any(axis=2) & (mask == 0)).sum())


def judge(
    painted: Image, mask: Mask, players: Sequence[Box] = (), *, seed: int, placements: int = 200
) -> Judged | None:
    """Return the artifact score of an inpainted region, with its features.

    The distance of a region is the root mean square of its features. Each feature is standardized by its median and its
    median absolute deviation over the inpainted and the untouched regions. If the inpainted region looks like the
    untouched ones, its percentile is uniformly distributed.

    Args:
        painted: the image without the ball.
        mask: the inpainted pixels; any value except 0 is inside.
        players: boxes of players. Untouched regions avoid them if there is enough room, and pixels of players have
            almost no weight.
        seed: seed of the untouched regions' positions.
        placements: maximum number of untouched regions.

    Returns:
        The result, or None if the mask is empty, or if there is room for fewer than 20 untouched regions.
    """
    if not (mask > 0).any():
        return None
    shape = _Shape(mask)
    player_mask = _players(players, mask.shape)
    shifts = shape.placements(mask > 0, player_mask, np.random.default_rng(seed), placements)
    if len(shifts) < FEWEST:
        return None
    features = shape.features(_maps(painted), player_mask, np.vstack([[(0, 0)], shifts]))
    distances = _distances(features)
    less, tied = (distances[1:] < distances[0]).mean(), (distances[1:] == distances[0]).mean()
    by_name = dict(zip(FEATURES, features[0].tolist(), strict=True))
    return Judged(float(less + tied / 2), float(distances[0]), by_name, len(shifts))


class _Shape:
    """The pixels of a region and of the ring around it, which can be shifted to other positions in the image."""

    def __init__(self, mask: Mask) -> None:
        cv2 = opencv()
        inside = (mask > 0).astype(np.uint8)
        self._height, self._width = mask.shape
        reach = max(4, round(np.sqrt(inside.sum()) / 3))
        near, far = (cv2.dilate(inside, _disk(size)) for size in (1, reach))
        core = cv2.erode(inside, _disk(1))
        self._inside = np.argwhere(inside)
        self._rim = np.argwhere((near > 0) & (core == 0))
        self._ring = np.argwhere((far > 0) & (near == 0))
        together = np.vstack([self._inside, self._ring])
        self._low, self._high = together.min(axis=0), together.max(axis=0)

    def placements(
        self, painted: NDArray[np.bool_], player_mask: NDArray[np.bool_], rng: np.random.Generator, wanted: int
    ) -> NDArray[np.int64]:
        """Return random shifts (y, x) that keep the shape inside the image and off the inpainted pixels; shape (n, 2),
        n <= wanted.
        """
        most = np.array([self._height, self._width]) - 1 - self._high
        shifts = rng.integers(-self._low, most + 1, size=(wanted * _TRIES, 2))
        shifts = np.unique(shifts, axis=0)
        rng.shuffle(shifts)
        shape = np.vstack([self._inside, self._rim, self._ring])
        shifts = shifts[~self._touches(painted, shape, shifts)]
        free = shifts[~self._touches(player_mask, self._inside, shifts)]
        return (free if len(free) >= FEWEST else shifts)[:wanted]

    def features(self, maps: Floats, player_mask: NDArray[np.bool_], shifts: NDArray[np.int64]) -> Floats:
        """Return the features of the shape at each shift, shape (n_shifts, 4)."""
        weights = np.where(player_mask, _FAINT, 1.0)
        around = self._means(maps, weights, self._ring, shifts)
        within = self._means(maps, weights, self._inside, shifts)
        rim = self._means(maps, weights, self._rim, shifts)

        def ratio(first: Floats, second: Floats) -> Floats:
            return np.log((first + _LEAST) / (second + _LEAST))

        color = np.log1p(np.linalg.norm(within[:, 2:] - around[:, 2:], axis=1))
        columns = [ratio(within[:, 0], around[:, 0]), ratio(within[:, 1], around[:, 1])]
        return np.column_stack([*columns, ratio(rim[:, 1], around[:, 1]), color])

    def _touches(
        self, mask: NDArray[np.bool_], pixels: NDArray[np.int64], shifts: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        touched = mask.reshape(-1)[self._at(pixels, shifts)]
        return np.asarray(touched.any(axis=1))

    def _means(self, maps: Floats, weights: Floats, pixels: NDArray[np.int64], shifts: NDArray[np.int64]) -> Floats:
        """Return the weighted mean of each map over the shifted pixels, shape (n_shifts, n_maps)."""
        at = self._at(pixels, shifts)
        of = weights.reshape(-1)[at]
        flat = maps.reshape(-1, maps.shape[-1])
        sums = [(flat[:, column][at] * of).sum(axis=1) for column in range(flat.shape[1])]
        means: Floats = np.column_stack(sums) / of.sum(axis=1)[:, None]
        return means

    def _at(self, pixels: NDArray[np.int64], shifts: NDArray[np.int64]) -> NDArray[np.int64]:
        step = np.array([self._width, 1])
        at: NDArray[np.int64] = (shifts @ step)[:, None] + (pixels @ step)[None]
        return at


def _maps(image: Image) -> Floats:
    """Return noise, gradient, red, green and blue of each pixel in gray levels, shape (height, width, 5)."""
    cv2 = opencv()
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    noise = np.abs(cv2.filter2D(gray, -1, _NOISE, borderType=cv2.BORDER_REFLECT))
    across, down = (
        cv2.Sobel(gray, cv2.CV_32F, *derivative, scale=1 / 8, borderType=cv2.BORDER_REFLECT) for derivative in _WAYS
    )
    return np.dstack([noise, np.hypot(across, down), image]).astype(np.float64)


def _distances(features: Floats) -> Floats:
    """Return the standardized distance of each row from the median of all rows, shape (n,)."""
    middle = np.median(features, axis=0)
    # Scaled to the standard deviation of a Gaussian, with a lower limit so that invisible differences do not stand out.
    spread = np.maximum(1.4826 * np.median(np.abs(features - middle), axis=0), 0.02)
    distances: Floats = np.sqrt(np.mean(((features - middle) / spread) ** 2, axis=1))
    return distances


def _players(players: Sequence[Box], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(shape, dtype=bool)
    for box in players:
        rows = slice(max(0, int(np.floor(box.y1)) - _RIM), max(0, int(np.ceil(box.y2)) + _RIM))
        cols = slice(max(0, int(np.floor(box.x1)) - _RIM), max(0, int(np.ceil(box.x2)) + _RIM))
        mask[rows, cols] = True
    return mask


def _disk(radius: int) -> NDArray[np.uint8]:
    cv2 = opencv()
    disk: NDArray[np.uint8] = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return disk
