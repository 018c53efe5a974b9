"""The study's own data, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="session")
def gaze_data() -> Path:
    """The published gaze data: $SPOTBALL_GAZE, or shared/data/gaze beside the checkout."""
    folder = Path(os.environ.get("SPOTBALL_GAZE", ROOT.parent / "shared/data/gaze"))
    if not (folder / "stimuli_main.csv").is_file():
        pytest.skip(f"the gaze study's data is not at {folder}; set SPOTBALL_GAZE to where it is")
    return folder
