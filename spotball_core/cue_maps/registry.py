"""List all cues: built-in ones, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from spotball_core.cue_maps import bodies, places
from spotball_core.cue_maps.cue import Cue, by_scene
from spotball_core.errors import OptionError
from spotball_core.service.plugins import load_registered, registered_names

GROUP = "spotball.cues"
"""The entry point group under which other packages register cues."""

_ALL = (
    Cue(
        *("location", "Usual place of the ball", "place", True, "nats"),
        "smoothed log density of the ball's position in the sport's other images",
        "another image of the sport with a known ball",
        places.location,
    ),
    Cue(
        *("center", "Image center", "place", True, "diagonals"),
        "negative distance from the image's center",
        "nothing",
        by_scene(places.center),
    ),
    Cue(
        *("players", "Players", "players", True, "diagonals"),
        "negative distance from the nearest player's box",
        "players",
        by_scene(places.players),
    ),
    Cue(
        *("feet", "Feet", "players", True, "diagonals"),
        "negative distance from the nearest foot",
        "players",
        by_scene(places.feet),
    ),
    Cue(
        *("head", "Head direction", "head", False, "people"),
        "how well the directions of heads agree with the cell",
        "a head with a detected nose and an ear or eye",
        by_scene(bodies.head),
    ),
    Cue(
        *("torso", "Torso orientation", "torso", False, "people"),
        "how well the directions of torsos agree with the cell",
        "a torso with both shoulders and a hip detected",
        by_scene(bodies.torso),
    ),
    Cue(
        *("view", "Overlapping views", "view", False, "pairs of people"),
        "number of pairs of people who both look toward the cell",
        "two people whose head or torso direction is known",
        by_scene(bodies.view),
    ),
    Cue(
        *("limbs", "Limbs", "limbs", False, "limbs"),
        "number of limbs that reach or swing toward the cell",
        "a detected limb",
        by_scene(bodies.limbs),
    ),
    Cue(
        *("blocked", "Line of sight", "blocked", False, "share of people"),
        "negative share of people whose view of the cell other players block",
        "two players",
        by_scene(bodies.blocked),
    ),
)


class _Registry(Mapping[str, Cue]):
    """A read-only mapping. Cues of other packages are loaded when the registry is first used."""

    def __getitem__(self, key: str) -> Cue:
        return _registered()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_registered())

    def __len__(self) -> int:
        return len(_registered())


@cache
def _registered() -> Mapping[str, Cue]:
    """Return every cue by key; raise OptionError for an entry that is not a cue, or whose key is taken."""
    cues = {cue.key: cue for cue in _ALL}
    for name in registered_names(GROUP):
        cue = load_registered(GROUP, "cue", name)
        if not isinstance(cue, Cue):
            raise OptionError(f"the cue {name!r} is of type {type(cue).__name__}, expected spotball_core.Cue")
        if cue.key in cues:
            raise OptionError(f"the cue {name!r} has the key {cue.key!r}, which another cue already has")
        cues[cue.key] = cue
    return MappingProxyType(cues)


CUES: Mapping[str, Cue] = _Registry()
"""Every cue by key, base cues first; cues of other packages come last."""
