"""Provide the synthetic release, its replication, and that of the published release."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.replication import Replication, replicate
from tests.release_layout import write_release


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="session")
def found(release: Path) -> Replication:
    return replicate(release)


@pytest.fixture(scope="session")
def real(real_release: Path) -> Replication:
    return replicate(real_release)
