"""Score a JSON file of answers against a JSON file of the truth; each file maps images to cells."""

import json
from pathlib import Path

from spotball_core import score

Path("gpt.json").write_text('{"1": "D5", "2": "A1", "3": null, "4": "C3"}')
Path("truth.json").write_text('{"1": "D5", "2": ["A1", "A2"], "3": "B2", "4": "C4", "5": "E5"}')
report = score("gpt.json", truth="truth.json", bootstrap=0)
print(report)

guesses, truth = (json.loads(Path(name).read_text()) for name in ("gpt.json", "truth.json"))
right = [cell is not None and cell in truth[image] for image, cell in guesses.items()]
assert report.group("gpt").metrics["accuracy"].value == sum(right) / len(right)
