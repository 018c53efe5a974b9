"""Claim under test: the cue model identifies at least 95% of the synthetic observers of each kind, over a wide range of
noise.

The observers' noise has other shapes than the model's kernels: uniform, triangular, Student with 5 degrees of freedom,
contaminated normal, skewed, and softmax choices over squared distances. Its standard deviation is from 0.1 to 1.2 steps
between objects. Observers of two further kinds follow rules that the model does not contain; the correct result for
them is `none`. For coins and compromises, the benchmark also counts how often the 95% intervals cover w, and for
observers that mix both rules, w and q.

    python benchmarks/gaze_mechanism.py [--observers 100] [--prompts 1,16] [--out docs/assets/gaze-mechanism.json]

With `--tree N`, it counts instead which types the decision tree assigns to the first N observers of each kind.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from spotball_core.gaze.battery.run import Battery
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.mechanism.records import Estimate, Mechanism
from spotball_core.gaze.mechanism.run import fit_mechanism
from spotball_core.gaze.power.observers import TURN, Observer, factorial_design, simulate
from spotball_core.service.files import replacing
from spotball_core.typing import FloatArray, IntArray

ROOT = Path(__file__).parents[1]
PAGE_DATA = ROOT / "docs/assets/gaze-mechanism.json"

Draw = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


def contaminated(generator: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    wide = generator.random(shape) < 0.1
    return generator.standard_normal(shape) * np.where(wide, 3.0, 1.0) / np.sqrt(1.8)


SHAPES: dict[str, Draw] = {
    "uniform": lambda g, s: g.uniform(-np.sqrt(3), np.sqrt(3), s),
    "triangular": lambda g, s: g.triangular(-np.sqrt(6), 0, np.sqrt(6), s),
    "student 5": lambda g, s: g.standard_t(5, s) / np.sqrt(5 / 3),
    "contaminated": contaminated,
    "skewed": lambda g, s: (g.gamma(8, 1, s) - 8) / np.sqrt(8),
}
SOFTMAX = "softmax"

KINDS = ("eye", "head", "compromise", "coin", "guess", "mixed", "shift", "outward")
EXPECTED = {"shift": "none", "outward": "none"}


@dataclass(frozen=True)
class Truth:
    """The parameters of one observer."""

    kind: str
    shape: str
    w: float
    q: float
    noise: float
    photo_noise: float
    closeness: float
    side: float
    lapse: float


def draw(kind: str, number: int) -> Truth:
    generator = np.random.default_rng((21, KINDS.index(kind), number))
    noise = float(np.exp(generator.uniform(np.log(0.1), np.log(1.2))))
    q = {"compromise": 0.0, "coin": 1.0, "mixed": float(generator.uniform(0.2, 0.8))}.get(kind, 0.0)
    return Truth(
        kind=kind,
        shape=[*SHAPES, SOFTMAX][number % (len(SHAPES) + 1)],
        w=float(generator.uniform(0.3, 0.7)),
        q=q,
        noise=noise,
        photo_noise=noise * float(generator.uniform(0.1, 0.6)),
        closeness=float(generator.uniform(0, 0.2)),
        side=float(generator.uniform(0, 0.2)),
        lapse=float(generator.uniform(0, 0.2)),
    )


def choices(truth: Truth, frame: pl.DataFrame, prompts: int, generator: np.random.Generator) -> IntArray:
    """Return the positions of the chosen objects in their row, shape (n_photos, prompts)."""
    n, gaze, head = (frame[name].to_numpy()[:, None] for name in ("n_objects", "gaze", "head"))
    # A free head turns part of the way to the gaze target.
    head = np.where(np.isnan(head), (n - 1) / 2 + TURN * (gaze - (n - 1) / 2), head)
    shape = (len(frame), prompts)
    if truth.kind == "guess":
        return np.asarray(generator.integers(0, np.broadcast_to(n, shape)))
    follows = generator.random(shape) < truth.w
    if truth.kind in ("eye", "head"):
        at = np.broadcast_to(gaze if truth.kind == "eye" else head, shape).astype(float)
    elif truth.kind == "shift":
        inward = np.where(head > (n - 1) / 2, -1, 1)
        at = np.where(follows, head, np.where(head == gaze, gaze + inward, gaze)).astype(float)
    elif truth.kind == "outward":
        # The target is as far beyond the head as the head is from the eyes. If both agree, it is mirrored in the row.
        at = np.where(head == gaze, n - 1 - gaze, head + (head - gaze)) + np.zeros(shape)
    else:
        between = gaze + truth.w * (head - gaze)
        alone = generator.random(shape) < truth.q
        at = np.where(alone, np.where(follows, head, gaze), between).astype(float)
    spread = 1 + truth.closeness * (frame["proximity"].to_numpy()[:, None] - 1)
    spread = spread * (1 + truth.side * (frame["view"] != "front").to_numpy()[:, None])
    at = at + spread * truth.photo_noise * generator.standard_normal((len(frame), 1))
    if truth.shape == SOFTMAX:
        places = np.arange(int(n.max()))
        logits = -0.5 * ((places - at[..., None]) / (spread * truth.noise)[..., None]) ** 2
        logits = np.where(places < n[..., None], logits, -np.inf) + generator.gumbel(size=(*shape, len(places)))
        nearest = logits.argmax(axis=-1)
    else:
        noise = SHAPES[truth.shape](generator, shape)
        nearest = np.clip(
            np.rint(at + spread * truth.noise * noise + 1e-9 * generator.standard_normal(shape)), 0, n - 1
        )
    guessed = generator.integers(0, np.broadcast_to(n, shape))
    return np.where(generator.random(shape) < truth.lapse, guessed, nearest).astype(int)


def trials_of(truth: Truth, number: int, prompts: int, *, natural: bool = False) -> pl.DataFrame:
    frame = simulate(Observer("guess"), factorial_design(), prompts=prompts, seed=0).frame
    if not natural:
        frame = frame.filter(pl.col("head").is_not_null())
    photos = frame.unique("stimulus_id", maintain_order=True)
    generator = np.random.default_rng((22, KINDS.index(truth.kind), number, prompts))
    return frame.with_columns(choice=pl.Series(choices(truth, photos, prompts, generator).ravel()))


def covers(estimate: Estimate, value: float) -> bool | None:
    return None if estimate.ci95 is None else estimate.ci95[0] <= value <= estimate.ci95[1]


def measured(kind: str, prompts: int, observers: int) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    covered: dict[str, list[bool]] = {"w": [], "q": []}
    errors: dict[str, list[float]] = {"w": [], "q": []}
    missed = []
    started = time.process_time()
    for number in range(observers):
        truth = draw(kind, number)
        found: Mechanism = fit_mechanism(trials_of(truth, number, prompts))
        kinds[found.kind] += 1
        if kind in EXPECTED or kind == found.kind or kind == "mixed":
            for name, estimate in (("w", found.w), ("q", found.q)):
                hit = covers(estimate, getattr(truth, name))
                if kind in ("compromise", "coin", "mixed") and hit is not None and estimate.value is not None:
                    covered[name].append(hit)
                    errors[name].append(estimate.value - getattr(truth, name))
        if found.kind != EXPECTED.get(kind, kind):
            missed.append({"number": number, "shape": truth.shape, "noise": round(truth.noise, 3), "kind": found.kind})
    return {
        "n": observers,
        "kinds": dict(kinds.most_common()),
        "coverage": {name: [sum(hits), len(hits)] for name, hits in covered.items() if hits},
        "median_error": {name: float(np.median(np.abs(values))) for name, values in errors.items() if values},
        "missed": [] if kind == "mixed" else missed,
        "cpu_seconds_each": (time.process_time() - started) / observers,
    }


def tree_types(kind: str, prompts: int, observers: int) -> dict[str, int]:
    """Count the types that the decision tree assigns to the same observers, who also answer natural photos."""
    types: Counter[str] = Counter()
    for number in range(observers):
        rows = with_measures(trials_of(draw(kind, number), number, prompts, natural=True))
        types[Battery(rows).type()] += 1
    return dict(types.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observers", type=int, default=100)
    parser.add_argument("--prompts", default="1,16")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tree", type=int, default=0, help="observers per kind for the decision tree, instead")
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    content = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else {}
    for prompts in options.prompts.split(","):
        for kind in options.kinds.split(","):
            if options.tree:
                types = tree_types(kind, int(prompts), options.tree)
                content.setdefault(f"tree {prompts}", {})[kind] = {"n": options.tree, "types": types}
                print("tree", prompts, kind, types, flush=True)
            else:
                content.setdefault(prompts, {})[kind] = result = measured(kind, int(prompts), options.observers)
                print(prompts, kind, result, flush=True)
            with replacing(options.out) as beside:
                beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
