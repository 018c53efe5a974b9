"""Score a benchmark whose objects cover several cells: the truth is one set of cells per image."""

import math

from spotball_core import accuracy, euclidean_error

guesses = ["C2", "D5", "F9", "A1"]
truth = [{"C2", "C3"}, {"C5"}, {"F10", "E10"}, {"B2", "B3"}]
hits, errors = accuracy(guesses, truth), euclidean_error(guesses, truth)

for guess, cells, hit, error in zip(guesses, truth, hits, errors, strict=True):
    assert hit == (guess in cells)
    steps = [(64 * (int(guess[1:]) - int(c[1:])), 60 * (ord(guess[0]) - ord(c[0]))) for c in cells]
    assert math.isclose(error, min(math.hypot(x, y) for x, y in steps), abs_tol=1e-9)
