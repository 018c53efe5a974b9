"""Score a saliency model: one heat map of 360 x 640 pixels and one true cell per image."""

import numpy as np

from spotball_core import Grid, expected_error, top_k_accuracy

grid = Grid.standard()
maps = np.random.default_rng(0).random((5, 360, 640)) ** 9
truth = ["A1", "C4", "F10", "D5", "B7"]
cells = grid.pool(maps)
top, error = top_k_accuracy(cells, truth, k=20), expected_error(cells, truth)

for i, label in enumerate(truth):
    row, column = ord(label[0]) - 65, int(label[1:]) - 1
    sums = np.array([[maps[i, 60 * r : 60 * r + 60, 64 * c : 64 * c + 64].sum() for c in range(10)] for r in range(6)])
    distances = np.hypot(64 * (np.arange(10) - column), 60 * (np.arange(6)[:, None] - row))
    assert np.isclose(error[i], (sums * distances).sum() / sums.sum())
    assert top[i] == ((sums > sums[row, column]).sum() < 20)
