"""Draw synthetic pictures of a person who looks at an object on a table. The pictures are not photorealistic.

The head is an ellipsoid with hair, ears, brows, nose and mouth that turn with it. Each iris turns separately, so head
and eyes can point in different directions. The head is about twice as large as a real head, so that the eyes are
visible in a small picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_adapters.gaze.training.geometry import (
    AWAY,
    AZIMUTH,
    ELEVATION,
    TABLE,
    Camera,
    Direction,
    direction_to,
    object_at,
)
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.gaze.data.stimuli import Point, Stimulus
from spotball_core.gaze.power.observers import TURN
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from PIL.Image import Image

Color = tuple[int, int, int]
Box = tuple[float, float, float, float]

NOD: Final = 0.6
"""The head's pitch as a fraction of the pitch at which the head would point exactly to its target on the table. The
eyes point exactly to their target, so they turn further down than the head.
"""

WOBBLE: Final = {"natural": math.radians(4), "controlled": math.radians(1.5)}
"""Standard deviation of the head's yaw and pitch around the intended direction, in radians, for stimuli without a head
target ("natural") and with a head target ("controlled").
"""

THINGS: Final[dict[str, tuple[str, Color]]] = {
    "red ball": ("ball", (204, 44, 44)),
    "blue box": ("box", (40, 84, 184)),
    "green bottle": ("bottle", (36, 128, 66)),
    "yellow cone": ("cone", (238, 196, 32)),
    "purple cup": ("cup", (124, 52, 150)),
    "orange ball": ("ball", (240, 126, 30)),
    "teal box": ("box", (22, 146, 150)),
    "pink bottle": ("bottle", (232, 108, 160)),
    "brown cone": ("cone", (110, 70, 40)),
    "white cup": ("cup", (244, 244, 240)),
    "black ball": ("ball", (30, 30, 34)),
}
"""Shape and color of each object that may stand on the table, by the object's name."""

_SKIN: Final[tuple[Color, ...]] = ((244, 208, 177), (224, 172, 132), (187, 126, 84), (141, 85, 51), (102, 66, 44))
_HAIR: Final[tuple[Color, ...]] = ((38, 30, 28), (74, 50, 36), (120, 80, 48), (196, 160, 96), (128, 124, 120))
_IRIS: Final[tuple[Color, ...]] = ((58, 38, 22), (44, 78, 120), (60, 92, 60), (24, 22, 22))
_SHIRT: Final[tuple[Color, ...]] = ((60, 90, 140), (150, 60, 60), (70, 120, 90), (90, 80, 110), (170, 140, 70))
_WALL: Final[tuple[Color, ...]] = ((185, 199, 216), (222, 216, 204), (196, 212, 196), (210, 200, 214))
_WOOD: Final[tuple[Color, ...]] = ((150, 112, 76), (176, 140, 100), (122, 92, 70), (196, 186, 172))
_WHITE: Final[Color] = (248, 248, 246)
_DARK: Final[Color] = (20, 18, 18)

_FINER: Final = 4
"""Factor by which pictures are drawn larger and then downscaled, so that edges are smooth."""

# Coordinates in the head's own axes (right, up, forward), with the origin between the eyes.
_SKULL, _SKULL_RADII = (0.0, -0.035, -0.17), (0.2, 0.26, 0.2)
_HAIR_AT, _HAIR_RADII = (0.0, 0.03, -0.215), (0.22, 0.25, 0.22)
_EYE, _BALL = 0.086, 0.075
"""Horizontal distance of an eye from the middle of the head, and the radius of the eyeball, in units of about one
meter."""
_OPENING = (0.068, 0.043)
_IRIS_RADIUS, _PUPIL_RADIUS = 0.034, 0.016
_THING = (0.045, 0.12)
"""Half the width of an object, and its height, in units of about one meter."""


