"""Stage `track`, kind `kalman`: keep a ball that moves like a ball around an item; kind `none`: keep all.

Detections are linked with OpenCV's Kalman filter and SciPy's linear assignment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.footage.neighbors import Neighbor, neighbors
from spotball_gen.items.item import Box, Item
from spotball_gen.items.pictures import PictureFile, opencv
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, balls_by, one_by_one

Floats = NDArray[np.float64]

_GATE = 9.21
"""Maximum squared Mahalanobis distance of a detection from its track: the 99% quantile for two degrees of freedom."""
_SMOOTHED = 0.35
"""To estimate the velocity at a time, a path is fitted to the detections at most this many seconds before or after."""


@dataclass(frozen=True, slots=True)
class MotionModel:
    """Assumptions about a ball's motion. Lengths are in pixels of the image.

    Attributes:
        speed: standard deviation of the speed in each direction, in pixels per second.
        acceleration: standard deviation of the acceleration, in pixels per second squared.
        error: standard deviation of the error of a detection's center, in pixels.
    """

    speed: float
    acceleration: float
    error: float


@dataclass(slots=True)
class Track:
    """Detections of the same object.

    Attributes:
        places: for each detection, in the order of the frames, the index of the frame and the index of the detection in
            this frame.
        points: time in seconds, x and y in pixels, for each detection.
        score: sum of the detections' scores.
    """

    places: list[tuple[int, int]] = field(default_factory=list)
    points: list[tuple[float, float, float]] = field(default_factory=list)
    score: float = 0.0

    def velocity(self, time: float) -> tuple[float, float] | None:
        """Return the velocity (right, down) at a time, in pixels per second, or None if there are fewer than
        two points.
        """
        points = np.array(self.points)
        near = points[np.abs(points[:, 0] - time) <= _SMOOTHED]
        points = near if len(near) >= 2 else points
        if len(points) < 2:
            return None
        # A ball in flight moves along a parabola. Two points determine only a line.
        degree = min(2, len(points) - 1)
        slopes = np.polynomial.polynomial.polyfit(points[:, 0] - time, points[:, 1:], degree)[1]
        return float(slopes[0]), float(slopes[1])


def link(times: Sequence[float], detections: Sequence[NDArray[np.floating]], model: MotionModel) -> list[Track]:
    """Return tracks that link the detections of the same object in several frames.

    Each frame's detections are assigned to the existing tracks with the maximum likelihood, which depends on the
    Mahalanobis distances to the predicted positions. Detections that are too far from every prediction begin new
    tracks.

    Args:
        times: times of the frames, in seconds, in increasing order.
        detections: detections of each frame, shape (n, 3): x, y and score.
        model: how a ball may move.

    Returns:
        All tracks; each detection is in one of them.

    Source:
        Bewley, Ge, Ott, Ramos, Upcroft (2016). Simple online and realtime tracking. ICIP. A small fast ball does not
        overlap itself from one frame to the next, so the distance is used instead of the overlap.

    Examples:
        >>> path = [np.array([[10.0 * number, 50.0, 0.9]]) for number in range(4)]
        >>> path[2] = np.vstack([path[2], [(300.0, 10.0, 0.5)]])
        >>> tracks = link([0.0, 0.1, 0.2, 0.3], path, MotionModel(200, 400, 2))
        >>> [len(track.places) for track in tracks], round(tracks[0].velocity(0.1)[0], 3)
        ([4, 1], 100.0)
    """
    followed: list[tuple[Any, Track]] = []
    for frame, (time, detected) in enumerate(zip(times, detections, strict=True)):
        step = time - times[frame - 1] if frame else 0.0
        predicted = [_predict(kalman, step, model) for kalman, _ in followed]
        assigned = _assigned(predicted, detected[:, :2])
        for number, (x, y, score) in enumerate(detected.tolist()):
            if number in assigned:
                kalman, track = followed[assigned[number]]
                kalman.correct(np.array([[x], [y]]))
            else:
                kalman, track = _begin(x, y, model), Track()
                followed.append((kalman, track))
            track.places.append((frame, number))
            track.points.append((time, x, y))
            track.score += score
    return [track for _, track in followed]


def _assigned(predicted: Sequence[tuple[Floats, Floats]], detected: NDArray[np.floating]) -> dict[int, int]:
    """Return the index of the track for each assigned detection, by the detection's index."""
    from scipy.optimize import linear_sum_assignment

    if not predicted or not len(detected):
        return {}
    distances = np.empty((len(predicted), len(detected)))
    for row, (place, covariance) in enumerate(predicted):
        apart = detected - place
        # Compare likelihoods, so that an uncertain track does not take a detection from a track that expects it.
        distances[row] = np.einsum("ni,ni->n", apart, np.linalg.solve(covariance, apart.T).T)
    uncertainty = np.array([np.log(np.linalg.det(covariance)) for _, covariance in predicted])
    costs = np.where(distances > _GATE, 1e6, distances + uncertainty[:, None])
    rows, cols = linear_sum_assignment(costs)
    return {int(col): int(row) for row, col in zip(rows, cols, strict=True) if distances[row, col] <= _GATE}


