"""Stage `track`, kind `kalman`: keep a ball that moves like a ball around an item; kind `none`: keep all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from spotball_gen.footage.neighbors import Neighbor, neighbors
from spotball_gen.footage.tracks import MotionModel, Track, link
from spotball_gen.items.item import Box, Item
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, balls_by, one_by_one

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
