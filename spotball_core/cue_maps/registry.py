"""List all cues: built-in ones, and those that other packages register."""

from __future__ import annotations

from collections.abc import Mapping

from spotball_core.cue_maps import bodies, places
from spotball_core.cue_maps.cue import Cue, by_scene
from spotball_core.service.plugins import Registry

GROUP = "spotball.cues"
"""The entry point group under which other packages register cues."""

_ALL = (
    Cue(
        *("location", "Usual place of the ball", "place", True, "nats"),
        "smoothed log density of the ball's position in the sport's other images",
        "another image of the sport with a known ball position",
        places.location,
    ),
    Cue(
        *("center", "Image center", "place", True, "diagonals"),
        "distance from the image's center, times -1",
        "nothing",
        by_scene(places.center),
    ),
    Cue(
        *("players", "Players", "players", True, "diagonals"),
        "distance from the nearest player's box, times -1",
        "players",
        by_scene(places.players),
    ),
    Cue(
        *("feet", "Feet", "players", True, "diagonals"),
        "distance from the nearest foot, times -1",
        "players",
        by_scene(places.feet),
    ),
    Cue(
        *("head", "Head direction", "head", False, "people"),
        "how directly the heads point toward the cell",
        "a head with a detected nose and an ear or eye",
        by_scene(bodies.head),
    ),
    Cue(
        *("torso", "Torso orientation", "torso", False, "people"),
        "how directly the torsos point toward the cell",
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
        "share of people whose view of the cell is blocked by other players, times -1",
        "two players",
        by_scene(bodies.blocked),
    ),
)


CUES: Mapping[str, Cue] = Registry(GROUP, "cue", Cue, _ALL)
"""Every cue by key, base cues first; cues of other packages come last."""
