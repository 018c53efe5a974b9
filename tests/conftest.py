"""Define settings and fixtures for all tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.sharing import Prepared

THOROUGH = os.environ.get("SPOTBALL_TESTS") == "thorough"
"""Whether tests have their full size, as in `make test-all`. `make test` tries a quarter of Hypothesis's examples."""


def examples(thorough: int) -> int:
    """Return the number of examples to try for a property: `thorough` in `make test-all`, a quarter in `make test`."""
    return thorough if THOROUGH else max(thorough // 4, 5)


settings.register_profile(
    "project", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
# One failing example is enough to detect a mutant, so do not shrink it or reuse examples of other mutants.
settings.register_profile(
    "mutation", settings.get_profile("project"), phases=[Phase.explicit, Phase.generate], database=None
)
settings.load_profile("project")

ROOT = Path(__file__).parents[1]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C. Processes that tests start and then interrupt would also ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the documentation builds first, because they take minutes, in which the other workers can run other tests."""
    items.sort(key=lambda item: "docs" not in item.keywords)


_NO_DATA = "needs the published data in"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report in one line how many tests were skipped because the published data is missing, and how to run them."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
    if missing := [reason for reason in reasons if _NO_DATA in reason]:
        terminalreporter.write_line(
            f"{len(missing)} tests need the published data and were skipped. Put it in {ROOT.parent / 'shared/data'}, "
            "or set SPOTBALL_RELEASE, SPOTBALL_GROUND_TRUTH and SPOTBALL_GAZE to its folders."
        )


def _published(variable: str, name: str, *files: str) -> Path:
    """Return the folder that the variable names, or the one in shared/data. Skip the test if it is missing."""
    folder = Path(os.environ.get(variable, ROOT.parent / "shared/data" / name))
    if not all((folder / file).exists() for file in files):
        pytest.skip(f"{_NO_DATA} {folder}")
    return folder


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return the folders of the demo's dataset and of the demo's generated items, which take long to make."""
    return Prepared(tmp_path_factory)


@pytest.fixture(scope="session")
def real_release() -> Path:
    """Return the folder of the published release."""
    return _published("SPOTBALL_RELEASE", "spot-the-ball-release", "data")


@pytest.fixture(scope="session")
def other_ground_truth() -> dict[str, Path]:
    """Return the ground-truth files of basketball and volleyball, by sport."""
    names = {"basketball": "bb_gt.csv", "volleyball": "vball_gt.csv"}
    folder = _published("SPOTBALL_GROUND_TRUTH", "ground-truth", *names.values())
    return {sport: folder / name for sport, name in names.items()}


@pytest.fixture(scope="session")
def gaze_data() -> Path:
    """Return the folder of the published gaze data."""
    return _published("SPOTBALL_GAZE", "gaze", "stimuli_main.csv")
