"""Score a benchmark with a grid of 8 x 8 cells on images of 800 x 600 pixels."""

import math

from spotball_core import Grid, euclidean_error, near_player_rate

grid = Grid(rows=8, cols=8, width=800, height=600)
guesses, truth = ["H8", "A1", "C5"], ["H7", "B2", "C5"]
errors = euclidean_error(guesses, truth, grid=grid)
near = near_player_rate(guesses, [[[700, 500, 800, 600]], [[300, 300, 400, 400]], []], grid=grid)

for guess, true, error in zip(guesses, truth, errors, strict=True):
    across, down = int(guess[1]) - int(true[1]), ord(guess[0]) - ord(true[0])
    assert math.isclose(error, math.hypot(100 * across, 75 * down))
assert near[:2].tolist() == [1, 0]
assert math.isnan(near[2])  # The third image has no players.
