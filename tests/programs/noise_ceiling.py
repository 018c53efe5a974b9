"""Estimate how well any model could predict people, from how well people predict each other."""

from collections import Counter

import numpy as np

from spotball_core import load

answers = np.random.default_rng(0).choice(["C4", "C5", "D5"], size=(8, 12), p=[0.5, 0.3, 0.2])  # participant, image
rows = [{"image": i, "respondent": "human", "participant": p, "cell": cell} for (p, i), cell in np.ndenumerate(answers)]
report = load(rows, truth=dict.fromkeys(range(12), "C4"), reference="human").ceiling(splits=5)

shares: list[float] = []
for (p, i), _ in np.ndenumerate(answers):
    named = Counter(np.delete(answers[:, i], p).tolist())
    top = [cell for cell, n in named.items() if n == max(named.values())]
    shares.append(("C4" in top) / len(top))
value = report.ceilings[0].leave_one_out_accuracy.value
assert value is not None
assert np.isclose(value, np.mean(shares))
