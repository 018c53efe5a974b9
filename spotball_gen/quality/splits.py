"""Split a dataset into training and test by whole videos, or by shots of a single video."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from spotball_core.schema.scene import Scene

TRAIN, TEST = "train", "test"
WITHOUT_TEST = "without_test"
"""Key for the sports without test images: all images are from one shot, or from one video that is not split."""

BY_SHOT = "by_shot"
"""Key for the sports whose images are all from one video and are therefore split by shot."""

TEST_SHARE = 0.2

_ITEM = re.compile(r"(.+)-\d{9,}")


def video_of(scene: Scene) -> str:
    """Return the id of a scene's video, read from an image name such as `match-1a2b3c4d-000012000`.

    Each image with another name counts as a video of its own, with the id SPORT/IMAGE.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="match-1a2b3c4d-000012000", grid=Grid.standard())
        >>> video_of(scene), video_of(scene.model_copy(update={"image": "163"}))
        ('match-1a2b3c4d', 'soccer/163')
    """
    match = _ITEM.fullmatch(scene.image)
    return match[1] if match else f"{scene.sport}/{scene.image}"


def split(
    scenes: Sequence[Scene], *, seed: int, test_share: float = TEST_SHARE, shots: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Assign the videos of each sport, with all their images, to training or test.

    The videos of a sport are considered in a random order. The first is assigned to the test, and each of the others if
    this does not move the share of images in the test away from `test_share`. The last video is always for training. A
    sport with a single video is split by shot if `shots` is given: both parts then show the same match, but a test
    image and a training image are never from the same shot. A sport that cannot be split has no test images.

    Args:
        scenes: all images.
        seed: seed of the random order of the videos.
        test_share: desired share of a sport's images in the test.
        shots: number of the shot by image name. Images that are not listed count as shot 0.

    Returns:
        JSON values: `train` and `test` contain the lists `videos` (sorted) and `images` (`SPORT/IMAGE`, in the order of
        `scenes`). `by_shot` lists the sports that are split by shot, and `without_test` those without test images.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> names = [f"match-1a2b3c4d-{time:09d}" for time in (0, 1000, 9000)]
        >>> scenes = [Scene(sport="soccer", image=name, grid=Grid.standard()) for name in names]
        >>> parts = split(scenes, seed=2, shots={names[0]: 0, names[1]: 0, names[2]: 1})
        >>> parts["by_shot"], len(parts["train"]["images"]), len(parts["test"]["images"])
        (['soccer'], 2, 1)
    """
    by_sport: dict[str, dict[str, list[Scene]]] = defaultdict(lambda: defaultdict(list))
    for scene in scenes:
        by_sport[scene.sport][video_of(scene)].append(scene)
    by_shot: list[str] = []
    for sport, videos in by_sport.items():
        if len(videos) == 1 and shots:
            of_shot = _by_shot(next(iter(videos.values())), shots)
            if len(of_shot) > 1:
                by_sport[sport] = of_shot
                by_shot.append(sport)
    tested: set[tuple[str, str]] = set()
    for groups in by_sport.values():
        target = test_share * sum(len(of) for of in groups.values())
        shuffled = sorted(groups, key=lambda group: hashlib.sha256(f"{seed}/split/{group}".encode()).digest())
        n_test = 0
        for group in shuffled[:-1]:
            size = len(groups[group])
            if abs(n_test + size - target) <= abs(n_test - target) or not n_test:
                tested.update((scene.sport, scene.image) for scene in groups[group])
                n_test += size
    parts: dict[str, Any] = {name: {"videos": set(), "images": []} for name in (TRAIN, TEST)}
    for scene in scenes:
        part = parts[TEST if (scene.sport, scene.image) in tested else TRAIN]
        part["videos"].add(video_of(scene))
        part["images"].append(f"{scene.sport}/{scene.image}")
    alone = sorted(sport for sport, groups in by_sport.items() if len(groups) == 1)
    content = {name: {**of, "videos": sorted(of["videos"])} for name, of in parts.items()}
    return {"by": "video", BY_SHOT: sorted(by_shot), WITHOUT_TEST: alone, **content}


def _by_shot(scenes: Sequence[Scene], shots: Mapping[str, int]) -> dict[str, list[Scene]]:
    groups: dict[str, list[Scene]] = defaultdict(list)
    for scene in scenes:
        groups[f"{video_of(scene)}/{shots.get(scene.image, 0)}"].append(scene)
    return groups
