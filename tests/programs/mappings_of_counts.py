"""Score one Counter of guessed cells per image, and one dictionary of probabilities per image."""

from collections import Counter

import numpy as np

from spotball_core import accuracy, brier_score

counts = [Counter(cells) for cells in (["A1", "A1", "B2"], ["C3", "C3", "C4"], ["F10"])]
probabilities = [{"A1": 0.5, "B2": 0.5}, {"C3": 1.0}, {"F9": 0.25, "E9": 0.75}]
truth = ["A1", "C4", "A10"]
hits, scores = accuracy(counts, truth), brier_score(probabilities, truth)

for counter, shares, true, hit, score in zip(counts, probabilities, truth, hits, scores, strict=True):
    assert hit == counter[true] / sum(counter.values())
    assert np.isclose(score, sum((shares.get(cell, 0) - (cell == true)) ** 2 for cell in {*shares, true}))
