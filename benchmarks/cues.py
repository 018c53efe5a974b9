"""Claim: `spotball cues explain` fits the models of 37 conditions on 156 images in less than a minute on two cores.

The 156 scenes have poses. One condition is the 50 participants. The other 36 are 4 models with 3 prompts in each of 3
sports. Each condition is fitted with all subsets of the seven groups of cues, which contain all nine cues. Each image
is held out in turn. The command uses one process per core.
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
