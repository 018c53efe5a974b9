"""Claim: `spotball replicate` takes less than a minute on two cores for data as large as the full release.

The 156 synthetic images are of three sports. The 97,000 responses are from 50 people and from four models with three
prompts each. The responses contain free text like those in the release.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import figure, processes_in_turn
from release import write_release

from spotball_core import synthetic_scenes

ROUNDS = 3


def main() -> None:
    """Measure the whole command in separate processes."""
    with tempfile.TemporaryDirectory() as folder:
        n = write_release(Path(folder), synthetic_scenes(156))
        command = [sys.executable, "-m", "spotball_core", "replicate", folder, "--format", "json", "--quiet"]
        # Status 1 means that published figures are not reproduced, which is expected with synthetic answers.
        used = processes_in_turn({"replicate": command}, ROUNDS, accept=(0, 1))["replicate"]
    figure("spotball replicate", used.seconds, "s", below=60, note=f"{n:,} responses; median of {ROUNDS} runs")
    figure("peak memory", used.megabytes, "MB")


if __name__ == "__main__":
    main()
