"""Test inpainting from neighboring frames of a video file, and from patches if there are no neighbors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_gen.demo.match import LOOKS, Play, Shot
from spotball_gen.demo.video import Painter, write_match
from spotball_gen.footage.video_file import resized
from spotball_gen.items.item import Box, Item
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from spotball_gen.stages.inpaint_telea import Telea
from spotball_gen.stages.inpaint_temporal import Patches, Temporal, TemporalSettings
from tests.gen.making import context_of, item_of
from tests.gen.stages.inpainted import arrays
from tests.gen.videos import source_of

SPORT, SEED, SECONDS = "synthetic-basketball", 5, 6
WIDTH, HEIGHT = 640, 360


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    """Return frames of a match with the true boxes, without frames where the ball overlaps a player."""
    work = tmp_path_factory.mktemp("work")
    match = work / "match.avi"
    write_match(match, SPORT, (Shot("play", SECONDS, SEED),), seed=SEED, width=WIDTH, height=HEIGHT)
    source = source_of(match, sport=SPORT)
    truth = json.loads(match.with_suffix(".truth.json").read_text())["frames"]
    made = []
    for frame in PyAV(PyAVSettings(duplicate_bits=-1), context_of(work)).read(source):
        (ball,) = (Box(*box) for box in truth[frame.number]["balls"])
        players = tuple(Box(*box, label="player") for box in truth[frame.number]["players"])
        if any(ball.x1 < p.x2 and p.x1 < ball.x2 and ball.y1 < p.y2 and p.y1 < ball.y2 for p in players):
            continue
        assert frame.image is not None
        notes = {"frames": {"window": list(frame.window)}}
        item = item_of(frame.image, work, f"match-{frame.ms:09d}", ball=ball, players=players, notes=notes)
        made.append(replace(item, source=source, time=frame.ms / 1000))
    assert len(made) >= 2
    return made


def painted(kind: type, items: list[Item], work: Path, **settings: object) -> list[Item]:
    stage = kind(kind.Settings.model_validate(settings), context_of(work))  # type: ignore[attr-defined]
    outcome = stage.process(items)
    assert not outcome.failures, outcome.failures
    return list(outcome.items)


def inside(item: Item) -> NDArray[np.bool_]:
    assert item.ball is not None
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray(np.hypot(x - item.ball.center[0], y - item.ball.center[1]) < item.ball.width / 2)


def error(item: Item) -> float:
    """Return the mean difference, inside the ball, from the same moment of the match drawn without the ball."""
    moment = Play(Shot("play", SECONDS, SEED), LOOKS[SPORT], WIDTH, HEIGHT).at(item.time)
    image, _ = Painter(LOOKS[SPORT], WIDTH, HEIGHT, SEED).draw(replace(moment, balls=()), round(item.time * 10))
    return float(np.abs(arrays(item)[1].astype(int) - image)[inside(item)].mean())


@pytest.mark.slow
def test_temporal_restores_the_background_better_than_telea_and_independently_of_other_items(
    items: list[Item], tmp_path: Path
) -> None:
    temporal, telea = (painted(kind, items, tmp_path / kind.kind) for kind in (Temporal, Telea))
    for done in temporal:
        mask, image = arrays(done)
        assert (image[mask == 0] == done.image[mask == 0]).all()
        assert inside(done)[mask == 0].sum() == 0
        notes = done.notes["inpaint"]
        assert notes["temporal"] + notes["patches"] == pytest.approx(1)
        assert notes["neighbors"] >= 5
    assert np.mean([error(item) for item in temporal]) < 0.4 * np.mean([error(item) for item in telea])
    assert np.mean([item.notes["inpaint"]["temporal"] for item in temporal]) > 0.7
    # The result of an item does not depend on the other items.
    alone = [painted(Temporal, [item], tmp_path / "alone")[0] for item in reversed(items)][::-1]
    for one, other in zip(temporal, alone, strict=True):
        assert (arrays(one)[1] == arrays(other)[1]).all()
        assert one.notes == other.notes


def test_temporal_with_a_missing_video_fails_and_with_a_photo_fills_from_patches(
    items: list[Item], tmp_path: Path
) -> None:
    gone = replace(items[0], source=replace(items[0].source, path=str(tmp_path / "gone.avi")))
    (failure,) = Temporal(TemporalSettings(), context_of(tmp_path)).process([gone]).failures
    assert "gone.avi: the video does not exist" in failure.error
    assert 'inpaint.kind = "patches"' in failure.error
    (done,) = painted(Patches, [gone], tmp_path)
    assert done.notes["inpaint"]["patches"] == 1
    # A single photo has no neighbors, so it is filled from patches.
    cv2.imwrite(str(tmp_path / "photo.png"), items[0].image[..., ::-1])
    photo = replace(items[0], time=0.0, source=replace(items[0].source, path=str(tmp_path / "photo.png")))
    (done,) = painted(Temporal, [photo], tmp_path)
    notes = done.notes["inpaint"]
    assert (notes["temporal"], notes["patches"], notes["neighbors"], notes["confidence"]) == (0, 1, 0, None)


def test_enlarged_frame_is_filled_at_its_original_size(tmp_path: Path) -> None:
    """Check that the fill has as little noise as an enlarged smooth image, which has less than a rounded one."""
    y, x = np.mgrid[: HEIGHT // 2, : WIDTH // 2]
    slope = np.dstack([90 + 0.11 * x + 0.07 * y, 100 + 0.05 * x + 0.13 * y, 80 + 0.09 * x - 0.06 * y])
    clean = slope.round().astype(np.uint8)
    frame = cv2.circle(clean.copy(), (160, 90), 8, (250, 240, 40), -1)
    cv2.imwrite(str(tmp_path / "photo.png"), frame[..., ::-1])
    whole, enlarged = (resized(pixels, (WIDTH, HEIGHT)) for pixels in (clean, frame))
    notes = {"frames": {"window": [0, 0, WIDTH // 2, HEIGHT // 2]}}
    # The edges of the player fall between pixels of the smaller frame.
    player = Box(341, 101, 401, 251, label="player")
    item = item_of(enlarged, tmp_path, ball=Box(303, 163, 339, 199), players=(player,), notes=notes)
    item = replace(item, source=source_of(tmp_path / "photo.png"), time=0.0)
    (done,) = painted(Temporal, [item], tmp_path, margin=0.5)
    mask, image = arrays(done)
    filled_pixels = mask > 0
    assert (image == enlarged)[~filled_pixels].all()
    assert image[filled_pixels].max() < 150
    assert not filled_pixels[101:251, 341:401].any()

    def noise(pixels: NDArray[np.uint8]) -> float:
        kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6
        return float(np.abs(cv2.filter2D(pixels.astype(np.float32), -1, kernel))[filled_pixels].mean())

    assert noise(image) < 1.15 * noise(whole)
