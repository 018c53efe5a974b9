"""Training and test: whole videos, so that no image has a neighbor on the other side."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from spotball_core.schema.scene import Scene

TRAIN, TEST = "train", "test"
WITHOUT_TEST = "without_test"
"""Sports that have no test, since all their images are from one video."""

TEST_SHARE = 0.2

_ITEM = re.compile(r"(.+)-\d{9,}")


def video_of(scene: Scene) -> str:
    """The video that a scene is from, which an item's id starts with; of another image, it is the image itself.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="match-1a2b3c4d-000012000", grid=Grid.standard())
        >>> video_of(scene), video_of(scene.model_copy(update={"image": "163"}))
        ('match-1a2b3c4d', 'soccer/163')
    """
    match = _ITEM.fullmatch(scene.image)
    return match[1] if match else f"{scene.sport}/{scene.image}"


def split(scenes: Sequence[Scene], *, seed: int, test_share: float = TEST_SHARE) -> dict[str, Any]:
    """Which videos, and with them which images, are for training and which for the test.

    In each sport, videos go to the test until it has its share of the images; the last one goes only where that comes
    closer. A sport of a single video has no test.

    Returns:
        JSON: for `train` and `test`, `videos` and `images` (`SPORT/IMAGE`), each in order; in `without_test` the
            sports of a single video.
    """
    by_sport: dict[str, dict[str, list[Scene]]] = defaultdict(lambda: defaultdict(list))
    for scene in scenes:
        by_sport[scene.sport][video_of(scene)].append(scene)
    tested: set[str] = set()
    for videos in by_sport.values():
        target = test_share * sum(len(of) for of in videos.values())
        shuffled = sorted(videos, key=lambda video: hashlib.sha256(f"{seed}/split/{video}".encode()).digest())
        n_test = 0
        for video in shuffled[:-1]:
            size = len(videos[video])
            if abs(n_test + size - target) <= abs(n_test - target) or not n_test:
                tested.add(video)
                n_test += size
    parts: dict[str, Any] = {name: {"videos": set(), "images": []} for name in (TRAIN, TEST)}
    for scene in scenes:
        video = video_of(scene)
        part = parts[TEST if video in tested else TRAIN]
        part["videos"].add(video)
        part["images"].append(f"{scene.sport}/{scene.image}")
    alone = sorted(sport for sport, videos in by_sport.items() if len(videos) == 1)
    content = {name: {**of, "videos": sorted(of["videos"])} for name, of in parts.items()}
    return {"by": "video", WITHOUT_TEST: alone, **content}
