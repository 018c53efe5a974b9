"""Test linking of detections along synthetic paths with known motion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_gen.stages.track_kalman import Floats, MotionModel, Track, link

MODEL = MotionModel(speed=224, acceleration=1280, error=4)
TIMES = [number / 4 - 1 for number in range(9)]


def path(x: float, y: float, right: float, down: float, gravity: float = 0.0) -> list[tuple[float, float] | None]:
    """Return the position of a ball at each of `TIMES`."""
    return [(x + right * time, y + down * time + gravity * time**2 / 2) for time in TIMES]


def frames(*paths: list[tuple[float, float] | None], score: float = 0.8) -> list[Floats]:
    """Return the detections per frame in the order of the paths; None means not detected."""
    return [
        np.array([(*point, score) for point in points if point is not None], dtype=float).reshape(-1, 3)
        for points in zip(*paths, strict=True)
    ]


def of_center(tracks: list[Track], number: int = 0) -> Track:
    """Return the track that contains the detection with this number in the middle frame."""
    (found,) = (track for track in tracks if (4, number) in track.places)
    return found


@given(
    st.floats(100, 500), st.floats(80, 300), st.floats(-150, 150), st.floats(-100, 100), st.floats(0, 200),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_link_of_a_flying_ball_gives_one_track_with_its_velocity(
    x: float, y: float, right: float, down: float, gravity: float, seed: int
) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, (9, 2))
    tracks = link(TIMES, frames((np.array(path(x, y, right, down, gravity)) + noise).tolist()), MODEL)
    assert len(of_center(tracks).places) >= 8
    # With three frames in half a second and one pixel of noise, 12 is four standard deviations.
    assert np.abs(np.subtract(of_center(tracks).velocity(0.0), (right, down))).max() < 12


def test_link_keeps_crossing_balls_and_a_single_false_detection_in_separate_tracks() -> None:
    false = [(560.0, 40.0) if frame == 4 else None for frame in range(9)]
    tracks = link(TIMES, frames(path(200, 150, 120, 0), false), MODEL)
    assert len(of_center(tracks, 0).places) == 9
    assert len(of_center(tracks, 1).places) == 1
    tracks = link(TIMES, frames(path(300, 150, 200, 0), path(300, 170, -200, 0)), MODEL)
    assert [len(track.places) for track in tracks] == [9, 9]
    assert all({number for _, number in track.places} in ({0}, {1}) for track in tracks)


def test_link_continues_a_track_after_missed_frames_and_a_track_of_one_point_has_no_velocity() -> None:
    points = path(200, 150, 160, 20)
    points[2] = points[3] = points[6] = None
    (track,) = link(TIMES, frames(points), MODEL)
    assert [frame for frame, _ in track.places] == [0, 1, 4, 5, 7, 8]
    (track,) = link([0.0], [np.array([[5.0, 5.0, 1.0]])], MODEL)
    assert track.velocity(0.0) is None


def test_link_puts_each_detection_in_exactly_one_track() -> None:
    rng = np.random.default_rng(5)
    found = [np.column_stack([rng.uniform(0, 600, (n, 2)), rng.random(n)]) for n in rng.integers(0, 6, 9)]
    tracks = link(TIMES, found, MODEL)
    places = sorted(place for track in tracks for place in track.places)
    assert places == [(frame, number) for frame, detections in enumerate(found) for number in range(len(detections))]
    assert sum(track.score for track in tracks) == pytest.approx(sum(part[:, 2].sum() for part in found))
    assert all(len({frame for frame, _ in track.places}) == len(track.places) for track in tracks)
