"""Test which pixels are inpainted: the ball and its shadow, but not players."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
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
def test_ball_mask_equals_a_plain_loop(
    plain: Item, ball: Box, players: list[Box], margin: float, protect: bool
) -> None:
    settings = MaskSettings(margin=margin, protect=protect, shadow=0)
    mask = ball_mask(replace(plain, ball=ball, players=tuple(players)), settings)
    assert mask.shape == (HEIGHT, WIDTH)
    assert mask.dtype == np.uint8
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


def draw(pixels: NDArray[np.uint8], box: Box, shade: float | None = None, color: tuple[int, ...] = ()) -> None:
    """Draw an ellipse that darkens the image by a factor or has a color."""
    y, x = np.mgrid[: pixels.shape[0], : pixels.shape[1]] + 0.5
    (at_x, at_y), wide, high = box.center, box.width / 2, box.height / 2
    inside = ((x - at_x) / wide) ** 2 + ((y - at_y) / high) ** 2 <= 1
    pixels[inside] = pixels[inside] * shade if shade is not None else np.array(color)


BALL = Box(300, 100, 324, 124)
SHADOW = Box(295, 255, 329, 267)


def seen(pixels: NDArray[np.uint8], players: tuple[Box, ...] = (), reach: float = 10) -> NDArray[np.bool_]:
    return shadow_of(pixels, BALL, players, reach=reach)


def share(found: NDArray[np.bool_], box: Box) -> float:
    """Return the intersection over union of a mask and an ellipse."""
    there = np.zeros((*found.shape, 3), dtype=np.uint8)
    draw(there, box, color=(1, 1, 1))
    drawn = there[..., 0] > 0
    return float((found & drawn).sum() / (found | drawn).sum())


@pytest.mark.parametrize("shade", [0.5, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_shadow_of_a_flying_ball_is_found_within_reach(seed: int, shade: float) -> None:
    pixels = ground(seed)
    draw(pixels, BALL, color=(250, 250, 250))
    draw(pixels, SHADOW, shade)
    assert share(seen(pixels), SHADOW) > 0.7
    assert not seen(pixels, reach=3).any()


def test_shadow_of_a_ball_on_the_ground_is_found() -> None:
    pixels, ball, shadow = ground(), Box(300, 240, 324, 264), Box(300, 258, 336, 270)
    draw(pixels, shadow, 0.5)
    draw(pixels, ball, color=(250, 250, 250))
    found = shadow_of(pixels, ball, (), reach=10)
    assert found[265:270, 310:325].mean() > 0.5


@pytest.mark.parametrize(
    "what",
    ["nothing", "another color", "far aside", "above", "upright", "too small", "too large"],
)
def test_shadow_ignores_other_colors_places_and_sizes(what: str) -> None:
    pixels = ground()
    draw(pixels, BALL, color=(250, 250, 250))
    spots = {
        "far aside": Box(395, 255, 429, 267),
        "above": Box(295, 92, 329, 99),
        "upright": Box(306, 240, 318, 290),
        "too small": Box(309, 258, 315, 262),
        "too large": Box(250, 240, 374, 290),
    }
    if what == "another color":
        draw(pixels, SHADOW, color=(20, 20, 150))
    elif what in spots:
        draw(pixels, spots[what], 0.5)
    assert not seen(pixels).any()


def test_shadow_under_a_player_is_ignored() -> None:
    pixels, player = ground(), Box(290, 150, 334, 262, label="player")
    draw(pixels, SHADOW, 0.5)
    assert seen(pixels).any()
    assert not seen(pixels, (player,)).any()


def test_shadow_of_a_ball_at_the_image_edge_does_not_fail() -> None:
    pixels = ground()
    for ball in (Box(0, 340, 20, 360), Box(620, 0, 640, 20), Box(630, 350, 700, 420)):
        assert shadow_of(pixels, ball, (), reach=10).shape == (360, 640)


def test_ball_mask_includes_the_shadow_with_a_margin_but_no_players(tmp_path: Path) -> None:
    pixels = ground()
    draw(pixels, BALL, color=(250, 250, 250))
    draw(pixels, SHADOW, 0.5)
    item = item_of(pixels, tmp_path, ball=BALL)
    mask, bare = ball_mask(item, MaskSettings()), ball_mask(item, MaskSettings(shadow=0))
    assert (mask[seen(pixels)] == 255).all()
    assert mask[250:272, 290:334].sum() > bare[250:272, 290:334].sum() == 0
    assert (mask[:200] == bare[:200]).all()
    player = Box(280, 200, 312, 262, label="player")
    protected = ball_mask(replace(item, players=(player,)), MaskSettings())
    assert not protected[200:262, 280:312].any()


def test_ball_mask_includes_regions_from_the_review_even_on_players(tmp_path: Path) -> None:
    # For a ball of 24 pixels, the margin around a marked region is 6 pixels.
    player = Box(400, 300, 440, 330, label="player")
    item = item_of(ground(), tmp_path, ball=Box(300, 100, 324, 124), players=(player,))
    marked = item.noted("inpaint", regions=[[420.0, 320.0, 460.0, 340.0]])
    before, mask = (ball_mask(one, MaskSettings(margin=0.25)) for one in (item, marked))
    grown = (mask > 0) & (before == 0)
    assert grown[320:340, 420:460].all()
    assert grown[329, 466 - 1]
    assert grown[314, 445]
    assert not grown[:314].any()
    assert not grown[:, 466:].any()
    # Players in the margin are still protected.
    assert not grown[300:320, 400:440].any()
    assert not grown[300:330, 400:420].any()
    assert (before <= mask).all()