def _begin(x: float, y: float, model: MotionModel) -> Any:
    """Return a Kalman filter for position and velocity that starts at a detection."""
    cv2 = opencv()
    kalman = cv2.KalmanFilter(4, 2, 0, cv2.CV_64F)
    kalman.measurementMatrix = np.eye(2, 4)
    kalman.measurementNoiseCov = np.eye(2) * model.error**2
    kalman.errorCovPost = np.diag([model.error**2, model.error**2, model.speed**2, model.speed**2]).astype(np.float64)
    kalman.statePost = np.array([[x], [y], [0.0], [0.0]])
    return kalman


def _predict(kalman: Any, step: float, model: MotionModel) -> tuple[Floats, Floats]:
    """Predict the next detection's position, and return it with its covariance."""
    transition = np.eye(4)
    transition[0, 2] = transition[1, 3] = step
    kalman.transitionMatrix = transition
    # The acceleration is constant within a step.
    gain = np.array([[step**2 / 2, 0.0], [0.0, step**2 / 2], [step, 0.0], [0.0, step]])
    kalman.processNoiseCov = gain @ gain.T * model.acceleration**2
    state = kalman.predict()
    return state[:2, 0].copy(), kalman.errorCovPre[:2, :2] + kalman.measurementNoiseCov


_DIGITS = 2


class KalmanSettings(StageSettings):
    """Settings of `kalman`. Speeds are in image widths, so they do not depend on the images' size.

    Attributes:
        seconds: maximum distance in seconds of other frames from the item's frame, before and after it.
        fps: number of these frames per second. The detector runs on each of them.
        min_frames: minimum number of frames with the ball, including the item's. Near a cut or the end of a video, half
            of the available frames are enough.
        margin: if several balls are confirmed, only the ball with the strongest track is kept, provided that the summed
            confidence of this track is at least this many times that of every other track.
        speed: standard deviation of a ball's speed, in image widths per second.
        acceleration: standard deviation of a ball's acceleration, in image widths per second squared.
    """

    seconds: float = Field(1.0, gt=0, le=5)
    fps: float = Field(4.0, gt=0, le=60)
    min_frames: int = Field(3, ge=2)
    margin: float = Field(2.0, ge=1)
    speed: float = Field(0.35, gt=0)
    acceleration: float = Field(2.0, gt=0)


