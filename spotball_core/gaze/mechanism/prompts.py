"""Estimate how a parameter of the cue model varies over prompts, with partial pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.gaze.mechanism.counts import count_choices
from spotball_core.gaze.mechanism.fitting import CueFit
from spotball_core.gaze.mechanism.likelihood import CueLikelihood
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl

_GRID: Final = np.linspace(-6, 6, 121)
_SMALLEST: Final = 1e-300
_SPREADS: Final = np.concatenate([[1e-3], np.geomspace(0.05, 4, 24)])


@dataclass(frozen=True)
class PromptSpread:
    """The distribution of a share (w or the lapse rate) over prompts.

    Attributes:
        spread: standard deviation of the share's log odds over prompts.
        by_prompt: each prompt's share, shrunk toward the mean of all prompts, more strongly for prompts with less
            information.
    """

    spread: float
    by_prompt: dict[str, float]


def prompt_spread(rows: pl.DataFrame, fitted: CueFit[CueLikelihood], index: int) -> PromptSpread | None:
    """Estimate how a parameter varies over prompts, with the other parameters fixed at the fit to all prompts.

    The model assumes that the log odds of the parameter are normally distributed over prompts. Their mean and standard
    deviation maximize the marginal likelihood. The value of each prompt is its posterior mean. The noise that
    trials with the same photo share is treated as independent between prompts.

    Args:
        rows: a respondent's trials.
        fitted: the fit to the trials of all prompts.
        index: index of w or the lapse rate in `PARAMETERS`.

    Returns:
        The distribution over prompts; None if there are fewer than three prompts.
    """
    prompts = rows["prompt_id"].unique().sort().to_list()
    if len(prompts) < 3:
        return None
    logs = []
    for prompt in prompts:
        of_prompt = rows.filter(prompt_id=prompt)
        logs.append(_log_likelihoods(of_prompt, fitted, index))
    spread, posterior = _pooled(np.stack(logs))
    shares = 1 / (1 + np.exp(-_GRID))
    return PromptSpread(spread, dict(zip(prompts, (posterior @ shares).tolist(), strict=True)))


def _log_likelihoods(rows: pl.DataFrame, fitted: CueFit[CueLikelihood], index: int) -> FloatArray:
    """Return the log likelihood of one prompt's trials at each value of the grid."""
    model = CueLikelihood(count_choices(rows), fitted.model.kernel)
    values = np.empty(len(_GRID))
    for place, odds in enumerate(_GRID):
        parameters = fitted.parameters.copy()
        parameters[index] = 1 / (1 + np.exp(-odds))
        values[place] = model.per_photo(parameters).sum()
    return values


def _pooled(logs: FloatArray) -> tuple[float, FloatArray]:
    """Return the most likely standard deviation over prompts, and each prompt's posterior over the grid."""
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    best = (-np.inf, 0.0, likelihoods)
    for spread in _SPREADS:
        away = (_GRID[:, None] - _GRID[None, :]) / max(spread, _GRID[1] - _GRID[0])
        prior = np.exp(-0.5 * away**2)
        prior /= prior.sum(axis=0)
        marginal = np.log(np.maximum(likelihoods @ prior, _SMALLEST)).sum(axis=0)
        mean = int(np.argmax(marginal))
        if marginal[mean] > best[0] + 1e-9:
            posterior = likelihoods * prior[:, mean]
            best = (float(marginal[mean]), float(spread), posterior / posterior.sum(axis=1, keepdims=True))
    return best[1], best[2]
