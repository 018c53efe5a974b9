"""A cue: a name, a description, and a function from scenes to a score for each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

CueFunction = Callable[[Sequence[Scene]], FloatArray]
"""From scenes of one grid shape to scores of shape (n_scenes, n_cells); a row of NaN where a cue does not apply."""


@dataclass(frozen=True, slots=True)
class Cue:
    """What in a scene may attract guesses.

    A higher score of a cell means that a respondent who follows the cue names this cell more often. Only differences
    within a scene matter: in the conditional logit, a constant added to all cells of a scene changes nothing.

    Attributes:
        key: unique, such as `head`.
        title: as tables and figures write it.
        group: cues of one group enter and leave a model together where shares of the gain are computed.
        is_base: whether it describes places and players only. Other cues describe what bodies do, and their gain is
            reported over that of the base cues.
        unit: of a score, before the model standardizes it.
        description: what it is, in one line.
        needs: what a scene must have for the cue to apply, in words.
        function: the scores. It gets all scenes, so that a scene's score may depend on the other scenes, but it must
            not use the ball of the scene itself. A function of a module, or a partial of one: processes load it.
    """

    key: str
    title: str
    group: str
    is_base: bool
    unit: str
    description: str
    needs: str
    function: CueFunction


def by_scene(score: Callable[[Scene], FloatArray | None]) -> CueFunction:
    """Return a cue's function, made from the score of a single scene; None where the cue does not apply."""

    return partial(_rows, score)


def _rows(score: Callable[[Scene], FloatArray | None], scenes: Sequence[Scene]) -> FloatArray:
    rows = np.full((len(scenes), scenes[0].layout.n_cells), np.nan)
    for place, scene in enumerate(scenes):
        row = score(scene)
        if row is not None:
            rows[place] = row
    return rows
