"""Claim: `spotball cues explain` takes less than a minute on two cores for 156 images and 37 sets of responses.

One set contains the responses of 50 participants. The other 36 sets are the responses of 4 models to 3 prompts in each
of 3 sports. The players of the synthetic scenes have keypoints, from which the cues of bodies are computed. Each set is
fitted with every subset of the seven groups of cues, and each image is held out in turn. The command uses one process
per core.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import figure, process
from study import write_study

from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.synthetic.poses import synthetic_poses


def main() -> None:
    """Measure the whole command in a separate process."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "study"
        n = write_study(folder)
        write_scenes(synthetic_poses(read_scenes(folder / "scenes.jsonl")), folder / "scenes.jsonl")
        command = [sys.executable, "-m", "spotball_core", "cues", "explain", str(folder), "--reference", "human"]
        used = process([*command, "--out", str(Path(temporary) / "cues.json"), "--quiet"])
    figure("spotball cues explain", used.seconds, "s", below=60, note=f"{n:,} responses; one run")
    figure("peak memory", used.megabytes, "MB")


if __name__ == "__main__":
    main()
