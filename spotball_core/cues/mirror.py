"""Test with permutations whether guesses depend on whether bodies face left or right.

The keypoints of randomly chosen players are mirrored horizontally about the middles of their boxes. Everything else is
unchanged: players' positions, boxes and sizes, and the reliability of directions. If guesses did not depend on the
sides that bodies turn to, the gain with the true keypoints would have the same distribution as the gains with mirrored
keypoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spotball_core.cue_maps.cue import Cue
from spotball_core.cue_maps.scores import CueScores, cue_scores
from spotball_core.random import generator_for
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.schema.scene import Scene
from spotball_core.typing import BoolArray

_OTHER_SIDE = [
    KEYPOINT_NAMES.index(name.replace("left", "right") if "left" in name else name.replace("right", "left"))
    for name in KEYPOINT_NAMES
]
"""For each keypoint, the index of its counterpart on the other side of the body."""


def mirrored(scene: Scene, which: BoolArray) -> Scene:
    """Return a scene in which the keypoints of the selected players are mirrored about the middles of their boxes.

    Args:
        scene: a scene with players.
        which: whether to mirror each player, shape (n_players,).

    Examples:
        >>> from spotball_core.synthetic.poses import synthetic_poses
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> (scene,) = synthetic_poses(synthetic_scenes(1))
        >>> both = np.ones(len(scene.players), dtype=bool)
        >>> float(np.abs(mirrored(mirrored(scene, both), both).keypoints - scene.keypoints).max().round(6))
        0.0
    """
    keypoints = scene.keypoints.copy()
    turned = keypoints[which][:, _OTHER_SIDE]
    boxes = scene.boxes[which]
    x = boxes[:, None, 0] + boxes[:, None, 2] - turned[..., 0]
    turned[..., 0] = np.where(turned[..., 2] > 0, x, turned[..., 0])
    keypoints[which] = turned
    return scene.with_keypoints(keypoints)


def mirrored_scores(scenes: Sequence[Scene], cues: Sequence[Cue], n: int, seed: int) -> Iterator[CueScores]:
    """Yield the scores of cues on scenes in which each player with keypoints is mirrored with probability 1/2.

    Args:
        scenes: scenes of one sport.
        cues: the cues.
        n: number of random draws of players.
        seed: seed of the draws.
    """
    keys = [cue.key for cue in cues]
    generator = generator_for(seed, "mirror", scenes[0].sport)
    for _ in range(n):
        drawn = [generator.random(len(scene.players or ())) < 0.5 for scene in scenes]
        turned = [mirrored(scene, which) if which.any() else scene for scene, which in zip(scenes, drawn, strict=True)]
        yield cue_scores(turned, keys)
