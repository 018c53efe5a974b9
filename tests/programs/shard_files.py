"""Score the answers of a job that wrote one JSON Lines file per machine."""

import json
from pathlib import Path

from spotball_core import load

balls = {str(i): f"{'ABCDEF'[i % 6]}{i % 10 + 1}" for i in range(20)}
cells = {image: "A1" if int(image) % 3 else ball for image, ball in balls.items()}
for shard in range(2):
    rows = [{"image": i, "respondent": "mine", "cell": cell} for i, cell in cells.items() if int(i) % 2 == shard]
    Path(f"shard-{shard}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

report = load(["shard-0.jsonl", "shard-1.jsonl"], truth=balls).score(bootstrap=0)
assert report.group("mine").metrics["accuracy"].value == sum(cells[i] == balls[i] for i in balls) / len(balls)
