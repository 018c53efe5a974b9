"""Define a cue: a name, a description, and a function from scenes to a score for each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

CueFunction = Callable[[Sequence[Scene]], FloatArray]
"""Function from scenes of one grid shape to scores (n_scenes, n_cells). A row is NaN if the cue does not apply."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A property of scenes that may attract guesses.

    A respondent who follows the cue names cells with a higher score more often. Only differences between the cells of a
    scene matter: in the conditional logit, a constant added to all cells of a scene has no effect.

    Attributes:
        key: a unique key, such as `head`.
        title: the name in tables and figures.
        group: the cue's group. When a model's gain is divided among cues, all cues of a group are added or removed in
            one step.
        is_base: whether the cue describes only positions in the image and players' positions. Other cues describe
            players' bodies, and their gain over the base cues is reported.
        unit: unit of the score, before the model standardizes it.
        description: a description in one line.
        needs: what a scene must have for the cue to apply, in words.
        function: computes the scores. It receives all scenes, so a scene's score may depend on the other scenes, but it
            must not use the ball of the scene itself. It must be a module-level function, or a partial of one, because
            worker processes import it.
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
    """Return a `CueFunction` that calls `score` for each scene; `score` returns None if the cue does not apply."""

    return partial(_rows, score)


def _rows(score: Callable[[Scene], FloatArray | None], scenes: Sequence[Scene]) -> FloatArray:
    rows = np.full((len(scenes), scenes[0].layout.n_cells), np.nan)
    for place, scene in enumerate(scenes):
        row = score(scene)
        if row is not None:
            rows[place] = row
    return rows
