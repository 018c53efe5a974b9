"""Claim: `import spotball_core` takes less than 2 times as long as `import numpy, pydantic`. `spotball --help` takes
less than 2.5 times as long as `import typer, rich`. `spotball score` with a file of 1,000 rows takes less than 3 times
as long as `import numpy, polars, pydantic`, with and without a reference.

The file contains 20 responses of a baseline to each of 50 scenes. The reference is another baseline with 100 responses
per scene. The command uses its default of 1,000 resamples and prints its table.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import figure, processes_in_turn

from spotball_core import baseline_responses, synthetic_scenes
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import write_scenes

SPOTBALL = str(Path(sys.executable).parent / "spotball")
SCENES, ANSWERS, REFERENCE_ANSWERS = 50, 20, 100
ROUNDS = 15


def importing(statement: str) -> list[str]:
    return [sys.executable, "-c", statement]


def main() -> None:
    """Print the ratios and what was compared."""
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        scenes = synthetic_scenes(SCENES, seed=0)
        write_scenes(scenes, folder / "scenes.jsonl")
        write_responses(baseline_responses(scenes, ["center"], samples=ANSWERS, seed=0), folder / "answers.csv")
        others = baseline_responses(scenes, ["oracle"], samples=REFERENCE_ANSWERS, seed=0)
        write_responses(others, folder / "reference.csv")
        score = [SPOTBALL, "score", str(folder / "answers.csv"), "--scenes", str(folder / "scenes.jsonl")]
        commands = {
            # Public names are loaded on first use. These two names load the modules that any use of the package loads.
            "import spotball_core": importing("import spotball_core; from spotball_core import Grid, accuracy"),
            "import numpy, pydantic": importing("import numpy, pydantic"),
            "spotball --help": [SPOTBALL, "--help"],
            "import typer, rich": importing("import typer, rich"),
            "spotball score": score,
            "spotball score with a reference": [*score, str(folder / "reference.csv"), "--reference", "oracle"],
            "import numpy, polars, pydantic": importing("import numpy, polars, pydantic"),
        }
        taken = {name: used.seconds for name, used in processes_in_turn(commands, ROUNDS).items()}
    for name, beside, below in (
        ("import spotball_core", "import numpy, pydantic", 2.0),
        ("spotball --help", "import typer, rich", 2.5),
        ("spotball score", "import numpy, polars, pydantic", 3.0),
        ("spotball score with a reference", "import numpy, polars, pydantic", 3.0),
    ):
        note = f"{taken[name] * 1000:.0f} ms and {taken[beside] * 1000:.0f} ms; medians of {ROUNDS} runs"
        figure(f"{name} relative to {beside}", taken[name] / taken[beside], "times", below=below, note=note)


if __name__ == "__main__":
    main()
