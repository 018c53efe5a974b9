"""What all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

THOROUGH = os.environ.get("SPOTBALL_TESTS") == "thorough"
"""Whether tests have their full size, as in `make test-all`; in `make test`, Hypothesis tries a quarter of it."""


def examples(thorough: int) -> int:
    """Return the number of examples of a property for which `make test-all` tries `thorough` examples."""
    return thorough if THOROUGH else max(thorough // 4, 5)


settings.register_profile(
    "project", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
# A mutant needs one failing example, not the simplest one, and none from another mutant.
settings.register_profile(
    "mutation", settings.get_profile("project"), phases=[Phase.explicit, Phase.generate], database=None
)
settings.load_profile("project")

ROOT = Path(__file__).parents[1]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # What a shell starts in the background ignores Ctrl-C, and so would all that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First what builds the documentation, which takes minutes: at the end, one worker alone would be at it."""
    items.sort(key=lambda item: "docs" not in item.keywords)


@pytest.fixture(scope="session")
def real_release() -> Path:
    """The published release: $SPOTBALL_RELEASE, or shared/data/spot-the-ball-release beside the checkout."""
    folder = Path(os.environ.get("SPOTBALL_RELEASE", ROOT.parent / "shared/data/spot-the-ball-release"))
    if not (folder / "data").is_dir():
        pytest.skip(f"the published release is not at {folder}; set SPOTBALL_RELEASE to where it is")
    return folder


@pytest.fixture(scope="session")
def other_ground_truth() -> dict[str, Path]:
    """The release's ground truth of the other two sports: in $SPOTBALL_GROUND_TRUTH, or shared/data/ground-truth."""
    folder = Path(os.environ.get("SPOTBALL_GROUND_TRUTH", ROOT.parent / "shared/data/ground-truth"))
    files = {"basketball": folder / "bb_gt.csv", "volleyball": folder / "vball_gt.csv"}
    if missing := [str(path) for path in files.values() if not path.is_file()]:
        pytest.skip(f"not there: {', '.join(missing)}; set SPOTBALL_GROUND_TRUTH to their folder")
    return files


@pytest.fixture(scope="session")
def gaze_data() -> Path:
    """The published gaze data: $SPOTBALL_GAZE, or shared/data/gaze beside the checkout."""
    folder = Path(os.environ.get("SPOTBALL_GAZE", ROOT.parent / "shared/data/gaze"))
    if not (folder / "stimuli_main.csv").is_file():
        pytest.skip(f"the gaze study's data is not at {folder}; set SPOTBALL_GAZE to where it is")
    return folder
