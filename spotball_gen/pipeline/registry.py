"""Finding a kind of a stage by its name, ours and other packages': the entry point group `spotball.stages`.

An entry's name is `STAGE.KIND`, such as `inpaint.telea`. It names the class that `spotball_gen.items.stage.Stage`
describes, or `spotball_gen.items.frames.VideoFrameReader` for the stage `frames`.
"""

from __future__ import annotations

from typing import Any

from spotball_core.service.plugins import load_registered, registered_names

GROUP = "spotball.stages"


def kinds(stage: str) -> tuple[str, ...]:
    """The kinds that there are of a stage, sorted."""
    return registered_names(GROUP, f"{stage}.")


def find(stage: str, kind: str) -> Any:
    """The class of a kind of a stage.

    Raises:
        OptionError: for a kind that nobody has, that two packages have, or that cannot be loaded.
    """
    return load_registered(GROUP, f"kind of the stage {stage}", kind, prefix=f"{stage}.")
