"""What tests of generation share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gen.runs import install


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test stages, found here and by processes that are given this folder."""
    folder = install(tmp_path / "plugins")
    monkeypatch.syspath_prepend(folder)
    return folder