@dataclass(frozen=True, slots=True)
class PhotoLook:
    """Properties of a picture that the stimulus does not determine, such as colors and the camera's position.

    Attributes:
        colors: colors of skin, hair, iris, shirt, wall and table.
        azimuth: offset of the camera's azimuth, in radians.
        elevation: offset of the camera's elevation, in radians.
        zoom: magnification; 1 is the default view.
        shift: shift of the view to the right and down, as fractions of the picture.
        wobble: random offset of the head's yaw and pitch, in multiples of the standard deviation `WOBBLE`.
    """

    colors: tuple[Color, Color, Color, Color, Color, Color]
    azimuth: float = 0.0
    elevation: float = 0.0
    zoom: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)
    wobble: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class DrawnPhoto:
    """A picture, with the positions of objects and head as fractions of its width and height.

    Attributes:
        image: a square image in RGB.
        points: position of the lower end of each object. The person looks at the lower end of the gaze target.
        face: the bounding box of the head.
    """

    image: Image
    points: tuple[Point, ...]
    face: Box


def drawn_look(generator: np.random.Generator) -> PhotoLook:
    """Return random properties of a picture."""
    palettes = (_SKIN, _HAIR, _IRIS, _SHIRT, _WALL, _WOOD)
    skin, hair, iris, shirt, wall, wood = (palette[generator.integers(len(palette))] for palette in palettes)
    normal = generator.standard_normal(6)
    return PhotoLook(
        colors=(skin, hair, iris, shirt, wall, wood),
        azimuth=math.radians(3) * float(normal[0]),
        elevation=math.radians(2) * float(normal[1]),
        zoom=float(generator.uniform(0.93, 1.05)),
        shift=(0.015 * float(normal[2]), 0.015 * float(normal[3])),
        wobble=(float(normal[4]), float(normal[5])),
    )


def gaze_of(stimulus: Stimulus) -> Direction:
    """Return the direction from the eyes to the gaze target."""
    return direction_to(object_at(stimulus.gaze, len(stimulus.objects), stimulus.proximity))


def head_of(stimulus: Stimulus, wobble: tuple[float, float] = (0.0, 0.0)) -> Direction:
    """Return the direction of the head: towards the head target, or, if there is none, partly towards the gaze target.

    Args:
        stimulus: a stimulus with or without a head target.
        wobble: offset of yaw and pitch, in multiples of the standard deviation `WOBBLE`.
    """
    gaze = gaze_of(stimulus)
    if stimulus.head is None:
        sd, yaw, pitch = WOBBLE["natural"], TURN * gaze.yaw, gaze.pitch
    else:
        aim = direction_to(object_at(stimulus.head, len(stimulus.objects), stimulus.proximity))
        sd, yaw, pitch = WOBBLE["controlled"], aim.yaw, aim.pitch
    return Direction(yaw + sd * wobble[0], NOD * pitch + sd * wobble[1])


def draw(stimulus: Stimulus, look: PhotoLook, size: int) -> DrawnPhoto:
    """Draw a picture of a stimulus, and return it with the positions of the objects and the head.

    Args:
        stimulus: a stimulus whose objects are in THINGS.
        look: the properties that the stimulus does not determine.
        size: side length in pixels.

    Raises:
        OptionError: if an object is not in THINGS.
        MissingExtraError: if Pillow is not installed.
    """
    try:
        from PIL import Image as Images
    except ImportError as error:
        raise MissingExtraError("drawing synthetic pictures", "local") from error
    if unknown := [name for name in stimulus.objects if name not in THINGS]:
        raise OptionError(
            f"these objects cannot be drawn: {', '.join(unknown)}. Available: {', '.join(THINGS)}", code="unknown-name"
        )
    *_, shirt, wall, wood = look.colors
    camera = Camera(AZIMUTH[stimulus.view] + look.azimuth, ELEVATION + look.elevation, look.zoom, look.shift)
    pen = _Pen(Images.new("RGB", (size * _FINER, size * _FINER), wall), camera)
    pen.area(_ellipsoid(camera, (0.0, -0.56, -0.2), (0.33, 0.25, 0.14)), shirt)
    face = _draw_head(pen, head_of(stimulus, look.wobble), gaze_of(stimulus), look)
    corners = [(-0.62, 0.42), (0.62, 0.42), (0.62, 1.08), (-0.62, 1.08)]
    pen.shape([(x, -TABLE, z) for x, z in corners], wood)
    feet = []
    for place, name in enumerate(stimulus.objects):
        foot = (object_at(place, len(stimulus.objects), stimulus.proximity), -TABLE, AWAY)
        feet.append(foot)
        _draw_thing(pen, foot, *THINGS[name])
    points = tuple((float(x), float(y)) for x, y in camera.seen(feet))
    return DrawnPhoto(pen.image.resize((size, size), Images.Resampling.BOX), points, face)


