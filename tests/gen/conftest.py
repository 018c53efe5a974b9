"""Provide fixtures shared by the tests of dataset generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_gen.run import generate
from tests.gen.runs import install, write_config, write_videos


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the test stages as plugins, and return their folder for use by other processes."""
    folder = install(tmp_path / "plugins")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generate a dataset from three videos with the plain stages and the real artifact check."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(folder / "plugins"))
        write_videos(folder / "videos", {"a": 5, "b": 4, "c|d": 3})
        config = write_config(folder / "c.toml", check={"kind": "artifacts", "detect_again": False})
        config.write_text(config.read_text().replace('kind = "artifacts"', 'kind = "artifacts"\nplacements = 50'))
        generate(config, folder / "out")
    return folder / "out"
