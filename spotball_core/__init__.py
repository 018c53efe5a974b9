"""spotball-core: metrics and scoring for Spot the Ball.

All public names can be imported from this package, except those for authors of metrics, cues and engines, which are in
`spotball_core.extend`. `__init__.pyi` lists the names. Their modules are loaded on first use, because some are slow to
import.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

_IMPORTS = re.compile(r"^from (\S+) import (\([^)]*\)|.*)$", re.MULTILINE)
_HOME_OF = {
    name: module
    for module, names in _IMPORTS.findall(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    for name in re.findall(r"(\w+) as", names)
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.import_module("spotball_core.version").version()
    if name not in _HOME_OF:
        from spotball_core.errors import did_you_mean

        raise AttributeError(f"module 'spotball_core' has no attribute {name!r}.{did_you_mean(name, __all__)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
