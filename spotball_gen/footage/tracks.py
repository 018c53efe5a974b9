"""Link detections in several frames to tracks, with OpenCV's Kalman filter and SciPy's linear assignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.pictures import opencv

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