class _Pen:
    """Draw polygons onto a picture, as a camera sees them."""

    def __init__(self, image: Image, camera: Camera) -> None:
        from PIL import ImageDraw

        self.image, self.camera = image, camera
        self._draw = ImageDraw.Draw(image)

    def shape(self, corners: ArrayLike, color: Color) -> None:
        """Draw a polygon whose corners are points in space, shape (n, 3)."""
        self.area(self.camera.seen(corners), color)

    def area(self, corners: FloatArray, color: Color) -> None:
        """Draw a polygon whose corners are fractions of the picture's width and height, shape (n, 2)."""
        self._draw.polygon(self._pixels(corners), fill=color)

    def within(self, corners: FloatArray, color: Color, *windows: FloatArray) -> None:
        """Draw a polygon, clipped to the intersection of other polygons."""
        from PIL import Image as Images, ImageChops, ImageDraw

        mask = None
        for area in (corners, *windows):
            layer = Images.new("L", self.image.size)
            ImageDraw.Draw(layer).polygon(self._pixels(area), fill=255)
            mask = layer if mask is None else ImageChops.darker(mask, layer)
        self.image.paste(color, (0, 0), mask)

    def _pixels(self, shares: FloatArray) -> list[tuple[float, float]]:
        # Pillow's coordinates refer to the centers of pixels.
        return [(x, y) for x, y in shares * self.image.width - 0.5]


def _draw_head(pen: _Pen, head: Direction, gaze: Direction, look: PhotoLook) -> Box:
    skin, hair, iris, *_ = look.colors
    camera, turn = pen.camera, head.rotation

    def at(*points: tuple[float, float, float]) -> FloatArray:
        """Return the picture coordinates of points on the head."""
        return camera.seen(np.array(points) @ turn.T)

    def disc(middle: tuple[float, float, float], wide: float, high: float) -> FloatArray:
        """Return the picture coordinates of a flat ellipse that faces in the direction of the head."""
        return at(*((middle[0] + wide * cos, middle[1] + high * sin, middle[2]) for cos, sin in _CIRCLE))

    skull = _ellipsoid(camera, turn @ _SKULL, _SKULL_RADII, turn)
    cap = _ellipsoid(camera, turn @ _HAIR_AT, _HAIR_RADII, turn)
    pen.area(_ellipsoid(camera, turn @ (0.0, -0.3, -0.19), (0.08, 0.16, 0.08)), _darker(skin, 0.8))
    pen.area(cap, hair)
    pen.area(skull, skin)
    ears = [(side * 0.195, -0.06, -0.17) for side in (-1, 1)]
    for ear in ears:
        if camera.nearness(turn @ ear) > camera.nearness(turn @ _SKULL) - 0.1:
            pen.area(_ellipsoid(camera, turn @ ear, (0.02, 0.055, 0.035), turn), _darker(skin, 0.86))
    for side in (-1, 1):
        middle = side * _EYE
        opening = disc((middle, 0.0, 0.0), *_OPENING)
        brow = [(middle - 0.06, 0.062, 0.0), (middle + 0.06, 0.062, 0.0)]
        brow += [(middle + 0.06, 0.078, 0.0), (middle - 0.06, 0.078, 0.0)]
        pen.within(at(*brow), _darker(hair, 0.9), skull)
        pen.within(disc((middle, 0.0, 0.0), _OPENING[0] + 0.01, _OPENING[1] + 0.01), _darker(skin, 0.62), skull)
        pen.within(opening, _WHITE, skull)
        ball = turn @ (middle, 0.0, -_BALL)
        front = ball + _BALL * gaze.vector
        for radius, color in ((_IRIS_RADIUS, iris), (_PUPIL_RADIUS, _DARK)):
            flat = np.array([(radius * cos, radius * sin, 0.0) for cos, sin in _CIRCLE]) @ gaze.rotation.T
            pen.within(camera.seen(front + flat), color, opening, skull)
    bridge, tip = (0.0, -0.015, 0.03), (0.0, -0.11, 0.1)
    for side in (-1, 1):
        pen.area(at(bridge, tip, (side * 0.036, -0.12, 0.02)), _darker(skin, 0.82))
    mouth = [(-0.065, -0.185, -0.01), (0.065, -0.185, -0.01), (0.04, -0.212, -0.012), (-0.04, -0.212, -0.012)]
    pen.within(at(*mouth), _darker(skin, 0.55), skull)
    outline = np.concatenate([skull, cap])
    (x1, y1), (x2, y2) = np.clip(outline.min(0), 0, 1), np.clip(outline.max(0), 0, 1)
    return float(x1), float(y1), float(x2), float(y2)


