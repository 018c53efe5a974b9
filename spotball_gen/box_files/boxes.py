"""Represent boxes read from a file of any format, and convert them to the pixels of an item's image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError
from spotball_core.geometry import Polygon, clipped
from spotball_core.schema.keypoints import Keypoint
from spotball_gen.items.item import Box, Label

MOST_PROBLEMS = 10_000
"""Reading stops after this many problems, because such a file probably contains no boxes."""

EXPECTED_SCORE = "a number from 0 to 1"


@dataclass(frozen=True, slots=True)
class FileBox:
    """A box in a file, with coordinates in the original picture.

    Attributes:
        corners: (x1, y1, x2, y2), in pixels of the picture or in the unit that `of` defines.
        category: the box's category, as named in the file.
        score: confidence, from 0 to 1.
        of: width and height of the picture in the unit of the coordinates, such as (1, 1) for fractions; None for
            pixels.
        outline: polygons whose union is the outline, in the same unit, or None if only the box is known.
        keypoints: COCO's 17 keypoints (x, y, confidence), in the same unit, or None if the pose is unknown.
    """

    corners: tuple[float, float, float, float]
    category: str
    score: float = 1.0
    of: tuple[float, float] | None = None
    outline: tuple[Polygon, ...] | None = None
    keypoints: tuple[Keypoint, ...] | None = None


@dataclass(frozen=True, slots=True)
class ImageView:
    """The relation between an original picture and an item's image, which shows a resized part of it.

    Attributes:
        size: width and height of the picture in pixels.
        window: the part (x1, y1, x2, y2) of the picture that the image shows. It may extend beyond the picture.
        image: width and height of the image in pixels.
    """

    size: tuple[float, float]
    window: tuple[float, float, float, float]
    image: tuple[float, float]

    def box(self, box: FileBox, label: Label) -> Box | None:
        """Return the box in pixels of the image, clipped at the image's edges, or None if it is outside the image.

        Examples:
            >>> view = ImageView((1920, 1080), (240, 0, 1680, 1080), (640, 480))
            >>> view.box(FileBox((0.5, 0.5, 0.75, 0.75), "0", of=(1, 1)), "ball").corners
            (320.0, 240.0, 533.3333333333334, 360.0)
            >>> view.box(FileBox((0, 0, 240, 1080), "0"), "ball")
        """
        (x1, x2), (y1, y2) = (self._along(axis, box) for axis in (0, 1))
        if x1 >= x2 or y1 >= y2:
            return None
        outline = box.outline and clipped(
            [[(self._place(0, x, box), self._place(1, y, box)) for x, y in polygon] for polygon in box.outline],
            *self.image,
        )
        keypoints = box.keypoints and tuple(self._keypoint(point, box) for point in box.keypoints)
        return Box(x1, y1, x2, y2, box.score, label, outline or None, keypoints)

    def _keypoint(self, point: Keypoint, box: FileBox) -> Keypoint:
        """Return the keypoint in pixels of the image, or zeros if it is outside the image or was not detected."""
        x, y, confidence = self._place(0, point[0], box), self._place(1, point[1], box), point[2]
        is_inside = 0 <= x <= self.image[0] and 0 <= y <= self.image[1]
        return (x, y, confidence) if is_inside and confidence > 0 else (0.0, 0.0, 0.0)

    def _along(self, axis: int, box: FileBox) -> tuple[float, ...]:
        edges = (self._place(axis, box.corners[side], box) for side in (axis, axis + 2))
        return tuple(min(max(edge, 0.0), self.image[axis]) for edge in edges)

    def _place(self, axis: int, value: float, box: FileBox) -> float:
        """Convert a coordinate from the file to pixels of the image. The result may be outside the image."""
        unit = self.size[axis] / box.of[axis] if box.of else 1.0
        start, end = self.window[axis], self.window[axis + 2]
        return (value * unit - start) * self.image[axis] / (end - start)


def number(text: str) -> float | None:
    """Return a text as a number, or None if it is not a finite number.

    Examples:
        >>> number(" 1.5 "), number("1e400"), number("one")
        (1.5, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file.

    Raises:
        InputError: if the file does not exist, cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except FileNotFoundError:
        raise InputError.of("missing-file", path, "file", "no such file", "a file of boxes. Check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.of("unreadable-file", path, "file", str(error), "a readable UTF-8 text file") from error
