"""Test the confirmation of balls by other frames, on synthetic videos with known motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_gen.footage.neighbors import neighbors
from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.stages.track_kalman import Kalman, KalmanSettings, NoTrack
from tests.gen.making import context_of, item_of
from tests.gen.videos import source_of, textured, write_video

SIZE = 320, 180
RATE = 20
RED = (220, 20, 20)

Point = tuple[float, float]


class RedDots:
    """Detect each red spot as a ball."""

    Settings: ClassVar[type[StageSettings]] = StageSettings
    name, kind, version = "detect", "red", "1"
    packages: ClassVar[tuple[str, ...]] = ()
    batch_size = 3
    device: Device = "cpu"

    def __init__(self, settings: StageSettings, context: Context) -> None:
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        return Outcome(tuple(replace(item, boxes=found(item.image)) for item in items))


class Blind(RedDots):
    """A detector that declares that it does not use the image."""

    sees = False


def found(image: NDArray[np.uint8]) -> tuple[Box, ...]:
    red = (image[..., 0] > 150) & (image[..., 1:].max(axis=-1) < 90)
    _, _, stats, _ = cv2.connectedComponentsWithStats(red.astype(np.uint8))
    return tuple(Box(x, y, x + w, y + h, 0.9) for x, y, w, h, area in stats[1:].tolist() if area > 30)


def video(path: Path, dots: Callable[[float], Sequence[Point]], *, seconds: float = 4.0, cut: float = 99.0) -> Path:
    """Write a video of red dots on gray blots. The blots change at the cut."""
    grounds = [cv2.GaussianBlur(textured(seed, width=SIZE[0], height=SIZE[1]), (0, 0), 3) for seed in (1, 2)]
    pictures, times = [], [1000 * number // RATE for number in range(int(seconds * RATE))]
    for time in times:
        gray = grounds[time / 1000 >= cut].mean(axis=-1, keepdims=True).astype(np.uint8)
        picture = np.ascontiguousarray(np.broadcast_to(gray, (*gray.shape[:2], 3)))
        for x, y in dots(time / 1000):
            cv2.circle(picture, (round(x), round(y)), 7, RED, -1)
        pictures.append(picture)
    write_video(path, pictures, times)
    return path


def item_at(path: Path, time: float, work: Path) -> Item:
    """Return the item that the earlier stages make from a frame."""
    notes = {"frames": {"number": round(time * RATE), "size": list(SIZE), "window": [0, 0, *SIZE]}}
    capture = cv2.VideoCapture(str(path))
    capture.set(cv2.CAP_PROP_POS_FRAMES, round(time * RATE))
    image = cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2RGB)
    item = item_of(image, work, f"match-{round(time * 1000):09d}", notes=notes, boxes=found(image))
    return replace(item, time=time, source=source_of(path))


def stage(work: Path, detector: Any = RedDots, **settings: Any) -> Kalman:
    context = context_of(work, *SIZE, detector=(detector, StageSettings()))
    return Kalman(KalmanSettings(**settings), context)


def flying(time: float) -> Point:
    """Return the position of a dot that moves 60 pixels per second to the right and 40 up."""
    return 60 + 60 * time, 150 - 40 * time


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of a flying dot."""
    return video(tmp_path_factory.mktemp("videos") / "flight.mkv", lambda time: [flying(time)])


def test_ball_in_flight_gets_its_speed_and_direction(flight: Path, tmp_path: Path) -> None:
    (kept,) = stage(tmp_path).process([item_at(flight, 2.0, tmp_path)]).items
    assert kept.scores["ball_frames"] == 9
    assert kept.scores["ball_speed"] == pytest.approx(np.hypot(60, 40), abs=5)
    assert kept.scores["ball_direction"] == pytest.approx(np.degrees(np.arctan2(40, 60)), abs=4)
    assert kept.notes["track"] == {"frames": 9, "dropped": []}


def test_ball_in_a_single_frame_is_rejected(tmp_path: Path) -> None:
    path = video(tmp_path / "a.mkv", lambda time: [(100, 100)] if abs(time - 2) < 0.01 else [])
    item = item_at(path, 2.0, tmp_path)
    assert len(item.boxes) == 1
    (reject,) = stage(tmp_path).process([item]).rejects
    assert reject.reason == "ball not in other frames"
    assert reject.detail == "the ball is in 1 of 9 frames, expected at least 3"


