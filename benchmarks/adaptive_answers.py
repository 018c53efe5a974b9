"""Measure what `spotball run --adaptive` saves, and the bias of its estimate.

Writes docs/assets/adaptive-answers.json, which the documentation shows. All data is synthetic. The images are fixed,
and their answers are sampled again and again. The noise of an estimate is its variance over these samples.
The possible saving is the share of answers that the best allocation saves, computed from the true distributions. The
actual saving is the share that the rounds save for the same noise.

    python benchmarks/adaptive_answers.py [--runs 200] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from spotball_core import Grid, Scene, __version__
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.adaptive import allocation, combined, round_sizes
from spotball_core.planning.components import answer_scores
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring.estimates import Answers, Estimator, SceneArrays
from spotball_core.service.files import replacing
from spotball_core.typing import FloatArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/adaptive-answers.json"
GRID = Grid(4, 6, 240, 160)
IMAGES = 60
METRIC_KEYS, ANSWERS = ("accuracy", "euclidean_error"), (20, 50, 150)


@dataclass(frozen=True)
class Cell:
    """The results for one metric and number of answers; biases are in standard errors over the runs."""

    metric: str
    answers: int
    possible: float
    saved: float
    bias: float
    bias_of_plain_mean: float
    runs: int


class World:
    """Images with known distributions of answers."""

    def __init__(self, seed: int) -> None:
        generator = np.random.default_rng([seed, 1])
        truth = generator.integers(GRID.n_cells, size=IMAGES)
        self.arrays = SceneArrays(
            [
                Scene(sport="synthetic", image=str(image), grid=GRID, ball_cells=[GRID.label(int(cell))])
                for image, cell in enumerate(truth)
            ],
            tau=0.08,
            theta=0.02,
        )
        easy = generator.beta(0.4, 2.5, size=(IMAGES, 1))
        self.shares: FloatArray = easy * np.eye(GRID.n_cells)[truth] + (1 - easy) * generator.dirichlet(
            np.full(GRID.n_cells, 0.2), IMAGES
        )

    def estimator(self, mass: FloatArray) -> Estimator:
        """Return an estimator of answers to all images."""
        none, compared = np.zeros(IMAGES), np.zeros(IMAGES, dtype=bool)
        answers = Answers(mass, none, None, False, compared, None)
        return Estimator(self.arrays, np.arange(IMAGES), answers, ScorePolicy.standard(bootstrap=0))

    def cell(self, key: str, answers: int, runs: int, seed: int) -> Cell:
        """Simulate runs, and return their results."""
        metric, generator, sizes = METRICS[key], np.random.default_rng([seed, 2, answers]), round_sizes(answers)
        scores = answer_scores(self.estimator(self.shares), metric)
        assert scores is not None
        scores = scores[:, :-1]
        means = (self.shares * scores).sum(axis=1)
        variances = (self.shares * (scores - means[:, None]) ** 2).sum(axis=1)
        noise, estimates, plain = [], [], []
        for _ in range(runs):
            mass, values, variance = np.zeros_like(self.shares), [], np.zeros(IMAGES)
            for size in sizes:
                new = allocation(self.estimator(mass), metric, size) if mass.any() else np.full(IMAGES, size)
                drawn = generator.multinomial(new, self.shares).astype(float)
                mass += drawn
                values.append((drawn * scores).sum(axis=1) / new)
                variance += (size / answers) ** 2 * variances / new
            noise.append(variance.mean())
            estimates.append(combined(values, sizes).mean() - means.mean())
            plain.append(((mass * scores).sum(axis=1) / mass.sum(axis=1)).mean() - means.mean())
        saved = 1 - float(np.mean(noise) * answers / variances.mean())
        possible = 1 - np.sqrt(variances).mean() ** 2 / variances.mean()
        error = np.std(estimates, ddof=1) / runs**0.5
        biases = [float(np.mean(values) / error) for values in (estimates, plain)]
        return Cell(key, answers, float(possible), saved, *biases, runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    world, cells = World(options.seed), []
    for key in METRIC_KEYS:
        for answers in ANSWERS:
            cells.append(asdict(world.cell(key, answers, options.runs, options.seed)))
            print(cells[-1], flush=True)
    content = {"version": str(__version__), "seed": options.seed, "images": IMAGES, "cells": cells}
    with replacing(options.out) as path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
