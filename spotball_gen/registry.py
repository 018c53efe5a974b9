"""Finding a kind of a stage by its name, ours and other packages': the entry point group `spotball.stages`.

An entry's name is `STAGE.KIND`, such as `inpaint.telea`; it names the class that `spotball_gen.stage.Stage` describes,
or `spotball_gen.frames.FrameReader` for the stage `frames`.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spotball_core.errors import OptionError, SpotballError

GROUP = "spotball.stages"


def kinds(stage: str) -> tuple[str, ...]:
    """The kinds that there are of a stage, sorted."""
    prefix = f"{stage}."
    return tuple(sorted({e.name.removeprefix(prefix) for e in entry_points(group=GROUP) if e.name.startswith(prefix)}))


def find(stage: str, kind: str) -> Any:
    """The class of a kind of a stage.

    Raises:
        OptionError: for a kind that nobody has, that two packages have, or that cannot be loaded.
    """
    # One package may be found twice: installed, and in the folder that Python was started in.
    found = list({e.value: e for e in entry_points(group=GROUP, name=f"{stage}.{kind}")}.values())
    if not found:
        raise OptionError(f"there is no kind {kind!r} of the stage {stage}; there are {', '.join(kinds(stage))}")
    if len(found) > 1:
        raise OptionError(f"more than one package has {stage} {kind!r}: {', '.join(map(_where, found))}")
    try:
        return found[0].load()
    except SpotballError:
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise OptionError(f"{stage} {kind!r} ({_where(found[0])}) cannot be loaded: {told}") from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"
