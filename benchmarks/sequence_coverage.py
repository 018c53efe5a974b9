"""Measure how often a confidence sequence of `spotball run --until` misses the mean at any time.

Writes docs/assets/sequence-coverage.json, which the documentation shows. All data is synthetic. Each run observes the
values of images one after the other. Its intervals should contain the true mean after every image, so that it does not
matter when the run stops.

    python benchmarks/sequence_coverage.py [--runs 2000] [--images 400] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from spotball_core import __version__
from spotball_core.service.files import replacing
from spotball_core.stats.sequences import confidence_sequence
from spotball_core.typing import FloatArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/sequence-coverage.json"
DIAGONAL = float(np.hypot(640, 360))

Draw = Callable[[np.random.Generator, int], FloatArray]


def accuracy(answers: int, mean: float) -> Draw:
    """Return a function that draws accuracies of images, whose difficulty varies."""
    return lambda rng, n: rng.binomial(answers, rng.beta(mean, 1 - mean, n)) / answers


WORLDS: dict[str, tuple[Draw, float, float]] = {
    "accuracy 10%, 1 answer": (accuracy(1, 0.1), 0.1, 1.0),
    "accuracy 10%, 20 answers": (accuracy(20, 0.1), 0.1, 1.0),
    "accuracy 50%, 5 answers": (accuracy(5, 0.5), 0.5, 1.0),
    "accuracy 1%, 5 answers": (accuracy(5, 0.01), 0.01, 1.0),
    "Euclidean error": (lambda rng, n: DIAGONAL * rng.beta(2, 8, n), 0.2 * DIAGONAL, DIAGONAL),
}
"""For each kind of value: a function that draws values, their mean, and their highest possible value."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    rows = {}
    for number, (name, (draw, mean, high)) in enumerate(WORLDS.items()):
        rng, missed, widths, plain = np.random.default_rng([options.seed, number]), 0, [], []
        for _ in range(options.runs):
            values = draw(rng, options.images)
            ends = confidence_sequence(values, low=0.0, high=high)
            missed += bool(((ends[:, 0] > mean) | (ends[:, 1] < mean)).any())
            widths.append(ends[-1, 1] - ends[-1, 0])
            plain.append(2 * 1.96 * values.std() / np.sqrt(options.images))
        rows[name] = {"coverage": 1 - missed / options.runs, "ratio": float(np.mean(widths) / np.mean(plain))}
        print(name, rows[name], flush=True)
    content = {"version": str(__version__), "seed": options.seed, "runs": options.runs, "images": options.images}
    with replacing(options.out) as path:
        path.write_text(json.dumps({**content, "kinds": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
