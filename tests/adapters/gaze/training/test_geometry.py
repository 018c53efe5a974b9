"""Test where the gaze ray meets the table and where the camera sees it, with known values, Shapely and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st

from spotball_adapters.gaze.training import geometry
from spotball_adapters.gaze.training.geometry import AWAY, MIDDLE, Camera, Direction, direction_to, meets_table
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import VIEWS
from tests.failures import raises

yaws = st.floats(-1.2, 1.2)
pitches = st.floats(0.1, 1.4)
xs = st.floats(-2, 2)
zs = st.floats(0.1, 3)


class TestRay:
    def test_meets_table_equals_the_values_computed_by_hand(self) -> None:
        # The table is 0.5 below the eyes, so a ray that points 45 degrees down meets it 0.5 ahead.
        assert meets_table(Direction(0.0, math.radians(45))) == pytest.approx((0.0, 0.5))
        # This ray travels 0.8 horizontally: 0.8 / 2 to the side and 0.8 * sqrt(3) / 2 ahead.
        found = meets_table(Direction(math.radians(30), math.atan(5 / 8)))
        assert found == pytest.approx((0.8 * 0.5, 0.8 * math.sqrt(3) / 2))

    @given(yaws, pitches)
    def test_meets_table_equals_the_intersection_from_shapely(self, yaw: float, pitch: float) -> None:
        # Coordinates in the vertical plane of the ray: horizontal distance and height.
        ray = shapely.LineString([(0, 0), (100 * math.cos(pitch), -100 * math.sin(pitch))])
        hit = ray.intersection(shapely.LineString([(-1, -geometry.TABLE), (100, -geometry.TABLE)]))
        x, z = meets_table(Direction(yaw, pitch))
        assert math.hypot(x, z) == pytest.approx(hit.x, rel=1e-9)
        assert math.atan2(x, z) == pytest.approx(yaw, abs=1e-9)

    @given(xs, zs)
    def test_meets_table_of_the_direction_to_a_point_returns_that_point(self, x: float, z: float) -> None:
        assert meets_table(direction_to(x, z)) == pytest.approx((x, z), abs=1e-9)

    @pytest.mark.parametrize("pitch", [0.0, -0.1, math.pi / 2])
    def test_meets_table_of_a_ray_that_misses_the_table_is_an_error(self, pitch: float) -> None:
        with raises(OptionError, "invalid-option:pitch"):
            meets_table(Direction(0.0, pitch))


class TestDirection:
    @given(st.builds(Direction, st.floats(-3, 3), st.floats(-1.5, 1.5)))
    def test_rotation_is_orthogonal_and_turns_forward_to_the_direction_without_tilt(self, one: Direction) -> None:
        assert one.rotation @ one.rotation.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(one.rotation) == pytest.approx(1)
        assert one.rotation @ [0, 0, 1] == pytest.approx(one.vector)
        # The right axis stays horizontal.
        assert (one.rotation @ [1, 0, 0])[1] == 0

    def test_rotation_of_the_forward_direction_is_the_identity(self) -> None:
        assert Direction(0.0, 0.0).rotation == pytest.approx(np.eye(3))


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("proximity", [1, 2, 3])
def test_object_at_spaces_the_objects_evenly_around_the_center(n: int, proximity: int) -> None:
    row = [geometry.object_at(place, n, proximity) for place in range(n)]
    assert sum(row) == pytest.approx(0)
    assert np.diff(row) == pytest.approx([geometry.SPACING[proximity]] * (n - 1))


class TestCamera:
    @pytest.mark.parametrize("view", VIEWS)
    def test_camera_axes_are_orthonormal_and_right_handed(self, view: str) -> None:
        axes = Camera(geometry.AZIMUTH[view], geometry.ELEVATION).axes  # type: ignore[index]
        assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.cross(axes[0], axes[1]) == pytest.approx(axes[2])

    def test_seen_maps_the_scene_center_to_the_shifted_image_center(self) -> None:
        assert Camera(0.3, shift=(0.1, -0.2)).seen(MIDDLE) == pytest.approx([0.6, 0.3])

    def test_seen_from_the_front_equals_the_value_computed_by_hand(self) -> None:
        camera = Camera(0.0, 0.0)
        (x, y), (mx, my) = camera.seen((0.27, 0.1, 9.0)), camera.seen(MIDDLE)
        assert (x - mx, y - my) == pytest.approx((0.27 / 1.35, -0.27 / 1.35))

    def test_seen_from_the_left_of_the_person_shows_the_face_on_the_right_looking_left(self) -> None:
        camera = Camera(geometry.AZIMUTH["left"])
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
