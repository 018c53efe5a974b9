"""Compute an error for each row of a pandas table with the answers of two models."""

import math

import pandas as pd

from spotball_core import euclidean_error

table = pd.DataFrame({"model": list("ababab"), "prediction": ["A1", "A2", "D5", "F9", "B3", None]})
table["truth"] = ["A1", "A1", "D6", "D6", "F10", "F10"]
table["error"] = euclidean_error(table["prediction"], table["truth"])
print(table.groupby("model")["error"].mean())

for _, guess, true, error in table.dropna().itertuples(index=False):
    across, down = 64 * (int(guess[1:]) - int(true[1:])), 60 * (ord(guess[0]) - ord(true[0]))
    assert math.isclose(error, math.hypot(across, down), abs_tol=1e-9)
assert table["error"].isna().tolist() == [False] * 5 + [True]
