"""Score two CSV files of another tool that uses different column names."""

import math
from pathlib import Path

from spotball_core import load

Path("predictions.csv").write_text("image_id,prediction\na.jpg,D5\nb.jpg,E4\nc.jpg,\nd.jpg,A1\n")
Path("truth.csv").write_text("image_id,prediction\nd.jpg,A3\nb.jpg,E4\nc.jpg,C3\na.jpg,F5\n")
columns = {"image": "image_id", "cell": "prediction"}
report = load("predictions.csv", truth="truth.csv", columns=columns).score(bootstrap=0)

files = [Path(name).read_text().splitlines()[1:] for name in ("predictions.csv", "truth.csv")]
guesses, truth = (dict(line.split(",") for line in lines) for lines in files)
pairs = [(cell, truth[image]) for image, cell in guesses.items() if cell]
errors = [math.hypot(64 * (int(a[1]) - int(b[1])), 60 * (ord(a[0]) - ord(b[0]))) for a, b in pairs]
assert report.groups[0].metrics["euclidean_error"].value == sum(errors) / 3
