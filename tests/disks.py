"""Provide a small file system that tests can fill."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of the given size at the folder, or skip the test if mounting is not possible."""
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "spotball-test", str(folder)]
    mounted = subprocess.run(line, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
