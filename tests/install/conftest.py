from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from spotball_core.version import install_command
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from tests.install.environments import Environment, good


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an sdist of the checkout and a wheel from the sdist. Return their folder."""
    folder = tmp_path_factory.mktemp("dist")
    good(sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Return a function that creates an environment with the given extras, once per set of extras."""

    @cache
    def made(extras: str) -> Environment:
        return Environment.made(tmp_path_factory.mktemp("env") / "venv", wheel, extras)

    return made


@pytest.fixture(scope="session")
def demo(environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a work folder with a video, and the demo dataset in `demo`, created in an environment without extras."""
    folder = tmp_path_factory.mktemp("work")
    write_match(folder / "match.avi", "synthetic-soccer", (Shot("play", 8, 4),))
    source = 'sport = "synthetic-soccer"\npath = "match.avi"\nlicense = "synthetic"'
    (folder / "match.toml").write_text(f'[[sources]]\n{source}\n[detect]\nkind = "color"\n', encoding="utf-8")
    done = environment("").spotball("demo", "--out", "demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "spotball|v:" in done.stdout
    # Pictures need an extra. Without it, the command prints a hint and succeeds.
    assert install_command("report") in done.stderr
    return folder
