"""Find the class of a stage's kind by name, in this package or in others (entry point group `spotball.stages`).

An entry's name is `STAGE.KIND`, such as `inpaint.telea`. Its value is a class that implements
`spotball_gen.items.stage.Stage`, or `spotball_gen.items.frames.FrameReader` for the stage `frames`.
"""

from __future__ import annotations

from typing import Any

from spotball_core.service.plugins import load_registered, registered_names

GROUP = "spotball.stages"


def kinds(stage: str) -> tuple[str, ...]:
    """Return the sorted names of the installed kinds of a stage."""
    return registered_names(GROUP, f"{stage}.")


def find(stage: str, kind: str) -> Any:
    """Return the class of a stage's kind.

    Raises:
        OptionError: if the kind is unknown, if two packages define it, or if it cannot be loaded.
    """
    return load_registered(GROUP, f"kind of the stage {stage}", kind, prefix=f"{stage}.")
