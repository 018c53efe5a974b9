"""Claim: `spotball gaze analyze` takes less than 60 seconds on two cores for ten respondents with 21,760 trials each.

The command runs all tests, fits the cue model and writes the report. The synthetic photos have the number and the
design of the photos in the paper's main study, with 16 prompts. Each synthetic respondent follows a rule, such as the
eyes, the head, a position between both, or guessing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import figure, process

from spotball_core.gaze.data.trials import together, write_trials
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate

OBSERVERS = (
    Observer("eye", noise=0.2),
    Observer("eye", noise=0.8, lapse=0.1),
    Observer("head", noise=0.3, lapse=0.1),
    Observer("head", noise=0.6, lapse=0.3),
    Observer("compromise", weight=0.6, lapse=0.1),
    Observer("compromise", weight=0.7, noise=0.5, lapse=0.2),
    Observer("coin", noise=0.1, stimulus_noise=0.1, lapse=0.2),
    Observer("coin", weight=0.6, noise=0.3),
    Observer("shift", weight=0.7, noise=0.1, stimulus_noise=0.1, lapse=0.2),
    Observer("guess"),
)
PHOTOS = 1360


def main() -> None:
    """Measure the whole command in a separate process."""
    photos = factorial_design()[:PHOTOS]
    trials = together([simulate(one, photos, respondent=f"{k}", seed=k) for k, one in enumerate(OBSERVERS)])
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "trials.csv"), Path(folder, "report")
        write_trials(trials, file)
        command = [
            sys.executable,
            "-m",
            "spotball_core",
            "gaze",
            "analyze",
            str(file),
            "--out",
            str(out),
            "--jobs",
            "2",
        ]
        used = process([*command, "--format", "json", "--quiet"])
    figure("spotball gaze analyze", used.seconds, "s", below=60, note=f"{len(trials.frame):,} trials; one run")


if __name__ == "__main__":
    main()
