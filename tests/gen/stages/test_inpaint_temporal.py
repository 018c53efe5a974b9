"""Test inpainting from neighboring frames of a video file, and from patches if there are no neighbors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_gen.demo.draw import Painter
from spotball_gen.demo.look import LOOKS
from spotball_gen.demo.match import Play, Shot
from spotball_gen.demo.video import write_match
from spotball_gen.footage.fitting import resized
from spotball_gen.items.item import Box, Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings
from spotball_gen.stages.inpaint_patches import Patches
from spotball_gen.stages.inpaint_telea import Telea
from spotball_gen.stages.inpaint_temporal import Temporal
from tests.gen.making import context_of

SPORT, SEED, SECONDS = "synthetic-basketball", 5, 6
WIDTH, HEIGHT = 640, 360


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("videos") / "match.avi"
    write_match(path, SPORT, (Shot("play", SECONDS, SEED),), seed=SEED, width=WIDTH, height=HEIGHT)
    return path


@pytest.fixture(scope="module")
def items(match: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    """Return frames of the match with the true boxes, without frames where the ball overlaps a player."""
    work = tmp_path_factory.mktemp("work")
    source = VideoSource("match", str(match), SPORT, "CC0", "match.avi", "0" * 64)
    truth = json.loads(match.with_suffix(".truth.json").read_text())["frames"]
    made = []
    for frame in PyAV(PyAVSettings(duplicate_bits=-1), context_of(work)).read(source):
        (ball,) = (Box(*box) for box in truth[frame.number]["balls"])
        players = tuple(Box(*box, label="player") for box in truth[frame.number]["players"])
        if any(ball.x1 < p.x2 and p.x1 < ball.x2 and ball.y1 < p.y2 and p.y1 < ball.y2 for p in players):
            continue
        assert frame.image is not None
        pixels = frame.image() if callable(frame.image) else frame.image
        name = f"match-{frame.ms:09d}"
        picture = PictureFile.write(work / "frames" / f"{name}.png", pixels)
        notes = {"frames": {"window": list(frame.window)}}
        made.append(Item(name, source, frame.ms / 1000, 0, picture, ball=ball, players=players, notes=notes))
    assert len(made) >= 2
    return made


def without_ball(item: Item) -> NDArray[np.uint8]:
    """Return the moment of an item, drawn without the ball."""
    moment = Play(Shot("play", SECONDS, SEED), LOOKS[SPORT], WIDTH, HEIGHT).at(item.time)
    image, _ = Painter(LOOKS[SPORT], WIDTH, HEIGHT, SEED).draw(replace(moment, balls=()), round(item.time * 10))
    return image


def painted(kind: type, items: list[Item], work: Path, **settings: object) -> list[Item]:
    stage = kind(kind.Settings.model_validate(settings), context_of(work))  # type: ignore[attr-defined]
    outcome = stage.process(items)
    assert not outcome.failures, outcome.failures
    return list(outcome.items)


def error(item: Item, core: NDArray[np.bool_]) -> float:
    assert item.painted is not None
    return float(np.abs(item.painted.array.astype(int) - without_ball(item))[core].mean())


def inside(item: Item) -> NDArray[np.bool_]:
    assert item.ball is not None
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray(np.hypot(x - item.ball.center[0], y - item.ball.center[1]) < item.ball.width / 2)


@pytest.mark.slow
def test_temporal_restores_the_background_better_than_telea_inside_the_mask_only(
    items: list[Item], tmp_path: Path
) -> None:
    temporal, telea = (painted(kind, items, tmp_path / kind.kind) for kind in (Temporal, Telea))
    for done in temporal:
        assert done.mask is not None
        assert done.painted is not None
        outside = done.mask.array == 0
        assert (done.painted.array[outside] == done.image[outside]).all()
        assert inside(done)[outside].sum() == 0
        notes = done.notes["inpaint"]
        assert notes["temporal"] + notes["patches"] == pytest.approx(1)
        assert notes["neighbors"] >= 5
    errors = [[error(item, inside(item)) for item in made] for made in (temporal, telea)]
    assert np.mean(errors[0]) < 0.4 * np.mean(errors[1])
    assert np.mean([item.notes["inpaint"]["temporal"] for item in temporal]) > 0.7


@pytest.mark.slow
def test_inpainted_pixels_do_not_depend_on_other_items(items: list[Item], tmp_path: Path) -> None:
    together = painted(Temporal, items, tmp_path / "a")
    alone = [painted(Temporal, [item], tmp_path / "b")[0] for item in reversed(items)][::-1]
    for one, other in zip(together, alone, strict=True):
        assert one.painted is not None
        assert other.painted is not None
        assert (one.painted.array == other.painted.array).all()
        assert one.notes == other.notes


def test_missing_video_fails_temporal_but_not_patches(items: list[Item], tmp_path: Path) -> None:
    gone = replace(items[0], source=replace(items[0].source, path=str(tmp_path / "gone.avi")))
    stage = Temporal(Temporal.Settings.model_validate({}), context_of(tmp_path))
    (failure,) = stage.process([gone]).failures
    assert "gone.avi: the video does not exist" in failure.error
    assert 'inpaint.kind = "patches"' in failure.error
    (done,) = painted(Patches, [gone], tmp_path)
    assert done.notes["inpaint"]["patches"] == 1


def test_single_photo_is_filled_from_patches(items: list[Item], tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "photo.png"), items[0].image[..., ::-1])
    photo = replace(items[0], time=0.0, source=replace(items[0].source, path=str(tmp_path / "photo.png")))
    (done,) = painted(Temporal, [photo], tmp_path)
    notes = done.notes["inpaint"]
    assert (notes["temporal"], notes["patches"], notes["neighbors"], notes["confidence"]) == (0, 1, 0, None)


def test_enlarged_frame_is_filled_at_its_original_size(tmp_path: Path) -> None:
    """Check that the fill has as little noise as an enlarged smooth image, which has less than a rounded one."""
    y, x = np.mgrid[: HEIGHT // 2, : WIDTH // 2]
    clean = np.dstack([90 + 0.11 * x + 0.07 * y, 100 + 0.05 * x + 0.13 * y, 80 + 0.09 * x - 0.06 * y])
    clean = clean.round().astype(np.uint8)
    frame = cv2.circle(clean.copy(), (160, 90), 8, (250, 240, 40), -1)
    cv2.imwrite(str(tmp_path / "photo.png"), frame[..., ::-1])
    whole, enlarged = (resized(pixels, (WIDTH, HEIGHT)) for pixels in (clean, frame))
    source = VideoSource("photo", str(tmp_path / "photo.png"), "soccer", "", "", "")
    notes = {"frames": {"window": [0, 0, WIDTH // 2, HEIGHT // 2]}}
    picture = PictureFile.write(tmp_path / "frame.png", enlarged)
    # The edges of the player fall between pixels of the smaller frame.
    player = Box(341, 101, 401, 251, label="player")
    item = Item(
        "photo-000000000", source, 0.0, 0, picture, ball=Box(303, 163, 339, 199), players=(player,), notes=notes
    )
    (done,) = painted(Temporal, [item], tmp_path, margin=0.5)
    assert done.mask is not None
    assert done.painted is not None
    filled_pixels = done.mask.array > 0
    assert (done.painted.array == enlarged)[~filled_pixels].all()
    assert done.painted.array[filled_pixels].max() < 150
    assert not filled_pixels[101:251, 341:401].any()

    def noise(image: NDArray[np.uint8]) -> float:
        kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32) / 6
        return float(np.abs(cv2.filter2D(image.astype(np.float32), -1, kernel))[filled_pixels].mean())

    assert noise(done.painted.array) < 1.15 * noise(whole)
