"""Write synthetic match videos with their ground truth."""

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
from spotball_gen.demo.match import LOOKS, Play, Shot, shots
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

WIDTH, HEIGHT, RATE = 960, 540, 10
"""Width and height in pixels, and frames per second."""
QUALITY = 70
"""JPEG quality, up to 100."""


def write_demo(folder: Path, *, seed: int = 0) -> dict[str, Path]:
    """Write a synthetic match of each sport to `SPORT.avi`, and the boxes in each frame to `SPORT.truth.json`.

    Existing files are kept, because the same seed gives the same files.

    Returns:
        The videos by sport.

    Raises:
        OSError: if a file cannot be written.
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
    """Write a synthetic video of the given shots and its ground truth.

    The video is in the format Motion JPEG, which needs no codec other than OpenCV's.

    Args:
        path: the file; ends in .avi.
        sport: a key of `LOOKS`.
        parts: the shots.
        seed: random seed.
        width: width in pixels.
        height: height in pixels.
        rate: frames per second.

    Raises:
        OSError: if a file cannot be written.
        SpotballError: if OpenCV cannot write a Motion JPEG video to this path.
    """
    cv2 = opencv()
    painter = Painter(LOOKS[sport], width, height, seed)
    frames: list[dict[str, Any]] = []
    with replacing(path) as beside:
        fourcc = cv2.VideoWriter.fourcc(*"MJPG")
        writer = cv2.VideoWriter(str(beside), cv2.CAP_OPENCV_MJPEG, fourcc, rate, (width, height))
        writer.set(cv2.VIDEOWRITER_PROP_QUALITY, QUALITY)
        if not writer.isOpened():
            raise SpotballError(
                "OpenCV cannot write a Motion JPEG video to this path. Name another folder, or reinstall OpenCV",
                code="unwritable-output",
                file=path,
            )
        for image, truth in _drawn(painter, sport, parts, width, height, rate):
            writer.write(cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
            frames.append({"time": len(frames) / rate, **asdict(truth)})
        writer.release()
        # Write the ground truth first, so that a video is never without it.
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


_HEAD = """\
# The configuration of `spotball gen run --demo`. Copy and change it as you like.
[run]
seed = 0
"""

_SOURCE = """
[[sources]]
sport = "{sport}"
path = "{name}"
license = "synthetic"
"""

_STAGES = """
[detect]
kind = "color"
"""


def write_demo_config(folder: Path) -> Path:
    """Write the demo's videos unless they exist, write its configuration, and return the path of the configuration.

    Raises:
        OSError: if a file cannot be written.
    """
    videos = write_demo(folder)
    path = folder / "config.toml"
    sources = "".join(_SOURCE.format(sport=sport, name=video.name) for sport, video in videos.items())
    with replacing(path) as beside:
        beside.write_text(f"{_HEAD}{sources}{_STAGES}", encoding="utf-8", newline="\n")
    return path
