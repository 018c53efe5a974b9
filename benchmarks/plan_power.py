"""Measure whether `spotball plan` predicts how often `spotball compare` finds a difference.

Writes docs/assets/plan-power.json, which the documentation shows. All data is synthetic. Each cell of the grid is a
metric, an effect, and numbers of images and answers. Benchmarks are sampled from a population of images, and two
respondents answer each image. The observed power is the share of benchmarks whose permutation p value is at most the
level. The predicted power comes from the variance components of a large pilot from the same population, so that it has
no sampling error of its own. With the effect 0, both are the rate of false positives: the respondents of each image
are swapped at random, so that the mean difference of the finite population is exactly 0.

    python benchmarks/plan_power.py [--benchmarks 2000] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spotball_core import Grid, Scene, __version__
from spotball_core.comparison.pairs import MetricPair, pair_of
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.components import answered
from spotball_core.planning.design import Spread, paired
from spotball_core.planning.plan import least_answers
from spotball_core.schema.policy import ScorePolicy
from spotball_core.scoring.estimates import Answers, Estimator, SceneArrays
from spotball_core.service.files import replacing
from spotball_core.stats.permutation import Swaps
from spotball_core.typing import FloatArray, IntArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/plan-power.json"
GRID = Grid(4, 6, 240, 160)
POPULATION, PILOT, REFERENCE_ANSWERS = 3000, 40, 60
"""Number of images of the population, and numbers of answers per image in the large pilot and of the reference."""

PERMUTATIONS = 4999
SIZES = ((30, 10), (60, 1), (60, 5), (150, 5), (100, 20))
"""Numbers of images and answers."""

SHIFTS = (0.0, 0.06, 0.12, 0.2)
"""Shares of the second respondent's answers that are replaced by answers from the ball's cell, or of people."""

METRIC_KEYS = {"accuracy": 1, "euclidean_error": 1, "symmetric_center_bias": 1, "wasserstein_matched": 15}
"""Metrics with the number of tests for which p is corrected. False positives are measured without a correction."""

SLOW = "wasserstein_matched"
"""A metric that is measured on half as many benchmarks."""


@dataclass(frozen=True)
class World:
    """A population of images, with the distributions of the answers of people and of two respondents."""

    arrays: SceneArrays
    people: FloatArray
    a: FloatArray
    b: FloatArray

    @classmethod
    def made(cls, shift: float, toward: str, *, seed: int = 0, images: int = POPULATION) -> World:
        """Return a world in which b's answers are shifted toward the truth or toward people."""
        generator = np.random.default_rng([seed, 1])
        cells = generator.integers(GRID.n_cells, size=images)
        scenes = [
            Scene(sport="synthetic", image=str(image), grid=GRID, ball_cells=[GRID.label(int(cell))])
            for image, cell in enumerate(cells)
        ]
        truth = np.eye(GRID.n_cells)[cells]
        hard = generator.beta(0.6, 2.0, size=(images, 1))
        common = generator.dirichlet(np.full(GRID.n_cells, 0.4), images)
        people = hard * truth + (1 - hard) * generator.dirichlet(np.full(GRID.n_cells, 0.3), images)
        sides = []
        for own_shift in (0.0, shift):
            own = 0.5 * common + 0.5 * generator.dirichlet(np.full(GRID.n_cells, 0.3), images)
            own = 0.5 * hard * truth + (1 - 0.5 * hard) * own
            sides.append((1 - own_shift) * own + own_shift * (truth if toward == "truth" else people))
        return cls(SceneArrays(scenes, tau=0.08, theta=0.02), people, *sides)

    def answers(self, images: IntArray, n: int, generator: np.random.Generator) -> FloatArray:
        """Draw n answers of both respondents to these images, shape (2, n_images, n_cells)."""
        return np.stack([generator.multinomial(n, side[images]).astype(float) for side in (self.a, self.b)])

    def estimator(self, images: IntArray, mass: FloatArray, reference: FloatArray) -> Estimator:
        """Return an estimator of a respondent's answers to these images."""
        policy = ScorePolicy.standard(reference="people", bootstrap=0)
        compared, unparsed = np.ones(len(images), dtype=bool), np.zeros(len(images))
        return Estimator(self.arrays, images, Answers(mass, unparsed, reference, False, compared, None), policy)


