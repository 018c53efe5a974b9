"""Score answers that could not be parsed: None, NaN from pandas, or an empty text."""

import math

from spotball_core import accuracy, euclidean_error

answers = ["A1", None, float("nan"), "", "B2", " "]
truth = ["A1", "A1", "A1", "A1", "B3", "B2"]
values, errors = accuracy(answers, truth), euclidean_error(answers, truth)
print(f"{accuracy(answers, 'A1'):.2f} of the answers, of one image")

for answer, true, value, error in zip(answers, truth, values, errors, strict=True):
    assert value == (answer == true)
    assert math.isnan(error) if answer not in ("A1", "B2") else error == 64 * (answer != true)
