from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.install.environments import Environment, good


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist of the checkout, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    good(sys.executable, "-m", "build", "--installer", "uv", "--outdir", folder)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """An environment with these extras, made once."""

    @cache
    def made(extras: str) -> Environment:
        return Environment.made(tmp_path_factory.mktemp("env") / "venv", wheel, extras)

    return made


@pytest.fixture(scope="session")
def demo(environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in, with the demo's dataset in `demo`, made by the core alone."""
    folder = tmp_path_factory.mktemp("work")
    done = environment("").spotball("demo", "--out", "demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "spotball|v:" in done.stdout
    # Pictures are an extra's; their absence is said, and is no failure.
    assert 'pip install "spotball-core[report]"' in done.stderr
    return folder
