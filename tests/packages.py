"""Create packages that Python finds as installed when their folder is on its path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install_package(folder: Path, name: str, group: str, entries: Mapping[str, str], **modules: str) -> Path:
    """Write a package that registers entry points, and return its folder.

    Args:
        folder: the folder of the package. It is created if it does not exist.
        name: the name of the package.
        group: the group of its entry points.
        entries: targets such as `module:object`, by name.
        modules: the code of each module, by module name.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "".join(f"{entry} = {target}\n" for entry, target in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)
    return folder
