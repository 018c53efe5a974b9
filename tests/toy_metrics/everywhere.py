"""Compute the metrics of the toy package with every function that scores, and print the values as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from spotball_core import METRICS, Accumulator, ScorePolicy, load, score_arrays

KEYS = [key for key in METRICS if key.startswith("toy_")]


def main(dataset: Path) -> None:
    data = load(dataset)
    counts, scenes = data.counts.pooled(), data.scenes
    policy = ScorePolicy.standard(reference="people", images="shared", bootstrap=50)
    groups = data.score(policy=policy).groups
    of_score = {group.respondent: {key: group.metrics[key].value for key in KEYS} for group in groups}
    boxes = np.full((len(scenes), 2, 4), np.nan)
    for place, scene in enumerate(scenes):
        boxes[place, : len(scene.boxes)] = scene.boxes
    mass = {name: np.zeros((len(scenes), 60)) for name in ("people", "gpt", "llama")}
    places = {scene.image: place for place, scene in enumerate(scenes)}
    for row in counts.table.filter(~counts.table["cell"].is_null()).iter_rows(named=True):
        mass[row["respondent"]][places[row["image"]], row["cell"]] += row["n"]
    truth = np.stack([scene.layout.mask(scene.ball_cells) for scene in scenes])
    of_arrays = score_arrays(mass["gpt"], truth, reference=mass["people"], players=boxes, metrics=KEYS)
    accumulator = Accumulator(scenes, respondent="gpt")
    for scene, cells in zip(scenes, mass["gpt"], strict=True):
        accumulator.update(cells, scene)
    others = load(dataset / "responses-people.jsonl", scenes).counts.pooled()
    of_accumulator = accumulator.compute(others, reference="people", images="shared")
    comparison = data.compare("gpt", "llama", policy=policy, permutations=100)
    contrast = comparison.contrasts[-1].metrics
    of_compare = {key: [getattr(contrast[key], name) for name in ("a", "b", "p", "reason")] for key in KEYS}
    found = {"score": of_score, "arrays": of_arrays, "accumulator": {key: of_accumulator[key] for key in KEYS}}
    print(json.dumps({**found, "compare": of_compare}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
