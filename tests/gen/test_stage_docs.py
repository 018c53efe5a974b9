"""Test that the stage from the how-to works unchanged, together with the stages of this package."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.gen.runs import install, query, run_process, write_config, write_videos
from tests.packages import install_package

PAGE = (ROOT / "docs/how-to/own-stage.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}(?: title=\S+)?\n(.*?)```", PAGE, re.DOTALL)


def packages(folder: Path) -> Path:
    """Install the test stages and the stage from the page as a package would."""
    (code,), (entry, _) = shown("python"), shown("toml")
    (group, points), *_ = tomllib.loads(entry)["project"]["entry-points"].items()
    return install(install_package(folder, "daylight", group, points, daylight=code))


@pytest.mark.slow
def test_stage_from_the_how_to_keeps_light_and_rejects_dark_frames_and_invalid_settings(tmp_path: Path) -> None:
    plugins = packages(tmp_path / "packages")
    settings = tomllib.loads(shown("toml")[1])["filter"]
    write_videos(tmp_path / "videos", {"match": 4})

    def run(name: str, **changed: Any) -> subprocess.CompletedProcess[str]:
        config = write_config(tmp_path / f"{name}.toml", filter={**settings, **changed})
        return run_process(config, tmp_path / name, plugins)

    done = run("light")
    assert done.returncode == 0, done.stderr
    kept = query(tmp_path / "light", "SELECT count(*) FROM results WHERE stage = 'filter' AND outcome = 'kept'")
    assert kept == [(4,)]
    assert run("dark", min_brightness=255).returncode == 1
    rejects = query(tmp_path / "dark", "SELECT reason, detail FROM results WHERE stage = 'filter'")
    assert [reason for reason, _ in rejects] == ["dark"] * 4
    assert all(re.fullmatch(r"brightness [\d.]+, at least 255", detail) for _, detail in rejects)
    done = run("wrong", min_brightness=300, darkness=1)
    assert done.returncode == 2
    assert "min_brightness" in done.stderr
    assert "darkness" in done.stderr
    assert not list(tmp_path.glob("wrong/*"))
