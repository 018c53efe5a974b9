"""Test the detection of balls and players by color: hits and false detections in synthetic matches."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from spotball_core.errors import OptionError
from spotball_gen.demo.match import LOOKS, Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.item import Box, Item
from spotball_gen.stages.detect_color import Color, ColorSettings, SportColors
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from tests.failures import raises
from tests.gen.making import context_of, item_of
from tests.gen.models.yolo.plain import iou
from tests.gen.videos import source_of

WIDTH, HEIGHT = 640, 360
SHOTS = (
    Shot("title", 1, 0),
    Shot("play", 7, 101),
    Shot("no ball", 1, 102),
    Shot("play", 7, 103),
    Shot("two balls", 2, 104),
)
STANDS = 0.34
"""Persons whose feet are above this fraction of the height are audience, which the ground truth does not list."""


def matched(found: list[Box], there: list[Box]) -> list[tuple[int, int, float]]:
    """Return pairs of detected and true boxes with their overlap, best first. Each box occurs at most once."""
    pairs = ((i, j, iou(a.corners, b.corners)) for i, a in enumerate(found) for j, b in enumerate(there))
    taken: list[tuple[int, int, float]] = []
    for i, j, share in sorted(pairs, key=lambda pair: -pair[2]):
        if share >= 0.5 and i not in {a for a, _, _ in taken} and j not in {b for _, b, _ in taken}:
            taken.append((i, j, share))
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("sport", sorted(LOOKS))
def test_color_detects_all_balls_and_most_players_with_few_false_boxes(sport: str, tmp_path: Path) -> None:
    """Check a match at two images per second, compressed and scaled down as in the demo."""
    path = tmp_path / "match.avi"
    write_match(path, sport, SHOTS, seed=11, rate=2)
    truth = json.loads(path.with_suffix(".truth.json").read_text())
    scale = WIDTH / truth["width"]
    source = source_of(path, sport=sport)
    items, true_boxes = [], []
    for frame in PyAV(PyAVSettings(fps=2), context_of(tmp_path)).read(source):
        assert frame.image is not None
        items.append(replace(item_of(frame.image, tmp_path, f"match-{frame.ms:09d}"), source=source))
        true_boxes.append(truth["frames"][frame.number])
    detector = Color(ColorSettings(), context_of(tmp_path))
    outcome = detector.process(items)
    assert not outcome.rejects
    assert not outcome.failures
    assert [item.boxes for item in detector.balls(items).items] == [
        tuple(box for box in item.boxes if box.label == "ball") for item in outcome.items
    ]
    shares: dict[str, list[float]] = {"ball": [], "player": []}
    counts: Counter[str] = Counter()
    for item, true in zip(outcome.items, true_boxes, strict=True):
        balls, players = ([Box(*(edge * scale for edge in box)) for box in true[part]] for part in ("balls", "players"))
        found = [box for box in item.boxes if box.label == "ball"]
        pairs = matched(found, balls)
        # A ball that has nearly left the image may be missed: too little of it is visible.
        missed = [box for number, box in enumerate(balls) if number not in {j for _, j, _ in pairs}]
        assert all(box.width < 6 or box.height < 6 for box in missed)
        assert len(pairs) == len(found)
        shares["ball"] += [share for _, _, share in pairs]

        found = [box for box in item.boxes if box.label == "player" and box.y2 > STANDS * HEIGHT]
        pairs = matched(found, players)
        shares["player"] += [share for _, _, share in pairs]
        # A player at the edge of the image is only partly visible and is not counted.
        whole = {number for number, box in enumerate(players) if box.x1 > 0 and box.x2 < WIDTH}
        counts += Counter(found=len(found), right=len(pairs), whole=len(whole))
        counts["whole found"] += len(whole & {j for _, j, _ in pairs})
    assert len(shares["ball"]) > 30
    assert np.mean(shares["ball"]) > 0.88
    assert counts["whole"] > 100
    assert counts["whole found"] > 0.9 * counts["whole"]
    assert counts["right"] > 0.9 * counts["found"]
    assert np.mean(shares["player"]) > 0.85


def scene(work: Path) -> Item:
    """Return an item with a green ball, a player with a pink shirt and orange shorts, and pink letters."""
    pixels = np.full((HEIGHT, WIDTH, 3), (120, 122, 126), dtype=np.uint8)
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    pixels[(x - 400) ** 2 + (y - 100) ** 2 < 15**2] = (30, 220, 60)
    pixels[140:200, 100:130] = (250, 60, 180)
    pixels[200:220, 102:128] = (240, 130, 20)
    pixels[220:240, 104:112] = pixels[220:240, 118:126] = (216, 170, 136)
    pixels[126:142, 106:124] = (216, 170, 136)
    pixels[20:50, 500:503] = pixels[20:23, 500:530] = (250, 60, 180)
    return item_of(pixels, work, sport="drawn")


COLORS = SportColors(ball=(30, 220, 60), shirts=((250, 60, 180),), shorts=((240, 130, 20),))


def detected(item: Item, work: Path, **settings: Any) -> tuple[Box, ...]:
    """Return the boxes that the stage detects with the colors of the scene."""
    (done,) = Color(ColorSettings(colors={"drawn": COLORS}, **settings), context_of(work)).process([item]).items
    return done.boxes


def test_color_detection_uses_the_colors_set_for_a_sport_and_without_colors_is_an_error(tmp_path: Path) -> None:
    ball, player = detected(scene(tmp_path), tmp_path)
    assert (ball.label, ball.corners) == ("ball", (385, 85, 415, 115))
    assert ball.score > 0.95
    # The median blur rounds corners but does not move edges.
    assert (player.label, player.corners) == ("player", (100, 126, 130, 240))
    assert player.score > 0.9
    with raises(OptionError, "missing-option:detect"):
        Color(ColorSettings(), context_of(tmp_path)).process([scene(tmp_path)])


def test_half_visible_ball_scores_half(tmp_path: Path) -> None:
    pixels = scene(tmp_path).image.copy()
    pixels[100:, 380:420] = 120
    half = item_of(pixels, tmp_path, "half", sport="drawn")
    (ball,) = (box for box in detected(half, tmp_path, confidence=0) if box.label == "ball")
    # The half ball is 30 pixels wide and 15 high, and fills its box as much as an ellipse does.
    assert ball.corners == (385, 85, 415, 100)
    assert ball.score == pytest.approx(0.5, abs=0.03)
    assert [box.label for box in detected(half, tmp_path, confidence=0.6)] == ["player"]


@pytest.mark.parametrize("value", [0, 120, 255])
def test_image_of_one_color_has_no_boxes(value: int, tmp_path: Path) -> None:
    item = item_of(np.full((90, 160, 3), value, dtype=np.uint8), tmp_path, sport="drawn")
    assert detected(item, tmp_path) == ()


@pytest.mark.parametrize(
    ("wrong", "value"),
    [
        ({"ball": [128, 128, 128], "shirts": [], "shorts": []}, "`ball`"),
        ({"ball": [1, 2, 3], "shirts": [[0, 0, 0]], "shorts": []}, "`shirts`.*`shorts`"),
        ({"ball": [1, 2, 300], "shirts": [], "shorts": []}, r"colors\.drawn\.ball\.2\n"),
    ],
)
def test_color_settings_with_invalid_colors_are_refused(wrong: dict[str, object], value: str) -> None:
    with pytest.raises(ValidationError, match=value):
        ColorSettings.model_validate({"colors": {"drawn": wrong}})