def test_second_ball_in_a_single_frame_is_removed(tmp_path: Path) -> None:
    path = video(tmp_path / "a.mkv", lambda time: [flying(time)] + [(280, 30)] * (abs(time - 2) < 0.01))
    item = item_at(path, 2.0, tmp_path)
    player = Box(10, 10, 30, 60, 0.9, "player")
    item = replace(item, boxes=(player, *item.boxes))
    assert len(item.boxes) == 3
    (kept,) = stage(tmp_path).process([item]).items
    assert kept.boxes[0] == player
    (ball,) = kept.boxes[1:]
    assert np.hypot(*np.subtract(ball.center, flying(2.0))) < 3
    assert kept.scores["ball_speed"] > 50
    assert [round(edge) for edge in kept.notes["track"]["dropped"][0][:2]] == [274, 24]


def test_two_balls_confirmed_by_other_frames_are_both_kept(tmp_path: Path) -> None:
    path = video(tmp_path / "a.mkv", lambda time: [flying(time), (250, 60 + 10 * time)])
    (kept,) = stage(tmp_path).process([item_at(path, 2.0, tmp_path)]).items
    assert len(kept.boxes) == 2
    assert "ball_speed" not in kept.scores


@pytest.mark.parametrize("first", [True, False])
def test_kalman_tracking_does_not_use_frames_beyond_a_cut(tmp_path: Path, first: bool) -> None:
    # The dot is visible during one whole shot and absent from the other.
    path = video(tmp_path / "a.mkv", lambda time: [flying(time)] if (time < 2) == first else [], cut=2.0)
    item = item_at(path, 1.95 if first else 2.05, tmp_path)
    around = neighbors(item, SIZE, seconds=1.0, fps=4)
    assert all((item.time + neighbor.offset < 2) == first for neighbor in around)
    (kept,) = stage(tmp_path).process([item]).items
    assert kept.notes["track"]["frames"] == kept.scores["ball_frames"] == len(around) + 1 == 5


def test_neighbors_have_the_requested_times_and_no_duplicates(flight: Path, tmp_path: Path) -> None:
    item = item_at(flight, 2.0, tmp_path)
    around = neighbors(item, SIZE, seconds=0.5, fps=10)
    assert np.allclose([part.offset for part in around], [-0.5, -0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.4, 0.5])
    for part in around:
        (box,) = found(part.image)
        assert abs(box.center[0] - flying(2 + part.offset)[0]) < 2
    # There are fewer neighbors at the ends of a video, and no duplicates if `fps` exceeds its frame rate.
    first = neighbors(item_at(flight, 0.0, tmp_path), SIZE, seconds=1, fps=4)
    assert {round(part.offset, 2) for part in first} == {0.25, 0.5, 0.75, 1.0}
    dense = neighbors(item, SIZE, seconds=0.2, fps=60)
    assert len({part.offset for part in dense}) == len(dense) == 8


def test_neighbors_with_exact_values_round_to_plain_neighbors_and_include_the_frame_of_the_item(
    flight: Path, tmp_path: Path
) -> None:
    item = item_at(flight, 2.0, tmp_path)
    larger = 400, 225
    plain = neighbors(item, larger, seconds=0.5, fps=10)
    exact = neighbors(item, larger, seconds=0.5, fps=10, exact=True)
    assert [part.offset for part in exact if part.offset] == [part.offset for part in plain]
    for part, rounded in zip((part for part in exact if part.offset), plain, strict=True):
        assert np.abs(part.image - rounded.image).max() <= 1
        assert (part.image != part.image.round()).mean() > 0.2
    (own,) = (part.image for part in neighbors(item, SIZE, seconds=0.5, fps=10, exact=True) if not part.offset)
    assert np.abs(own - item.image).max() <= 1


def test_items_that_cannot_be_tracked_are_kept_and_an_unreadable_video_fails(flight: Path, tmp_path: Path) -> None:
    item = item_at(flight, 2.0, tmp_path)
    gone = replace(item, source=replace(item.source, path=str(tmp_path / "gone.mkv")))
    no_ball = replace(gone, boxes=(Box(10, 10, 30, 60, 0.9, "player"),))
    assert stage(tmp_path).process([no_ball]).items == (no_ball,)
    assert stage(tmp_path, Blind).process([gone]).items == (gone,)
    assert NoTrack(StageSettings(), context_of(tmp_path)).process([gone]).items == (gone,)
    outcome = stage(tmp_path).process([gone, item])
    (failure,) = outcome.failures
    assert failure.item == item.id
    assert "gone.mkv cannot be read" in failure.error
    assert len(outcome.items) == 1
    short = video(tmp_path / "short.mkv", lambda time: [flying(time)], seconds=0.05)
    (alone,) = stage(tmp_path).process([item_at(short, 0.0, tmp_path)]).items
    assert alone.notes["track"] == {"frames": 1}
