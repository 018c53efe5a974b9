"""Install the provider from the how-to as a separate package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.conftest import ROOT
from tests.packages import install_package

PAGE = ROOT / "docs" / "how-to" / "models.md"


def listing(language: str) -> str:
    """Return the first code block of the page in a language."""
    found = re.search(rf"```{language}(?: title=\S+)?\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, language
    return found[1]


def install(folder: Path) -> Path:
    """Install the provider into a folder; `find` finds it if the folder is on the Python path."""
    ((group, entries),) = tomllib.loads(listing("toml"))["project"]["entry-points"].items()
    return install_package(folder, "brightest", group, entries, brightest=listing("python"))