def spread_of(world: World, key: str, alpha: float, seed: int) -> tuple[Spread, float]:
    """Return the variance components of a large pilot, and the true difference, from the distributions of answers."""
    generator = np.random.default_rng([seed, 2])
    images, metric = np.arange(len(world.people)), METRICS[key]
    mass = world.answers(images, PILOT, generator)
    reference = generator.multinomial(REFERENCE_ANSWERS, world.people).astype(float)
    a, b = (answered(world.estimator(images, side, reference), metric, generator) for side in mass)
    spread = paired(a, b).spread(people=0.0, least=least_answers(metric), alpha=alpha, power=0.8)
    true = [float(world.estimator(images, side, world.people).own(metric).total()) for side in (world.a, world.b)]
    return spread, true[0] - true[1]


def p_values(
    world: World, key: str, n_images: int, n_answers: int, benchmarks: int, seed: int, *, null: bool
) -> Iterator[float]:
    """Yield the p value of `compare` for each simulated benchmark; with `null`, the true difference is exactly 0."""
    generator = np.random.default_rng([seed, n_images, n_answers, 4])
    swaps = Swaps(n_images, PERMUTATIONS, seed)
    # Metrics of many benchmarks are computed at once: what an image adds to a metric does not depend on other images.
    for start in range(0, benchmarks, 50):
        images = generator.integers(len(world.people), size=min(50, benchmarks - start) * n_images)
        mass = world.answers(images, n_answers, generator)
        if null:
            mass = np.where(generator.integers(2, size=(len(images), 1)), mass[::-1], mass)
        reference = generator.multinomial(REFERENCE_ANSWERS, world.people[images]).astype(float)
        estimator = world.estimator(images, mass[0], reference)
        pair = pair_of(estimator, METRICS[key], mass, np.zeros(mass.shape[:2]))
        for first in range(0, len(images), n_images):
            own = slice(first, first + n_images)
            yield MetricPair(pair.sums[:, own], pair.swapped[:, own], pair.combine, pair.enters[own], None).p_value(
                swaps
            )


def cells(keys: dict[str, int], benchmarks: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield the predicted and the observed power of each cell of the grid."""
    for key, tests in keys.items():
        metric, alpha = METRICS[key], 0.05 / tests
        for shift in SHIFTS:
            world = World.made(shift, "people" if "reference" in metric.needs else "truth", seed=seed)
            spread, effect = spread_of(world, key, alpha, seed)
            effect = effect if shift else 0.0
            for n_images, n_answers in SIZES:
                if n_answers < spread.least:
                    continue
                level = alpha if shift else 0.05
                n = benchmarks // 2 if key == SLOW else benchmarks
                found = [p <= level for p in p_values(world, key, n_images, n_answers, n, seed, null=not shift)]
                predicted = replace(spread, alpha=level).power_at(effect, n_images, n_answers)
                cell = {"metric": key, "tests": tests, "shift": shift, "effect": effect, "images": n_images}
                observed = {"predicted": predicted, "observed": float(np.mean(found)), "benchmarks": n}
                yield {**cell, "answers": n_answers, **observed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=2000)
    parser.add_argument("--metrics", default=",".join(METRIC_KEYS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    rows = []
    keys = {key: METRIC_KEYS[key] for key in options.metrics.split(",")}
    for cell in cells(keys, options.benchmarks, options.seed):
        rows.append(cell)
        print({key: round(value, 3) if isinstance(value, float) else value for key, value in cell.items()}, flush=True)
    content = {"version": str(__version__), "seed": options.seed, "cells": rows}
    with replacing(options.out) as path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
