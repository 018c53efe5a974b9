"""Connect Spot the Ball to models and people: providers, prompts, reply parsing, the runner and the human study."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spotball_adapters.replies import parse_reply

__all__ = ["parse_reply"]


def __getattr__(name: str) -> object:
    # Imported on first use: commands of other packages import this one and should start quickly.
    if name not in __all__:
        raise AttributeError(f"module 'spotball_adapters' has no attribute {name!r}")
    return getattr(importlib.import_module("spotball_adapters.replies"), name)
