"""Test the pictures of synthetic scenes: the versions with and without the ball differ only at the ball."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.schema import Scene
from spotball_core.synthetic.scenes import synthetic_scenes

pytest.importorskip("PIL.Image", reason="pictures need the study extra")

from spotball_core.synthetic.pictures import draw_scene
from tests.failures import raises

SCENES = synthetic_scenes(30, seed=5)


def pixels(scene: Scene, *, ball: bool) -> np.ndarray:
    return np.asarray(draw_scene(scene, ball=ball)).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: "/".join(scene.key))
def test_draw_scene_with_and_without_ball_differs_only_at_the_ball(scene: Scene) -> None:
    with_ball, without = pixels(scene, ball=True), pixels(scene, ball=False)
    assert with_ball.shape == (360, 640, 3)
    changed = (with_ball != without).any(axis=2)
    down, across = np.nonzero(changed)
    x1, y1, x2, y2 = scene.ball_box
    # Anti-aliasing changes a few pixels around the ball.
    assert x1 - 4 <= across.min() < across.max() < x2 + 4
    assert y1 - 4 <= down.min() < down.max() < y2 + 4
    assert changed.sum() > 0.4 * (x2 - x1) * (y2 - y1)
    assert changed[round(y1) + 3 : round(y2) - 3, round(x1) + 3 : round(x2) - 3].mean() > 0.5


@pytest.mark.slow
def test_draw_scene_is_repeatable_and_differs_between_scenes() -> None:
    drawn = [draw_scene(scene, ball=False).tobytes() for scene in SCENES]
    assert drawn == [draw_scene(scene, ball=False).tobytes() for scene in SCENES]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("scene", SCENES[:6], ids=lambda scene: "/".join(scene.key))
def test_draw_scene_draws_players_in_their_boxes(scene: Scene) -> None:
    """Check that each box looks different if its player is not drawn."""
    alone = scene.model_copy(update={"players": scene.players[:1]})
    moved = pixels(scene, ball=False) != pixels(alone, ball=False)
    for box in scene.players[1:]:
        x1, y1, x2, y2 = (round(side) for side in box.corners)
        assert moved[y1:y2, x1:x2].any(axis=2).mean() > 0.15


@pytest.mark.parametrize(
    "fields", [{"sport": "soccer"}, {"players": None}, {"players": ()}, {"ball_box": None}], ids=str
)
def test_draw_scene_without_the_required_fields_raises_option_error(fields: dict[str, Any]) -> None:
    with raises(OptionError, "missing-value"):
        draw_scene(SCENES[0].model_copy(update=fields), ball=True)


@pytest.mark.slow
def test_import_of_the_pictures_module_does_not_load_pillow() -> None:
    code = "import sys, spotball_core.synthetic.pictures; print([name for name in sys.modules if name == 'PIL'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
