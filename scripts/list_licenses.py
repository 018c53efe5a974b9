"""List the licenses of all dependencies of each extra in THIRD_PARTY_LICENSES.md; fail if one is unknown.

Licenses are those that the installed distributions state, as read by pip-licenses.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "THIRD_PARTY_LICENSES.md"
OWN = ("docs", "dev", "release")
"""Extras for development, which are not listed."""

FREE = (
    r"\bMIT\b|\bBSD\b|\b0BSD\b|Apache|\bISC\b|ISCL|Python Software Foundation|\bPSF\b|Python-2\.0|MPL|Mozilla|HPND|"
    r"Historical Permission|Unlicense|Public Domain|\bCC0\b|zlib|LGPL|Lesser General Public|BSL-1\.0"
)
"""Pattern of licenses that allow any use from MIT-licensed code."""

BY_HAND = {"agent-client-protocol": "Apache-2.0"}
"""Licenses of distributions that do not state one. They were read from the sources."""

_HEAD = """# Licenses of dependencies

What comes with spotball-core and each of its extras, directly or through something else, and under which license, as
each says it itself. Nothing of it is part of spotball-core, which is under the MIT license. Made by `make licenses`,
which stops at a license that is not known; `pip-licenses` tells those of what *you* have installed.

PyTorch from the package index brings NVIDIA's libraries on Linux, under NVIDIA's own license; its builds for the CPU do
not. Weights of models have licenses of their own: see [weights and models](docs/how-to/generation-models.md).

| Package | License | Comes with |
| --- | --- | --- |
"""


def brought(extra: str) -> set[str]:
    """Return the canonical names of the installed distributions that an extra needs.

    Args:
        extra: name of the extra. An empty name means the core.
    """
    found: set[str] = set()
    waiting = [("spotball-core", frozenset({extra}))]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(name))
        for text in requires:
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": one}) for one in extras or {""}):
                following = (need.name, frozenset(need.extras))
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
    return found - {"spotball-core"}


def extras() -> list[str]:
    """Return the names of the extras for users."""
    named: list[str] = distribution("spotball-core").metadata.get_all("Provides-Extra") or []
    return [extra for extra in named if extra not in OWN]


def licenses() -> dict[str, str]:
    """Return the stated license of each installed distribution, by canonical name."""
    command = [Path(sys.executable).parent / "pip-licenses", "--from=mixed", "--with-system", "--format=json"]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # Some distributions state the full text, whose first line is the name.
    stated = {canonicalize_name(one["Name"]): one["License"].strip().partition("\n")[0].strip() for one in said}
    return stated | BY_HAND


def rows() -> dict[str, tuple[str, str]]:
    """Return each distribution's license and the extras that need it, by name."""
    stated, core = licenses(), brought("")
    found: dict[str, list[str]] = {name: ["the core"] for name in core}
    for extra in extras():
        for name in brought(extra) - core:
            found.setdefault(name, []).append(f"`{extra}`")
    return {name: (stated.get(name, "UNKNOWN"), ", ".join(found[name])) for name in sorted(found)}


def unknown(of: dict[str, tuple[str, str]]) -> list[str]:
    """Return a message for each distribution whose license does not match `FREE`."""
    return [f"{name}: {said[:80]!r}" for name, (said, _) in of.items() if not re.search(FREE, said)]


if __name__ == "__main__":
    table = rows()
    if lines := unknown(table):
        sys.exit("licenses that are not known here; look, then add them to FREE or BY_HAND:\n" + "\n".join(lines))
    body = "".join(f"| {name} | {said} | {by} |\n" for name, (said, by) in table.items())
    PAGE.write_text(_HEAD + body, encoding="utf-8")
    print(f"{PAGE}: {len(table)} distributions")
