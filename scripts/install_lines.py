"""Write the install lines in README, documentation and notebooks, as `spotball_core.version.PACKAGE` states.

Run this after a change of `PACKAGE`. A test fails if a line differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from spotball_core.version import PACKAGE

ROOT = Path(__file__).resolve().parents[1]

_LINE = re.compile(
    r"""(pip install \\?["'])(?:spotball-core|\.)(?=\[[a-z,]+\]\\?["'])"""
    r"""|(pip install )(?:spotball-core(?![\w\[])|\.(?=[`\n]))"""
)
"""An install line with extras, in which quotes may be escaped as in JSON, or without extras."""


def changed_files() -> Iterator[tuple[Path, str]]:
    """Yield the files with other install lines, each with its right content."""
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("notebooks/*.ipynb"))):
        text = path.read_text(encoding="utf-8")
        right = _LINE.sub(lambda match: f"{match[1] or match[2]}{PACKAGE}", text)
        if right != text:
            yield path, right


if __name__ == "__main__":
    for path, right in changed_files():
        path.write_text(right, encoding="utf-8", newline="\n")
        print(f"wrote {path.relative_to(ROOT)}")
