"""Load the answers of two models in a notebook, show the table, and convert it to a data frame."""

# %%
from IPython.core.formatters import HTMLFormatter

from spotball_core import load

answers = {"gpt": ["A1", "B2", "C3", "F9"], "llama": ["A1", "A1", "A1", "A1"]}
truth = ["A1", "B2", "F3", "A1"]
rows = [{"image": i, "respondent": name, "cell": c} for name, cells in answers.items() for i, c in enumerate(cells)]
report = load(rows, truth=dict(enumerate(truth))).score()
table = HTMLFormatter()(report)  # The notebook shows this HTML.
assert table is not None
assert "<table" in table

# %%
frame = report.to_frame()
for name, cells in answers.items():
    (value,) = frame.filter(respondent=name, metric="accuracy")["value"]
    assert value == sum(map(str.__eq__, cells, truth)) / 4
