"""Run the proof of concept of gaze training for the documentation, and write docs/assets/gaze-training.json.

The script trains with the default settings of `spotball gaze train` and runs the tests on all trials. Install the
extras `local` and `report`, and run `python scripts/gaze_training.py FOLDER`. The run is resumable: finished
work in FOLDER is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from spotball_core.gaze.analysis import GazeOptions, analyze
from spotball_core.gaze.data.trials import read_trials

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/gaze-training.json"


def made(folder: Path) -> dict[str, object]:
    """Run the experiment, and return its report and the results of the tests for each training run."""
    subprocess.run([sys.executable, "-m", "spotball_core", "gaze", "train", "--out", str(folder)], check=True)
    found = analyze(read_trials(folder / "trials.csv"), GazeOptions(bootstrap=0, jobs=os.cpu_count() or 1))
    return {
        "report": json.loads((folder / "result.json").read_text(encoding="utf-8")),
        "battery": {
            one.respondent: {
                "type": one.type,
                "tests": {key: test.verdict for key, test in one.tests.items()},
                "head": {
                    f"{cell.by['n_objects']} objects, {cell.by['dist_eye_head']} away": cell.value
                    for cell in one.cells
                    if cell.measure == "head"
                },
            }
            for one in found.respondents
        },
        "battery_signature": found.signature,
    }


if __name__ == "__main__":
    PAGE_DATA.write_text(json.dumps(made(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PAGE_DATA}")
