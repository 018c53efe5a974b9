"""Draw images of synthetic scenes: people on a field look at the ball, even if the ball is not drawn.

They replace photos if the workflow runs without data, such as in the demo of the human study. They are clearly
drawings, and a board along the field states that they are synthetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.random import generator_for
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.synthetic.pen import FINER, Color, Pen, Point, between, center_of, darker, mixed, towards

if TYPE_CHECKING:
    from PIL.Image import Image

_BOARD = "SYNTHETIC SCENE"
_STANDS, _EDGE = 0.22, 0.3
"""Lower edge of the stands, and upper edge of the field, as shares of the image's height."""

_SKIN: tuple[Color, ...] = ((244, 208, 177), (224, 172, 132), (187, 126, 84), (141, 85, 51), (96, 58, 38))
_HAIR: tuple[Color, ...] = ((38, 30, 28), (74, 50, 36), (120, 80, 48), (196, 160, 96), (24, 24, 28))
_CROWD: tuple[Color, ...] = ((96, 104, 122), (122, 112, 118), (84, 92, 108), (140, 128, 124), (110, 120, 138))
_WHITE: Color = (250, 250, 248)
_DARK: Color = (34, 38, 46)
_SHADE: Color = (56, 62, 76)


@dataclass(frozen=True, slots=True)
class _Look:
    """The colors of a sport: its field, the lines, the board along the field, and each team's shirts and shorts."""

    ground: Color
    other: Color
    line: Color
    board: Color
    teams: tuple[tuple[Color, Color], tuple[Color, Color]]


_LOOKS = {
    "synthetic-soccer": _Look(
        (86, 150, 74), (78, 139, 67), _WHITE, (30, 66, 108), (((206, 60, 52), _WHITE), ((48, 88, 168), (28, 44, 84)))
    ),
    "synthetic-basketball": _Look(
        (217, 170, 112), (209, 160, 102), _WHITE, (82, 44, 88), ((_WHITE, _WHITE), ((104, 48, 132), (84, 36, 108)))
    ),
    "synthetic-volleyball": _Look(
        (226, 150, 92), (70, 128, 150), _WHITE, (24, 84, 92), (((246, 204, 72), (40, 48, 60)), ((52, 128, 84), _WHITE))
    ),
}


def write_scene_pictures(scenes: Sequence[Scene], folder: Path) -> tuple[Scene, ...]:
    """Draw scenes into a dataset folder as images/SPORT/IMAGE.png, with the ball only if the scene is a control.

    Returns:
        Copies of the scenes in which `path` is the path of the image, relative to `folder`.

    Raises:
        MissingExtraError: if Pillow is not installed.
        OptionError: if a sport is not one of the synthetic sports, or if a scene has no players or no bounding box of
            the ball.
    """
    drawn = []
    for scene in scenes:
        path = Path("images", scene.sport, f"{scene.image}.png")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        picture = draw_scene(scene, ball=scene.control)
        with replacing(folder / path) as beside:
            picture.save(beside, "PNG")
        drawn.append(scene.model_copy(update={"path": path.as_posix()}))
    return tuple(drawn)


def draw_scene(scene: Scene, *, ball: bool) -> Image:
    """Draw a scene made by `spotball_core.synthetic.scenes.synthetic_scenes`.

    The same scene always gives the same image, and images with and without the ball differ only in the ball. Each
    player is drawn in their bounding box and looks at the ball. The nearest player kicks the ball or reaches for it.

    Args:
        scene: a scene of a synthetic sport, with players and the ball's bounding box.
        ball: whether to draw the ball.

    Returns:
        An RGB image with the scene's width and height in pixels.

    Raises:
        OptionError: if the sport is not one of the synthetic sports, or if the scene has no players or no bounding box
            of the ball.
        MissingExtraError: if Pillow is not installed.
    """
    try:
        from PIL import Image as Images, ImageDraw
    except ImportError as error:
        raise MissingExtraError("drawing synthetic scenes", "study") from error

    if scene.sport not in _LOOKS or not scene.players or scene.ball_box is None:
        needs = f"players, the ball's box, and one of these sports: {', '.join(_LOOKS)}"
        raise OptionError(f"{scene.sport}/{scene.image} cannot be drawn. The scene needs {needs}", code="missing-value")
    image = Images.new("RGB", (scene.width * FINER, scene.height * FINER))
    pen = Pen(ImageDraw.Draw(image))
    rng = generator_for(0, "picture", *scene.key)
    look = _LOOKS[scene.sport]
    _surroundings(pen, look, scene.width, scene.height, rng)
    _FIELDS[scene.sport](pen, look, scene.width, scene.height, rng)
    target = center_of(scene.ball_box)
    # People farther down in the image are nearer to the viewer.
    boxes = sorted((box.corners for box in scene.players), key=lambda box: box[3])
    nearest = min(boxes, key=lambda box: math.dist(center_of(box), target))
    for box in boxes:
        _shadow(pen, box, look)
        _player(pen, box, target, look.teams[rng.integers(2)], scene.sport, rng, near=box is nearest)
    if ball:
        _BALLS[scene.sport](pen, target, (scene.ball_box[2] - scene.ball_box[0]) / 2)
    return image.resize((scene.width, scene.height), Images.Resampling.LANCZOS)


