"""Load the compiled solver of the Python Optimal Transport library (POT) without the rest of POT."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType

_NAME = "_spotball_pot"
"""Name of a package that takes the place of POT while the solver is loaded."""


def solver() -> ModuleType:
    """Return POT's compiled module `ot.lp.emd_wrap`.

    Importing POT takes more than a second, because it looks for every supported array library. The compiled module
    alone takes a millisecond.
    """
    alone = None if "ot" in sys.modules else _alone()
    if alone is not None:
        return alone
    from ot.lp import emd_wrap

    module: ModuleType = emd_wrap
    return module


@cache
def _alone() -> ModuleType | None:
    """Return the compiled module; None if it cannot be loaded alone, as in a version of POT with another layout."""
    places = None
    for name in ("ot", "lp"):
        package = find_spec(name) if places is None else PathFinder.find_spec(name, places)
        places = list(package.submodule_search_locations or ()) if package else []
    file = PathFinder.find_spec("emd_wrap", places)
    if file is None or file.origin is None:
        return None
    # The compiled module imports this function of POT, which only distances on a line with an unusual cost use.
    utils = ModuleType(f"{_NAME}.utils")
    utils.dist = _dist  # type: ignore[attr-defined]
    sys.modules |= {name: ModuleType(name) for name in (_NAME, f"{_NAME}.lp")} | {utils.__name__: utils}
    spec = spec_from_file_location(f"{_NAME}.lp.emd_wrap", file.origin)
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except (ImportError, RuntimeError):
        return None
    # It registers itself as a part of POT, which would then be incomplete if it is imported later.
    sys.modules.pop("ot.lp.emd_wrap", None)
    return module if hasattr(module, "emd_c") and hasattr(module, "check_result") else None


def _dist(*arguments: object, **options: object) -> object:
    from ot.utils import dist

    return dist(*arguments, **options)
