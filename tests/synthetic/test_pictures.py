"""Pictures of synthetic scenes: the ball and nothing else makes the difference, and they are said to be synthetic."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.schema import Scene
from spotball_core.synthetic.scenes import synthetic_scenes

pytest.importorskip("PIL.Image", reason="pictures need the study extra")

from spotball_core.synthetic.pictures import draw_scene

SCENES = synthetic_scenes(30, seed=5)


def pixels(scene: Scene, *, ball: bool) -> np.ndarray:
    return np.asarray(draw_scene(scene, ball=ball)).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: "/".join(scene.key))
def test_only_the_ball_differs(scene: Scene) -> None:
    with_ball, without = pixels(scene, ball=True), pixels(scene, ball=False)
    assert with_ball.shape == (360, 640, 3)
    changed = (with_ball != without).any(axis=2)
    down, across = np.nonzero(changed)
    x1, y1, x2, y2 = scene.ball_box
    # Smooth edges reach a few pixels farther than what they are of.
    assert x1 - 4 <= across.min() < across.max() < x2 + 4
    assert y1 - 4 <= down.min() < down.max() < y2 + 4
    inside = changed[round(y1) + 3 : round(y2) - 3, round(x1) + 3 : round(x2) - 3]
    assert changed.sum() > 0.4 * (x2 - x1) * (y2 - y1)
    assert inside.mean() > 0.5


@pytest.mark.slow
def test_a_scene_has_one_picture_and_scenes_differ() -> None:
    drawn = [draw_scene(scene, ball=False).tobytes() for scene in SCENES]
    assert drawn == [draw_scene(scene, ball=False).tobytes() for scene in SCENES]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("scene", SCENES[:6], ids=lambda scene: "/".join(scene.key))
def test_players_are_where_their_boxes_are(scene: Scene) -> None:
    """A player's colors are in the upper half of the box; without players, the field and the stands are there."""
    alone = scene.model_copy(update={"players": scene.players[:1]})
    moved = pixels(scene, ball=False) != pixels(alone, ball=False)
    for box in scene.players[1:]:
        x1, y1, x2, y2 = (round(side) for side in box.corners)
        assert moved[y1:y2, x1:x2].any(axis=2).mean() > 0.15


@pytest.mark.parametrize(
    "scene",
    [
        SCENES[0].model_copy(update={"sport": "soccer"}),
        SCENES[0].model_copy(update={"players": None}),
        SCENES[0].model_copy(update={"players": ()}),
        SCENES[0].model_copy(update={"ball_box": None}),
    ],
    ids=["another sport", "players unknown", "no players", "no box"],
)
def test_what_cannot_be_drawn(scene: Scene) -> None:
    with pytest.raises(OptionError, match="cannot be drawn\\. The scene needs players, the ball's box, and one of"):
        draw_scene(scene, ball=True)


@pytest.mark.slow
def test_pillow_is_loaded_on_use() -> None:
    code = "import sys, spotball_core.synthetic.pictures; print([name for name in sys.modules if name == 'PIL'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
