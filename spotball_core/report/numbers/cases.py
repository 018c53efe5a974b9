"""Compute cases: a group's answers to one image, their distance from the reference, and their failure modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.metrics.alignment import wasserstein
from spotball_core.metrics.inputs import share, where_known
from spotball_core.metrics.registry import METRICS
from spotball_core.metrics.strategy import PAPER_WINDOW, normalized_entropy, window_mask
from spotball_core.report.numbers.records import FailureMode, in_words
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.text.numbers import window_words
from spotball_core.typing import BoolArray, FloatArray

HALF = 0.5
"""A failure mode needs at least this share of the guesses on an image near a player, or in the center window."""

SURE_SHARE = 0.1
"""A respondent is sure on an image if its guesses effectively spread over at most this share of the cells."""

RIGHT_SHARE = 0.1
"""A respondent is wrong on an image if less than this share of its guesses names a cell with the ball."""


def modes(scoring: Scoring) -> tuple[FailureMode, ...]:
    """Return the failure modes, as defined by a scoring's policy and grid."""
    policy = scoring.policy
    half, right = f"{HALF:.0%}", f"{RIGHT_SHARE:.0%}"
    near = f"at most {100 * policy.tau:g}% of the image's diagonal away from a player"
    reference = in_words(policy.reference or "", scoring.groups)
    far = (
        FailureMode(
            key="far",
            title=f"Far from {reference}, near a player",
            rule=f"the distance from {reference} is at least that of uniform guessing, and at least {half} of "
            f"the guesses are {near}",
        ),
    )
    center = (
        FailureMode(
            key="center",
            title="Near the center, but the ball is elsewhere",
            rule=f"at least {half} of the guesses are in the center window "
            f"({window_words(policy.window or PAPER_WINDOW)}), and none of the ball's cells is there",
        ),
    )
    sure = (
        FailureMode(
            key="sure",
            title="Low entropy and wrong",
            rule=f"the effective number of guessed cells (exponential of the entropy) is at most {SURE_SHARE:.0%} of "
            f"all cells, and less than {right} of the guesses name a cell with the ball",
        ),
    )
    return (far if policy.reference else ()) + (center if center_window(scoring) is not None else ()) + sure


@dataclass(frozen=True, slots=True)
class Case:
    """One group's answers to one image.

    Attributes:
        group: the group.
        scene: the image's position among the scenes.
        distance: Wasserstein distance to the reference on this image; NaN without a reference.
        uniform: Wasserstein distance of uniform guessing to the reference on this image; NaN without a reference.
        near: share of guesses near a player; NaN if the image has no player boxes.
        center: share of guesses in the center window; NaN if the grid has no center window.
        spread: effective number of guessed cells, which is the exponential of the guesses' entropy.
        right: share of guesses that name a cell with the ball; NaN if the ball's cells are not known.
        error: mean distance of the guesses from the nearest ball cell in pixels; NaN if the ball's cells are not known.
        mass: number of times each cell was named, shape (n_cells,).
        failures: keys of the failure modes that apply.
    """

    group: Group
    scene: int
    distance: float
    uniform: float
    near: float
    center: float
    spread: float
    right: float
    error: float
    mass: FloatArray
    failures: frozenset[str]


def cases(scoring: Scoring, groups: Sequence[Group]) -> list[Case]:
    """Return a case for each of these groups and each image that it answered, in the order of the groups.

    The reference has no cases. Images on which the distance to the reference is undefined have no cases either.
    """
    arrays = scoring.arrays
    uniform = uniform_distances(scoring)
    out = []
    for group in groups:
        estimator = scoring.estimator(group)
        places, mass = np.asarray(scoring.images(group), dtype=int), estimator.answers.mass
        if not len(places) or estimator.answers.is_reference:
            continue
        distances, enters = np.full(len(places), np.nan), mass.any(axis=-1)
        if estimator.answers.reference is not None:
            statistic = estimator.statistic(METRICS["wasserstein"], mass, estimator.answers.unparsed)
            assert statistic.values is not None  # It is a mean over images.
            distances, enters = statistic.values, statistic.enters
        window = center_window(scoring)
        has_truth = arrays.has_truth[places]
        near = where_known(share(mass, arrays.near[places]), arrays.has_players[places])
        center = share(mass, window) if window is not None else np.full(len(places), np.nan)
        ball_at_center = arrays.truth[places][:, window].any(axis=-1) if window is not None else np.zeros(len(places))
        spread = np.exp(normalized_entropy(mass) * np.log(mass.shape[-1]))
        right = where_known(share(mass, arrays.truth[places]), has_truth)
        errors = estimator.statistic(METRICS["euclidean_error"], mass, estimator.answers.unparsed).values
        assert errors is not None
        # A comparison with NaN (unknown) is false, so missing data is never a failure.
        failing = {
            "far": (distances >= uniform[places]) & (near >= HALF),
            "center": (center >= HALF) & has_truth & ~ball_at_center.astype(bool),
            "sure": (spread <= SURE_SHARE * mass.shape[-1]) & (right < RIGHT_SHARE),
        }
        for i in np.flatnonzero(enters):
            failures = frozenset(key for key, fails in failing.items() if fails[i])
            case = Case(
                group=group,
                scene=int(places[i]),
                distance=float(distances[i]),
                uniform=float(uniform[places[i]]),
                near=float(near[i]),
                center=float(center[i]),
                spread=float(spread[i]),
                right=float(right[i]),
                error=float(errors[i]),
                mass=mass[i],
                failures=failures,
            )
            out.append(case)
    return out


def uniform_distances(scoring: Scoring) -> FloatArray:
    """Return the Wasserstein distance of uniform guessing to the reference on each image, shape (n_scenes,).

    It is NaN for images without answers of the reference.
    """
    arrays, unit = scoring.arrays, scoring.policy.wasserstein_unit
    mass = scoring.reference_mass(range(len(arrays.keys)))
    out = np.full(len(arrays.keys), np.nan)
    if mass is None:
        return out
    for number in np.unique(arrays.grid_of):
        places = np.flatnonzero(arrays.grid_of == number)
        out[places] = wasserstein(np.ones(mass.shape[-1]), mass[places], unit=unit, grid=arrays.grids[number])
    return out


def center_window(scoring: Scoring) -> BoolArray | None:
    """Return which cells are in the center window, shape (n_cells,); None if the grid has no center window."""
    try:
        return window_mask(scoring.arrays.grids[0], scoring.policy.window)
    except OptionError:
        return None


def ranked(some: Sequence[Case]) -> list[Case]:
    """Return the cases sorted by their distance to the reference, largest first; ties keep their order."""
    return sorted(some, key=lambda case: -case.distance)
