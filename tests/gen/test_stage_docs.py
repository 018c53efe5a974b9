"""Test that the stage from the how-to works unchanged, together with the stages of this package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

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
def test_stage_from_the_how_to_keeps_light_and_rejects_dark_frames(tmp_path: Path) -> None:
    plugins = packages(tmp_path / "packages")
    settings = tomllib.loads(shown("toml")[1])["filter"]
    write_videos(tmp_path / "videos", {"match": 4})

    config = write_config(tmp_path / "light.toml", filter=settings)
    done = run_process(config, tmp_path / "light", plugins)
    assert done.returncode == 0, done.stderr
    (kept,) = query(tmp_path / "light", "SELECT count(*) FROM results WHERE stage = 'filter' AND outcome = 'kept'")
    assert kept[0] == 4

    config = write_config(tmp_path / "dark.toml", filter={**settings, "min_brightness": 255})
    done = run_process(config, tmp_path / "dark", plugins)
    assert done.returncode == 1
    rejects = query(tmp_path / "dark", "SELECT reason, detail FROM results WHERE stage = 'filter'")
    assert {reason for reason, _ in rejects} == {"dark"}
    assert len(rejects) == 4
    assert all(re.fullmatch(r"brightness [\d.]+, at least 255", detail) for _, detail in rejects)


@pytest.mark.slow
def test_invalid_setting_of_the_how_to_stage_is_an_error_before_any_output(tmp_path: Path) -> None:
    plugins = packages(tmp_path / "packages")
    write_videos(tmp_path / "videos", {"match": 1})
    config = write_config(tmp_path / "wrong.toml", filter={"kind": "daylight", "min_brightness": 300, "darkness": 1})
    done = run_process(config, tmp_path / "out", plugins)
    assert done.returncode == 2
    assert "min_brightness" in done.stderr
    assert "darkness" in done.stderr
    assert not list(tmp_path.glob("out/*"))
