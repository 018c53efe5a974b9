"""Frames by OpenCV: about so many a second, by time stamp; shots by a change of colors."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.items.frames import Mark, VideoError, VideoFrame
from spotball_gen.items.item import Image, VideoSource
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, StageSettings

_MISSING = 2.0
"""A video that ends more seconds before its length ends early: containers round, and some estimate."""

_BACK = 1.0
"""Time stamps that go back by more seconds are those of another piece."""


class OpenCVSettings(StageSettings):
    """Settings of the stage `frames`, kind `opencv`.

    Attributes:
        fps: frames taken of each second.
        fit: how a frame of another shape is brought to the run's size: cut, or with black edges.
        shot_change: a shot begins where less than this share of the colors stay.
        duplicate_bits: of 256, in which near duplicates differ at most; -1 keeps all frames.
    """

    fps: float = Field(1.0, gt=0, le=1000)
    fit: Literal["crop", "pad"] = "crop"
    shot_change: float = Field(0.5, ge=0, le=1)
    duplicate_bits: int = Field(10, ge=-1, le=256)


class OpenCV:
    """Reads videos with OpenCV's FFmpeg.

    Every frame is decoded, since each needs those before it, but only those that are taken are turned into pictures.
    """

    Settings: ClassVar[type[StageSettings]] = OpenCVSettings
    packages: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")
    name = "frames"
    kind = "opencv"
    version = "1"

    def __init__(self, settings: OpenCVSettings, context: Context) -> None:
        self.settings = settings
        self._size = round(context.grid.width), round(context.grid.height)
        # What FFmpeg says of a damaged video; it reads this once, when first used.
        os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
        self._cv2 = opencv()

    def read(self, source: VideoSource, after: Mark | None = None) -> Iterator[VideoFrame]:
        """The first frame at or after each 0, 1, 2, ... of `1 / fps` seconds, in order.

        Args:
            after: only frames after this one, which was read before.

        Raises:
            VideoError: if the file is no video that can be read, or ends before its length.
        """
        video = self._cv2.VideoCapture(source.path, self._cv2.CAP_FFMPEG)
        try:
            if not video.isOpened():
                raise VideoError("no video that can be read")
            yield from self._read(video, after)
        finally:
            video.release()

    def _read(self, video: Any, after: Mark | None) -> Iterator[VideoFrame]:
        due, number, time, shot = 0.0, -1, 0.0, 0
        last, latest = -1, 0.0
        before: NDArray[np.float32] | None = None
        while video.grab():
            number += 1
            time = video.get(self._cv2.CAP_PROP_POS_MSEC) / 1000
            if time < latest - _BACK:
                raise VideoError(f"its time stamps turn back after {latest:.0f} seconds; the rest is left out")
            latest = max(latest, time)
            if after and number <= after.frame:
                if number == after.frame:
                    due, shot, last, before = self._after(time), after.shot, after.ms, self._colors_at(video)
                continue
            ms = round(time * 1000)
            if time < due or ms <= last:
                continue
            due, last = self._after(time), ms
            ok, pixels = video.retrieve()
            if not ok:
                yield VideoFrame(number, ms, shot, None, error="the frame cannot be decoded")
                continue
            image, window = self._fitted(pixels)
            colors = self._colors(image)
            if before is not None and np.minimum(before, colors).sum() < self.settings.shot_change:
                shot += 1
            before = colors
            yield VideoFrame(number, ms, shot, image, (pixels.shape[1], pixels.shape[0]), window)
        self._check_end(video, number, time)

    def _after(self, time: float) -> float:
        """When the next frame is due, after one at this time."""
        return (math.floor(time * self.settings.fps + 1e-6) + 1) / self.settings.fps - 1e-6

    def _check_end(self, video: Any, number: int, time: float) -> None:
        if number < 0:
            raise VideoError("no frame that can be decoded")
        rate = video.get(self._cv2.CAP_PROP_FPS)
        length = video.get(self._cv2.CAP_PROP_FRAME_COUNT) / rate if rate > 0 else 0.0
        if time < length - _MISSING - 1 / rate:
            raise VideoError(f"ends after {time:.0f} of {length:.0f} seconds")

    def _colors_at(self, video: Any) -> NDArray[np.float32] | None:
        ok, pixels = video.retrieve()
        return self._colors(self._fitted(pixels)[0]) if ok else None

    def _colors(self, image: Image) -> NDArray[np.float32]:
        """Shares of the image's colors, of 512."""
        cv2 = self._cv2
        small = cv2.resize(image, (64, 36), interpolation=cv2.INTER_AREA)
        counts = cv2.calcHist([small], [0, 1, 2], None, [8, 8, 8], [0, 256] * 3)
        shares: NDArray[np.float32] = cv2.GaussianBlur(counts.reshape(64, 8), (3, 3), 0) / (64 * 36)
        return shares

    def _fitted(self, pixels: NDArray[np.uint8]) -> tuple[Image, tuple[int, int, int, int]]:
        """A decoded frame, BGR, as RGB of the run's size, and its window."""
        cv2, (width, height) = self._cv2, self._size
        rows, cols = pixels.shape[:2]
        scale = (max if self.settings.fit == "crop" else min)(width / cols, height / rows)
        # The window in the frame's pixels; with black edges it is larger than the frame.
        wide, high = round(width / scale), round(height / scale)
        x, y = (cols - wide) // 2, (rows - high) // 2
        if self.settings.fit == "pad":
            pixels = cv2.copyMakeBorder(pixels, -y, high - rows + y, -x, wide - cols + x, cv2.BORDER_CONSTANT)
            cut = pixels
        else:
            cut = pixels[y : y + high, x : x + wide]
        smooth = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        small = cut if scale == 1 else cv2.resize(cut, self._size, interpolation=smooth)
        image: Image = cv2.cvtColor(small, cv2.COLOR_BGR2RGB)
        return image, (x, y, x + wide, y + high)