# Fields --------------------------------------------------------------------------------------------------------


def _surroundings(pen: Pen, look: _Look, width: float, height: float, rng: np.random.Generator) -> None:
    """Draw stands with people, and the board that states that the picture is synthetic."""
    stands, edge = _STANDS * height, _EDGE * height
    pen.box(0, 0, width, stands, _SHADE)
    size = height / 75
    for row in range(int(stands / (2.2 * size)) + 1):
        for col in range(int(width / (2.4 * size)) + 1):
            x, y = (col + 0.5 * (row % 2) + rng.uniform(-0.2, 0.2)) * 2.4 * size, (row + 0.5) * 2.2 * size
            clothes, skin = _CROWD[rng.integers(len(_CROWD))], _SKIN[rng.integers(len(_SKIN))]
            if rng.random() < 0.85:
                pen.disc((x, y + 1.1 * size), size, clothes)
                pen.disc((x, y), 0.55 * size, mixed(skin, _SHADE, 0.45))
    pen.box(0, stands, width, edge, look.board)
    for i in range(4):
        pen.text((width * (i + 0.5) / 4, (stands + edge) / 2), _BOARD, 0.5 * (edge - stands), _WHITE)


def _soccer_field(pen: Pen, look: _Look, width: float, height: float, rng: np.random.Generator) -> None:
    edge, vanishing = _EDGE * height, (width * rng.uniform(0.35, 0.65), -0.6 * height)
    pen.box(0, edge, width, height, look.ground)
    for i in range(-8, 9, 2):
        pen.area(_strip(vanishing, edge, height, width * i / 8, width * (i + 1) / 8), look.other)
    thick = height / 110
    pen.stroke([(0, edge + 0.05 * height), (width, edge + 0.05 * height)], thick * 0.7, look.line)
    # Draw the penalty area, on one side.
    at = _from_side(width, rng)
    top, bottom = edge + 0.14 * height, edge + 0.52 * height
    pen.stroke([(at(-0.05), top), (at(0.36), top), (at(0.46), bottom), (at(-0.05), bottom)], thick, look.line)


def _basketball_court(pen: Pen, look: _Look, width: float, height: float, rng: np.random.Generator) -> None:
    edge, vanishing = _EDGE * height, (width / 2, -0.8 * height)
    pen.box(0, edge, width, height, look.ground)
    for i in range(-24, 25, 2):
        pen.area(_strip(vanishing, edge, height, width * i / 16, width * (i + 1) / 16), look.other)
    thick = height / 110
    at = _from_side(width, rng)
    top, bottom = edge + 0.13 * height, edge + 0.4 * height
    key = [(at(-0.05), top), (at(0.34), top), (at(0.3), bottom), (at(-0.05), bottom)]
    pen.area(key, mixed(look.board, look.ground, 0.35))
    pen.stroke(key, thick, look.line)
    pen.stroke([(0, edge + 0.04 * height), (width, edge + 0.04 * height)], thick * 0.7, look.line)
    # Draw the basket: pole, backboard, ring and net.
    pole, ring = at(0.02), at(0.115)
    pen.stroke([(pole, top + 0.06 * height), (pole, 0.16 * height), (at(0.06), 0.12 * height)], thick * 2.4, _DARK)
    back, front = at(0.06), at(0.085)
    pen.area([(back, 0.02 * height), (front, 0), (front, 0.2 * height), (back, 0.18 * height)], _WHITE)
    pen.stroke([(front, 0.15 * height), (at(0.145), 0.15 * height)], thick, (222, 92, 40))
    for i in range(5):
        x = at(0.088 + 0.013 * i)
        pen.stroke([(x, 0.155 * height), (x + (ring - x) * 0.35, 0.225 * height)], thick * 0.35, (232, 232, 230))


