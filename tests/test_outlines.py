"""Test the outlines of players: reading, writing, and the near-player and overlap rates that use them.

The expected values come from pixel masks, because counting pixels shares no code with Shapely.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from spotball_core import Grid, InputError, Scene, near_player_rate, overlap_rate, read_scenes, score
from spotball_core.geometry import clipped, outline_distances, outline_shares
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.outline import MOST_POINTS, polygons_of
from tests.failures import raises

GRID = Grid.standard()
TRIANGLE = [[64.0, 0.0], [128.0, 0.0], [64.0, 60.0]]
SMALL = Grid(2, 3, 12, 8)
"""A grid with cells of 4 x 4 pixels."""

masks = st.lists(st.booleans(), min_size=96, max_size=96).map(lambda bits: np.array(bits).reshape(8, 12))


def scene(*outlines: Any, boxes: Any = None) -> Scene:
    boxes = [[64, 0, 128, 60]] * len(outlines) if boxes is None else boxes
    return Scene(sport="a", image="1", grid=GRID, ball_cells=["D5"], players=boxes, player_outlines=outlines)


def run_lengths(mask: NDArray[np.bool_]) -> list[int]:
    """Return the run lengths of a mask, as COCO defines them, with a plain loop down the columns."""
    counts, inside = [0], False
    for pixel in mask.T.ravel():
        if bool(pixel) != inside:
            counts.append(0)
            inside = not inside
        counts[-1] += 1
    return counts


def as_text(counts: list[int]) -> str:
    """Return run lengths as compressed text, as the reference code of COCO in C writes them."""
    text = ""
    for place, count in enumerate(counts):
        value = count - counts[place - 2] if place > 2 else count
        while True:
            bits = value & 31
            value >>= 5
            more = value != -1 if bits & 16 else value != 0
            text += chr(48 + (bits | 32 if more else bits))
            if not more:
                break
    return text


class TestForms:
    def test_polygons_of_accepts_a_polygon_a_list_of_polygons_flat_coordinates_and_a_repeated_first_point(self) -> None:
        flat = [[number for point in TRIANGLE for number in point]]
        for outline in (TRIANGLE, [TRIANGLE], flat, [*TRIANGLE, TRIANGLE[0]]):
            assert polygons_of(outline) == (tuple(map(tuple, TRIANGLE)),)
        assert len(polygons_of([TRIANGLE, [[0, 0], [4, 0], [4, 4], [0, 4]]])) == 2

    @pytest.mark.slow
    @given(masks)
    def test_polygons_of_a_coco_mask_cover_its_pixels_exactly(self, mask: NDArray[np.bool_]) -> None:
        counts, size = run_lengths(mask), list(mask.shape)
        if not mask.any():
            with pytest.raises(ValueError, match="the mask is empty"):
                polygons_of({"counts": counts, "size": size})
            return
        polygons = polygons_of({"counts": counts, "size": size})
        assert polygons_of({"counts": as_text(counts), "size": size}) == polygons
        np.testing.assert_allclose(outline_shares([polygons], Grid(8, 12, 12, 8))[0], mask.ravel(), atol=1e-9)

    @pytest.mark.parametrize(
        ("outline", "message"),
        [
            ([], "an outline is a polygon"),
            ("polygon", "an outline is a polygon"),
            ([[]], "an outline is a polygon"),
            ([[0, 0], [1, 1]], "at least 3 points, found 2"),
            ([[0, 0], [1, 1], [0, 0]], "at least 3 points, found 2"),
            ([[0, 0], [1, 1], [3, 3]], "whose points do not lie on one line"),
            ([[0, 0], [1, 1], [math.nan, 0]], "two finite numbers"),
            ([[0, 0], [1, 1], ["2", 0]], "two finite numbers"),
            ([[0, 0], [1, 1], [True, 0]], "two finite numbers"),
            ([[0, 0, 1, 1, 2]], "even number of coordinates .* found 5"),
            ([[float(i), float(i % 7)] for i in range(MOST_POINTS + 1)], "at most 10,000 points"),
            ({"counts": [1, 2]}, r"size \[height, width\] in whole numbers above 0, but the size is None"),
            ({"counts": [1, 2], "size": [2, 2]}, "add up to 3, expected its number of pixels, 4"),
            ({"counts": [-1, 5], "size": [2, 2]}, "whole numbers of at least 0"),
            ({"counts": [4], "size": [2, 2]}, "the mask is empty; write null"),
            ({"counts": "~~", "size": [2, 2]}, "have an invalid character"),
            ({"counts": "P", "size": [2, 2]}, "end with an incomplete number"),
            ({"counts": [0, 2**28], "size": [1, 2**28]}, "at most 20,000 pixels per side"),
            ({"counts": [1] * 100_001, "size": [1, 100_001]}, "and 100,000 runs"),
        ],
    )
    def test_polygons_of_an_invalid_outline_raises_value_error(self, outline: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            polygons_of(outline)


class TestGeometry:
    def test_outline_shares_and_distances_equal_hand_computed_values(self) -> None:
        """Check a triangle that covers half of cell A2; its edge x = 64 is 32 px from the center of A1, (32, 30)."""
        polygons = polygons_of(TRIANGLE)
        assert outline_shares([polygons], GRID)[0, :3].tolist() == [0, 0.5, 0]
        assert outline_distances([polygons], GRID)[0, :2].tolist() == [32, 0]
        # The distance is from the center of B2 (96, 90) to the nearest point of the hypotenuse.
        x, y = 64.0, 60.0
        along = max(0.0, min(1.0, ((96 - x) * 64 + (90 - y) * -60) / (64**2 + 60**2)))
        expected = math.hypot(96 - x - 64 * along, 90 - y + 60 * along)
        assert outline_distances([polygons], GRID)[0, 11] == pytest.approx(expected)

    @given(st.tuples(*[st.floats(0, 640)] * 2), st.tuples(*[st.floats(0, 360)] * 2))
    def test_outline_shares_and_distances_of_a_rectangle_equal_those_of_its_box(
        self, xs: tuple[float, float], ys: tuple[float, float]
    ) -> None:
        (x1, x2), (y1, y2) = sorted(xs), sorted(ys)
        if x2 - x1 < 1e-3 or y2 - y1 < 1e-3:
            return
        box, rectangle = [x1, y1, x2, y2], [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]
        np.testing.assert_allclose(outline_distances([[rectangle]], GRID)[0], GRID.box_distances(box), atol=1e-9)
        np.testing.assert_allclose(outline_shares([[rectangle]], GRID)[0], GRID.box_shares(box), atol=1e-9)

    @pytest.mark.slow
    @given(masks)
    def test_outline_shares_and_distances_equal_those_counted_in_the_pixel_mask(self, mask: NDArray[np.bool_]) -> None:
        if not mask.any():
            return
        polygons = polygons_of({"counts": run_lengths(mask), "size": [8, 12]})
        shares = mask.reshape(2, 4, 3, 4).mean(axis=(1, 3)).ravel()
        np.testing.assert_allclose(outline_shares([polygons], SMALL)[0], shares, atol=1e-9)
        rows, columns = np.nonzero(mask)
        for cell, (x, y) in enumerate(SMALL.centers):
            dx = np.maximum(np.maximum(columns - x, x - columns - 1), 0)
            dy = np.maximum(np.maximum(rows - y, y - rows - 1), 0)
            assert outline_distances([polygons], SMALL)[0, cell] == pytest.approx(np.hypot(dx, dy).min(), abs=1e-9)

    def test_outline_shares_count_overlapping_and_crossing_parts_once_and_ignore_parts_without_width(self) -> None:
        square = [(0.0, 0.0), (64.0, 0.0), (64.0, 60.0), (0.0, 60.0)]
        assert outline_shares([[square, square[:3]]], GRID)[0, 0] == 1
        # A bow tie over cell A1 covers two triangles with a quarter of the cell each.
        bow_tie = [(0.0, 0.0), (64.0, 60.0), (64.0, 0.0), (0.0, 60.0)]
        assert outline_shares([[bow_tie]], GRID)[0, 0] == pytest.approx(0.5)
        # This outline covers half of cell A1. It also has a line that leaves the cell and returns.
        spike = [(0.0, 0.0), (32.0, 0.0), (32.0, 30.0), (200.0, 30.0), (32.0, 30.0), (32.0, 60.0), (0.0, 60.0)]
        assert outline_shares([[spike]], GRID)[0, :3].tolist() == [0.5, 0, 0]
        assert outline_distances([[spike]], GRID)[0, 1] == 64
        assert len(clipped([spike], 640, 360)) == 1

    @pytest.mark.slow
    def test_outline_shares_of_a_mask_with_many_holes_equal_the_mean_of_the_mask(self) -> None:
        mask = np.ones((3, 4001), dtype=bool)
        mask[1, 1::2] = False
        polygons = polygons_of({"counts": run_lengths(mask), "size": [3, 4001]})
        assert outline_shares([polygons], Grid(1, 1, 4001, 3))[0, 0] == pytest.approx(mask.mean())

    def test_clipped_keeps_the_part_inside_the_image(self) -> None:
        outside = [(-10.0, -10.0), (-1.0, -10.0), (-1.0, -1.0)]
        half = [(600.0, 0.0), (700.0, 0.0), (700.0, 60.0), (600.0, 60.0)]
        assert clipped([outside], 640, 360) == ()
        (part,) = clipped([half, outside], 640, 360)
        assert sorted(part) == [(600, 0), (600, 60), (640, 0), (640, 60)]


class TestScenes:
    def test_scene_outlines_are_written_as_a_polygon_or_a_list_of_polygons_and_are_equal_after_reading(
        self, tmp_path: Path
    ) -> None:
        two = [TRIANGLE, [[64, 0], [70, 0], [64, 9]]]
        for outlines in ([TRIANGLE, None], [two]):
            assert json.loads(scene(*outlines).model_dump_json())["player_outlines"] == outlines
        plain = Scene(sport="a", image="1", grid=GRID, players=[[0, 0, 9, 9]])
        assert "player_outlines" not in plain.model_dump_json()
        assert "player_outlines" not in plain.model_dump()
        write_scenes([scene(TRIANGLE, None)], tmp_path / "scenes.jsonl")
        assert read_scenes(tmp_path / "scenes.jsonl") == (scene(TRIANGLE, None),)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: scene(TRIANGLE, boxes=[]), "1 entries for 0 players, expected one entry per player"),
            (lambda: scene(TRIANGLE, boxes=[[64, 0, 128, 60]] * 2), "1 entries for 2 players"),
            (
                lambda: Scene(sport="a", image="1", grid=GRID, player_outlines=[TRIANGLE]),
                "1 entries for no players, expected one entry per player",
            ),
            (lambda: scene(None, TRIANGLE, boxes=[[0, 0, 9, 9]] * 2), "outline of player 2 lies outside the player's"),
        ],
    )
    def test_scene_with_outlines_that_do_not_fit_the_players_raises_validation_error(
        self, make: Callable[[], Scene], message: str
    ) -> None:
        with pytest.raises(ValidationError, match=message):
            make()

    def test_read_scenes_with_an_invalid_outline_raises_input_error_that_names_line_and_player(
        self, tmp_path: Path
    ) -> None:
        line = json.loads(scene(TRIANGLE).model_dump_json())
        line["player_outlines"] = [[[0, 0], [1, 1]]]
        (tmp_path / "scenes.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        with raises(InputError, "invalid-value:player_outlines.0:1"):
            read_scenes(tmp_path / "scenes.jsonl")


class TestRates:
    def test_near_player_rate_uses_the_outline_of_a_player_if_present_and_the_box_otherwise(self) -> None:
        """Check with a tau between the distance of cell B2 to the box and its distance to the triangle."""
        to_box = float(GRID.box_distances([64, 0, 128, 60])[11])
        to_outline = float(outline_distances([polygons_of(TRIANGLE)], GRID)[0, 11])
        assert to_box < to_outline
        guesses, tau = GRID.mask(["B2"]).astype(float), (to_box + to_outline) / 2 / GRID.diagonal
        assert float(near_player_rate(guesses, scene(None), tau=tau)) == 1
        assert float(near_player_rate(guesses, scene(TRIANGLE), tau=tau)) == 0

    def test_overlap_rate_uses_the_outline_of_a_player_if_present_and_the_box_otherwise(self) -> None:
        assert float(overlap_rate(["A2"], scene(None), theta=0.6)) == 1
        assert float(overlap_rate(["A2"], scene(TRIANGLE), theta=0.6)) == 0
        assert float(overlap_rate(["A2"], scene(TRIANGLE), theta=0.4)) == 1
        mixed = scene(TRIANGLE, None, boxes=[[64, 0, 128, 60], [320, 180, 384, 240]])
        assert float(overlap_rate(["D6"], mixed, theta=0.9)) == 1
        assert float(overlap_rate(["A2"], mixed, theta=0.9)) == 0

    def test_score_warns_if_only_some_players_have_an_outline(self) -> None:
        rows = [{"sport": "a", "image": "1", "respondent": "me", "kind": "model", "prompt": "base", "cell": "A2"}]
        scores = [score(rows, [one], bootstrap=0) for one in (scene(None), scene(TRIANGLE), scene(TRIANGLE, None))]
        overlaps = [one.groups[0].metrics["overlap_rate"].value for one in scores]
        assert overlaps == [1, 1, 1]
        warned = (
            "only 1 of 2 players have an outline, so `near_player_rate` and `overlap_rate` mix outlines and boxes. Add "
            "the missing outlines to the scenes, or remove all"
        )
        assert [warned in one.warnings for one in scores] == [False, False, True]
        assert len({one.provenance.data for one in scores}) == 3
