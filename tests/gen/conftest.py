"""Provide fixtures shared by the tests of dataset generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_gen.dataset import card
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.run import generate
from tests.gen.runs import install, write_config, write_videos


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the test stages as plugins, and return their folder for use by other processes."""
    folder = install(tmp_path / "plugins")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def short_leak_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use few permutations for the leak tests in the cards of generated datasets, which otherwise take long."""
    monkeypatch.setattr(card, "PERMUTATIONS", 20)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a dataset from three videos with the plain stages and the real artifact check."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(folder / "plugins"))
        write_videos(folder / "videos", {"a": 5, "b": 4, "c|d": 3})
        check = {"kind": "artifacts", "detect_again": False, "placements": 50}
        generate(write_config(folder / "c.toml", check=check), folder / "out")
    return folder / "out"


@pytest.fixture(scope="session")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export the dataset in every format, and in COCO also with the ball."""
    folder = tmp_path_factory.mktemp("exported")
    for name in (*FORMATS, "coco-with-ball"):
        format, with_ball, _ = name.partition("-with-ball")
        assert export(made, format, folder / name, with_ball=bool(with_ball)) == 12
    return folder