def _volleyball_court(pen: Pen, look: _Look, width: float, height: float, rng: np.random.Generator) -> None:
    edge, thick = _EDGE * height, height / 110
    pen.box(0, edge, width, height, look.other)
    slant = width * rng.uniform(-0.06, 0.06)
    court = [
        (0.16 * width + slant, edge + 0.1 * height),
        (0.84 * width + slant, edge + 0.1 * height),
        (1.06 * width, 0.93 * height),
        (-0.06 * width, 0.93 * height),
    ]
    pen.area(court, look.ground)
    pen.stroke([*court, court[0]], thick, look.line)
    # Draw the net, across the middle.
    left, right, top, bottom = 0.07 * width, 0.93 * width, 0.32 * height, 0.46 * height
    for i in range(1, 40):
        x = left + (right - left) * i / 40
        pen.stroke([(x, top), (x, bottom)], thick * 0.25, (214, 220, 222))
    for i in range(1, 6):
        y = top + (bottom - top) * i / 6
        pen.stroke([(left, y), (right, y)], thick * 0.25, (214, 220, 222))
    pen.stroke([(left, top), (right, top)], thick * 1.6, _WHITE)
    pen.stroke([(left, bottom), (right, bottom)], thick * 0.9, _WHITE)
    for x in (left, right):
        pen.stroke([(x, top - 0.02 * height), (x, 0.62 * height)], thick * 2, _DARK)


_FIELDS = {
    "synthetic-soccer": _soccer_field,
    "synthetic-basketball": _basketball_court,
    "synthetic-volleyball": _volleyball_court,
}


def _from_side(width: float, rng: np.random.Generator) -> Callable[[float], float]:
    """Return a function that converts a share of the width, measured from a randomly chosen side, to x."""
    left = rng.random() < 0.5
    return lambda share: width * share if left else width * (1 - share)


def _strip(vanishing: Point, top: float, bottom: float, left: float, right: float) -> list[Point]:
    """Return the corners of a strip of the field between two lines from the bottom edge to the vanishing point.

    The lines start at x = `left` and x = `right`.
    """

    def at(x: float, y: float) -> Point:
        share = (y - vanishing[1]) / (bottom - vanishing[1])
        return vanishing[0] + (x - vanishing[0]) * share, y

    return [at(left, top), at(right, top), at(right, bottom), at(left, bottom)]


# People --------------------------------------------------------------------------------------------------------


def _shadow(pen: Pen, box: tuple[float, float, float, float], look: _Look) -> None:
    x1, y1, x2, y2 = box
    pen.disc(
        ((x1 + x2) / 2, y2 - 0.01 * (y2 - y1)),
        0.48 * (x2 - x1),
        darker(mixed(look.ground, look.other, 0.5), 0.72),
        flat=0.16,
    )


def _player(
    pen: Pen,
    box: tuple[float, float, float, float],
    target: Point,
    team: tuple[Color, Color],
    sport: str,
    rng: np.random.Generator,
    *,
    near: bool,
) -> None:
    x1, y1, x2, y2 = box
    width, height, middle = x2 - x1, y2 - y1, (x1 + x2) / 2
    facing = 1.0 if target[0] >= middle else -1.0
    skin, hair = _SKIN[rng.integers(len(_SKIN))], _HAIR[rng.integers(len(_HAIR))]
    stride, lift, swing, points = rng.uniform(0.5, 0.9), rng.uniform(0, 0.07), rng.uniform(-1, 1), rng.random() < 0.4
    limb = 0.062 * height

    def at(across: float, down: float) -> Point:
        """Return a point of the box.

        `across` runs from its middle in the facing direction (-0.5 to 0.5), `down` from its top (0 to 1).
        """
        return middle + facing * across * width, y1 + down * height

    radius = min(0.083 * height, 0.3 * width)
    head, neck, hip = at(0.1, 0.09), at(0.06, 0.18), at(-0.04, 0.53)
    shoulder = at(0.04, 0.23)
    ahead, behind = at(0.42 * stride, 0.97), at(-0.42 * stride, 0.96 - lift)
    knee, other_knee = at(0.27 * stride + 0.04, 0.74), at(-0.12 * stride, 0.76)
    if near and sport == "synthetic-soccer":
        ahead = towards(hip, target, 0.45 * height)
        knee = (hip[0] + ahead[0]) / 2 + facing * 0.03 * width, (hip[1] + ahead[1]) / 2 - 0.03 * height
    hands = [at(0.3 + 0.1 * swing, 0.5), at(-0.34 + 0.1 * swing, 0.46)]
    if near and sport != "synthetic-soccer":
        hands = [towards(shoulder, target, 0.34 * height), towards(shoulder, target, 0.3 * height)]
    elif points:
        hands[0] = towards(shoulder, target, 0.3 * height)
    for foot, bend in ((behind, other_knee), (ahead, knee)):
        pen.stroke([hip, bend], 1.3 * limb, darker(skin, 0.92))
        pen.stroke([bend, foot], limb, skin)
        pen.stroke([between(bend, foot, 0.5), foot], limb, team[1])
        pen.stroke([foot, (foot[0] + facing * 0.05 * height, foot[1])], 0.9 * limb, _DARK)
    _arm(pen, shoulder, hands[1], limb, darker(skin, 0.88), darker(team[0], 0.82))
    torso = darker(team[0], 0.94)
    pen.stroke([shoulder, hip], 0.2 * height * min(1.0, 2.2 * width / height), torso)
    for bend in (other_knee, knee):
        pen.stroke([hip, between(hip, bend, 0.6)], 1.9 * limb, team[1])
    _arm(pen, shoulder, hands[0], limb, skin, team[0])
    pen.stroke([neck, between(neck, head, 0.5)], 0.8 * limb, darker(skin, 0.9))
    _head(pen, head, radius, target, skin, hair)


