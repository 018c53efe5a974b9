"""Make synthetic respondents that follow cues with known weights, to test the cue analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.baselines import drawn_responses
from spotball_core.cue_maps.registry import CUES, check_one_grid_shape, cue_scores
from spotball_core.errors import OptionError
from spotball_core.schema.checks import scene_records
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl


def cue_distributions(scenes: Sequence[Scene], weights: Mapping[str, float]) -> FloatArray:
    """Return the distributions over the cells of a respondent that follows cues with known weights.

    Args:
        scenes: scenes of one grid shape. Cues are standardized separately for each sport, as in `explain_cues`.
        weights: the standardized weight of each cue. Cues that are not listed have weight 0. Without weights, the
            distributions are uniform.

    Returns:
        Shape (n_scenes, n_cells); each row sums to 1.

    Raises:
        OptionError: if a cue is unknown, if `scenes` is empty, if a scene occurs twice, or if scenes have different
            grid shapes.

    Examples:
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> float(cue_distributions(synthetic_scenes(3), {})[0, 0] * 60)
        1.0
    """
    scenes = scene_records(scenes)
    if not scenes:
        raise OptionError("found none. Pass at least one scene", code="no-data", field="scenes")
    check_one_grid_shape(scenes)
    utility = np.zeros((len(scenes), scenes[0].layout.n_cells))
    for sport in dict.fromkeys(scene.sport for scene in scenes):
        places = [place for place, scene in enumerate(scenes) if scene.sport == sport]
        scores = cue_scores([scenes[place] for place in places], [*weights, *CUES])
        strengths = np.array([weights.get(cue.key, 0.0) for cue in scores.cues])
        utility[places] = scores.standardized() @ strengths
    mass = np.exp(utility - utility.max(axis=-1, keepdims=True))
    distributions: FloatArray = mass / mass.sum(axis=-1, keepdims=True)
    return distributions


def cue_responses(
    scenes: Sequence[Scene],
    respondents: Mapping[str, Mapping[str, float]],
    *,
    samples: int = 50,
    seed: int | np.random.Generator = 0,
) -> pl.DataFrame:
    """Draw answers of respondents that follow known cues, as rows with the columns of a responses file.

    Args:
        scenes: scenes of one grid shape.
        respondents: the standardized weights of the cues that each respondent follows, by the respondent's name.
        samples: number of answers per scene.
        seed: an integer of at least 0, or a Generator, from which one number is drawn.

    Returns:
        A frame with the same columns as `baseline_responses`. `kind` is "baseline".

    Raises:
        OptionError: if `cue_distributions` raises it, or if the seed is negative.

    Examples:
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> cue_responses(synthetic_scenes(3), {"a": {"center": 1.0}}, samples=2)["respondent"].to_list()
        ['a', 'a', 'a', 'a', 'a', 'a']
    """
    distributions = {name: cue_distributions(scenes, weights) for name, weights in respondents.items()}
    return drawn_responses(distributions, scenes, samples=samples, seed=seed)
