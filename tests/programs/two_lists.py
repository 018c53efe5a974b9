"""Score two lists: one answer and one true cell per image."""

import numpy as np

from spotball_core import accuracy

cells = [f"{row}{column}" for row in "ABCDEF" for column in range(1, 11)]
truth = cells[:40]
guesses = truth[:11] + cells[20:49]  # the first 11 are right

values = accuracy(guesses, truth)
print(f"accuracy: {values.mean():.1%}")

right = [float(guess == true) for guess, true in zip(guesses, truth, strict=True)]
assert sum(right) == 11
assert np.array_equal(values, right)
