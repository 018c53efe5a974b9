"""Where the gaze ray meets the table, and where the camera sees it: by hand, against Shapely, and what always holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st

from spotball_adapters.gaze.training.geometry import (
    AWAY,
    AZIMUTH,
    ELEVATION,
    MIDDLE,
    SPACING,
    TABLE,
    Camera,
    Direction,
    direction_to,
    meets_table,
    object_at,
)
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import VIEWS

yaws = st.floats(-1.2, 1.2)
pitches = st.floats(0.1, 1.4)
xs = st.floats(-2, 2)
zs = st.floats(0.1, 3)


class TestRay:
    def test_straight_ahead_at_45_degrees_it_goes_as_far_as_the_table_is_low(self) -> None:
        x, z = meets_table(Direction(0.0, math.radians(45)))
        assert (x, z) == pytest.approx((0.0, 0.5))

    def test_30_degrees_to_the_side_and_five_down_on_eight_ahead(self) -> None:
        # 0.5 down is 0.8 along; half of it to the side, sqrt(3) / 2 of it ahead.
        x, z = meets_table(Direction(math.radians(30), math.atan(5 / 8)))
        assert (x, z) == pytest.approx((0.8 * 0.5, 0.8 * math.sqrt(3) / 2))

    @given(yaws, pitches)
    def test_is_where_shapely_has_it(self, yaw: float, pitch: float) -> None:
        # In the upright plane of the ray: along the floor, and up.
        ray = shapely.LineString([(0, 0), (100 * math.cos(pitch), -100 * math.sin(pitch))])
        hit = ray.intersection(shapely.LineString([(-1, -TABLE), (100, -TABLE)]))
        x, z = meets_table(Direction(yaw, pitch))
        assert math.hypot(x, z) == pytest.approx(hit.x, rel=1e-9)
        assert math.atan2(x, z) == pytest.approx(yaw, abs=1e-9)

    @given(yaws, pitches)
    def test_lies_on_the_ray(self, yaw: float, pitch: float) -> None:
        direction = Direction(yaw, pitch)
        x, z = meets_table(direction)
        assert np.cross([x, -TABLE, z], direction.vector) == pytest.approx([0, 0, 0], abs=1e-9)

    @given(xs, zs)
    def test_looking_there_and_back(self, x: float, z: float) -> None:
        assert meets_table(direction_to(x, z)) == pytest.approx((x, z), abs=1e-9)

    @given(xs, zs)
    def test_the_mirror_image_looks_to_the_other_side(self, x: float, z: float) -> None:
        one, other = direction_to(x, z), direction_to(-x, z)
        assert (other.yaw, other.pitch) == pytest.approx((-one.yaw, one.pitch))

    @given(yaws, yaws, pitches)
    def test_the_target_moves_as_the_eyes_do(self, one: float, other: float, pitch: float) -> None:
        low, high = sorted((one, other))
        assert meets_table(Direction(low, pitch))[0] <= meets_table(Direction(high, pitch))[0] + 1e-12

    @pytest.mark.parametrize("pitch", [0.0, -0.1, math.pi / 2])
    def test_a_ray_that_misses(self, pitch: float) -> None:
        with pytest.raises(OptionError, match=f"pitch: found {math.degrees(pitch):g} degrees, expected more"):
            meets_table(Direction(0.0, pitch))


class TestDirection:
    @given(st.floats(-3, 3), st.floats(-1.5, 1.5))
    def test_a_rotation_turns_ahead_to_it_and_tilts_nothing(self, yaw: float, pitch: float) -> None:
        one = Direction(yaw, pitch)
        assert one.rotation @ one.rotation.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(one.rotation) == pytest.approx(1)
        assert one.rotation @ [0, 0, 1] == pytest.approx(one.vector)
        # What was to the right stays as high as it was.
        assert (one.rotation @ [1, 0, 0])[1] == 0

    def test_nothing_turned_is_the_identity(self) -> None:
        assert Direction(0.0, 0.0).rotation == pytest.approx(np.eye(3))


class TestRow:
    @pytest.mark.parametrize("n", [2, 3, 4])
    @pytest.mark.parametrize("proximity", [1, 2, 3])
    def test_is_even_and_in_the_middle(self, n: int, proximity: int) -> None:
        row = [object_at(place, n, proximity) for place in range(n)]
        assert sum(row) == pytest.approx(0)
        assert np.diff(row) == pytest.approx([SPACING[proximity]] * (n - 1))


class TestCamera:
    @pytest.mark.parametrize("view", VIEWS)
    def test_axes_are_right_angled(self, view: str) -> None:
        axes = Camera(AZIMUTH[view], ELEVATION).axes  # type: ignore[index]
        assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.cross(axes[0], axes[1]) == pytest.approx(axes[2])

    def test_the_middle_is_in_the_middle(self) -> None:
        assert Camera(0.3, shift=(0.1, -0.2)).seen(MIDDLE) == pytest.approx([0.6, 0.3])

    def test_from_the_front_at_eye_level(self) -> None:
        camera = Camera(0.0, 0.0)
        (x, y), (mx, my) = camera.seen((0.27, 0.1, 9.0)), camera.seen(MIDDLE)
        assert (x - mx, y - my) == pytest.approx((0.27 / 1.35, -0.27 / 1.35))

    def test_from_the_persons_left_the_face_is_to_the_right_and_looks_left(self) -> None:
        camera = Camera(AZIMUTH["left"])
        face, ahead = camera.seen([(0, 0, 0), (0, 0, AWAY)])
        assert face[0] > 0.5 > ahead[0]
        # Its left ear is nearer.
        left, right = camera.nearness([(0.2, 0, 0), (-0.2, 0, 0)])
        assert left > right

    @given(xs, st.floats(-1, 1), zs, st.floats(-1, 1), st.floats(0, 1))
    def test_a_mirror_image_is_seen_mirrored(
        self, x: float, y: float, z: float, azimuth: float, elevation: float
    ) -> None:
        one = Camera(azimuth, elevation).seen((x, y, z))
        other = Camera(-azimuth, elevation).seen((-x, y, z))
        assert other == pytest.approx([1 - one[0], one[1]])
