"""Packages that count as installed once Python looks in their folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install_package(folder: Path, name: str, group: str, entries: Mapping[str, str], **modules: str) -> Path:
    """A folder with a package that registers entries.

    Args:
        folder: made if it is not there.
        name: the package's.
        group: of its entry points.
        entries: targets such as `module:object`, by name.
        modules: code, by the module's name.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{entry} = {target}\n" for entry, target in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)
    return folder