def _arm(pen: Pen, shoulder: Point, hand: Point, limb: float, skin: Color, sleeve: Color) -> None:
    x, y = between(shoulder, hand, 0.5)
    elbow = x, y + 0.5 * limb
    pen.stroke([shoulder, elbow, hand], 0.8 * limb, skin)
    pen.stroke([shoulder, between(shoulder, elbow, 0.8)], 1.25 * limb, sleeve)
    pen.disc(hand, 0.55 * limb, skin)


def _head(pen: Pen, middle: Point, radius: float, target: Point, skin: Color, hair: Color) -> None:
    """Draw a head whose face, nose and eyes turn to the target."""
    away = math.dist(middle, target)
    dx, dy = ((target[0] - middle[0]) / away, (target[1] - middle[1]) / away) if away else (0.0, 0.0)
    x, y = middle
    pen.disc((x - 0.12 * radius * dx, y - 0.22 * radius), radius, hair)
    pen.disc((x - 0.55 * radius * dx, y + 0.1 * radius), 0.22 * radius, darker(skin, 0.85))
    face = x + 0.16 * radius * dx, y + (0.12 + 0.1 * dy) * radius
    pen.disc(face, 0.86 * radius, skin)
    for side in (-1, 1):
        eye = face[0] + (0.33 * side + 0.3 * dx) * radius, face[1] + (0.26 * dy - 0.12) * radius
        pen.disc(eye, 0.24 * radius, _WHITE)
        pen.disc((eye[0] + 0.11 * radius * dx, eye[1] + 0.11 * radius * dy), 0.14 * radius, _DARK)
    nose = face[0] + 0.36 * radius * dx, face[1] + (0.15 + 0.26 * dy) * radius
    tip = nose[0] + 0.2 * radius * dx, nose[1] + (0.06 + 0.14 * dy) * radius
    pen.stroke([nose, tip], 0.2 * radius, darker(skin, 0.8))


# The ball ------------------------------------------------------------------------------------------------------


def _soccer_ball(pen: Pen, middle: Point, radius: float) -> None:
    pen.disc(middle, radius, _DARK)
    pen.disc(middle, 0.92 * radius, _WHITE)
    pen.disc(middle, 0.3 * radius, _DARK)
    for i in range(5):
        angle = math.radians(72 * i + 18)
        edge = middle[0] + 0.72 * radius * math.cos(angle), middle[1] + 0.72 * radius * math.sin(angle)
        pen.disc(edge, 0.17 * radius, _DARK)


def _basketball(pen: Pen, middle: Point, radius: float) -> None:
    seam: Color = (70, 36, 20)
    pen.disc(middle, radius, seam)
    pen.disc(middle, 0.93 * radius, (232, 122, 48))
    x, y = middle
    pen.stroke([(x - 0.9 * radius, y), (x + 0.9 * radius, y)], 0.1 * radius, seam)
    pen.stroke([(x, y - 0.9 * radius), (x, y + 0.9 * radius)], 0.1 * radius, seam)
    pen.arc((x - 1.15 * radius, y), 0.85 * radius, -52, 52, 0.1 * radius, seam)
    pen.arc((x + 1.15 * radius, y), 0.85 * radius, 128, 232, 0.1 * radius, seam)


def _volleyball(pen: Pen, middle: Point, radius: float) -> None:
    blue: Color = (44, 84, 160)
    pen.disc(middle, radius, blue)
    pen.disc(middle, 0.93 * radius, _WHITE)
    pen.arc(middle, 0.9 * radius, 200, 320, 0.42 * radius, (246, 204, 72))
    pen.arc(middle, 0.9 * radius, 20, 140, 0.42 * radius, blue)
    pen.disc(middle, 0.2 * radius, (246, 204, 72))


_BALLS = {
    "synthetic-soccer": _soccer_ball,
    "synthetic-basketball": _basketball,
    "synthetic-volleyball": _volleyball,
}
