"""Score predictions in a Hugging Face dataset against a PyArrow table of the ground truth."""

import pyarrow as pa
from datasets import Dataset

from spotball_core import accuracy, load

predictions = Dataset.from_dict({"image": ["1", "2", "3", "4"], "cell": ["A1", "B2", None, "D4"]})
truth = pa.table({"image": ["1", "2", "3", "4"], "cell": ["A1", "B3", "C3", "D4"]})
values = accuracy(predictions["cell"], truth["cell"])
report = load(predictions, truth=truth).score(bootstrap=0)

right = [guess == true for guess, true in zip(predictions["cell"], truth["cell"].to_pylist(), strict=True)]
assert values.tolist() == right
assert report.groups[0].metrics["accuracy"].value == sum(right) / 4
