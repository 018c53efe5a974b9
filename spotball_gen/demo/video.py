"""Draw synthetic match videos, and write them with their ground truth."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spotball_core.errors import SpotballError
from spotball_core.service.files import replacing
from spotball_gen.demo.match import (
    CROWD,
    GROUND,
    HAIR,
    LINE,
    LOOKS,
    SEATS,
    SKIN,
    Color,
    DemoBall,
    Moment,
    Play,
    Player,
    Point,
    Shot,
    SportLook,
    shots,
)
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

_FINE = 4
"""Number of fractional bits in the fixed-point coordinates that are passed to OpenCV."""
_STANDS = 0.3
"""Lower edge of the stands as a fraction of the picture's height. The board is between the stands and the ground."""
_TEXT = "SYNTHETIC MATCH"
_NOISE = 1.5
"""Standard deviation of the camera's noise."""

BoxOf = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Truth:
    """Ground truth of a picture: boxes (x1, y1, x2, y2) in pixels, clipped at the picture's edges.

    Boxes that are completely outside the picture are excluded.
    """

    balls: tuple[BoxOf, ...]
    players: tuple[BoxOf, ...]


class Painter:
    """Draw pictures of one match.

    Args:
        look: colors and sizes of the sport.
        width: width of the pictures in pixels.
        height: height of the pictures in pixels.
        seed: seed of the static background and of the noise.
    """

    def __init__(self, look: SportLook, width: int, height: int, seed: int) -> None:
        self._cv2 = opencv()
        self._look, self._width, self._height = look, width, height
        rng = np.random.default_rng(seed)
        self._world = self._background(int(width * 1.3) + 1, rng)
        grain = np.repeat(rng.normal(0, _NOISE, (height * 2, width * 2, 1)).round(), 3, axis=2)
        self._brighter, self._darker = (np.maximum(sign * grain, 0).astype(np.uint8) for sign in (1, -1))

    def draw(self, moment: Moment, number: int) -> tuple[Image, Truth]:
        """Return the picture of the match at one time, in RGB, and the boxes of the balls and players in it.

        Args:
            number: number of the picture, which seeds its noise.
        """
        width, height = self._width, self._height
        if moment.kind == "title":
            return self._title(), Truth((), ())
        left = round(moment.pan)
        canvas = self._world[:, left : left + width].copy()
        for ball in moment.balls:
            self._shade(canvas, ball.ground, ball.radius * 1.1, 0.55)
        for player in moment.players:
            self._shade(canvas, player.feet, 0.2 * player.tall, 0.7)
        boxes = [self._player(canvas, player, moment.focus) for player in moment.players]
        for ball in moment.balls:
            self._ball(canvas, ball)
        rng = np.random.default_rng(number)
        y, x = (int(limit * rng.random()) for limit in (height, width))
        # Unlike NumPy, OpenCV limits the results to 0 to 255, and it needs no larger integers for this.
        grain = slice(y, y + height), slice(x, x + width)
        noisy = self._cv2.subtract(self._cv2.add(canvas, self._brighter[grain]), self._darker[grain])
        return noisy, Truth(self._seen([ball.box for ball in moment.balls]), self._seen(boxes))

    def _seen(self, boxes: list[BoxOf]) -> tuple[BoxOf, ...]:
        cut = [
            (max(x1, 0.0), max(y1, 0.0), min(x2, float(self._width)), min(y2, float(self._height)))
            for x1, y1, x2, y2 in boxes
        ]
        return tuple(box for box in cut if box[2] > box[0] and box[3] > box[1])

    def _title(self) -> Image:
        canvas = np.full((self._height, self._width, 3), 24, dtype=np.uint8)
        self._text(canvas, (self._width / 2, self._height / 2), 0.06 * self._height)
        return canvas

    def _background(self, width: int, rng: np.random.Generator) -> Image:
        """Draw the static background: stands with audience, board, and ground with lines."""
        height, look, cv2 = self._height, self._look, self._cv2
        world = np.full((height, width, 3), look.ground, dtype=np.uint8)
        edge, top = int(GROUND * height), int(_STANDS * height)
        stripe = width // 14
        for x in range(0, width, 2 * stripe):
            world[edge:, x : x + stripe] = look.stripes
        # Texture of the ground, which is never of a uniform color.
        texture = cv2.GaussianBlur(rng.normal(0, 9, (height - edge, width, 1)), (0, 0), 0.8)[..., None]
        world[edge:] = np.clip(world[edge:] + texture, 0, 255).astype(np.uint8)
        world[:top] = SEATS
        size = 0.018 * height
        shirts = (*CROWD, *CROWD, *(shirt for shirt, _ in look.teams))
        for row in range(int(top / (2.7 * size))):
            for col in range(int(width / (2.6 * size))):
                seat = (col + 0.5 * (row % 2)) * 2.6 * size, (row + 0.6) * 2.7 * size
                if rng.random() < 0.8:
                    self._disc(world, (seat[0], seat[1] + 1.3 * size), size, shirts[rng.integers(len(shirts))])
                    self._disc(world, seat, 0.6 * size, SKIN[rng.integers(len(SKIN))])
        world[top:edge] = look.board
        for x in range(0, width, width // 4):
            self._text(world, (x + width / 8, (top + edge) / 2), 0.035 * height)
        line, thick = int(edge + 0.06 * height), max(2, height // 160)
        cv2.line(world, (0, line), (width, line), LINE, thick, cv2.LINE_AA)
        cv2.line(world, (width // 2, line), (int(width * 0.47), height), LINE, thick, cv2.LINE_AA)
        cv2.ellipse(
            world, (width // 2, int(0.78 * height)), (width // 7, height // 9), 0, 0, 360, LINE, thick, cv2.LINE_AA
        )
        if look.net:
            self._net(world, width // 2, line)
        return world

    def _net(self, world: Image, x: int, ground: int) -> None:
        top, cv2 = int(0.18 * self._height), self._cv2
        for i in range(9):
            y = top + i * (int(0.5 * self._height) - top) // 9
            cv2.line(world, (x, y), (x - int(0.03 * self._height), y + int(0.3 * self._height)), LINE, 1, cv2.LINE_AA)
        cv2.line(world, (x, top), (x, ground), (90, 90, 96), 4, cv2.LINE_AA)

    def _player(self, canvas: Image, player: Player, focus: Point | None) -> BoxOf:
        """Draw a player who looks at the ball and, if nearest to it, reaches for it. Return the player's box."""
        shirt, shorts = self._look.teams[player.team]
        skin, hair = SKIN[player.person % len(SKIN)], HAIR[player.person % len(HAIR)]
        (x, y), tall = player.feet, player.tall
        focus = focus or (x + tall, y - tall)
        side = 1 if focus[0] > x else -1
        lean = 0.06 * tall * side
        hip, neck = (x, y - 0.47 * tall), (x + lean, y - 0.82 * tall)
        swing = math.sin(player.stride)
        limb = 0.085 * tall
        feet = [(x + s * 0.13 * tall * (0.5 + 0.5 * swing), y - 0.04 * tall * max(0, s * swing)) for s in (1, -1)]
        discs: list[tuple[Point, float]] = []
        for foot in feet:
            knee = ((hip[0] + foot[0]) / 2 + 0.05 * tall * side, (hip[1] + foot[1]) / 2)
            discs += self._limb(canvas, (hip, knee, foot), limb, skin)
            discs += self._limb(canvas, (hip, ((hip[0] + knee[0]) / 2, (hip[1] + knee[1]) / 2)), limb * 1.35, shorts)
        discs += self._limb(canvas, (hip, neck), 0.21 * tall, shirt)
        # The hand is at most as high as a stretched arm and at least as low as a hanging one.
        shoulder = (neck[0], neck[1] + 0.06 * tall)
        length = 0.3 * tall
        towards = _unit(shoulder, focus)
        hands = [(shoulder[0] + towards[0] * length, shoulder[1] + towards[1] * length)]
        if player.near:
            hands.append((hands[0][0] + 0.03 * tall, hands[0][1] + 0.06 * tall))
        else:
            hands = [(shoulder[0] + s * 0.17 * tall, shoulder[1] + length * 0.9) for s in (1, -1)]
        for hand in hands:
            discs += self._limb(canvas, (shoulder, hand), limb * 0.8, skin)
        head = (neck[0] + 0.01 * tall * side, neck[1] - 0.09 * tall)
        gaze = _unit(head, focus)
        radius = 0.075 * tall
        away = (head[0] - gaze[0] * 0.35 * radius, head[1] - gaze[1] * 0.35 * radius - 0.2 * radius)
        discs += self._disc(canvas, away, radius, hair)
        discs += self._disc(canvas, (head[0] + gaze[0] * 0.2 * radius, head[1] + gaze[1] * 0.2 * radius), radius, skin)
        discs += self._disc(canvas, (head[0] + gaze[0] * radius, head[1] + gaze[1] * radius), 0.28 * radius, skin)
        eye = (head[0] + gaze[0] * 0.75 * radius, head[1] + gaze[1] * 0.75 * radius - 0.15 * radius)
        self._disc(canvas, eye, 0.16 * radius, (30, 28, 30))
        return (
            min(p[0] - r for p, r in discs),
            min(p[1] - r for p, r in discs),
            max(p[0] + r for p, r in discs),
            max(p[1] + r for p, r in discs),
        )

    def _ball(self, canvas: Image, ball: DemoBall) -> None:
        self._disc(canvas, ball.center, ball.radius, self._look.ball)
        cv2, (x, y), r = self._cv2, ball.center, ball.radius
        seam = tuple(int(0.62 * part) for part in self._look.ball)
        fine = [round(value * 2**_FINE) for value in (x, y, 0.93 * r, 0.36 * r)]
        for turn in (ball.turn, ball.turn + math.pi / 2):
            cv2.ellipse(
                canvas, fine[:2], fine[2:], math.degrees(turn), 0, 180, seam, max(1, round(r / 11)), cv2.LINE_AA, _FINE
            )

    def _shade(self, canvas: Image, at: Point, radius: float, light: float) -> None:
        """Darken an ellipse on the ground, with soft edges."""
        cv2 = self._cv2
        wide, high = radius * 1.6, radius * 0.55
        x1, x2 = max(0, int(at[0] - wide)), min(canvas.shape[1], int(at[0] + wide) + 1)
        y1, y2 = max(0, int(at[1] - high)), min(canvas.shape[0], int(at[1] + high) + 1)
        if x1 >= x2 or y1 >= y2:
            return
        ys, xs = np.mgrid[y1:y2, x1:x2]
        distance = ((xs - at[0]) / wide) ** 2 + ((ys - at[1]) / high) ** 2
        dark = 1 - (1 - light) * np.clip(1.4 * (1 - distance), 0, 1)
        patch = canvas[y1:y2, x1:x2]
        patch[:] = cv2.convertScaleAbs(patch * dark[..., None])

    def _limb(self, canvas: Image, points: tuple[Point, ...], thick: float, color: Color) -> list[tuple[Point, float]]:
        """Draw a line with round ends through the points. Return each point with half the line's width."""
        scaled = np.array([[round(part * 2**_FINE) for part in point] for point in points], dtype=np.int32)
        wide = max(1, round(thick))
        self._cv2.polylines(canvas, [scaled], False, color, wide, self._cv2.LINE_AA, _FINE)
        return [(point, wide / 2) for point in points]

    def _disc(self, canvas: Image, middle: Point, radius: float, color: Color) -> list[tuple[Point, float]]:
        x, y, r = (round(value * 2**_FINE) for value in (*middle, radius))
        self._cv2.circle(canvas, (x, y), r, color, -1, self._cv2.LINE_AA, _FINE)
        return [(middle, radius)]

    def _text(self, canvas: Image, middle: Point, tall: float) -> None:
        cv2 = self._cv2
        font, scale = cv2.FONT_HERSHEY_SIMPLEX, tall / 22
        (wide, high), _ = cv2.getTextSize(_TEXT, font, scale, 1)
        at = int(middle[0] - wide / 2), int(middle[1] + high / 2)
        cv2.putText(canvas, _TEXT, at, font, scale, LINE, max(1, round(scale * 2)), cv2.LINE_AA)


def _unit(a: Point, b: Point) -> Point:
    length = math.dist(a, b) or 1.0
    return (b[0] - a[0]) / length, (b[1] - a[1]) / length


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
                "OpenCV cannot write a Motion JPEG video to this path. Use another folder, or reinstall OpenCV",
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
