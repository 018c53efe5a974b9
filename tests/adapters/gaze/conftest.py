"""Provide fixtures for the tests of gaze."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def paper() -> str:
    """Return the text of the paper from $SPOTBALL_GAZE_PAPER or ../shared/papers/gaze-head-orientation.txt."""
    path = Path(os.environ.get("SPOTBALL_GAZE_PAPER", ROOT.parent / "shared/papers/gaze-head-orientation.txt"))
    if not path.is_file():
        pytest.skip(f"the paper is not at {path}; set SPOTBALL_GAZE_PAPER to where it is")
    return path.read_text(encoding="utf-8")
