"""Measure the coverage of 95% intervals: how often they contain the mean value over benchmarks of the same size.

Writes docs/assets/interval-coverage.json, which the documentation shows. All data is synthetic: benchmarks of 20, 50
and 150 images are sampled from a large set of synthetic scenes, and two kinds of respondents answer them 20 times per
image. The value that an interval should contain is a metric's mean over all simulated benchmarks of the same size.

    python benchmarks/interval_coverage.py [--simulations 1000] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from spotball_core import __version__
from spotball_core.baselines import baseline_distributions
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring.estimates import Answers, Estimator, SceneArrays
from spotball_core.service.files import replacing
from spotball_core.synthetic.scenes import synthetic_scenes
from spotball_core.typing import FloatArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/interval-coverage.json"
SIZES = (20, 50, 150)
SCENES = 1500
"""Number of scenes from which benchmarks are sampled. Images of a benchmark may repeat."""

SAMPLES, REFERENCE_SAMPLES, UNPARSED = 20, 150, 0.02
RESPONDENTS = {
    "like people": {"oracle": 0.2, "nearest-player": 0.5, "prior": 0.3},
    "biased to the center": {"oracle": 0.05, "center": 0.75, "uniform": 0.2},
}
REFERENCE = {"oracle": 0.3, "nearest-player": 0.5, "prior": 0.1, "center": 0.1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    scenes = [scene for scene in synthetic_scenes(4 * SCENES, seed=options.seed) if not scene.control][::3][:SCENES]
    policy = ScorePolicy.standard(reference="people")
    arrays = SceneArrays(scenes, tau=policy.tau, theta=policy.theta)
    parts = {name: baseline_distributions(name, scenes) for name in ("oracle", "nearest-player", "prior", "center")}
    parts["uniform"] = np.full_like(parts["center"], 1 / parts["center"].shape[-1])
    people = individual(mixed(parts, REFERENCE), np.random.default_rng([options.seed, 1]))
    content = {
        "version": str(__version__),
        "seed": options.seed,
        "simulations": options.simulations,
        "samples": SAMPLES,
        "reference_samples": REFERENCE_SAMPLES,
        "coverage": {
            name: {
                size: coverage(
                    arrays,
                    individual(mixed(parts, weights), np.random.default_rng([options.seed, 2])),
                    people,
                    policy,
                    size,
                    options.simulations,
                    options.seed,
                )
                for size in SIZES
            }
            for name, weights in RESPONDENTS.items()
        },
    }
    with replacing(options.out) as path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def mixed(parts: dict[str, FloatArray], weights: dict[str, float]) -> FloatArray:
    """Return a mixture of the baselines' distributions, shape (n_scenes, n_cells)."""
    total = sum(weight * np.nan_to_num(parts[name]) for name, weight in weights.items())
    mixture: FloatArray = total / total.sum(axis=-1, keepdims=True)
    return mixture


def individual(distributions: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Return the distributions multiplied by random weights per cell, so that answers differ between images."""
    weighted = distributions * generator.gamma(0.5, size=distributions.shape)
    own: FloatArray = weighted / weighted.sum(axis=-1, keepdims=True)
    return own


def coverage(
    arrays: SceneArrays,
    respondent: FloatArray,
    people: FloatArray,
    policy: ScorePolicy,
    size: int,
    simulations: int,
    seed: int,
) -> dict[str, dict[str, float]]:
    """Return for each metric the mean over benchmarks, the share of intervals that contain it, and their mean width."""
    values, ends = defaultdict(list), defaultdict(list)
    for number in range(simulations):
        generator = np.random.default_rng([seed, size, number])
        here = generator.integers(len(arrays.scenes), size=size)
        unparsed = generator.binomial(SAMPLES, UNPARSED, size=size)
        answers = Answers(
            mass=generator.multinomial(SAMPLES - unparsed, respondent[here]).astype(float),
            unparsed=unparsed.astype(float),
            reference=generator.multinomial(REFERENCE_SAMPLES, people[here]).astype(float),
            is_reference=False,
            compared=np.ones(size, dtype=bool),
            people=None,
        )
        for key, found in Estimator(arrays, here, answers, policy).estimates(METRICS.values()).items():
            if found.value is not None and found.ci95 is not None:
                values[key].append(found.value)
                ends[key].append(found.ci95)
    out = {}
    for key in values:
        target, (low, high) = float(np.mean(values[key])), np.transpose(ends[key])
        out[key] = {
            "value": target,
            "coverage": float(((low <= target) & (target <= high)).mean()),
            "width": float((high - low).mean()),
            "outside": int(((low > values[key]) | (high < values[key])).sum()),
        }
    return out


if __name__ == "__main__":
    main()
