"""Stage `frames`, kind `pyav`: sample frames at a fixed rate by time stamp, and detect shots by changes of content."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Literal

from pydantic import Field

from spotball_gen.footage.neighbors import ShotCounter
from spotball_gen.footage.video_file import DecodedFrame, VideoFile, fitted, open_video
from spotball_gen.items.frames import Mark, VideoError, VideoFrame, gray_digest
from spotball_gen.items.item import Image, VideoSource
from spotball_gen.items.stage import Context, StageSettings

_MISSING = 2.0
"""A video that ends more than this many seconds before its stated length is truncated. Smaller differences are allowed,
because containers round or estimate lengths.
"""

_BACK = 1.0
"""Time stamps that jump back by more than this many seconds belong to another recording."""


class PyAVSettings(StageSettings):
    """Settings of the stage `frames`, kind `pyav`.

    Attributes:
        fps: number of frames to sample per second of video.
        fit: how to fit a frame with another aspect ratio to the run's size: crop it, or pad it with black edges.
        min_kept: minimum share of a frame that cropping must keep. A video that would lose more, such as a vertical
            video, is rejected; 0 accepts every video.
        max_scale: maximum factor by which a frame may be enlarged. A smaller video is rejected.
        shot_ratio: minimum change of content at a shot boundary, relative to the average of the frames around it.
        shot_change: minimum absolute change of content at a shot boundary, from 0 to 255.
        duplicate_bits: frames whose perceptual hashes differ in at most this many of 256 bits are near duplicates, and
            only the first is kept; -1 keeps all frames.
    """

    fps: float = Field(1.0, gt=0, le=1000)
    fit: Literal["crop", "pad"] = "crop"
    min_kept: float = Field(0.7, ge=0, le=1)
    max_scale: float = Field(1.1, gt=0)
    shot_ratio: float = Field(3.0, ge=1)
    shot_change: float = Field(15.0, ge=0, le=255)
    duplicate_bits: int = Field(10, ge=-1, le=256)


class PyAV:
    """Read videos with PyAV.

    Every frame is decoded and compared with the previous one to detect shots. Only frames that are kept are converted
    to images.
    """

    Settings: ClassVar[type[StageSettings]] = PyAVSettings
    packages: ClassVar[tuple[str, ...]] = ("av", "opencv-python-headless", "numpy")
    name = "frames"
    kind = "pyav"
    version = "2"

    def __init__(self, settings: PyAVSettings, context: Context) -> None:
        self.settings = settings
        self._size = round(context.grid.width), round(context.grid.height)

    def read(self, source: VideoSource, after: Mark | None = None) -> Iterator[VideoFrame]:
        """Yield the first frame at or after each multiple of `1 / fps` seconds, in order.

        Args:
            source: the video.
            after: position of the last frame that was read before. Only later frames are yielded.

        Raises:
            VideoError: if the file contains no readable video or is truncated, if a frame would be cropped or enlarged
                more than the settings allow, or if the time stamps go backwards.
        """
        with open_video(source.path) as video:
            yield from self._read(video, after)

    def _read(self, video: VideoFile, after: Mark | None) -> Iterator[VideoFrame]:
        shots = ShotCounter(self.settings.shot_ratio, self.settings.shot_change)
        waiting: deque[tuple[int, int, DecodedFrame]] = deque()
        due, number, last, latest = 0.0, -1, -1, 0.0
        for number, frame in enumerate(video.frames()):
            if number == 0:
                self._check_size(*frame.size)
            if frame.time < latest - _BACK:
                yield from self._settled(waiting, shots)
                raise VideoError(
                    f"the time stamps go backwards after {latest:.0f} seconds; the rest of the video is excluded"
                )
            latest = max(latest, frame.time)
            shots.see(frame.thumbnail())
            ms = round(frame.time * 1000)
            if frame.time >= due and ms > last:
                due, last = self._after(frame.time), ms
                if after is None or number > after.frame:
                    waiting.append((number, ms, frame))
            while waiting and waiting[0][0] < shots.decided:
                yield self._taken(*waiting.popleft(), shots)
        yield from self._settled(waiting, shots)
        _check_end(video, number, latest)

    def _settled(self, waiting: deque[tuple[int, int, DecodedFrame]], shots: ShotCounter) -> Iterator[VideoFrame]:
        while waiting:
            yield self._taken(*waiting.popleft(), shots)

    def _taken(self, number: int, ms: int, frame: DecodedFrame, shots: ShotCounter) -> VideoFrame:
        window = self._window(*frame.size)
        x1, y1, x2, y2 = (max(edge, 0) for edge in window)
        return VideoFrame(
            number,
            ms,
            shots.at(number),
            partial(self._picture, frame, window),
            frame.size,
            window,
            digest=gray_digest(frame.luma()[y1:y2, x1:x2]),
        )

    def _after(self, time: float) -> float:
        """Return the earliest time of the next frame to sample, after a sampled frame at `time`; both in seconds."""
        return (math.floor(time * self.settings.fps + 1e-6) + 1) / self.settings.fps - 1e-6

    def _check_size(self, width: int, height: int) -> None:
        """Raise VideoError if a frame of this size would be cropped or enlarged more than the settings allow."""
        x1, y1, x2, y2 = self._window(width, height)
        to, scale = f"{self._size[0]}x{self._size[1]}", self._size[0] / (x2 - x1)
        kept = (x2 - x1) * (y2 - y1) / (width * height)
        shape = "vertical video" if height > width else "video"
        if self.settings.fit == "crop" and kept < self.settings.min_kept:
            raise VideoError(
                f"{shape} of {width}x{height} pixels: cropping to the shape of {to} keeps {kept:.0%} of each frame, "
                f'but frames.min_kept is {self.settings.min_kept:g}. Set frames.fit = "pad" for black edges, or lower '
                "frames.min_kept"
            )
        if scale > self.settings.max_scale:
            raise VideoError(
                f"video of {width}x{height} pixels: images of {to} would enlarge it {scale:.2f} times, but "
                f"frames.max_scale is {self.settings.max_scale:g}. Raise it, or make smaller images with run.width "
                "and run.height"
            )

    def _window(self, cols: int, rows: int) -> tuple[int, int, int, int]:
        """Return the part of a frame that the image shows: (x1, y1, x2, y2) in pixels.

        If the image is padded, this window is larger than the frame.
        """
        width, height = self._size
        scale = (max if self.settings.fit == "crop" else min)(width / cols, height / rows)
        wide, high = round(width / scale), round(height / scale)
        x, y = (cols - wide) // 2, (rows - high) // 2
        return x, y, x + wide, y + high

    def _picture(self, frame: DecodedFrame, window: tuple[int, int, int, int]) -> Image:
        """Return the window of a frame in RGB, at the run's size."""
        return fitted(frame.rgb(), window, self._size)


def _check_end(video: VideoFile, number: int, time: float) -> None:
    if number < 0:
        raise VideoError("the video has no frame that can be decoded")
    if video.length is not None and time < video.length - _MISSING - 1 / video.rate:
        raise VideoError(f"the file is incomplete: the video ends after {time:.0f} of {video.length:.0f} seconds")
