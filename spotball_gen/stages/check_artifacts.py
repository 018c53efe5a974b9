"""Stage `check`, kind `artifacts`: measure whether the inpainting is visible and whether a ball is detected again.

Noise, texture and color inside the region, and gradients at its edge, are compared with a ring around it. The same
features are computed for untouched regions of this shape at random positions in the image. If the inpainting is
invisible, the features of the inpainted region are as common as those of the untouched regions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.items.item import Box, Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Failure, Outcome, StageSettings, balls_by, one_by_one

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


SCORES = ("artifact", "artifact_distance", "changed_outside", "ball_again")
"""Names of the scores that this stage adds to an item."""


class ArtifactSettings(StageSettings):
    """Settings that decide which items are reviewed first.

    Attributes:
        limit: items with a higher artifact score are reviewed first. The score is the share of untouched regions that
            stand out less than the inpainted region.
        placements: number of untouched regions to compare with the inpainted region.
        detect_again: whether to run the run's detector on the inpainted image. A detector that reads boxes from a file
            is not run.
    """

    limit: float = Field(0.95, ge=0, le=1)
    placements: int = Field(200, ge=20, le=5000)
    detect_again: bool = True


class Artifacts:
    """Score each inpainted region. No item is rejected, but suspicious items are marked to be reviewed first.

    An item gets the scores `artifact` (share of untouched regions that stand out less than the inpainted region, in
    [0, 1]), `artifact_distance` (distance of the inpainted region from a typical region of the image, in robust
    standard deviations), `changed_outside` (number of pixels changed outside the mask) and, if the detector runs again,
    `ball_again` (the detector's confidence in a ball that touches the inpainted ball; 0 if it finds no such ball). The
    note `review_first` states whether to review the item first, and the note `why` lists the reasons.
    """

    Settings: ClassVar[type[StageSettings]] = ArtifactSettings
    packages: ClassVar[tuple[str, ...]] = ("numpy", "opencv-python-headless")
    name = "check"
    kind = "artifacts"
    version = "1"
    batch_size = 8

    def __init__(self, settings: ArtifactSettings, context: Context) -> None:
        self.settings, self._context = settings, context
        self._detector: Any = None
        if settings.detect_again and context.detector:
            make, detector_settings = context.detector
            if getattr(make, "sees", True):
                self._detector = make(detector_settings, context)
        self.device: Device = self._detector.device if self._detector else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their scores and notes; see `Stage.process`."""
        outcome = one_by_one(self.name, items, self._measured)
        if not self._detector or not outcome.items:
            return replace(outcome, items=tuple(self._noted(item) for item in outcome.items))
        scores, failures = self._seen(outcome.items)
        seen_items = [item.scored(ball_again=scores[item.id]) for item in outcome.items if item.id in scores]
        return Outcome(tuple(self._noted(item) for item in seen_items), (), (*outcome.failures, *failures))

    def _measured(self, item: Item) -> Item:
        if item.painted is None:
            raise ValueError("nothing was inpainted")
        painted = item.painted.array
        if item.mask is None:
            # Without a stored mask, all changed pixels count as inpainted, and changes outside cannot be detected.
            mask = np.where((painted != item.image).any(axis=2), np.uint8(255), np.uint8(0))
        else:
            mask = item.mask.array
            item = item.scored(changed_outside=changed_outside(item.image, painted, mask))
        seed = item.seed(self._context.seed, self.name)
        judged = judge(painted, mask, item.players, seed=seed, placements=self.settings.placements)
        if judged is None:
            return item.noted(self.name, untouched=0)
        features = {name: round(value, 4) for name, value in judged.features.items()}
        item = item.scored(artifact=round(judged.percentile, 4), artifact_distance=round(judged.distance, 4))
        return item.noted(self.name, untouched=judged.untouched, features=features)

    def _seen(self, items: Sequence[Item]) -> tuple[dict[str, float], list[Failure]]:
        """Return the detector's confidence in a ball at the inpainted place, by item, and the detector's failures."""
        bare = [
            replace(item, frame=item.painted, boxes=(), ball=None, players=(), mask=None, painted=None, notes={})
            for item in items
            if item.painted is not None
        ]
        outcome = balls_by(self._detector, bare)
        balls = {item.id: item.ball for item in items}
        scores = {reject.item: 0.0 for reject in outcome.rejects}
        for item in outcome.items:
            before = balls[item.id]
            found_again = [box.score for box in item.boxes if box.label == "ball" and before and _meet(box, before)]
            scores[item.id] = max(found_again, default=0.0)
        return scores, [
            Failure(failure.item, self.name, f"detecting again: {failure.error}") for failure in outcome.failures
        ]

    def _noted(self, item: Item) -> Item:
        why = []
        if "artifact" not in item.scores:
            why.append("too few untouched regions to compare")
        elif item.scores["artifact"] > self.settings.limit:
            why.append("stands out")
        if item.scores.get("ball_again"):
            why.append("ball seen again")
        if item.scores.get("changed_outside"):
            why.append("pixels changed outside the mask")
        return item.noted(self.name, review_first=bool(why), why=why)


def _meet(first: Box, second: Box) -> bool:
    return max(first.x1, second.x1) < min(first.x2, second.x2) and max(first.y1, second.y1) < min(first.y2, second.y2)
