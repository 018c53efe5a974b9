"""Test which pixels are inpainted: the ball and its shadow, but not players, whose masks follow their outlines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from shapely.geometry import box as rectangle

from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite, player_mask
from spotball_gen.imaging.shadows import shadow_of
from spotball_gen.items.item import Box, Item
from tests.gen.making import item_of

HEIGHT, WIDTH = 120, 160


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Item:
    return item_of(np.full((HEIGHT, WIDTH, 3), 90, dtype=np.uint8), tmp_path_factory.mktemp("work"))


@st.composite
def boxes(draw: st.DrawFn, most: float = 60) -> Box:
    x, y = draw(st.floats(0, WIDTH - 1)), draw(st.floats(0, HEIGHT - 1))
    return Box(x, y, x + draw(st.floats(0.5, most)), y + draw(st.floats(0.5, most)))


@given(boxes(), st.lists(boxes(), max_size=3), st.sampled_from([0.0, 0.25, 1.0]), st.booleans())
def test_ball_mask_equals_plain_loops(plain: Item, ball: Box, players: list[Box], margin: float, protect: bool) -> None:
    settings = MaskSettings(margin=margin, protect=protect, shadow=0)
    mask = ball_mask(replace(plain, ball=ball, players=tuple(players)), settings)
    assert (mask.shape, mask.dtype) == ((HEIGHT, WIDTH), np.uint8)
    more = max(1.0, margin * (ball.width + ball.height) / 2)
    for y in range(0, HEIGHT, 3):
        for x in range(0, WIDTH, 3):
            distances = [
                ((x + 0.5 - ball.center[0]) / (ball.width / 2 + by)) ** 2
                + ((y + 0.5 - ball.center[1]) / (ball.height / 2 + by)) ** 2
                for by in (1.0, more)
            ]
            if min(abs(distance - 1) for distance in distances) < 1e-9:
                continue
            on_player = any(p.x1 < x + 1 and x < p.x2 and p.y1 < y + 1 and y < p.y2 for p in players)
            inside = distances[0] < 1 or (distances[1] < 1 and not (protect and on_player))
            assert mask[y, x] == (255 if inside else 0)


@given(st.integers(0, 2**32 - 1))
def test_composite_changes_no_pixel_outside_the_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image, painted = rng.integers(0, 256, (2, 20, 30, 3), dtype=np.uint8)
    mask = rng.choice(np.array([0, 255], dtype=np.uint8), (20, 30))
    done = composite(image, painted, mask)
    assert done.dtype == np.uint8
    assert (done[mask == 0] == image[mask == 0]).all()
    assert (done[mask == 255] == painted[mask == 255]).all()


def test_ball_mask_without_a_ball_is_an_error(plain: Item) -> None:
    with pytest.raises(ValueError, match="ball"):
        ball_mask(plain, MaskSettings())


def ground(seed: int = 0, color: tuple[int, int, int] = (70, 140, 60)) -> NDArray[np.uint8]:
    """Return grass of 640 x 360 pixels with stands at the top."""
    rng = np.random.default_rng(seed)
    pixels = np.clip(np.array(color) + rng.normal(0, 5, (360, 640, 1)), 0, 255).astype(np.uint8)
    # Dark and bright blocks of the size of a ball's shadow represent spectators.
    pixels[:90] = np.repeat(np.repeat(rng.integers(20, 230, (9, 32, 3), dtype=np.uint8), 10, axis=0), 20, axis=1)
    return pixels


def ellipse(box: Box) -> NDArray[np.bool_]:
    """Return the pixels of an image of 640 x 360 pixels in the ellipse in a box."""
    y, x = np.mgrid[:360, :640] + 0.5
    (at_x, at_y), wide, high = box.center, box.width / 2, box.height / 2
    return np.asarray(((x - at_x) / wide) ** 2 + ((y - at_y) / high) ** 2 <= 1)


def shade(pixels: NDArray[np.uint8], box: Box, factor: float = 0.5) -> NDArray[np.uint8]:
    """Darken the ellipse in a box, and return the image."""
    pixels[ellipse(box)] = pixels[ellipse(box)] * factor
    return pixels


BALL = Box(300, 100, 324, 124)
SHADOW = Box(295, 255, 329, 267)


def scene(seed: int = 0) -> NDArray[np.uint8]:
    """Return the ground with a white ball."""
    pixels = ground(seed)
    pixels[ellipse(BALL)] = 250
    return pixels


def seen(pixels: NDArray[np.uint8], players: tuple[Box, ...] = (), reach: float = 10) -> NDArray[np.bool_]:
    return shadow_of(pixels, BALL, players, reach=reach)


@pytest.mark.parametrize("factor", [0.5, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_shadow_of_a_flying_ball_is_found_within_reach(seed: int, factor: float) -> None:
    pixels = shade(scene(seed), SHADOW, factor)
    found, drawn = seen(pixels), ellipse(SHADOW)
    assert (found & drawn).sum() / (found | drawn).sum() > 0.7
    assert not seen(pixels, reach=3).any()


def test_shadow_of_a_ball_on_the_ground_is_found() -> None:
    ball = Box(300, 240, 324, 264)
    pixels = shade(ground(), Box(300, 258, 336, 270))
    pixels[ellipse(ball)] = 250
    assert shadow_of(pixels, ball, (), reach=10)[265:270, 310:325].mean() > 0.5


@pytest.mark.parametrize(
    "spot",
    [
        pytest.param(Box(395, 255, 429, 267), id="far aside"),
        pytest.param(Box(295, 92, 329, 99), id="above"),
        pytest.param(Box(306, 240, 318, 290), id="upright"),
        pytest.param(Box(309, 258, 315, 262), id="too small"),
        pytest.param(Box(250, 240, 374, 290), id="too large"),
    ],
)
def test_shadow_of_ignores_dark_spots_at_implausible_places_or_of_implausible_sizes(spot: Box) -> None:
    assert not seen(shade(scene(), spot)).any()


def test_shadow_of_ignores_colored_spots_and_spots_inside_player_boxes() -> None:
    colored = scene()
    assert not seen(colored).any()
    colored[ellipse(SHADOW)] = (20, 20, 150)
    assert not seen(colored).any()
    pixels, player = shade(ground(), SHADOW), Box(290, 150, 334, 262, label="player")
    assert seen(pixels).any()
    assert not seen(pixels, (player,)).any()


@pytest.mark.parametrize("ball", [Box(0, 340, 20, 360), Box(620, 0, 640, 20), Box(630, 350, 700, 420)])
def test_shadow_of_a_ball_at_the_image_edge_does_not_fail(ball: Box) -> None:
    assert shadow_of(ground(), ball, (), reach=10).shape == (360, 640)


def test_ball_mask_includes_the_shadow_with_a_margin_but_no_players(tmp_path: Path) -> None:
    pixels = shade(scene(), SHADOW)
    item = item_of(pixels, tmp_path, ball=BALL)
    mask, bare = ball_mask(item, MaskSettings()), ball_mask(item, MaskSettings(shadow=0))
    assert (mask[seen(pixels)] == 255).all()
    assert mask[250:272, 290:334].sum() > bare[250:272, 290:334].sum() == 0
    assert (mask[:200] == bare[:200]).all()
    player = Box(280, 200, 312, 262, label="player")
    protected = ball_mask(replace(item, players=(player,)), MaskSettings())
    assert not protected[200:262, 280:312].any()


def test_ball_mask_includes_regions_marked_by_reviewers_even_on_players(tmp_path: Path) -> None:
    # For a ball of 24 pixels, the margin around a marked region is 6 pixels.
    player = Box(400, 300, 440, 330, label="player")
    item = item_of(ground(), tmp_path, ball=BALL, players=(player,))
    marked = item.noted("inpaint", regions=[[420.0, 320.0, 460.0, 340.0]])
    before, mask = (ball_mask(one, MaskSettings(margin=0.25)) for one in (item, marked))
    grown = (mask > 0) & (before == 0)
    assert grown[320:340, 420:460].all()
    assert grown[329, 465]
    assert grown[314, 445]
    # Players in the margin are still protected.
    beyond = np.s_[:314], np.s_[:, 466:], np.s_[300:320, 400:440], np.s_[300:330, 400:420]
    assert not any(grown[part].any() for part in beyond)
    assert (before <= mask).all()


SHAPE = 60, 80


@given(st.lists(st.tuples(st.floats(-5, 85), st.floats(-5, 65)), min_size=3, max_size=3, unique=True))
def test_player_mask_contains_pixels_with_centers_inside_the_outline(points: list[tuple[float, float]]) -> None:
    (ax, ay), (bx, by), (cx, cy) = points
    mask = player_mask(Box(0, 0, 80, 60, label="player", outline=(tuple(points),)), SHAPE)
    for y in range(0, SHAPE[0], 3):
        for x in range(0, SHAPE[1], 3):
            u, v = x + 0.5, y + 0.5
            sides = [
                (bx - ax) * (v - ay) - (by - ay) * (u - ax),
                (cx - bx) * (v - by) - (cy - by) * (u - bx),
                (ax - cx) * (v - cy) - (ay - cy) * (u - cx),
            ]
            if min(map(abs, sides)) > 1e-6:
                assert mask[y, x] == (min(sides) > 0 or max(sides) < 0)


def test_player_mask_of_several_polygons_is_their_union() -> None:
    two = (((1.0, 1.0), (9.0, 1.0), (9.0, 9.0), (1.0, 9.0)), ((5.0, 5.0), (20.0, 5.0), (20.0, 20.0), (5.0, 20.0)))
    mask = player_mask(Box(0, 0, 30, 30, label="player", outline=two), SHAPE)
    union = rectangle(1, 1, 9, 9).union(rectangle(5, 5, 20, 20))
    assert mask[7, 7]
    assert mask[2, 2]
    assert mask[15, 15]
    assert not mask[2, 15]
    assert mask.sum() == union.area


def test_ball_mask_enters_the_box_but_not_the_outline_of_a_player(tmp_path: Path) -> None:
    item = item_of(np.full((*SHAPE, 3), 90, np.uint8), tmp_path)
    ball = Box(30, 20, 42, 32)
    # The player is the right half of a box that overlaps the ball's margin.
    outline = (((43.0, 5.0), (60.0, 5.0), (60.0, 55.0), (43.0, 55.0)),)
    player = Box(26, 5, 60, 55, label="player")
    settings = MaskSettings(margin=0.5, shadow=0)
    boxed = ball_mask(replace(item, ball=ball, players=(player,)), settings) > 0
    spared = ball_mask(replace(item, ball=ball, players=(replace(player, outline=outline),)), settings) > 0
    assert spared.sum() > boxed.sum()
    assert spared[26, 28]
    assert not spared[26, 44:].any()
