"""Collect samples, one per row, into one row per image with Polars, and score the columns."""

import polars as pl

from spotball_core import accuracy

samples = pl.DataFrame({"image": [1, 1, 1, 2, 3, 3], "cell": ["A1", "A1", "B2", "C3", "D4", None]})
truth = pl.DataFrame({"image": [1, 2, 3], "ball": ["A1", "C4", "D4"]})
images = samples.group_by("image").agg("cell").join(truth, on="image").sort("image")
images = images.with_columns(accuracy=accuracy(images["cell"], images["ball"]))
print(images)

for cells, ball, value in images.select("cell", "ball", "accuracy").iter_rows():
    assert value == sum(cell == ball for cell in cells) / len(cells)
