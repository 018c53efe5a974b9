"""Compute scoring rules, which rate the whole distribution of guesses and not only its mode (beyond the paper).

If the ball spans several cells, the outcome is the uniform distribution q over these cells. For all rules, lower is
better. Arrays have the cells on the last axis, and guesses are counts or probabilities. Unparsed answers are excluded.
"""

from __future__ import annotations

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import (
    AnyArray,
    Guesses,
    Truth,
    arguments,
    ratio,
    unwrap,
    where_known,
)
from spotball_core.metrics.matched import EXTRAPOLATED, FEW, matched
from spotball_core.metrics.metric import metric
from spotball_core.typing import BoolArray, FloatArray


@metric(
    title="Log score",
    symbol="LS",
    unit="nats",
    direction="lower",
    needs=("truth",),
    family="scoring rules",
    by_size=True,
    options=lambda data: {"smoothing": data.options.log_smoothing},
)
def log_score(guesses: Guesses, truth: Truth, *, smoothing: float = 0.01, grid: Grid | None = None) -> FloatArray:
    r"""Compute the negative log of the probability that the guesses give to the ball's cells, in nats.

    $$-\log \sum_{g \in \mathcal{G}} \big[(1 - \varepsilon)\, p_g + \varepsilon / n\big]$$

    with n the number of cells. A respondent that never named a ball cell would have an infinite score, so a uniform
    distribution is mixed in with weight $\varepsilon$, the smoothing. The mixture depends on the distribution alone,
    not on the number of answers.

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        smoothing: weight of the uniform distribution, in (0, 1].
        grid: needed for labels of a grid that differs from the scene's and the paper's.

    Returns:
        Shape (...), in [0, log(n / smoothing)], lower is better. NaN without parsed answers, or if the truth is not
        known.

    Raises:
        OptionError: for a smoothing outside (0, 1].
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> round(float(log_score(["D5", "E6"], "E6")), 4)  # -log(0.99 * 0.5 + 0.01 / 60)
        0.7029
    """
    if not 0 < smoothing <= 1:
        raise OptionError(f"found {smoothing}, expected more than 0 and at most 1", field="smoothing")
    given = arguments(guesses, truth, grid)
    p, mask = _shares(given.mass), given.truth
    known = mask.any(axis=-1)
    probability = np.where(mask, (1 - smoothing) * p + smoothing / p.shape[-1], 0.0).sum(axis=-1)
    return where_known(-np.log(np.where(known, np.minimum(probability, 1.0), 1.0)) + 0.0, known)


log_score_matched = matched(log_score, by=FEW)
"""Compute `log_score` from 8 random responses per image, independent of the number of responses.

Arguments: those of `log_score`, and `seed` and `draws` of the random draws. NaN with fewer than 8
responses.
"""


@metric(
    title="Brier score",
    symbol="BS",
    unit="none",
    direction="lower",
    needs=("truth",),
    family="scoring rules",
    highest=2.0,
    by_size=True,
)
def brier_score(guesses: Guesses, truth: Truth, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the squared distance between the guesses' probabilities and the ball's: $\sum_j (p_j - q_j)^2$.

    It ignores distance: a guess one cell off costs as much as one across the image (unlike in `energy_score`).

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        grid: needed for labels of a grid that differs from the scene's and the paper's.

    Returns:
        Shape (...), in [0, 2], lower is better; 0 for guesses spread evenly over the ball's cells only. NaN without
        parsed answers, or if the truth is not known.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(brier_score(["D5", "E6"], "E6"))  # 0.5 ** 2 + 0.5 ** 2
        0.5
    """
    given = arguments(guesses, truth, grid)
    return unwrap(((_shares(given.mass) - _shares(given.truth)) ** 2).sum(axis=-1))


brier_score_matched = matched(brier_score, by=EXTRAPOLATED)
"""Estimate `brier_score` of each image, independent of the number of responses.

Arguments: those of `brier_score`, and `seed` and `draws` of the random splits into halves. NaN with fewer than 2
responses.
"""


@metric(
    title="Energy score",
    symbol="ES",
    unit="px",
    direction="lower",
    needs=("truth",),
    family="scoring rules",
    by_size=True,
    options=lambda data: {"grid": data.grid},
)
def energy_score(guesses: Guesses, truth: Truth, *, grid: Grid | None = None) -> FloatArray:
    r"""Compute the mean distance of guesses to the ball minus half their mean distance to each other, in pixels.

    $$E\lVert X - Y \rVert - \tfrac12 E\lVert X - X' \rVert$$

    with X and X' drawn from the guesses, and Y from the ball's cells. This is a proper scoring rule: it rewards guesses
    near the ball and an honest spread under uncertainty (Gneiting and Raftery 2007, section 4.2).

    Args:
        guesses: labels, or one count or probability per cell; for several images, a list or an array (..., n_cells).
        truth: a label, a set of labels, a Scene, or true/false per cell; for several images, a list or an array.
        grid: the grid (default: the scene's, else the paper's).

    Returns:
        Shape (...), in [0, diagonal], lower is better. NaN without parsed answers, or if the truth is not known.

    Raises:
        DistributionError: for mass that is negative, not finite or of the wrong length.
        GridError: for a label outside the grid.

    Examples:
        >>> float(energy_score(["D5", "D6"], "D5"))  # half of 64 pixels, less half of half of 64 pixels
        16.0
    """
    return arguments(guesses, truth, grid, in_pixels=True).each(_energy)


energy_score_matched = matched(energy_score, by=EXTRAPOLATED)
"""Estimate `energy_score` of each image, independent of the number of responses.

Arguments: those of `energy_score`, and `seed` and `draws` of the random splits into halves. NaN with fewer than 2
responses.
"""


def _energy(mass: FloatArray, mask: BoolArray, grid: Grid) -> FloatArray:
    p = _shares(mass)
    spread = grid.distance_sums(p)
    energy: FloatArray = np.einsum("...c,...c->...", spread, _shares(mask)) - np.einsum("...c,...c->...", spread, p) / 2
    return energy


def _shares(mass: AnyArray) -> FloatArray:
    return ratio(mass, mass.sum(axis=-1, keepdims=True))
