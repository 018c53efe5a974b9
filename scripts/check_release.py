"""Check that a tag, the built distributions, the changelog and the citation have the same version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return a message for each part that does not have the tag's version.

    Args:
        tag: a tag such as v1.2.3.
        root: the checkout, with the distributions in `dist`.
    """
    found = re.fullmatch(r"v(\d+\.\d+\.\d+((a|b|rc)\d+)?)", tag)
    if not found:
        return [f"the tag {tag!r} is none of a release, such as v1.2.3 or v1.2.3rc1"]
    version = found[1]
    built = sorted(path.name for path in (root / "dist").glob("spotball_core-*"))
    expected = [f"spotball_core-{version}-py3-none-any.whl", f"spotball_core-{version}.tar.gz"]
    told = [] if built == expected else [f"dist holds {', '.join(built) or 'nothing'}, not {' and '.join(expected)}"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (.*)$", changelog, re.MULTILINE)
    if not heading or not re.fullmatch(rf"{re.escape(version)}( \(\d{{4}}-\d\d-\d\d\))?", heading[1]):
        told.append(f"CHANGELOG.md begins with {heading[1] if heading else 'no version'!r}, not {version} (date)")
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if not cited or cited[1] != version:
        told.append(f"CITATION.cff says {cited[1] if cited else 'no version'!r}, not {version}")
    return told


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make check-release TAG=v1.2.3")
    if lines := problems(sys.argv[1]):
        sys.exit("\n".join(lines))
