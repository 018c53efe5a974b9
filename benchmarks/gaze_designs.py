"""Claim under test: over many designs, the cue model names the true mechanism or states that the data cannot tell it,
and its 95% intervals contain the true parameters.

The simulator is that of benchmarks/gaze_mechanism.py, whose noise has other shapes than the model's kernels. The
designs have two, three or four objects, only congruent photos, or the main study's shape, with 30 to 1,500 photos and
one trial per photo.

    python benchmarks/gaze_designs.py [--observers 20] [--coverage 200] [--out docs/assets/gaze-designs.json]

With `--coverage N`, it also counts how often the intervals of N observers of each kind cover the truth in the main
design.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from gaze_mechanism import KINDS, SOFTMAX, Truth, covers, draw, trials_of

from spotball_core.gaze.mechanism.run import mechanism_or_reason
from spotball_core.service.files import replacing

ROOT = Path(__file__).parents[1]
PAGE_DATA = ROOT / "docs/assets/gaze-designs.json"
PURE = ("eye", "head", "compromise", "coin")
DESIGNS = {
    "2 objects": pl.col("n_objects") == 2,
    "3 objects": pl.col("n_objects") == 3,
    "4 objects": pl.col("n_objects") == 4,
    "congruent only": pl.col("condition") == "congruent",
    "2 to 4 objects": pl.lit(True),
}
PHOTOS = (30, 160, 600, 1500)


def designed(truth: Truth, number: int, design: str, photos: int) -> pl.DataFrame:
    """Return one trial for each of the given number of photos; a photo that is used again is a new photo."""
    repeats = 8 if photos > 100 else 1
    copies = [trials_of(truth, number + 1000 * copy, 1).with_columns(_copy=pl.lit(copy)) for copy in range(repeats)]
    rows = pl.concat(copies).filter(DESIGNS[design])
    rows = rows.with_columns(stimulus_id=pl.format("{}-{}", "stimulus_id", "_copy"), scene=pl.format("{}", "_copy"))
    return rows.sample(min(photos, len(rows)), seed=number).drop("_copy")


def true_values(truth: Truth) -> dict[str, float]:
    values = {"w": truth.w, "lapse": truth.lapse}
    if truth.kind in ("eye", "head"):
        values["w"] = float(truth.kind == "head")
    else:
        values["q"] = truth.q
    # The noise of each trial includes that of its photo. The simulated spread is linear in proximity, not exponential.
    values |= {"closeness": float(np.sqrt(1 + 2 * truth.closeness)), "side": 1 + truth.side}
    if truth.shape != SOFTMAX:
        values["noise"] = float(np.hypot(truth.noise, truth.photo_noise))
    return values


def mechanisms(design: str, photos: int, kind: str, observers: int) -> dict[str, Any]:
    found: Counter[str] = Counter()
    for number in range(observers):
        mechanism, _ = mechanism_or_reason(designed(draw(kind, number), number, design, photos))
        found[mechanism.kind if mechanism else "no answer"] += 1
    return dict(found.most_common())


def coverage(kind: str, observers: int) -> dict[str, Any]:
    hits: dict[str, list[bool]] = {}
    found: Counter[str] = Counter()
    started = time.process_time()
    for number in range(observers):
        truth = draw(kind, number)
        mechanism, _ = mechanism_or_reason(trials_of(truth, number, 1))
        found[mechanism.kind if mechanism else "no answer"] += 1
        for name, value in true_values(truth).items():
            hit = covers(getattr(mechanism, name), value) if mechanism else None
            if hit is not None:
                hits.setdefault(name, []).append(hit)
    seconds = (time.process_time() - started) / observers
    return {
        "kinds": dict(found.most_common()),
        "coverage": {name: [sum(values), len(values)] for name, values in hits.items()},
        "cpu_seconds_each": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--observers", type=int, default=20)
    parser.add_argument("--coverage", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(PURE))
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    content = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else {}
    kinds = [kind for kind in options.kinds.split(",") if kind in KINDS]
    for kind in kinds if options.coverage else ():
        content.setdefault("coverage", {})[kind] = result = coverage(kind, options.coverage)
        print("coverage", kind, result, flush=True)
        save(options.out, content)
    for design in DESIGNS if options.observers else ():
        for photos in PHOTOS:
            for kind in kinds:
                result = mechanisms(design, photos, kind, options.observers)
                content.setdefault("designs", {}).setdefault(design, {}).setdefault(str(photos), {})[kind] = result
                print(design, photos, kind, result, flush=True)
            save(options.out, content)


def save(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as beside:
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
