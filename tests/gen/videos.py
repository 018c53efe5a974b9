"""Write videos with any time stamps for tests, and images with known content."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import VideoSource


def write_video(
    path: Path, pictures: Sequence[NDArray[np.uint8]], times: Sequence[int], *, codec: str = "mjpeg", rate: int = 1000
) -> None:
    """Write RGB pictures with time stamps in milliseconds. The file name extension sets the container format."""
    height, width = pictures[0].shape[:2]
    ticks = Fraction(1, 1000)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.time_base = stream.codec_context.time_base = ticks
        stream.bit_rate = 20_000_000
        for picture, time in zip(pictures, times, strict=True):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            frame.pts, frame.time_base = time, ticks
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def numbered(number: int, *, width: int = 160, height: int = 96) -> NDArray[np.uint8]:
    """Return a picture that encodes a number below 4096 in 12 blocks."""
    bits = ((number >> np.arange(12)) & 1).astype(np.uint8).reshape(3, 4, 1) * 255
    return bits.repeat(height // 3, axis=0).repeat(width // 4, axis=1).repeat(3, axis=2)


def number_of(picture: NDArray[np.uint8]) -> int:
    """Return the number that a picture of any size encodes."""
    height, width = picture.shape[:2]
    middles = picture[height // 6 :: height // 3, width // 8 :: width // 4, 0][:3, :4] > 127
    return int((middles.reshape(-1) << np.arange(12)).sum())


def textured(seed: int, *, width: int = 160, height: int = 96) -> NDArray[np.uint8]:
    """Return a picture of large blots that differ by seed, so that perceptual hashes differ too."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 10, 3)).astype(np.uint8)
    return coarse.repeat(height // 6, axis=0).repeat(width // 10, axis=1)


def source_of(path: Path, *, sport: str = "soccer") -> VideoSource:
    return VideoSource(path.stem, str(path), sport, "", path.name, "")
