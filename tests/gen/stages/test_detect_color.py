"""Test the detection of balls and players by color: hits and false detections in synthetic matches."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from spotball_core.errors import OptionError
from spotball_gen.demo.look import LOOKS
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.item import Box, Item, VideoSource
from spotball_gen.stages.detect_color import Color, ColorSettings, SportColors
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from tests.failures import raises
from tests.gen.making import context_of, item_of

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


@dataclass
class Match:
    """Hold the images of a sport with the true boxes in them."""

    items: list[Item]
    balls: list[list[Box]]
    players: list[list[Box]]


@pytest.fixture(scope="module", params=sorted(LOOKS))
def match(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Match:
    """Return a match at two images per second, compressed and scaled down as in the demo."""
    work = tmp_path_factory.mktemp("work")
    path = work / "match.avi"
    write_match(path, request.param, SHOTS, seed=11, rate=2)
    truth = json.loads(path.with_suffix(".truth.json").read_text())
    scale = WIDTH / truth["width"]
    source = VideoSource("match", str(path), request.param, "", path.name, "")
    found = Match([], [], [])
    for frame in PyAV(PyAVSettings(fps=2), context_of(work)).read(source):
        assert frame.image is not None
        found.items.append(replace(item_of(frame.image, work, f"match-{frame.ms:09d}"), source=source))
        there = truth["frames"][frame.number]
        for into, boxes in ((found.balls, there["balls"]), (found.players, there["players"])):
            into.append([Box(*(edge * scale for edge in box)) for box in boxes])
    return found


def overlap(a: Box, b: Box) -> float:
    """Return the intersection over union of two boxes."""
    wide, high = min(a.x2, b.x2) - max(a.x1, b.x1), min(a.y2, b.y2) - max(a.y1, b.y1)
    both = max(wide, 0) * max(high, 0)
    return both / (a.area + b.area - both)


def matched(found: list[Box], there: list[Box], least: float = 0.5) -> list[tuple[int, int]]:
    """Return pairs of detected and true boxes, best first. Each box occurs at most once."""
    pairs = sorted(
        ((overlap(a, b), i, j) for i, a in enumerate(found) for j, b in enumerate(there)), key=lambda pair: -pair[0]
    )
    taken: list[tuple[int, int]] = []
    for share, i, j in pairs:
        if share >= least and i not in {a for a, _ in taken} and j not in {b for _, b in taken}:
            taken.append((i, j))
    return taken


@pytest.mark.slow
def test_color_detects_every_ball_and_no_false_balls(match: Match, tmp_path: Path) -> None:
    outcome = Color(ColorSettings(), context_of(tmp_path)).process(match.items)
    assert not outcome.rejects
    assert not outcome.failures
    shares: list[float] = []
    for item, there in zip(outcome.items, match.balls, strict=True):
        found = [box for box in item.boxes if box.label == "ball"]
        pairs = matched(found, there)
        # A ball that has nearly left the image may be missed: too little of it is visible.
        missed = [box for j, box in enumerate(there) if j not in {j for _, j in pairs}]
        assert all(box.width < 6 or box.height < 6 for box in missed)
        assert len(pairs) == len(found)
        shares += [overlap(found[i], there[j]) for i, j in pairs]
    assert len(shares) > 30
    assert np.mean(shares) > 0.88


@pytest.mark.slow
def test_color_detects_most_players_with_few_false_players(match: Match, tmp_path: Path) -> None:
    outcome = Color(ColorSettings(), context_of(tmp_path)).process(match.items)
    counts: Counter[str] = Counter()
    shares: list[float] = []
    for item, there in zip(outcome.items, match.players, strict=True):
        found = [box for box in item.boxes if box.label == "player" and box.y2 > STANDS * HEIGHT]
        pairs = matched(found, there)
        shares += [overlap(found[i], there[j]) for i, j in pairs]
        counts["found"] += len(found)
        counts["right"] += len(pairs)
        for number, box in enumerate(there):
            # A player at the edge of the image is only partly visible and is not counted.
            if box.x1 > 0 and box.x2 < WIDTH:
                counts["whole"] += 1
                counts["whole found"] += any(j == number for _, j in pairs)
    assert counts["whole"] > 100
    assert counts["whole found"] > 0.9 * counts["whole"]
    assert counts["right"] > 0.9 * counts["found"]
    assert np.mean(shares) > 0.85


def scene(tmp_path: Path, sport: str = "drawn") -> Item:
    """Return an image of a green ball, a player with a pink shirt and orange shorts, and pink letters."""
    pixels = np.full((HEIGHT, WIDTH, 3), (120, 122, 126), dtype=np.uint8)
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    pixels[(x - 400) ** 2 + (y - 100) ** 2 < 15**2] = (30, 220, 60)
    pixels[140:200, 100:130] = (250, 60, 180)
    pixels[200:220, 102:128] = (240, 130, 20)
    pixels[220:240, 104:112] = pixels[220:240, 118:126] = (216, 170, 136)
    pixels[126:142, 106:124] = (216, 170, 136)
    pixels[20:50, 500:503] = pixels[20:23, 500:530] = (250, 60, 180)
    return item_of(pixels, tmp_path, sport=sport)


COLORS = SportColors(ball=(30, 220, 60), shirts=((250, 60, 180),), shorts=((240, 130, 20),))


def test_colors_of_another_sport_can_be_set(tmp_path: Path) -> None:
    settings = ColorSettings(colors={"drawn": COLORS})
    (done,) = Color(settings, context_of(tmp_path)).process([scene(tmp_path)]).items
    ball, player = done.boxes
    assert (ball.label, ball.corners) == ("ball", (385, 85, 415, 115))
    assert ball.score > 0.95
    # The median blur rounds corners but does not move edges.
    assert (player.label, player.corners) == ("player", (100, 126, 130, 240))
    assert player.score > 0.9


def test_half_visible_ball_scores_half(tmp_path: Path) -> None:
    item = scene(tmp_path)
    pixels = item.image.copy()
    pixels[100:, 380:420] = 120
    half = item_of(pixels, tmp_path, "half", sport="drawn")
    settings = ColorSettings(colors={"drawn": COLORS}, confidence=0)
    (done,) = Color(settings, context_of(tmp_path)).process([half]).items
    (ball,) = (box for box in done.boxes if box.label == "ball")
    # The half ball is 30 pixels wide and 15 high, and is filled like an ellipse.
    assert ball.corners == (385, 85, 415, 100)
    assert ball.score == pytest.approx(0.5, abs=0.03)
    strict = settings.model_copy(update={"confidence": 0.6})
    (done,) = Color(strict, context_of(tmp_path)).process([half]).items
    assert [box.label for box in done.boxes] == ["player"]


def test_sport_without_colors_is_an_error(tmp_path: Path) -> None:
    with raises(OptionError, "missing-option:detect"):
        Color(ColorSettings(), context_of(tmp_path)).process([scene(tmp_path)])


def test_image_of_one_color_has_no_boxes(tmp_path: Path) -> None:
    for value in (0, 120, 255):
        item = item_of(np.full((90, 160, 3), value, dtype=np.uint8), tmp_path, sport="drawn")
        (done,) = Color(ColorSettings(colors={"drawn": COLORS}), context_of(tmp_path)).process([item]).items
        assert done.boxes == ()


@pytest.mark.parametrize(
    ("wrong", "value"),
    [
        ({"ball": [128, 128, 128], "shirts": [], "shorts": []}, "`ball`"),
        ({"ball": [1, 2, 3], "shirts": [[0, 0, 0]], "shorts": []}, "`shirts`.*`shorts`"),
        ({"ball": [1, 2, 300], "shirts": [], "shorts": []}, r"colors\.drawn\.ball\.2\n"),
    ],
)
def test_invalid_colors_are_refused(wrong: dict[str, object], value: str) -> None:
    with pytest.raises(ValidationError, match=value):
        ColorSettings.model_validate({"colors": {"drawn": wrong}})
