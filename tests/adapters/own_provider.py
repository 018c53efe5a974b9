"""The provider that the how-to shows, as a package of its own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.conftest import ROOT

PAGE = ROOT / "docs" / "how-to" / "own-provider.md"


def listing(language: str) -> str:
    """The page's first listing in a language."""
    found = re.search(rf"```{language}(?: title=\S+)?\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, language
    return found[1]


def install(folder: Path) -> Path:
    """A folder in which the provider counts as installed, once Python looks there."""
    ((group, entries),) = tomllib.loads(listing("toml"))["project"]["entry-points"].items()
    info = folder / "brightest-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brightest\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nbrightest = {entries['brightest']}\n")
    (folder / "brightest.py").write_text(listing("python"))
    return folder