_CIRCLE: Final = [(math.cos(math.tau * (i + 0.5) / 24), math.sin(math.tau * (i + 0.5) / 24)) for i in range(24)]


def _ellipsoid(
    camera: Camera, middle: ArrayLike, radii: tuple[float, float, float], turn: FloatArray | None = None
) -> FloatArray:
    """Return the picture coordinates of an ellipsoid's outline. The outline of a linearly mapped ball is an ellipse."""
    axes = (np.eye(3) if turn is None else turn) * radii
    flat = camera.axes[:2] @ axes
    # flat @ flat.T describes the ellipse. Any square root of it maps the unit circle to the outline.
    root = np.linalg.cholesky(flat @ flat.T)
    towards = np.array(_CIRCLE) @ root.T
    return camera.seen(np.asarray(middle) + towards @ camera.axes[:2])


def _draw_thing(pen: _Pen, foot: tuple[float, float, float], shape: str, color: Color) -> None:
    """Draw a flat, upright object that faces the camera."""
    wide, high = _THING
    right = pen.camera.axes[0]

    def at(*corners: tuple[float, float]) -> FloatArray:
        """Return the picture coordinates of points of the object, relative to its foot (right, up)."""
        return pen.camera.seen([np.asarray(foot) + x * right + (0.0, y, 0.0) for x, y in corners])

    pen.area(at(*((1.15 * wide * cos, 0.022 * sin) for cos, sin in _CIRCLE)), (70, 56, 44))
    if shape == "ball":
        pen.area(at(*((wide * cos, wide * (1 + sin)) for cos, sin in _CIRCLE)), color)
    elif shape == "cone":
        pen.area(at((-wide, 0.0), (wide, 0.0), (0.0, high)), color)
    elif shape == "box":
        pen.area(at((-wide, 0.0), (wide, 0.0), (wide, 0.8 * high), (-wide, 0.8 * high)), color)
        pen.area(
            at((-wide, 0.62 * high), (wide, 0.62 * high), (wide, 0.8 * high), (-wide, 0.8 * high)), _darker(color, 0.7)
        )
    elif shape == "cup":
        pen.area(at((-0.7 * wide, 0.0), (0.7 * wide, 0.0), (wide, 0.85 * high), (-wide, 0.85 * high)), color)
        pen.area(at(*((wide * cos, 0.85 * high + 0.014 * sin) for cos, sin in _CIRCLE)), _darker(color, 0.6))
    else:
        neck = 0.3 * wide
        body = [(-0.7 * wide, 0.0), (0.7 * wide, 0.0), (0.7 * wide, 0.6 * high), (neck, 0.8 * high)]
        pen.area(
            at(*body, (neck, 1.15 * high), (-neck, 1.15 * high), (-neck, 0.8 * high), (-0.7 * wide, 0.6 * high)), color
        )


def _darker(color: Color, share: float) -> Color:
    red, green, blue = (round(share * part) for part in color)
    return red, green, blue
