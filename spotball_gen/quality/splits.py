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
"""Sports without test images, because all their images are from one shot."""

BY_SHOT = "by_shot"
"""Sports whose images are all from one video, and are split by its shots."""

TEST_SHARE = 0.2

_ITEM = re.compile(r"(.+)-\d{9,}")


def video_of(scene: Scene) -> str:
    """Return the video of a scene, which is the start of an item's id; for other images, the image itself.

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
    """Return the videos, and with them the images, for training and for the test.

    In each sport, videos are assigned to the test until it has its share of the images. The last video is assigned only
    if this brings the share of images closer to `test_share`. A sport with a single video is split by shot if `shots`
    is given: both parts then show the same match, but a test image and a training image are never from the same shot. A
    sport with a single shot has no test images.

    Args:
        scenes: all images.
        seed: seed of the order in which videos are assigned to the test.
        test_share: the test's share of a sport's images.
        shots: number of the shot by image. Images that are not listed count as one shot of their video.

    Returns:
        JSON values: for `train` and `test`, the lists `videos` and `images` (`SPORT/IMAGE`), sorted; `by_shot` lists
            the sports that are
        split by shot, `without_test` those with a single shot.

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
