"""List all cues, built-in ones and those that other packages register, and compute their scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.cue_maps import bodies, places
from spotball_core.cue_maps.cue import Cue, by_scene
from spotball_core.errors import OptionError, unknown_name
from spotball_core.schema.checks import scene_records
from spotball_core.schema.scene import Scene
from spotball_core.service.plugins import Registry
from spotball_core.typing import BoolArray, FloatArray

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


@dataclass(frozen=True, slots=True)
class CueScores:
    """The scores of cues on the cells of scenes.

    Attributes:
        cues: the cues.
        values: scores in the cues' units, shape (n_scenes, n_cells, n_cues); NaN if a cue does not apply.
    """

    cues: tuple[Cue, ...]
    values: FloatArray

    @property
    def applies(self) -> BoolArray:
        """Whether each cue applies to each scene, shape (n_scenes, n_cues)."""
        applies: BoolArray = np.isfinite(self.values[:, 0])
        return applies

    @property
    def scales(self) -> FloatArray:
        """The typical standard deviation of each cue over the cells of a scene, in its unit, shape (n_cues,).

        It is the root mean square over the scenes that the cue applies to; 0 for a cue that applies to no scene.
        """
        number = self.applies.sum(axis=0)
        variance = np.where(self.applies, np.nan_to_num(self.values.var(axis=1)), 0.0).sum(axis=0)
        scales: FloatArray = np.sqrt(variance / np.maximum(number, 1))
        return scales

    def centered(self) -> FloatArray:
        """Return scores with mean 0 over the cells of each scene, in the cues' units; 0 if a cue does not apply."""
        centered: FloatArray = np.nan_to_num(self.values - self.values.mean(axis=1, keepdims=True))
        return centered

    def standardized(self) -> FloatArray:
        """Return centered scores divided by the cues' scales, shape (n_scenes, n_cells, n_cues).

        A weight of 1 then means that a cell with a score one typical standard deviation higher is named e times as
        often. All scenes share a cue's scale, so a cue has small scores in a scene that reveals little about it (such
        as unreliable directions). Cues that apply to no scene have scores of 0.
        """
        scales = self.scales
        return self.centered() / np.where(scales > 0, scales, 1.0)


def check_one_grid_shape(scenes: Sequence[Scene]) -> None:
    """Raise OptionError if the grids of the scenes have different numbers of rows or columns."""
    shapes = sorted({(scene.grid.rows, scene.grid.cols) for scene in scenes})
    if len(shapes) > 1:
        raise OptionError(
            f"found grids of {', '.join(f'{r}x{c}' for r, c in shapes)} cells, expected grids of one shape. "
            "Pass the scenes of each shape separately",
            code="different-grids",
            field="scenes",
        )


def cue_scores(scenes: Sequence[Scene], keys: Iterable[str] | None = None) -> CueScores:
    """Compute the scores of cues on the cells of scenes.

    Args:
        scenes: scenes of one grid shape; their images may differ in size. `location` depends on all given scenes.
        keys: keys of cues from `CUES` (default: all).

    Raises:
        OptionError: for unknown cues, no scenes or cues, scenes that occur twice or have different grid shapes, or a
            cue whose scores have the wrong shape or are undefined for only some cells of a scene.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), players=[[64, 60, 128, 120]])
        >>> scores = cue_scores([scene], ["players", "head"])
        >>> scores.values.shape, scores.applies.tolist()
        ((1, 60, 2), [[True, False]])
    """
    scenes = scene_records(scenes)
    wanted = list(CUES) if keys is None else list(dict.fromkeys(keys))
    if unknown := [key for key in wanted if key not in CUES]:
        raise OptionError(unknown_name("cue", str(unknown[0]), CUES), code="unknown-name")
    if not scenes or not wanted:
        raise OptionError(f"{'cues' if scenes else 'scenes'}: found none, expected at least one", code="no-data")
    check_one_grid_shape(scenes)
    repeated = [key for key, n in Counter(scene.key for scene in scenes).items() if n > 1]
    if repeated:
        raise OptionError(
            f"found {'/'.join(repeated[0])} more than once. Pass each scene once", code="duplicate", field="scenes"
        )
    cues = tuple(CUES[key] for key in wanted)
    return CueScores(cues, np.stack([_checked(cue, scenes) for cue in cues], axis=-1))


def _checked(cue: Cue, scenes: Sequence[Scene]) -> FloatArray:
    values = np.asarray(cue.function(scenes), dtype=float)
    expected = (len(scenes), scenes[0].layout.n_cells)
    if values.shape != expected:
        raise OptionError(
            f"the cue {cue.key} returns scores of shape {values.shape}, expected {expected}: one score per scene and "
            "cell",
            code="wrong-shape",
        )
    if not (np.isfinite(values).all(axis=-1) | np.isnan(values).all(axis=-1)).all():
        raise OptionError(
            f"the cue {cue.key} returns NaN or infinity in some cells of a scene. Return a number for each cell, or "
            "NaN for all cells if the cue does not apply to the scene",
            code="invalid-value",
        )
    return values