class Kalman:
    """Search for each ball of an item in the frames around it, and keep the balls that are confirmed.

    The run's detector processes the frames of the same shot within `seconds` of the item's frame. Detections are linked
    to tracks. A ball is confirmed if its track contains enough frames (see the setting `min_frames`). Other balls are
    removed from the item's boxes. An item without a confirmed ball is rejected. Of several confirmed balls, only the
    one with the strongest track is kept if its track is clearly the strongest (see the setting `margin`); otherwise,
    all of them are kept.

    An item with one ball gets the scores `ball_frames` (number of frames in which the ball was found, including the
    item's), `ball_speed` (pixels per second in the image, so it includes the camera's movement), and `ball_direction`
    (degrees counterclockwise from the right, -180 to 180; missing if the ball is at rest). The note `dropped` lists
    removed balls. An item passes unchanged if tracking is impossible: no ball was detected, the detector reads boxes
    from a file, or the shot has no other frames.
    """

    Settings: ClassVar[type[StageSettings]] = KalmanSettings
    packages: ClassVar[tuple[str, ...]] = ("av", "opencv-python-headless", "numpy", "scipy")
    name = "track"
    kind = "kalman"
    version = "1"
    batch_size = 8
    detects = True
    """Whether the stage calls the run's detector. Such a stage runs on the detector's device."""

    def __init__(self, settings: KalmanSettings, context: Context) -> None:
        self.settings, self._context = settings, context
        self._size = round(context.grid.width), round(context.grid.height)
        self.device: Device = self._detector.device if self._detector else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with the confirmed balls, and reject those without any."""
        return one_by_one(self.name, items, self._tracked)

    @cached_property
    def _detector(self) -> Any:
        if self._context.detector is None or not getattr(self._context.detector[0], "sees", True):
            return None
        make, settings = self._context.detector
        return make(settings, self._context)

    def _tracked(self, item: Item) -> Item | Reject:
        balls = [box for box in item.boxes if box.label == "ball"]
        if not balls or self._detector is None:
            return item
        around = neighbors(item, self._size, seconds=self.settings.seconds, fps=self.settings.fps)
        if not around:
            return item.noted(self.name, frames=1)
        detected = self._detected(item, around)
        others = zip((neighbor.offset for neighbor in around), detected, strict=True)
        frames = sorted([(0.0, balls), *others], key=lambda frame: frame[0])
        own = next(place for place, frame in enumerate(frames) if frame[0] == 0.0)
        detections = [_points(boxes) for _, boxes in frames]
        tracks = link([offset for offset, _ in frames], detections, self._model(balls))
        of_ball = {number: track for track in tracks for frame, number in track.places if frame == own}
        return self._decided(item, balls, [of_ball[number] for number in range(len(balls))], len(frames))

    def _decided(self, item: Item, balls: Sequence[Box], tracks: Sequence[Track], frames: int) -> Item | Reject:
        least = min(self.settings.min_frames, math.ceil(frames / 2))
        kept = [number for number, track in enumerate(tracks) if len(track.places) >= max(least, 2)]
        if not kept:
            most = max(len(track.places) for track in tracks)
            detail = f"the ball is in {most} of {frames} frames, expected at least {max(least, 2)}"
            return Reject(item.id, self.name, "ball not in other frames", detail, item.scores)
        strongest = max(kept, key=lambda number: tracks[number].score)
        others = [tracks[number].score for number in kept if number != strongest]
        if all(tracks[strongest].score >= self.settings.margin * score for score in others):
            kept = [strongest]
        dropped = [box for number, box in enumerate(balls) if number not in kept]
        boxes = tuple(box for box in item.boxes if box not in dropped)
        item = replace(item, boxes=boxes).noted(
            self.name, frames=frames, dropped=[[*box.corners, box.score] for box in dropped]
        )
        return item.scored(**_motion(tracks[kept[0]])) if len(kept) == 1 else item

    def _detected(self, item: Item, around: Sequence[Neighbor]) -> list[list[Box]]:
        """Return the balls in each of the given frames; an empty list for a frame on which the detector fails."""
        shown = [
            Item(
                f"{item.id}{neighbor.offset:+.3f}",
                item.source,
                item.time + neighbor.offset,
                item.shot,
                PictureFile(item.frame.path, neighbor.image),
            )
            for neighbor in around
        ]
        boxes: dict[str, tuple[Box, ...]] = {}
        size = int(self._detector.batch_size)
        for start in range(0, len(shown), size):
            outcome = balls_by(self._detector, shown[start : start + size])
            boxes.update((done.id, done.boxes) for done in outcome.items)
        return [[box for box in boxes.get(part.id, ()) if box.label == "ball"] for part in shown]

    def _model(self, balls: Sequence[Box]) -> MotionModel:
        width = self._size[0]
        # The error of a detector's box is proportional to the ball's size.
        error = max(1.0, 0.25 * max(max(box.width, box.height) for box in balls))
        return MotionModel(self.settings.speed * width, self.settings.acceleration * width, error)


def _points(boxes: Sequence[Box]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([(*box.center, box.score) for box in boxes], dtype=float).reshape(-1, 3)


def _motion(track: Track) -> dict[str, float]:
    """Return the scores of a ball's track at the item's frame."""
    scores: dict[str, float] = {"ball_frames": len(track.places)}
    if velocity := track.velocity(0.0):
        right, down = velocity
        speed = math.hypot(right, down)
        scores["ball_speed"] = round(speed, _DIGITS)
        if scores["ball_speed"]:
            scores["ball_direction"] = round(math.degrees(math.atan2(-down, right)), _DIGITS)
    return scores


class NoTrack:
    """Pass all items unchanged, without tracking the ball."""

    Settings: ClassVar[type[StageSettings]] = StageSettings
    packages: ClassVar[tuple[str, ...]] = ()
    name = "track"
    kind = "none"
    version = "1"
    batch_size = 64
    device: Device = "cpu"

    def __init__(self, settings: StageSettings, context: Context) -> None:
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return all items unchanged."""
        return Outcome(tuple(items))
