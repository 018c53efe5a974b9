"""Writing synthetic match videos, and what is in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spotball_core.errors import SpotballError
from spotball_core.service.files import replacing
from spotball_gen.demo.draw import Painter, Truth
from spotball_gen.demo.look import LOOKS
from spotball_gen.demo.match import Play, Shot, shots
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

WIDTH, HEIGHT, RATE = 960, 540, 10
"""Pixels, pixels, and frames a second."""
QUALITY = 70
"""Of JPEG, up to 100."""


def write_demo(folder: Path, *, seed: int = 0) -> dict[str, Path]:
    """Write a match of each sport, `SPORT.avi`, and beside it `SPORT.truth.json` with the boxes in each frame.

    What is there already is left as it is: the same seed gives the same files.

    Returns:
        The videos by sport.

    Raises:
        OSError: if they cannot be written.
    """
    videos = {sport: folder / f"{sport}.avi" for sport in LOOKS}
    for number, (sport, path) in enumerate(videos.items()):
        if not path.exists():
            write_match(path, sport, shots(seed * len(LOOKS) + number), seed=seed)
    return videos


def write_match(
    path: Path,
    sport: str,
    parts: tuple[Shot, ...],
    *,
    seed: int = 0,
    width: int = WIDTH,
    height: int = HEIGHT,
    rate: int = RATE,
) -> None:
    """Write a video of these shots as Motion JPEG, which needs no codec beside OpenCV's own.

    Args:
        path: ends in .avi.
        sport: one of `LOOKS`.
        width: in pixels.
        height: in pixels.
        rate: frames a second.

    Raises:
        OSError: if it cannot be written.
    """
    cv2 = opencv()
    painter = Painter(LOOKS[sport], width, height, seed)
    frames: list[dict[str, Any]] = []
    with replacing(path) as beside:
        fourcc = cv2.VideoWriter.fourcc(*"MJPG")
        writer = cv2.VideoWriter(str(beside), cv2.CAP_OPENCV_MJPEG, fourcc, rate, (width, height))
        writer.set(cv2.VIDEOWRITER_PROP_QUALITY, QUALITY)
        if not writer.isOpened():
            raise SpotballError(f"{path}: OpenCV cannot write Motion JPEG there")
        for image, truth in _drawn(painter, sport, parts, width, height, rate):
            writer.write(cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
            frames.append({"time": len(frames) / rate, **asdict(truth)})
        writer.release()
        # The truth first: where the video is, it is there, too.
        with replacing(path.with_suffix(".truth.json")) as listed:
            listed.write_text(
                json.dumps({"width": width, "height": height, "frames": frames}), encoding="utf-8", newline="\n"
            )
        with beside.open("rb") as file:
            os.fsync(file.fileno())


def _drawn(
    painter: Painter, sport: str, parts: tuple[Shot, ...], width: int, height: int, rate: int
) -> Iterator[tuple[Image, Truth]]:
    number = 0
    for shot in parts:
        play = Play(shot, LOOKS[sport], width, height)
        for frame in range(round(shot.seconds * rate)):
            yield painter.draw(play.at(frame / rate), number)
            number += 1
