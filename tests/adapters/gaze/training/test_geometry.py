"""Test where the gaze ray meets the table and where the camera sees it, with known values, Shapely and properties."""

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
from tests.failures import raises

yaws = st.floats(-1.2, 1.2)
pitches = st.floats(0.1, 1.4)
xs = st.floats(-2, 2)
zs = st.floats(0.1, 3)


class TestRay:
    def test_meets_table_of_45_degrees_down_is_as_far_ahead_as_the_table_is_below(self) -> None:
        x, z = meets_table(Direction(0.0, math.radians(45)))
        assert (x, z) == pytest.approx((0.0, 0.5))

    def test_meets_table_of_30_degrees_sideways_equals_the_value_computed_by_hand(self) -> None:
        # The table is 0.5 lower, so the ray travels 0.8 horizontally: half sideways, sqrt(3) / 2 ahead.
        x, z = meets_table(Direction(math.radians(30), math.atan(5 / 8)))
        assert (x, z) == pytest.approx((0.8 * 0.5, 0.8 * math.sqrt(3) / 2))

    @given(yaws, pitches)
    def test_meets_table_equals_the_intersection_from_shapely(self, yaw: float, pitch: float) -> None:
        # Coordinates in the vertical plane of the ray: horizontal distance and height.
        ray = shapely.LineString([(0, 0), (100 * math.cos(pitch), -100 * math.sin(pitch))])
        hit = ray.intersection(shapely.LineString([(-1, -TABLE), (100, -TABLE)]))
        x, z = meets_table(Direction(yaw, pitch))
        assert math.hypot(x, z) == pytest.approx(hit.x, rel=1e-9)
        assert math.atan2(x, z) == pytest.approx(yaw, abs=1e-9)

    @given(yaws, pitches)
    def test_meets_table_returns_a_point_on_the_ray(self, yaw: float, pitch: float) -> None:
        direction = Direction(yaw, pitch)
        x, z = meets_table(direction)
        assert np.cross([x, -TABLE, z], direction.vector) == pytest.approx([0, 0, 0], abs=1e-9)

    @given(xs, zs)
    def test_meets_table_inverts_direction_to(self, x: float, z: float) -> None:
        assert meets_table(direction_to(x, z)) == pytest.approx((x, z), abs=1e-9)

    @given(xs, zs)
    def test_direction_to_a_mirrored_point_has_the_opposite_yaw(self, x: float, z: float) -> None:
        one, other = direction_to(x, z), direction_to(-x, z)
        assert (other.yaw, other.pitch) == pytest.approx((-one.yaw, one.pitch))

    @given(yaws, yaws, pitches)
    def test_meets_table_moves_in_the_direction_of_the_yaw(self, one: float, other: float, pitch: float) -> None:
        low, high = sorted((one, other))
        assert meets_table(Direction(low, pitch))[0] <= meets_table(Direction(high, pitch))[0] + 1e-12

    @pytest.mark.parametrize("pitch", [0.0, -0.1, math.pi / 2])
    def test_meets_table_of_a_ray_that_misses_the_table_is_an_error(self, pitch: float) -> None:
        with raises(OptionError, "invalid-option:pitch"):
            meets_table(Direction(0.0, pitch))


class TestDirection:
    @given(st.floats(-3, 3), st.floats(-1.5, 1.5))
    def test_rotation_is_orthogonal_and_turns_forward_to_the_direction_without_tilt(
        self, yaw: float, pitch: float
    ) -> None:
        one = Direction(yaw, pitch)
        assert one.rotation @ one.rotation.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(one.rotation) == pytest.approx(1)
        assert one.rotation @ [0, 0, 1] == pytest.approx(one.vector)
        # The right axis stays horizontal.
        assert (one.rotation @ [1, 0, 0])[1] == 0

    def test_rotation_of_the_forward_direction_is_the_identity(self) -> None:
        assert Direction(0.0, 0.0).rotation == pytest.approx(np.eye(3))


class TestRow:
    @pytest.mark.parametrize("n", [2, 3, 4])
    @pytest.mark.parametrize("proximity", [1, 2, 3])
    def test_object_at_spaces_the_objects_evenly_around_the_center(self, n: int, proximity: int) -> None:
        row = [object_at(place, n, proximity) for place in range(n)]
        assert sum(row) == pytest.approx(0)
        assert np.diff(row) == pytest.approx([SPACING[proximity]] * (n - 1))


class TestCamera:
    @pytest.mark.parametrize("view", VIEWS)
    def test_camera_axes_are_orthonormal_and_right_handed(self, view: str) -> None:
        axes = Camera(AZIMUTH[view], ELEVATION).axes  # type: ignore[index]
        assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.cross(axes[0], axes[1]) == pytest.approx(axes[2])

    def test_seen_maps_the_scene_center_to_the_shifted_image_center(self) -> None:
        assert Camera(0.3, shift=(0.1, -0.2)).seen(MIDDLE) == pytest.approx([0.6, 0.3])

    def test_seen_from_the_front_equals_the_value_computed_by_hand(self) -> None:
        camera = Camera(0.0, 0.0)
        (x, y), (mx, my) = camera.seen((0.27, 0.1, 9.0)), camera.seen(MIDDLE)
        assert (x - mx, y - my) == pytest.approx((0.27 / 1.35, -0.27 / 1.35))

    def test_seen_from_the_left_of_the_person_shows_the_face_on_the_right_looking_left(self) -> None:
        camera = Camera(AZIMUTH["left"])
        face, ahead = camera.seen([(0, 0, 0), (0, 0, AWAY)])
        assert face[0] > 0.5 > ahead[0]
        # The person's left ear is nearer to the camera.
        left, right = camera.nearness([(0.2, 0, 0), (-0.2, 0, 0)])
        assert left > right

    @given(xs, st.floats(-1, 1), zs, st.floats(-1, 1), st.floats(0, 1))
    def test_seen_of_a_mirrored_scene_is_mirrored(
        self, x: float, y: float, z: float, azimuth: float, elevation: float
    ) -> None:
        one = Camera(azimuth, elevation).seen((x, y, z))
        other = Camera(-azimuth, elevation).seen((-x, y, z))
        assert other == pytest.approx([1 - one[0], one[1]])
