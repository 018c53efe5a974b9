"""Test inpainting with Telea: ball removed, other pixels unchanged, grain like the surroundings."""

from __future__ import annotations

import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from spotball_gen.demo.match import LOOKS, Play, Shot
from spotball_gen.demo.video import Painter
from spotball_gen.items.item import Box, Item
from spotball_gen.stages.inpaint_telea import Telea, TeleaSettings, with_grain
from spotball_gen.stages.plausibility_rules import measured
from tests.conftest import examples
from tests.gen.making import context_of, item_of
from tests.gen.stages.inpainted import arrays, inpainted

HEIGHT, WIDTH = 90, 120
BALL = Box(50, 40, 66, 56)


def ground(seed: int = 0, grain: float = 4.0) -> NDArray[np.uint8]:
    """Return an image of grass that is brighter to the right."""
    rng = np.random.default_rng(seed)
    slope = np.linspace(80, 130, WIDTH)[None, :, None] * np.array([0.6, 1.0, 0.5])
    pixels = np.broadcast_to(slope, (HEIGHT, WIDTH, 3)) + rng.normal(0, grain, (HEIGHT, WIDTH, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def with_ball(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    drawn = pixels.copy()
    drawn[np.hypot(x - BALL.center[0], y - BALL.center[1]) <= BALL.width / 2] = (250, 230, 20)
    return drawn


def painted(item: Item, work: Path, seed: int = 0, **chosen: object) -> Item:
    """Return the inpainted item, after checking that only the pixels of its mask have changed."""
    (done,) = inpainted(Telea(TeleaSettings.model_validate(chosen), context_of(work, seed=seed)), item)
    return done


def test_inpainted_pixels_match_the_color_and_brightness_gradient_of_the_ground(tmp_path: Path) -> None:
    clean = ground()
    mask, image = arrays(painted(item_of(with_ball(clean), tmp_path, ball=BALL), tmp_path))
    made, there = (pixels[mask > 0].astype(float) for pixels in (image, clean))
    assert np.abs(made.mean(axis=0) - there.mean(axis=0)).max() < 3
    # The brightness rises to the right as it does on the ground.
    slopes = [np.polyfit(np.nonzero(mask)[1], part[:, 1], 1)[0] for part in (made, there)]
    assert slopes[0] == pytest.approx(slopes[1], abs=0.3)


def fine(pixels: NDArray[np.uint8], inside: NDArray[np.bool_]) -> float:
    """Return the strength of the grain: the deviation from the mean of the four neighbors."""
    smooth = cv2.filter2D(pixels.astype(np.float32), -1, np.float32([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 4)
    return float((pixels - smooth)[inside].std())


@pytest.mark.parametrize("strength", [2.0, 6.0])
def test_grain_inside_the_mask_matches_the_grain_of_the_surroundings(strength: float, tmp_path: Path) -> None:
    clean = ground(grain=strength)
    item = item_of(with_ball(clean), tmp_path, ball=BALL)
    (mask, with_it), (_, without) = (arrays(painted(item, tmp_path, grain=wanted)) for wanted in (True, False))
    inside = cv2.erode(mask, np.ones((3, 3), dtype=np.uint8)) > 0
    there = fine(clean, inside)
    assert fine(without, inside) < 0.6 * there
    assert 0.7 * there < fine(with_it, inside) < 1.4 * there


@given(st.integers(0, 2**32 - 1), st.floats(0, 110), st.floats(0, 80), st.floats(2, 40), st.floats(0, 1), st.booleans())
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pixels_outside_the_mask_do_not_change(
    tmp_path: Path, seed: int, x: float, y: float, size: float, margin: float, grain: bool
) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    item = item_of(pixels, tmp_path, ball=Box(x, y, x + size, y + size))
    mask, _ = arrays(painted(item, tmp_path, margin=margin, grain=grain))
    assert set(np.unique(mask)) <= {0, 255}


def test_inpainted_pixels_depend_on_item_and_seed_but_not_on_the_batch(tmp_path: Path) -> None:
    items = [item_of(with_ball(ground()), tmp_path, f"match-{number}", ball=BALL) for number in range(3)]
    together = inpainted(Telea(TeleaSettings(), context_of(tmp_path / "a", seed=1)), *items)
    alone = [painted(item, tmp_path / "b", seed=1) for item in reversed(items)][::-1]
    for one, item in zip(alone, together, strict=True):
        assert (arrays(one)[1] == arrays(item)[1]).all()
        assert one.notes["inpaint"]["seed"] == item.notes["inpaint"]["seed"] == item.seed(1, "inpaint")
    # The same image of another item, or with another seed, is inpainted differently.
    for other in (together[1], painted(items[0], tmp_path / "c", seed=2)):
        assert not (arrays(other)[1] == arrays(together[0])[1]).all()


def test_item_without_a_ball_fails_and_other_items_are_inpainted(tmp_path: Path) -> None:
    items = [item_of(ground(), tmp_path, "a"), item_of(ground(), tmp_path, "b", ball=BALL)]
    outcome = Telea(TeleaSettings(), context_of(tmp_path)).process(items)
    assert [item.id for item in outcome.items] == ["b"]
    assert [(failure.item, failure.stage) for failure in outcome.failures] == [("a", "inpaint")]


def ellipse(x: float, y: float, wide: float, high: float) -> NDArray[np.bool_]:
    """Return the pixels of a 640 x 360 image in an ellipse, given by its center and semi-axes."""
    down, across = np.mgrid[:360, :640] + 0.5
    inside: NDArray[np.bool_] = ((across - x) / wide) ** 2 + ((down - y) / high) ** 2 <= 1
    return inside


@pytest.mark.slow
def test_ball_mask_in_synthetic_matches_covers_balls_and_most_shadows_but_not_players(tmp_path: Path) -> None:
    shadows = []
    for sport, number in itertools.product(sorted(LOOKS), range(12)):
        look = LOOKS[sport]
        moment = Play(Shot("play", 12, 40 + number), look, 640, 360).at(0.7 * number + 0.3)
        image, truth = Painter(look, 640, 360, seed=number).draw(moment, number)
        players = tuple(Box(*box, label="player") for box in truth.players)
        if not truth.balls or measured(Box(*truth.balls[0]), players, (640, 360))["ball_overlap"]:
            continue
        item = item_of(image, tmp_path, f"match-{number}", ball=Box(*truth.balls[0]), players=players)
        mask, inpainted_image = arrays(painted(item, tmp_path))
        (ball,) = moment.balls
        disc = ellipse(*ball.center, ball.radius + 0.5, ball.radius + 0.5)
        assert (mask[disc] == 255).all()
        on_player = np.zeros((360, 640), dtype=bool)
        for box in players:
            on_player[int(box.y1) : int(np.ceil(box.y2)), int(box.x1) : int(np.ceil(box.x2))] = True
        # At the edge of the ball, its color mixes with the color of an adjacent player.
        assert (inpainted_image == image)[on_player & ~ellipse(*ball.center, *[ball.radius + 2] * 2)].all()
        # Check that the darker part of the shadow is inpainted, if most of it is outside the boxes of players.
        shadow = ellipse(*ball.ground, 1.3 * ball.radius, 0.45 * ball.radius)
        seen = shadow & ~on_player
        if seen.sum() > max(0.5 * shadow.sum(), 40):
            shadows.append(float((mask[seen] > 0).mean()) > 0.8)
    assert len(shadows) > 12
    # A shadow that merges with the shadow of a player is treated as part of it and is kept.
    assert np.mean(shadows) > 0.6


@pytest.mark.parametrize("wrong", [{"radius": 0}, {"margin": -1}, {"prompt": "grass"}])
def test_painting_settings_with_invalid_values_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TeleaSettings.model_validate(wrong)


def test_with_grain_without_surroundings_returns_the_image_unchanged() -> None:
    pixels = ground()
    everything = np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)
    assert with_grain(pixels, everything, np.random.default_rng(0)) is pixels
