"""Measure how far a model's answers are from those of people, with a weight per image."""

import numpy as np

from spotball_core import score_arrays, wasserstein_1d

model, truth, weights = ["D5", "A1", "C3"], ["D5", "B1", "C4"], [1.0, 2.0, 5.0]
people = [["D5", "D6", "D5"], ["A1", "F1"], ["C3", "C4", "E3", "C3"]]
distances = wasserstein_1d([[cell] for cell in model], people)
scores = score_arrays(model, truth, reference=people, sample_weight=weights, metrics=["accuracy", "wasserstein_1d"])

for cell, others, distance in zip(model, people, distances, strict=True):
    across = np.mean([abs(int(cell[1:]) - int(other[1:])) for other in others])
    down = np.mean([abs(ord(cell[0]) - ord(other[0])) for other in others])
    assert np.isclose(distance, (64 * across + 60 * down) / 2)
assert np.isclose(scores["wasserstein_1d"], np.average(distances, weights=weights))
assert scores["accuracy"] == np.average([a == b for a, b in zip(model, truth, strict=True)], weights=weights)
