"""Claim: `spotball replicate` on data of the full release's size takes less than a minute on two cores.

The data is synthetic: 156 images of three sports, 50 people, and four models with three prompts. These are 37
conditions of people and models by sport, and 97,000 responses with free text like that of the real files.
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
    """Time the whole command, in processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        n = write_release(Path(folder), synthetic_scenes(156))
        command = [sys.executable, "-m", "spotball_core", "replicate", folder, "--format", "json", "--quiet"]
        # 1 says that published figures do not come out, as they cannot of made-up answers.
        used = processes_in_turn({"replicate": command}, ROUNDS, accept=(0, 1))["replicate"]
    figure("spotball replicate", used.seconds, "s", below=60, note=f"{n:,} answers; median of {ROUNDS} runs")
    figure("peak memory", used.megabytes, "MB")


if __name__ == "__main__":
    main()
