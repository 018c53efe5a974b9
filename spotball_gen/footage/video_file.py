"""Decode video files with PyAV: all frames in display order, with their time since the first frame."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError
from spotball_gen.items.frames import VideoError
from spotball_gen.items.pictures import opencv

_PLANAR = {
    "yuv420p": (2, 2),
    "yuvj420p": (2, 2),
    "yuv422p": (2, 1),
    "yuvj422p": (2, 1),
    "yuv444p": (1, 1),
    "yuvj444p": (1, 1),
}
"""Pixel formats with 8-bit planes that are read without conversion, and their chroma subsampling (horizontal,
vertical).
"""

_NEAR = 0.5
"""Maximum distance in seconds between a requested time and its frame."""


class _Converter(threading.local):
    """Convert the pixels of a video's frames.

    A new converter for each frame would allocate several megabytes. Threads cannot share a converter.
    """

    def __init__(self) -> None:
        from av.video.reformatter import VideoReformatter

        self._reformatter = VideoReformatter()

    def to_ndarray(self, frame: Any, pixel_format: str) -> NDArray[np.uint8]:
        """Return a frame's pixels in the given FFmpeg pixel format."""
        pixels: Any = self._reformatter.reformat(frame, format=pixel_format).to_ndarray()
        return np.asarray(pixels, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class DecodedFrame:
    """A decoded frame. Pixels are converted on access.

    Attributes:
        time: seconds since the video's first frame.
        quarter_turns: number of counterclockwise quarter turns that make the frame upright.
    """

    time: float
    quarter_turns: int
    _frame: Any
    _converter: _Converter

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in pixels, after rotation."""
        width, height = self._frame.width, self._frame.height
        return (height, width) if self.quarter_turns % 2 else (width, height)

    def rgb(self) -> NDArray[np.uint8]:
        """Return the pixels in RGB, shape (height, width, 3)."""
        return self._upright(self._converter.to_ndarray(self._frame, "rgb24"))

    def luma(self) -> NDArray[np.uint8]:
        """Return the luma of each pixel, shape (height, width), read-only."""
        if self._frame.format.name in _PLANAR:
            return self._upright(self._plane(self._frame.planes, 0))
        return self._upright(self._converter.to_ndarray(self._frame, "gray"))

    def thumbnail(self) -> NDArray[np.uint8]:
        """Return an RGB image of about 64 x 36 sampled pixels, as stored in the file (without `quarter_turns`)."""
        cv2 = opencv()
        if self._frame.format.name not in _PLANAR:
            pixels: NDArray[np.uint8] = self._converter.to_ndarray(self._frame, "rgb24")
            return np.ascontiguousarray(pixels[:: max(pixels.shape[0] // 36, 1), :: max(pixels.shape[1] // 64, 1)])
        across, down = _PLANAR[self._frame.format.name]
        planes = self._frame.planes
        # Slices are views. All planes use the same steps, in units of the chroma subsampling.
        step_x, step_y = max(self._frame.width // across // 64, 1), max(self._frame.height // down // 36, 1)
        colors = [self._plane(planes, number)[::step_y, ::step_x] for number in (1, 2)]
        yuv = np.empty((*colors[0].shape, 3), dtype=np.uint8)
        yuv[..., 0] = self._plane(planes, 0)[:: step_y * down, :: step_x * across]
        yuv[..., 1], yuv[..., 2] = colors
        picture: NDArray[np.uint8] = cv2.cvtColor(yuv, cv2.COLOR_YUV2RGB)
        return picture

    def _plane(self, planes: Sequence[Any], number: int) -> NDArray[np.uint8]:
        """Return one of the frame's planes as an array that shares its memory."""
        across, down = _PLANAR[self._frame.format.name] if number else (1, 1)
        width, height = -(-self._frame.width // across), -(-self._frame.height // down)
        plane = planes[number]
        return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:height, :width]

    def _upright(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.ascontiguousarray(np.rot90(pixels, self.quarter_turns)) if self.quarter_turns else pixels


class VideoFile:
    """An open video file.

    Containers define time stamps differently. Here, 0 is the time of the first frame. AVI files have no presentation
    times, but one packet per frame period, in decoding order. A frame's time is therefore that of the packet after
    which the decoder returned the frame, minus the delay of the first frame.
    """

    def __init__(self, container: Any, stream: Any) -> None:
        self._container, self._stream = container, stream
        self._origin: float | None = None
        self._converter = _Converter()

    @property
    def rate(self) -> float:
        """Return the average number of frames per second; 25 if the file does not state it."""
        return float(self._stream.average_rate or 25)

    @property
    def length(self) -> float | None:
        """Return the duration in seconds from the first frame to the end, as stated by the container, or None if it
        states no duration.
        """
        stream = self._stream
        if stream.duration is None:
            if self._container.duration is None:
                return None
            # Some formats count from time stamp 0, others from the first frame. The shorter length is always valid.
            return float(self._container.duration - max(self._container.start_time or 0, 0)) / 1e6
        # If a file was truncated, FFmpeg corrects only one of the two.
        stated: float = max(float(stream.duration * stream.time_base), stream.frames / self.rate)
        start = float((stream.start_time or 0) * stream.time_base)
        return stated if self._origin is None else stated - (self._origin - start)

    def frames(self) -> Iterator[DecodedFrame]:
        """Yield all frames that can be decoded, in display order. Damaged packets are skipped."""
        for time, frame in self._decoded():
            if self._origin is None:
                self._origin = time
            yield DecodedFrame(time - self._origin, _quarter_turns(frame), frame, self._converter)

    def frames_from(self, time: float) -> Iterator[DecodedFrame]:
        """Yield the frames, starting with the last key frame at or before a time.

        Args:
            time: seconds since the first frame.

        Raises:
            VideoError: if no frame can be decoded.
        """
        if self._origin is None and next(self.frames(), None) is None:
            raise VideoError("the video has no frame that can be decoded")
        assert self._origin is not None
        target = max(time, 0.0) + self._origin
        self._container.seek(int(target / self._stream.time_base), stream=self._stream, backward=True)
        frames = self.frames()
        first = next(frames, None)
        if first is None or first.time > time + 0.5 / self.rate:
            # Some containers have no index or a wrong index.
            self._container.seek(0)
            frames, first = self.frames(), None
        if first is not None:
            yield first
        yield from frames

    def _decoded(self) -> Iterator[tuple[float, Any]]:
        """Yield each decoded frame, preceded by its time in the file's own time stamps, in seconds."""
        import av

        unit, period = float(self._stream.time_base), 1 / self.rate
        by_packets = self._container.format.name == "avi"
        start: float | None = None
        last: float | None = None
        delay = 0.0
        for packet in self._container.demux(self._stream):
            if start is None and packet.size:
                stamp = packet.dts if packet.pts is None else packet.pts
                start = None if stamp is None else stamp * unit
            try:
                frames = packet.decode()
            except av.FFmpegError:
                continue
            for frame in frames:
                stamp = frame.dts if by_packets else frame.pts
                time = None if stamp is None else stamp * unit
                if by_packets and time is not None:
                    delay = time - (start or 0.0) if last is None else delay
                    time -= delay
                if time is None:
                    time = (start or 0.0) if last is None else last + period
                last = time
                yield time, frame


@contextmanager
def open_video(path: str) -> Iterator[VideoFile]:
    """Open a video file, and close it at exit.

    Raises:
        VideoError: if the file contains no readable video.
        MissingExtraError: if PyAV is not installed.
    """
    try:
        import av
    except ImportError as error:
        raise MissingExtraError("generating items", "gen") from error
    try:
        # "file:" prevents FFmpeg from interpreting the name as a protocol or a pattern.
        container = av.open(f"file:{path}")
    except (av.FFmpegError, OSError) as error:
        raise VideoError("the file is not a readable video") from error
    with container:
        # An attached picture, such as a cover, is not a video.
        streams = [stream for stream in container.streams.video if stream.codec_context is not None]
        if not streams:
            raise VideoError("the file contains no video")
        streams[0].thread_type = "AUTO"
        yield VideoFile(container, streams[0])


def frames_near(path: str, times: Sequence[float]) -> list[DecodedFrame]:
    """Return the frame nearest to each time. Only the part of the video around these times is decoded.

    Args:
        path: the video.
        times: increasing times in seconds since the first frame.

    Raises:
        ValueError: if the video cannot be read, or if it has no frame within half a second of a time.
    """
    frames = list(frames_between(path, times[0] - _NEAR, times[-1] + _NEAR))
    nearest = [min(frames, key=lambda frame: abs(frame.time - time), default=None) for time in times]
    for frame, time in zip(nearest, times, strict=True):
        if frame is None or abs(frame.time - time) > _NEAR:
            raise ValueError(f"the video {path} cannot be decoded at {time:.3f} seconds")
    return [frame for frame in nearest if frame is not None]


def frames_between(path: str, start: float, end: float) -> Iterator[DecodedFrame]:
    """Yield the frames between two times. Decoding starts at the last key frame before the start time.

    Args:
        path: the video.
        start: start time in seconds since the first frame, inclusive.
        end: end time in seconds since the first frame, inclusive.

    Raises:
        ValueError: if the video cannot be read.
    """
    try:
        with open_video(path) as video:
            for frame in video.frames_from(start):
                if frame.time > end:
                    return
                if frame.time >= start:
                    yield frame
    except VideoError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _quarter_turns(frame: Any) -> int:
    return round(float(frame.rotation) / 90) % 4


Level = TypeVar("Level", np.uint8, np.float32)

_SHRUNK = 0.7
"""If the image is scaled by less than this factor, pixels are averaged, because interpolation would skip pixels."""


def fitted(pixels: NDArray[Level], window: tuple[int, int, int, int], size: tuple[int, int]) -> NDArray[Level]:
    """Return a window of a decoded frame as an image of the given size.

    Args:
        pixels: RGB, shape (height, width, 3). With floating-point values, the result is not rounded.
        window: (x1, y1, x2, y2) in pixels of the frame. Parts beyond the frame become black.
        size: width and height of the result in pixels.
    """
    rows, cols = pixels.shape[:2]
    x1, y1, x2, y2 = window
    if x1 < 0 or y1 < 0 or x2 > cols or y2 > rows:
        edges = max(-y1, 0), max(y2 - rows, 0), max(-x1, 0), max(x2 - cols, 0)
        cv2 = opencv()
        pixels = cv2.copyMakeBorder(pixels, *edges, cv2.BORDER_CONSTANT)
        x1, x2, y1, y2 = x1 + edges[2], x2 + edges[2], y1 + edges[0], y2 + edges[0]
    return np.ascontiguousarray(resized(pixels[y1:y2, x1:x2], size))


def resized(pixels: NDArray[Level], size: tuple[int, int]) -> NDArray[Level]:
    """Return an image resized to a width and height in pixels. An image of this size is returned unchanged."""
    if pixels.shape[1::-1] == size:
        return pixels
    cv2 = opencv()
    # For scales near 1, area averaging is slower and not better than interpolation.
    smooth = cv2.INTER_AREA if size[0] < _SHRUNK * pixels.shape[1] else cv2.INTER_LINEAR
    result: NDArray[Level] = cv2.resize(pixels, size, interpolation=smooth)
    return result
