"""Test that the ball and players of the synthetic match video are where its ground truth states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from spotball_gen.demo.match import LOOKS, Play, Shot, SportLook, shots
from spotball_gen.demo.video import HEIGHT, RATE, WIDTH, write_match


@pytest.fixture(scope="module", params=sorted(LOOKS))
def match(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SportLook, Path, Any]:
    path = tmp_path_factory.mktemp("demo") / "match.avi"
    write_match(path, request.param, (Shot("play", 2, 5), Shot("no ball", 0.5, 6), Shot("two balls", 0.5, 7)))
    return LOOKS[request.param], path, json.loads(path.with_suffix(".truth.json").read_text())["frames"]


@pytest.mark.slow
def test_ball_color_occurs_only_inside_the_ball_boxes(match: tuple[SportLook, Path, Any]) -> None:
    look, path, truth = match
    video = cv2.VideoCapture(str(path))
    seen = set()
    for frame in truth:
        there, pixels = video.read()
        assert there
        far = np.abs(pixels[..., ::-1].astype(int) - look.ball).max(-1)
        found = np.argwhere(far < 40)
        boxes = np.array(frame["balls"]).reshape(-1, 4)
        seen.add(len(boxes))
        x, y = found[:, 1, None] + 0.5, found[:, 0, None] + 0.5
        inside = (x > boxes[:, 0] - 2) & (x < boxes[:, 2] + 2) & (y > boxes[:, 1] - 2) & (y < boxes[:, 3] + 2)
        assert inside.any(1).all()
        for number, (x1, y1, x2, y2) in enumerate(boxes):
            whole = abs((x2 - x1) - (y2 - y1)) < 1
            assert inside[:, number].sum() > (0.4 if whole else 0.1) * (x2 - x1) * (y2 - y1)
    assert not video.read()[0]
    assert seen == {0, 1, 2}


def test_player_boxes_contain_the_team_colors(match: tuple[SportLook, Path, Any]) -> None:
    look, path, truth = match
    there, pixels = cv2.VideoCapture(str(path)).read()
    assert there
    shirts = [shirt for shirt, _ in look.teams]
    for box in truth[0]["players"]:
        x1, y1, x2, y2 = (round(edge) for edge in box)
        if x2 - x1 < 20:
            continue  # only the edge of this player is visible
        body = pixels[y1:y2, x1:x2, ::-1].astype(int)
        near = [np.abs(body - shirt).max(-1) < 50 for shirt in shirts]
        assert max(part.mean() for part in near) > 0.08


@pytest.mark.slow
def test_write_match_with_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    for name, seed in {"a.avi": 4, "b.avi": 4, "c.avi": 5}.items():
        write_match(tmp_path / name, "synthetic-soccer", (Shot("play", 1, 3),), seed=seed)
    first, same, other = ((tmp_path / f"{name}.avi").read_bytes() for name in "abc")
    assert first == same != other


@pytest.mark.parametrize("sport", sorted(LOOKS))
def test_ball_is_in_most_frames_and_moves_without_jumps(sport: str) -> None:
    play = Play(Shot("play", 20, 8), LOOKS[sport], WIDTH, HEIGHT)
    centers = np.array([play.at(frame / RATE).balls[0].center for frame in range(20 * RATE)])
    inside = (centers > 0).all(1) & (centers < (WIDTH, HEIGHT)).all(1)
    assert inside.mean() > 0.8
    assert np.linalg.norm(np.diff(centers, axis=0), axis=1).max() < 0.1 * WIDTH


def test_play_with_the_same_seed_starts_the_same_at_any_duration() -> None:
    short, long = (Play(Shot("play", seconds, 9), LOOKS["synthetic-soccer"], WIDTH, HEIGHT) for seconds in (3, 30))
    assert [short.at(time) for time in (0, 1, 2.9)] == [long.at(time) for time in (0, 1, 2.9)]


def test_shots_include_every_kind_of_shot_and_one_replay() -> None:
    parts = shots(0)
    assert {shot.kind for shot in parts} == {"title", "play", "no ball", "two balls"}
    again = [shot for shot in parts if shot.kind == "play"]
    assert len({shot.seed for shot in again}) == len(again) - 1
    starts = np.cumsum([0, *(shot.seconds for shot in parts)])
    first, last = (i for i, shot in enumerate(parts) if shot.seed == parts[-1].seed)
    # At 1 frame per second, the replay has the same frames only if it starts whole seconds after the original shot.
    assert (starts[last] - starts[first]) % 1 == 0
