"""Analyze cues on real data for the documentation, and write docs/assets/cues.json.

The script needs the published release as a dataset with keypoints (`spotball import-release`, then `spotball cues
poses`). Run `python scripts/cue_results.py DATASET`, which takes a few minutes. The file contains only numbers, and no
photos or responses.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from spotball_core.baselines import baseline_responses, drawn_responses
from spotball_core.counting.counts import Counts
from spotball_core.counting.read import read_counts
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.cues.explanation import ImageSums, explain_cues
from spotball_core.cues.group_fit import BITS, folds_of
from spotball_core.cues.logit import RIDGE, ChoiceData, fit_logit, held_out_likelihood, log_probabilities
from spotball_core.schema import ScorePolicy
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.scoring.score import load_counts, score
from spotball_core.typing import BoolArray, FloatArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/cues.json"
REFERENCE = "human"
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
"""Weights of the body cues in simulated people, relative to the people in the study."""

SIZES = (50, 100, 200)
"""Numbers of images in simulated studies."""

SAMPLES = 150
"""Responses of baselines per image, as many as from people."""

HELD_OUT = "social, held out"

_LEAST = 0.002
"""Smallest probability of a cell for simulated people."""


def results(dataset: Path, *, mirrors: int, simulations: int) -> dict[str, Any]:
    """Return the report on all respondents, and the statistical power of simulated studies of people."""
    counts, scenes = load_counts([str(dataset)], None, participants=True)
    scoring = Scoring(counts, scenes, ScorePolicy.standard(reference=REFERENCE, bootstrap=5000))
    report = explain_cues(scoring, mirrors=mirrors)
    (people,) = (group for group in scoring.groups if group.respondent == REFERENCE)
    n_players = sum(len(scene.players or ()) for scene in scenes)
    n_poses = sum(pose is not None for scene in scenes for pose in scene.player_keypoints or ())
    ridges = {}
    for ridge in (1e-4, 1e-2, 0.1):
        found = explain_cues(scoring, ridge=ridge)
        ridges[str(ridge)] = {str(group.respondent): group.body_gain.value for group in found.groups}
    return {
        "report": json.loads(report.model_dump_json()),
        "n_players": n_players,
        "n_poses": n_poses,
        "body_gain_by_ridge": ridges,
        "distances": distances(scoring, people),
        "power": [
            {"strength": strength, "n_images": size, **power(scoring, people, strength, size, simulations)}
            for size in SIZES
            for strength in (STRENGTHS if size == SIZES[0] else STRENGTHS[1:3])
        ],
    }


def distances(scoring: Scoring, people: Group) -> dict[str, Any]:
    """Return the matched Wasserstein distance of each baseline to people.

    One of them is the social baseline with held-out weights.
    """
    scenes = [scoring.arrays.scenes[place] for place in scoring.images(people)]
    every = scoring.arrays.scenes
    rows = [baseline_responses(every, ["social", "prior", "center", "nearest-player"], samples=SAMPLES)]
    rows += [drawn_responses({HELD_OUT: _held_out_social(scoring, people)}, scenes, samples=SAMPLES, seed=0)]
    drawn = [read_counts(one, every, participants=False) for one in rows]
    counts = Counts.merge([scoring.counts.pooled(), *drawn])
    found = score(counts, every, reference=REFERENCE, bootstrap=1000)
    metrics = {str(group.respondent): group.metrics["wasserstein_matched"] for group in found.groups}
    return {name: {"value": one.value, "ci95": one.ci95} for name, one in metrics.items() if one.value is not None}


def _held_out_social(scoring: Scoring, people: Group) -> FloatArray:
    """Return the predictions for each image, with the weights of people fitted on the other images."""
    places = scoring.images(people)
    data = ChoiceData(cue_scores(scoring.arrays.scenes).standardized()[places], scoring.estimator(people).answers.mass)
    rows = []
    for place in range(len(places)):
        others = np.arange(len(places)) != place
        weights = fit_logit(ChoiceData(data.scores[others], data.counts[others])).weights
        rows.append(np.exp(log_probabilities(data.scores[[place]], weights)[0]))
    return np.stack(rows)


def power(scoring: Scoring, people: Group, strength: float, n_images: int, simulations: int) -> dict[str, float]:
    """Return how often a study of simulated people detects a gain from body cues, and the mean gain.

    Simulated people have the weights of real people, with those of body cues multiplied by `strength`. The part of the
    real guesses to an image that the model does not explain is added to the utilities of another, random image: it is
    as large and as smooth as in reality, but unrelated to the cues.
    """
    places = scoring.images(people)
    scores = cue_scores([scoring.arrays.scenes[place] for place in range(len(scoring.arrays.scenes))])
    is_body = np.array([not cue.is_base for cue in scores.cues])
    standardized = scores.standardized()[places]
    mass = scoring.estimator(people).answers.mass
    weights = fit_logit(ChoiceData(standardized, mass)).weights
    unexplained = _unexplained(standardized, mass, weights)
    scaled = np.where(is_body, strength * weights, weights)
    rng = np.random.default_rng([0, n_images, round(100 * strength)])
    found, gains = 0, []
    for number in range(simulations):
        images = rng.permutation(len(places)) if n_images == len(places) else rng.integers(0, len(places), n_images)
        shift = rng.integers(1, len(places), n_images)
        utility = standardized[images] @ scaled + unexplained[(images + shift) % len(places)]
        p = np.exp(utility - utility.max(axis=-1, keepdims=True))
        n_guesses = mass[images].sum(axis=-1).astype(int)
        drawn = rng.multinomial(n_guesses, p / p.sum(axis=-1, keepdims=True)).astype(float)
        gain = _body_gain(standardized[images], drawn, is_body)
        value = ImageSums(drawn.sum(axis=-1), 500, number).mean(gain)
        found += value.ci95 is not None and value.ci95[0] > 0
        gains.append(value.value or 0.0)
    return {"power": found / simulations, "gain": float(np.mean(gains)), "simulations": simulations}


def _unexplained(scores: FloatArray, mass: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the log ratio of people's shares to the model's probabilities, shape (n_images, n_cells)."""
    shares = mass / mass.sum(axis=-1, keepdims=True)
    smooth = (1 - _LEAST * shares.shape[-1]) * shares + _LEAST
    difference: FloatArray = np.log(smooth) - log_probabilities(scores, weights)
    return difference


def _body_gain(scores: FloatArray, mass: FloatArray, is_body: BoolArray) -> FloatArray:
    fold = folds_of(len(mass))
    whole = held_out_likelihood(ChoiceData(scores, mass), fold, ridge=RIDGE)
    base = held_out_likelihood(ChoiceData(scores[:, :, ~is_body], mass), fold, ridge=RIDGE)
    return BITS * (whole - base)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="a dataset folder with keypoints and people's responses")
    parser.add_argument("--mirrors", type=int, default=999)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    given = parser.parse_args()
    found = results(given.dataset, mirrors=given.mirrors, simulations=given.simulations)
    given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(given.out)


if __name__ == "__main__":
    main()
