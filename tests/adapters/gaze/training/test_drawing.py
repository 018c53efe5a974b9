"""Test the pixels of synthetic gaze images."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from spotball_adapters.gaze.training.drawing import PhotoLook, draw, drawn_look, gaze_of, head_of
from spotball_adapters.gaze.training.geometry import AWAY, meets_table, object_at
from spotball_adapters.gaze.training.pictures import design_plans
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.power.observers import TURN
from spotball_core.typing import FloatArray
from tests.failures import raises

DESIGN = [plan.stimulus for plan in design_plans()]
FOUR = ("red ball", "blue box", "green bottle", "purple cup")
COLORS = ((224, 172, 132), (38, 30, 28), (24, 22, 22), (60, 90, 140), (185, 199, 216), (150, 112, 76))
PLAIN = PhotoLook(COLORS)
MIRRORED = {"front": "front", "left": "right", "right": "left"}


def stimulus(gaze: str = "red ball", head: str | None = "green bottle", **changes: object) -> Stimulus:
    given = {"stimulus_id": "1", "objects": FOUR, "view": "front", "proximity": 1}
    return Stimulus.model_validate(given | {"gaze_target": gaze, "head_target": head} | changes)


def pixels(image: Image.Image) -> FloatArray:
    return np.asarray(image, dtype=float)


def mirrored(one: Stimulus) -> Stimulus:
    return one.model_copy(update={"objects": one.objects[::-1], "view": MIRRORED[one.view]})


def mirrored_look(look: PhotoLook) -> PhotoLook:
    (across, down), (yaw, pitch) = look.shift, look.wobble
    return PhotoLook(look.colors, -look.azimuth, look.elevation, look.zoom, (-across, down), (-yaw, pitch))


class TestDirections:
    @pytest.mark.parametrize("one", DESIGN[::50], ids=lambda one: one.stimulus_id)
    def test_gaze_of_meets_the_table_at_the_gaze_target(self, one: Stimulus) -> None:
        x = object_at(one.gaze, len(one.objects), one.proximity)
        assert meets_table(gaze_of(one)) == pytest.approx((x, AWAY))

    def test_head_of_points_to_the_head_target_or_partly_toward_the_gaze_target_without_one(self) -> None:
        (head,) = {head_of(stimulus(gaze)) for gaze in FOUR}
        assert head.yaw == gaze_of(stimulus("green bottle")).yaw
        for one in (stimulus(gaze, None) for gaze in FOUR):
            assert head_of(one).yaw == pytest.approx(TURN * gaze_of(one).yaw)

    def test_eyes_turn_less_than_50_degrees_from_the_head(self) -> None:
        most = max(abs(gaze_of(one).yaw - head_of(one).yaw) for one in DESIGN)
        assert math.degrees(most) < 50


class TestPicture:
    @settings(max_examples=12, deadline=None)
    @given(st.sampled_from(DESIGN), st.integers(0, 2**32 - 1))
    def test_draw_of_a_mirrored_stimulus_is_the_mirrored_image(self, one: Stimulus, seed: int) -> None:
        look = drawn_look(np.random.default_rng(seed))
        drawn, other = draw(one, look, 96), draw(mirrored(one), mirrored_look(look), 96)
        assert [(1 - x, y) for x, y in reversed(drawn.points)] == [pytest.approx(point) for point in other.points]
        x1, y1, x2, y2 = drawn.face
        assert other.face == pytest.approx((1 - x2, y1, 1 - x1, y2))
        # An edge on the border of a pixel is rounded to one side, so single pixels may differ.
        apart = np.abs(pixels(drawn.image)[:, ::-1] - pixels(other.image)).max(-1)
        assert apart.mean() < 1.5
        assert (apart > 64).mean() < 0.005

    def test_draw_with_another_gaze_target_changes_only_the_eyes(self) -> None:
        one, other = (draw(stimulus(gaze), PLAIN, 192) for gaze in ("red ball", "purple cup"))
        rows, columns = np.nonzero((pixels(one.image) != pixels(other.image)).any(-1))
        x1, y1, x2, y2 = (192 * side for side in one.face)
        assert one.face == other.face
        assert x1 < columns.min() <= columns.max() < x2
        # The eyes cover a small part of the height of the head.
        assert y1 < rows.min() <= rows.max() < y2
        assert rows.max() - rows.min() < 0.3 * (y2 - y1)

    @pytest.mark.slow
    @pytest.mark.parametrize("head", FOUR)
    @pytest.mark.parametrize("view", ["front", "left", "right"])
    def test_draw_moves_the_irises_with_the_gaze_target(self, head: str, view: str) -> None:
        drawn = [pixels(draw(stimulus(gaze, head, view=view), PLAIN, 256).image) for gaze in FOUR]
        differing = (np.ptp(drawn, axis=0) > 0).any(-1)
        rows, _ = np.nonzero(differing)
        middles = []
        for one in drawn:
            darkness = np.where(differing, 255 - one.mean(-1), 0)[rows.min() : rows.max() + 1]
            middles.append(float((darkness.sum(0) * np.arange(256)).sum() / darkness.sum()))
        assert all(one < other for one, other in pairwise(middles)), middles

    def test_draw_moves_the_face_with_the_head_target(self) -> None:
        def middle(drawn: FloatArray, color: tuple[int, int, int]) -> float:
            return float(np.nonzero((drawn == color).all(-1))[1].mean())

        skin, hair, *_ = COLORS
        drawn = [pixels(draw(stimulus("red ball", head), PLAIN, 256).image) for head in FOUR]
        places = [middle(one, skin) - middle(one, hair) for one in drawn]
        assert all(one < other - 1 for one, other in pairwise(places)), places

    def test_draw_returns_points_at_the_drawn_objects(self) -> None:
        drawn = draw(stimulus(), PLAIN, 256)
        colors = [(204, 44, 44), (40, 84, 184), (36, 128, 66), (124, 52, 150)]
        for (x, y), color in zip(drawn.points, colors, strict=True):
            above = pixels(drawn.image)[int(256 * y) - 8 : int(256 * y) - 3, int(256 * x)]
            assert np.abs(above.mean(0) - color).max() < 12

    def test_draw_keeps_objects_and_face_inside_the_image(self) -> None:
        generator = np.random.default_rng(0)
        for one in DESIGN[::40]:
            drawn = draw(one, drawn_look(generator), 32)
            assert all(0.01 < share < 0.99 for point in drawn.points for share in point)
            x1, y1, x2, y2 = drawn.face
            assert 0 <= x1 < x2 <= 1
            assert 0 <= y1 < y2 < min(y for _, y in drawn.points)

    def test_draw_with_the_same_look_is_deterministic_and_drawn_look_depends_on_the_seed(self) -> None:
        look = drawn_look(np.random.default_rng(1))
        assert draw(stimulus(), look, 64).image.tobytes() == draw(stimulus(), look, 64).image.tobytes()
        assert drawn_look(np.random.default_rng(1)) == look != drawn_look(np.random.default_rng(2))

    def test_draw_with_an_unknown_object_is_an_option_error(self) -> None:
        one = stimulus("a", None, objects=("a", "red ball"))
        with raises(OptionError, "unknown-name"):
            draw(one, PLAIN, 64)
