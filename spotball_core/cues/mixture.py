"""Explain a respondent's guesses as a mixture of baselines and people, fitted by maximum likelihood."""

from __future__ import annotations

import math

import numpy as np

from spotball_core.baselines import baseline_distributions
from spotball_core.cues.mixture_weights import fit_weights
from spotball_core.errors import OptionError
from spotball_core.metrics.inputs import ratio
from spotball_core.random import generator_for
from spotball_core.schema.report import MetricValue, Mixture
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.typing import FloatArray, IntArray

UNIFORM, PEOPLE, PRIOR = "uniform", "people", "prior"

BASELINE_OF = {
    UNIFORM: "uniform",
    "center": "center",
    "nearest-player": "nearest-player",
    "truth": "oracle",
    PRIOR: "prior",
}
"""The baseline that provides each part of the mixture. The part `people` uses the reference's guesses."""


def explain(scoring: Scoring, group: Group, *, bootstrap: int = 200, seed: int = 0) -> Mixture:
    r"""Fit a mixture of baselines and people to a group's guesses.

    $$\max_w \sum_{i,j} n_{ij} \log \sum_m w_m P_m(j \mid i), \quad w_m \ge 0,\ \sum_m w_m = 1$$

    where $n_{ij}$ is how often the group named cell j of image i. The parts m are `uniform`, `center`,
    `nearest-player`, `truth` (the ball's cells), `prior` (where the ball is in the sport's other images, without the
    image itself) and `people` (the reference's answers to the image). The reference's own mixture excludes `people`. No
    part uses the group's answers. The uniform part gives every cell some probability, so that every guess is possible
    and no smoothing is needed.

    Parts without an answer to any image (no player boxes, no reference) are excluded, and so is `prior` if it is
    uniform. Then images for which a part has no answer are excluded.

    Args:
        scoring: the scored groups.
        group: one of the scored groups.
        bootstrap: number of resamples of images for the weights' intervals; 0 for none.
        seed: seed of the resamples.

    Raises:
        OptionError: for a negative number of resamples, or a group without parsed answers to images for which all parts
            have an answer.

    Examples:
        >>> from spotball_core import ScorePolicy, baseline_responses, read_counts, synthetic_scenes
        >>> scenes = synthetic_scenes(30)
        >>> scoring = Scoring(read_counts(baseline_responses(scenes, ["center"]), scenes), scenes,
        ...                   ScorePolicy.standard())
        >>> found = explain(scoring, scoring.groups[0], bootstrap=0)
        >>> found.weights["center"].value > 0.9
        True
    """
    places = np.array(scoring.images(group), dtype=int)
    mass = scoring.estimator(group).answers.mass
    parts, notes = _parts(scoring, group, places)
    answered = mass.any(axis=-1)
    usable = np.all([np.isfinite(part).all(axis=-1) for part in parts.values()], axis=0) & answered
    if not usable.any():
        raise OptionError(
            f"{group.name}: no answered image has a distribution for all parts of the mixture ({', '.join(parts)}). "
            "Add the missing players, ball cells or answers of the reference",
            code="no-data",
        )
    if left := int((answered & ~usable).sum()):
        notes.append(
            f"{left} image{'s are' if left > 1 else ' is'} excluded, because not all parts of the mixture "
            f"have a distribution for {'them' if left > 1 else 'it'}"
        )
    # An outcome is a cell of an image. Cells that were never named do not affect the likelihood.
    image, cell = np.nonzero(mass * usable[:, None])
    counts = mass[image, cell]
    table = np.stack([part[image, cell] for part in parts.values()], axis=-1)
    weights, likelihood = _fit_subsets(counts, table)
    images, image = np.unique(image, return_inverse=True)
    intervals = _intervals(counts, table, image, weights, bootstrap, seed)
    return Mixture(
        group=group.name,
        sport=group.sport,
        respondent=group.respondent,
        prompt=group.prompt,
        n_images=len(images),
        n_answers=float(counts.sum()),
        weights={
            name: MetricValue(value=float(weight), ci95=interval)
            for name, weight, interval in zip(parts, weights, intervals, strict=True)
        },
        explained=_shapley(likelihood, [name for name in parts if name != UNIFORM]),
        log_likelihood=float(likelihood[-1]),
        log_likelihood_uniform=float(likelihood[0]),
        notes=tuple(notes),
        signature=f"{scoring.signature()}|mix-boot:{bootstrap}|mix-seed:{seed}",
    )


def _parts(scoring: Scoring, group: Group, places: IntArray) -> tuple[dict[str, FloatArray], list[str]]:
    """Return each part's distributions on the group's images (NaN where it has none), and notes on exclusions.

    The uniform part comes first.
    """
    scenes = scoring.arrays.scenes
    parts = {name: baseline_distributions(baseline, scenes)[places] for name, baseline in BASELINE_OF.items()}
    reference = scoring.reference_mass(places.tolist())
    if reference is not None and group.respondent != scoring.policy.reference:
        parts[PEOPLE] = ratio(reference, reference.sum(axis=-1, keepdims=True))
    notes = []
    for name, part in list(parts.items()):
        if not np.isfinite(part).any():
            notes.append(f"the part {name} is excluded, because it has no distribution for any of the images")
            del parts[name]
    if PRIOR in parts and np.allclose(parts[PRIOR], parts[UNIFORM]):
        notes.append(
            f"the part {PRIOR} is excluded, because no other image has a known ball position, so this part "
            "would be uniform"
        )
        del parts[PRIOR]
    return parts, notes


def _fit_subsets(counts: FloatArray, table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit the mixture of all parts, and compute the log likelihood of every subset that contains the uniform part.

    Returns:
        Weights, shape (n_parts,), and log likelihoods, shape (2 ** (n_parts - 1),). Bit k of a log likelihood's index
        states whether its subset includes part k + 1.
    """
    n_others = table.shape[-1] - 1
    subsets = np.arange(2**n_others)[:, None] >> np.arange(n_others) & 1
    allowed = np.concatenate([np.ones((len(subsets), 1), dtype=bool), subsets.astype(bool)], axis=-1)
    weights, likelihood = fit_weights(np.tile(counts, (len(subsets), 1)), table, allowed)
    return weights[-1], likelihood


def _shapley(likelihood: FloatArray, names: list[str]) -> dict[str, float]:
    """Return each part's share of the total gain, from the log likelihoods of all subsets of parts."""
    n, every = len(names), np.arange(len(likelihood))
    sizes = (every[:, None] >> np.arange(n) & 1).sum(axis=-1)
    values = {}
    for part, name in enumerate(names):
        without = every[every >> part & 1 == 0]
        orders = [math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in sizes[without]]
        values[name] = float(np.dot(orders, likelihood[without | 1 << part] - likelihood[without]))
    gain = float(likelihood[-1] - likelihood[0])
    return {name: value / gain if gain > 0 else 0.0 for name, value in values.items()}


def _intervals(
    counts: FloatArray, table: FloatArray, image: IntArray, weights: FloatArray, bootstrap: int, seed: int
) -> list[tuple[float, float] | None]:
    """Return each weight's interval from a bootstrap over images. The fits start from the weights of all images."""
    n_parts = table.shape[-1]
    if not bootstrap:
        return [None] * n_parts
    times = resample_weights(int(image.max()) + 1, bootstrap, generator_for(seed, "mixture"))
    resampled, _ = fit_weights(times[:, image] * counts, table, np.ones((bootstrap, n_parts), dtype=bool), weights)
    return [percentile_interval(of_part) for of_part in resampled.T]
