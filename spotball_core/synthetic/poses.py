"""Make keypoints for synthetic scenes, in which heads and torsos turn roughly toward the ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.cue_maps.directions import ELEVATION, HEAD_DEPTH, NOSE_DROP, SHOULDER_WIDTH
from spotball_core.errors import OptionError
from spotball_core.random import base_seed, generator_for
from spotball_core.schema.checks import scene_records
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

# Heights in the box from the top, as shares of its height.
_EARS, _SHOULDERS, _HIPS, _KNEES, _ANKLES = 0.1, 0.22, 0.53, 0.75, 0.97
_TORSO = _HIPS - _SHOULDERS

# Lengths in torsos: half the distance between the ears; how far the eyes are in front of the ears and above the nose;
# half the distance between the hips; how far the torso leans and the knees bend to the front.
_EAR, _EYE, _BROW, _HIP, _LEAN, _KNEE = 0.14, 0.2, 0.06, 0.2, 0.08, 0.12
_ARM, _HAND = 0.45, 0.85
"""Vertical distances from the shoulders down to the elbows and wrists, in lengths of the torso."""


@dataclass(frozen=True, slots=True)
class PoseNoise:
    """Random deviations of synthetic people's heads and torsos from the direction to the ball.

    Attributes:
        head: standard deviation of the angle between a head and the line to the ball, in degrees.
        torso: standard deviation of the angle between a torso and the line to the ball, in degrees.
        elsewhere: share of people whose head and torso turn in independent random directions.
        missing: share of keypoints that are not detected.
    """

    head: float = 25.0
    torso: float = 40.0
    elsewhere: float = 0.2
    missing: float = 0.1


NO_NOISE = PoseNoise(0.0, 0.0, 0.0, 0.0)
"""Noise of zero: all heads and torsos turn exactly toward the ball, and all keypoints are detected."""


def synthetic_poses(
    scenes: Sequence[Scene], *, noise: PoseNoise | None = None, seed: int | np.random.Generator = 0
) -> tuple[Scene, ...]:
    """Return copies of synthetic scenes with keypoints of their players.

    Only the keypoints are added. They depend only on the seed, the noise and the scene. They follow the assumptions of
    `spotball_core.cue_maps.directions`: with `NO_NOISE`, the directions that this module estimates from the keypoints
    point to the ball.

    Args:
        scenes: scenes from `synthetic_scenes`, with players and the ball's bounding box.
        noise: deviations from the direction to the ball (default: `PoseNoise()`).
        seed: an integer of at least 0, or a Generator, from which one number is drawn.

    Raises:
        OptionError: if a scene has no players or no bounding box of the ball, or if the seed is negative.

    Examples:
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> (posed,) = synthetic_poses(synthetic_scenes(1))
        >>> posed.keypoints.shape[1:], posed.ball_cells == synthetic_scenes(1)[0].ball_cells
        ((17, 3), True)
    """
    start = base_seed(seed)
    return tuple(_posed(scene, noise or PoseNoise(), start) for scene in scene_records(scenes))


def _posed(scene: Scene, noise: PoseNoise, seed: int) -> Scene:
    if not scene.players or scene.ball_box is None:
        raise OptionError(
            f"scene {scene.sport}/{scene.image} needs players and the ball's bounding box, because synthetic keypoints "
            "are computed from them",
            code="missing-value",
        )
    rng = generator_for(seed, "poses", *scene.key)
    x1, y1, x2, y2 = scene.ball_box
    ball = np.array([(x1 + x2) / 2, (y1 + y2) / 2])
    return scene.with_keypoints(np.stack([_person(box, ball, noise, rng) for box in scene.boxes]).round(2))


def _person(box: FloatArray, ball: FloatArray, noise: PoseNoise, rng: np.random.Generator) -> FloatArray:
    """Return the keypoints of a person in a box, shape (17, 3)."""
    x1, y1, x2, y2 = box
    middle, height = (x1 + x2) / 2, y2 - y1
    unit = _TORSO * height
    ears = np.array([middle, y1 + _EARS * height])
    chest = np.array([middle, y1 + (_SHOULDERS + _HIPS) / 2 * height])
    looks_elsewhere = rng.random() < noise.elsewhere
    head = _turned(ball - ears, noise.head, looks_elsewhere, rng)
    torso = _turned(ball - chest, noise.torso, looks_elsewhere, rng)
    # The share of the head's direction in the image plane; the rest points toward the camera.
    head = head * rng.uniform(0.5, 1.0)
    across = np.sqrt(max(0.0, 1 - float(head @ head)))
    # A torso turns about the vertical axis: the part that is not sideways points toward or away from the camera.
    side, front = _upright(torso)

    points = np.zeros((17, 2))
    drop = np.array([0.0, NOSE_DROP * unit])
    points[0] = ears + HEAD_DEPTH * unit * head + drop
    for left, sign in ((0, 1.0), (1, -1.0)):
        outwards = np.array([sign * across * _EAR * unit, 0.0])
        points[1 + left] = ears + _EYE * unit * head + drop - [0.0, _BROW * unit] + outwards / 2
        points[3 + left] = ears + outwards
        shoulder = np.array([middle + side * _LEAN * unit / 2, y1 + _SHOULDERS * height])
        shoulder[0] += sign * front * SHOULDER_WIDTH * unit / 2
        points[5 + left] = shoulder
        points[7 + left] = shoulder + np.array([side * 0.1, _ARM]) * unit
        points[9 + left] = shoulder + np.array([side * 0.2, _HAND]) * unit
        hip = np.array([middle - side * _LEAN * unit / 2 + sign * front * _HIP * unit, y1 + _HIPS * height])
        points[11 + left] = hip
        points[15 + left] = [hip[0], y1 + _ANKLES * height]
        points[13 + left] = [hip[0] + side * _KNEE * unit, y1 + _KNEES * height]
    detected = rng.random(17) >= noise.missing
    confidence = np.where(detected, rng.uniform(0.6, 1.0, 17), 0.0)
    return np.column_stack([np.where(detected[:, None], points, 0.0), confidence])


def _turned(direction: FloatArray, spread: float, elsewhere: bool, rng: np.random.Generator) -> FloatArray:
    """Return the unit vector of a direction after a random rotation, or of a random direction; shape (2,)."""
    turn = rng.normal(0.0, np.radians(spread))
    random = rng.uniform(-np.pi, np.pi)
    angle = random if elsewhere else np.arctan2(direction[1], direction[0]) + turn
    return np.array([np.cos(angle), np.sin(angle)])


def _upright(direction: FloatArray) -> tuple[float, float]:
    """Convert a direction in the image to a horizontal unit vector: its parts to the right and toward the camera."""
    side, front = float(direction[0]), float(direction[1]) / ELEVATION
    length = float(np.hypot(side, front))
    return side / length, front / length
