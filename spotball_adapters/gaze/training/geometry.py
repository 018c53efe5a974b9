r"""Compute the geometry of the synthetic pictures: a turning head, separately turning eyes, a table, and the camera.

One unit is about one meter. The origin lies between the eyes. The axis x points to the right as the front camera sees
it, y up, and z from the face to the table and on to the front camera. The table is the plane $y = -h$ with $h = 0.5$.
Objects stand in a row at $z = 0.8$, centered at $x = 0$.

A direction has a yaw $\psi$ towards +x and a pitch $\theta$ downwards: the unit vector
$(\sin\psi \cos\theta, -\sin\theta, \cos\psi \cos\theta)$. The ray from the origin in this direction meets the table at

$$(x, z) = \frac{h}{\tan\theta} (\sin\psi, \cos\psi),$$

and the direction from the origin to the point $(x, z)$ on the table is $\psi = \mathrm{atan2}(x, z)$ and
$\theta = \mathrm{atan2}(h, \sqrt{x^2 + z^2})$.

Two examples: the ray with $\psi = 0, \theta = 45^\circ$ meets the table at $(0, 0.5)$. The ray with
$\psi = 30^\circ, \tan\theta = 5/8$ has the horizontal length $0.5 / (5/8) = 0.8$ and meets the table at
$(0.4, 0.4\sqrt 3)$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import View
from spotball_core.typing import FloatArray

TABLE: Final = 0.5
"""Vertical distance of the table below the eyes, in units of about one meter."""

AWAY: Final = 0.8
"""Horizontal distance of the row of objects from the face, in units of about one meter."""

SPACING: Final = {1: 0.24, 2: 0.18, 3: 0.12}
"""Distance between neighboring objects by proximity level, in units of about one meter."""

AZIMUTH: Final[dict[View, float]] = {"front": 0.0, "left": math.radians(35), "right": math.radians(-35)}
"""Azimuth of the camera towards +x in radians, by view. From +x, the camera sees more of the person's left side."""

ELEVATION: Final = math.radians(15)
"""Elevation of the camera above the horizon, in radians."""

ACROSS: Final = 1.35
"""Width and height of the area that a picture shows, in units of about one meter."""

MIDDLE: Final = (0.0, -0.17, 0.4)
"""The point (x, y, z) that appears in the center of a picture."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Direction of a head or of eyes, as two angles in radians.

    Attributes:
        yaw: angle towards +x.
        pitch: angle downwards.
    """

    yaw: float
    pitch: float

    @property
    def vector(self) -> FloatArray:
        """Return the direction as a unit vector, shape (3,)."""
        flat = math.cos(self.pitch)
        return np.array([math.sin(self.yaw) * flat, -math.sin(self.pitch), math.cos(self.yaw) * flat])

    @property
    def rotation(self) -> FloatArray:
        """Return the matrix that rotates the z axis to this direction without tilting the head, shape (3, 3)."""
        right = np.array([math.cos(self.yaw), 0.0, -math.sin(self.yaw)])
        return np.column_stack([right, np.cross(self.vector, right), self.vector])


def object_at(place: int, n_objects: int, proximity: int) -> float:
    """Return the x coordinate of an object in the row.

    Args:
        place: index of the object, from 0, from the left as the front camera sees it.
        n_objects: number of objects in the row.
        proximity: proximity level from 1 to 3; 3 is the closest spacing.

    Examples:
        >>> [round(object_at(place, 4, 1), 2) for place in range(4)]
        [-0.36, -0.12, 0.12, 0.36]
    """
    return (place - (n_objects - 1) / 2) * SPACING[proximity]


def direction_to(x: float, z: float = AWAY) -> Direction:
    """Return the direction from the point between the eyes to the point (x, z) on the table.

    Examples:
        >>> direction = direction_to(0.0, 0.5)
        >>> round(math.degrees(direction.yaw), 6), round(math.degrees(direction.pitch), 6)
        (0.0, 45.0)
    """
    return Direction(math.atan2(x, z), math.atan2(TABLE, math.hypot(x, z)))


def meets_table(direction: Direction) -> tuple[float, float]:
    """Return x and z of the point where the ray from between the eyes in this direction meets the table.

    Raises:
        OptionError: if the direction does not point downwards.

    Examples:
        >>> [round(part, 6) for part in meets_table(Direction(math.radians(30), math.atan(5 / 8)))]
        [0.4, 0.69282]
    """
    if not 0 < direction.pitch < math.pi / 2:
        raise OptionError(
            f"found {math.degrees(direction.pitch):g} degrees, expected more than 0 and less than 90, so that "
            "the ray meets the table",
            field="pitch",
        )
    reach = TABLE / math.tan(direction.pitch)
    return reach * math.sin(direction.yaw), reach * math.cos(direction.yaw)


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera with parallel projection: the size of things does not depend on their distance.

    Attributes:
        azimuth: angle towards +x, in radians.
        elevation: angle above the horizon, in radians.
        zoom: magnification; 1 is the default view.
        shift: shift of the view to the right and down, as fractions of the picture.
    """

    azimuth: float
    elevation: float = ELEVATION
    zoom: float = 1.0
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def axes(self) -> FloatArray:
        """Return the unit vectors to the right, up and towards the camera as rows, shape (3, 3)."""
        sin, cos = math.sin(self.azimuth), math.cos(self.azimuth)
        low, high = math.cos(self.elevation), math.sin(self.elevation)
        return np.array([[cos, 0.0, -sin], [-high * sin, low, -high * cos], [low * sin, high, low * cos]])

    def seen(self, points: ArrayLike) -> FloatArray:
        """Return the picture coordinates of points in space.

        Args:
            points: coordinates x, y, z, shape (..., 3).

        Returns:
            Fractions of width and height from the upper left corner, shape (..., 2).
        """
        right_up = (np.asarray(points, dtype=float) - MIDDLE) @ self.axes[:2].T
        return np.asarray(0.5 + np.asarray(self.shift) + right_up * [1, -1] * (self.zoom / ACROSS))

    def nearness(self, points: ArrayLike) -> FloatArray:
        """Return how near points are to the camera (larger is nearer), shape (...)."""
        return np.asarray(np.asarray(points, dtype=float) @ self.axes[2])
