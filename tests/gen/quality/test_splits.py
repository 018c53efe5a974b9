"""Test the split into training and test parts by video, or by shot if there is only one video."""

from __future__ import annotations

from spotball_core.grid import Grid
from spotball_core.schema.scene import Scene
from spotball_gen.quality.splits import split


def scenes(sport: str, video: str, count: int) -> list[Scene]:
    names = [f"{video}-1a2b3c4d-{1000 * number:09d}" for number in range(count)]
    return [Scene(sport=sport, image=name, grid=Grid.standard()) for name in names]


def test_split_of_a_single_video_is_by_whole_shots() -> None:
    images = scenes("soccer", "match", 40)
    shots = {scene.image: number // 8 for number, scene in enumerate(images)}
    parts = split(images, seed=3, shots=shots)
    assert (parts["by_shot"], parts["without_test"]) == (["soccer"], [])
    of = {part: {shots[name.removeprefix("soccer/")] for name in parts[part]["images"]} for part in ("train", "test")}
    assert not of["train"] & of["test"]
    assert [len(parts[part]["images"]) for part in ("train", "test")] == [32, 8]


def test_split_of_several_videos_is_by_video_and_ignores_shots() -> None:
    images = [*scenes("soccer", "one", 20), *scenes("soccer", "two", 5)]
    shots = {scene.image: number // 3 for number, scene in enumerate(images)}
    parts = split(images, seed=3, shots=shots)
    assert parts == split(images, seed=3)
    assert parts["by_shot"] == []


def test_split_of_a_single_shot_has_no_test_part() -> None:
    images = scenes("soccer", "match", 9)
    for shots in (None, {}, {scene.image: 4 for scene in images}):
        parts = split(images, seed=0, shots=shots)
        assert (parts["by_shot"], parts["without_test"], parts["test"]["images"]) == ([], ["soccer"], [])
