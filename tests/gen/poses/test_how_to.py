"""Test that the estimator in the how-to works unchanged."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_gen.poses.dataset import add_poses
from tests.builders import scene
from tests.conftest import ROOT
from tests.packages import install_package

PAGE = (ROOT / "docs/how-to/poses.md").read_text(encoding="utf-8")


def shown(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


def test_estimator_in_the_poses_how_to_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((group, entries),) = tomllib.loads(shown("toml"))["project"]["entry-points"].items()
    install_package(tmp_path, "arrays", group, entries, arrays=shown("python"))
    monkeypatch.syspath_prepend(tmp_path)

    boxes = [(10, 20, 30, 60), (100, 20, 130, 80)]
    (tmp_path / "set").mkdir()
    write_scenes([scene("1", players=boxes), scene("2", players=boxes)], tmp_path / "set/scenes.jsonl")
    keypoints = np.full((2, 17, 3), np.nan)
    keypoints[0] = [20, 40, 0.5]
    (tmp_path / "keypoints").mkdir()
    np.save(tmp_path / "keypoints/soccer-1.npy", keypoints)

    report = add_poses(tmp_path / "set", "arrays", tmp_path / "new", {"folder": str(tmp_path / "keypoints")})
    first, second = read_scenes(tmp_path / "new/scenes.jsonl")
    assert report.failures == {"not detected": 3}
    np.testing.assert_array_equal(first.keypoints, keypoints)
    assert second.player_keypoints is None
