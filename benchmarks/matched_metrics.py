"""Measure the error of the matched Wasserstein distance, and how often it ranks respondents correctly.

Writes docs/assets/matched-metrics.json, which the documentation shows. All data is synthetic: respondents with a known
true distance from synthetic people answer 150 images with 10, 20, 50 or 150 responses each; people have 150. The error
by spread uses people whose guesses decrease exponentially with the distance from a point.

    python benchmarks/matched_metrics.py [--simulations 20] [--benchmarks 200] [--only-spread]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from spotball_core import Grid, __version__, wasserstein, wasserstein_matched
from spotball_core.service.files import replacing
from spotball_core.typing import FloatArray

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/matched-metrics.json"
SIZES = (10, 20, 50, 150)
IMAGES, REFERENCE_SAMPLES = 150, 150
DISTANCES = (0.0, 20.0, 40.0, 60.0)
SPREADS = (30, 75, 150)
"""Distances in pixels over which the density of people's guesses decreases by a factor of e."""

SHIFTS = (0, 20, 60)
"""Distances in pixels between the points around which people and the respondent guess."""

LADDER = np.arange(20.0, 61.0, 5.0)
"""True distances of a benchmark's respondents, in steps of 5 px."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--benchmarks", type=int, default=200)
    parser.add_argument("--only-spread", action="store_true", help="keep the other numbers of the file")
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    by_spread = [
        spread_errors(spread, shift, n, options.simulations) for spread in SPREADS for shift in SHIFTS for n in SIZES
    ]
    if options.only_spread:
        write(options.out, {**json.loads(options.out.read_text(encoding="utf-8")), "by_spread": by_spread})
        return
    kinds = list(others(np.random.default_rng(0), crowd(np.random.default_rng(0), 2)))
    right = {
        name: pairs_in_order(count, options.benchmarks) for name, count in (("one kind", 1), ("four kinds", len(kinds)))
    }
    content = {
        "version": str(__version__),
        "simulations": options.simulations,
        "benchmarks": options.benchmarks,
        "errors": {kind: {str(d): errors(kind, d, options.simulations) for d in DISTANCES} for kind in kinds},
        "ordered": right,
        "by_spread": by_spread,
    }
    write(options.out, content)


def write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as path:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def spread_errors(spread: float, shift: float, n: int, simulations: int) -> dict[str, float]:
    """Return the true distance, and the mean and the standard deviation of the matched distance's error.

    Args:
        spread: see `SPREADS`.
        shift: see `SHIFTS`; its direction is random for each image.
        n: number of the respondent's responses per image.
        simulations: number of synthetic benchmarks.
    """
    true, found = [], []
    for seed in range(simulations):
        rng = np.random.default_rng([seed, round(spread), round(shift), n])
        angle, middle = rng.uniform(0, 2 * np.pi, (IMAGES, 1)), rng.uniform([128, 90], [512, 270], (IMAGES, 2))
        at = [middle, middle + shift * np.concatenate([np.cos(angle), np.sin(angle)], axis=1)]
        people, other = (np.exp(-np.hypot(*(Grid.standard().centers[None] - a[:, None]).T).T / spread) for a in at)
        people, other = (mass / mass.sum(axis=-1, keepdims=True) for mass in (people, other))
        true.append(float(wasserstein(other, people).mean()))
        found.append(float(wasserstein_matched(sampled(rng, other, n), sampled(rng, people, REFERENCE_SAMPLES))))
    error = np.subtract(found, true)
    return {
        "spread": spread,
        "distance": float(np.mean(true)),
        "responses": n,
        "error": float(error.mean()),
        "sd": float(error.std(ddof=1)),
    }


def crowd(rng: np.random.Generator, n: int) -> FloatArray:
    """Return the distributions of synthetic people: on each image, most guesses are in a few neighboring cells."""
    grid = Grid.standard()
    middle = rng.uniform([64, 60], [576, 300], size=(n, 1, 2))
    spread = rng.uniform(40, 110, size=(n, 1))
    near = np.exp(-((grid.centers[None] - middle) ** 2).sum(axis=-1) / (2 * spread**2))
    rough = near * rng.gamma(0.7, size=near.shape) + 1e-4
    shares: FloatArray = rough / rough.sum(axis=-1, keepdims=True)
    return shares


def others(rng: np.random.Generator, people: FloatArray) -> dict[str, FloatArray]:
    """Return distributions that are far from people. Each respondent is a mixture of people and one of these."""
    center = np.exp(-(Grid.standard().center_distances ** 2) / (2 * 100**2))
    sharp = people[rng.permutation(len(people))] ** 2
    return {
        "center": np.broadcast_to(center / center.sum(), people.shape),
        "uniform": np.full_like(people, 1 / people.shape[-1]),
        "other images": people[rng.permutation(len(people))],
        "other images, sharper": sharp / sharp.sum(axis=-1, keepdims=True),
    }


def at_distance(people: FloatArray, other: FloatArray, distance: float) -> FloatArray:
    """Return the mixture with this mean distance: W(people, (1 - t) people + t other) equals t W(people, other)."""
    t = distance / float(wasserstein(other, people).mean())
    if not 0 <= t <= 1:
        raise ValueError(f"no mixture is {distance} px from people")
    mixture: FloatArray = (1 - t) * people + t * other
    return mixture


def sampled(rng: np.random.Generator, shares: FloatArray, n: int) -> FloatArray:
    """Return counts of n responses per image."""
    return rng.multinomial(n, shares).astype(float)


def errors(kind: str, distance: float, simulations: int) -> dict[str, dict[str, float]]:
    """Return, by number of responses, the mean error of the plain and of the matched distance, and the
    standard deviation of the latter.
    """
    out = {}
    for n in SIZES:
        plain, matched = [], []
        for seed in range(simulations):
            rng = np.random.default_rng([seed, n, round(distance)])
            people = crowd(rng, IMAGES)
            shares = at_distance(people, others(rng, people)[kind], distance)
            answers, reference = sampled(rng, shares, n), sampled(rng, people, REFERENCE_SAMPLES)
            plain.append(float(wasserstein(answers, reference).mean()) - distance)
            matched.append(float(wasserstein_matched(answers, reference)) - distance)
        out[str(n)] = {"plain": np.mean(plain), "matched": np.mean(matched), "sd": np.std(matched, ddof=1)}
    return out


def pairs_in_order(kinds: int, benchmarks: int) -> dict[str, dict[str, list[int]]]:
    """Count correctly ranked pairs and all pairs of respondents, by gap and by the smaller number of responses."""
    counted = {gap: {str(n): [0, 0] for n in SIZES} for gap in ("exactly 5 px", "5 px or more")}
    for seed in range(benchmarks):
        estimates, sizes = benchmark(seed, kinds)
        for near, far in zip(*np.triu_indices(len(LADDER), 1), strict=True):
            for gap in ("5 px or more", *(["exactly 5 px"] if far == near + 1 else [])):
                pair = counted[gap][str(min(sizes[near], sizes[far]))]
                pair[0] += int(estimates[near] < estimates[far])
                pair[1] += 1
    return counted


def benchmark(seed: int, kinds: int) -> tuple[list[float], list[int]]:
    """Return matched distances and numbers of responses of the respondents in one benchmark."""
    rng = np.random.default_rng([seed, kinds])
    people = crowd(rng, IMAGES)
    reference, shares = sampled(rng, people, REFERENCE_SAMPLES), others(rng, people)
    chosen = rng.choice(list(shares), size=kinds, replace=False)
    estimates, sizes = [], []
    for distance in LADDER:
        mixed = at_distance(people, shares[str(rng.choice(chosen))], distance)
        sizes.append(int(rng.choice(SIZES)))
        estimates.append(float(wasserstein_matched(sampled(rng, mixed, sizes[-1]), reference)))
    return estimates, sizes


if __name__ == "__main__":
    main()
