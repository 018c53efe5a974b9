"""How a painted region looks against its surroundings, and against untouched regions of the same shape.

What is compared is texture, edges, noise and color, each inside the region over a ring around it. The same is measured
where the region's shape is laid elsewhere in the image; a fill that nobody sees is an ordinary one among these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Box, Image
from spotball_gen.items.pictures import opencv

FEATURES = ("noise", "texture", "seam", "color")
"""What is measured of a region: logarithms of inside over around, but for color, the logarithm of a distance."""

FEWEST = 20
"""With fewer untouched regions, nothing is said."""

_NOISE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32) / 6
"""Answers to noise and to hardly any structure (Immerkaer, 1996)."""
_LEAST = 0.25
"""Gray levels added to both sides of a ratio: flat is not infinitely flatter than nearly flat."""
_FAINT = 0.01
"""Weight of players' pixels around a region: they count only where there is nothing else."""
_RIM = 2
"""Pixels around a player's box that its edges still show in."""
_TRIES = 8
"""So many places are drawn for each that is wanted."""
_WAYS = ((1, 0), (0, 1))

Mask = NDArray[np.uint8]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """What was found of a region.

    Attributes:
        percentile: share of the untouched regions that stand out less, in [0, 1]; a tie counts half.
        distance: how far it is from what is usual in its image, in robust standard deviations over all features.
        features: by the names in `FEATURES`, its own values.
        untouched: how many it was compared with.
    """

    percentile: float
    distance: float
    features: Mapping[str, float]
    untouched: int


def changed_outside(image: Image, painted: Image, mask: Mask) -> int:
    """How many pixels outside the mask are not what they were, to the bit.

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
    """How much a painted region stands out.

    The region and the untouched ones are one pool: by each feature's median and median absolute deviation over the
    pool, each region has a distance, the root mean square over features. Of a region that is one of the untouched
    ones, the percentile is uniform.

    Args:
        painted: the image without the ball.
        mask: what was painted over; anything but 0 is inside.
        players: regions are laid where no player is, as long as there is room; around them, players do not count.
        seed: of where they are laid.
        placements: how many untouched regions are wanted.

    Returns:
        None where there is nothing inside the mask, or room for fewer than 20 untouched regions.
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
    """The shape of a region and of the ring around it, which can be laid elsewhere."""

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
        """Shifts (y, x) that lay the shape into the image, off what was painted; shape (n, 2), n <= wanted."""
        most = np.array([self._height, self._width]) - 1 - self._high
        shifts = rng.integers(-self._low, most + 1, size=(wanted * _TRIES, 2))
        shifts = np.unique(shifts, axis=0)
        rng.shuffle(shifts)
        shape = np.vstack([self._inside, self._rim, self._ring])
        shifts = shifts[~self._touches(painted, shape, shifts)]
        free = shifts[~self._touches(player_mask, self._inside, shifts)]
        return (free if len(free) >= FEWEST else shifts)[:wanted]

    def features(self, maps: Floats, player_mask: NDArray[np.bool_], shifts: NDArray[np.int64]) -> Floats:
        """The features of the shape at each shift, shape (n_shifts, 4)."""
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
        """Weighted mean of each map over the pixels at each shift, shape (n_shifts, n_maps)."""
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
    """Of each pixel noise, gradient, red, green and blue, in gray levels; shape (height, width, 5)."""
    cv2 = opencv()
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    noise = np.abs(cv2.filter2D(gray, -1, _NOISE, borderType=cv2.BORDER_REFLECT))
    across, down = (
        cv2.Sobel(gray, cv2.CV_32F, *derivative, scale=1 / 8, borderType=cv2.BORDER_REFLECT) for derivative in _WAYS
    )
    return np.dstack([noise, np.hypot(across, down), image]).astype(np.float64)


def _distances(features: Floats) -> Floats:
    """How far each row is from the middle of all, shape (n,)."""
    middle = np.median(features, axis=0)
    # As a standard deviation, if it were Gaussian; never so small that what nobody sees stands out.
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
