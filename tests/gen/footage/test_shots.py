"""Test shot detection against PySceneDetect."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scenedetect.common import FrameTimecode
from scenedetect.detectors import AdaptiveDetector

from spotball_gen.footage.neighbors import ShotCounter

Frame = NDArray[np.uint8]


def cuts_of_pyscenedetect(frames: list[Frame], ratio: float, least: float) -> list[int]:
    """Return the numbers of the frames at which PySceneDetect's detector finds cuts."""
    detector = AdaptiveDetector(adaptive_threshold=ratio, min_content_val=least, min_scene_len=5, window_width=2)
    found = [
        # PySceneDetect reads BGR.
        detector.process_frame(FrameTimecode(number, 30.0), np.ascontiguousarray(frame[..., ::-1]))
        for number, frame in enumerate(frames)
    ]
    return [cut.frame_num for cuts in found for cut in cuts]


def footage(seed: int) -> list[Frame]:
    """Return shots of random lengths, including single frames, with random motion, fades and noise."""
    rng = np.random.default_rng(seed)
    frames: list[Frame] = []
    while len(frames) < 300:
        picture = rng.integers(0, 256, (9, 16, 3)).repeat(4, axis=0).repeat(4, axis=1)
        shift, fade, noise = rng.integers(0, 3), rng.choice([0.0, 0.05]), rng.integers(1, 12)
        for number in range(int(rng.choice([1, 3, 4, 5, 6, 20, 40]))):
            moved = np.roll(picture, shift * number, axis=1) * max(1 - fade * number, 0)
            frames.append(np.clip(moved + rng.normal(0, noise, picture.shape), 0, 255).astype(np.uint8))
    return frames


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("ratio", "least"), [(3.0, 15.0), (1.5, 4.0)])
def test_shot_counter_finds_the_same_cuts_as_pyscenedetect(seed: int, ratio: float, least: float) -> None:
    frames = footage(seed)
    shots = ShotCounter(ratio, least)
    for frame in frames:
        shots.see(frame)
    numbers = [shots.at(number) for number in range(len(frames))]
    cuts = [number for number in range(1, len(frames)) if numbers[number] > numbers[number - 1]]
    assert cuts == cuts_of_pyscenedetect(frames, ratio, least)
    assert len(cuts) > 3


def test_shot_counter_finds_no_cut_in_still_frames() -> None:
    shots = ShotCounter()
    for _ in range(20):
        shots.see(np.zeros((36, 64, 3), np.uint8))
    assert shots.at(19) == 0
