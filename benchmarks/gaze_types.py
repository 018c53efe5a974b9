"""Claim under test: of 200 simulated respondents of each type, with 1,360 photos and 16 prompts, 9 in 10 are assigned
their type.

Writes docs/assets/gaze-types.json, which the documentation shows. This takes hours, although only the tests that
determine the type are run for each respondent. The run is resumable: kinds that the file already contains, with the
same number of simulations and the same design, are kept. It then measures how often the tests of Proximity and View
detect increasing noise.

    python benchmarks/gaze_types.py [--simulations 200] [--jobs 2] [--stimuli stimuli_main.csv]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spotball_core import __version__
from spotball_core.gaze.battery.findings import Key
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli, stimuli_frame
from spotball_core.gaze.power.observers import PROMPTS, Observer, factorial_design
from spotball_core.gaze.power.simulate import POPULATIONS, Population, Tests, power
from spotball_core.service.files import replacing

ROOT = Path(__file__).parents[1]
PAGE_DATA = ROOT / "docs/assets/gaze-types.json"
SEED = 0

# The noise of observers that follow the eyes grows by these fractions per step of proximity and for side views.
EFFECTS = (0.0, 0.03, 0.06, 0.1, 0.2)
BLURRED = Observer("eye", noise=0.6, stimulus_noise=0.3, lapse=0.1)
EFFECT_TESTS: tuple[Key, ...] = ("proximity", "view")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stimuli", type=Path, help="the study's design; without, a synthetic one of its shape")
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    stimuli = read_stimuli(options.stimuli) if options.stimuli else factorial_design()
    design = {
        "name": "main study" if options.stimuli else "synthetic, of the main study's shape",
        "n_stimuli": sum(not one.attention_check for one in stimuli),
        "prompts": PROMPTS,
        "digest": digest(stimuli),
    }
    kept = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else {}
    same = kept.get("design") == design and kept.get("simulations") == options.simulations
    content: dict[str, Any] = kept if same else {"kinds": {}, "effects": {}}
    content |= {"version": str(__version__), "seed": SEED, "design": design, "simulations": options.simulations}
    wanted: list[tuple[str, str, Observer | Population, Tests]] = [
        ("kinds", population.name, population, "deciding") for population in POPULATIONS
    ]
    wanted += [
        ("effects", f"{effect:g}", replace(BLURRED, closeness=effect, side=effect), EFFECT_TESTS) for effect in EFFECTS
    ]
    for part, name, make, tests in wanted:
        if name in content[part]:
            continue
        started = time.perf_counter()

        def on_progress(done: int, total: int, name: str = name) -> None:
            if done and done % 20 == 0:
                print(f"{name}: {done} of {total} done", file=sys.stderr, flush=True)

        found = power(
            make,
            stimuli,
            simulations=options.simulations,
            prompts=PROMPTS,
            tests=tests,
            seed=SEED,
            jobs=options.jobs,
            on_progress=on_progress,
        )
        content[part][name] = found.model_dump(mode="json")
        with replacing(options.out) as beside:
            beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        seconds = (time.perf_counter() - started) / options.simulations
        rates = ", ".join(f"{key} {rate.share:.1%}" for key, rate in found.tests.items())
        print(f"{name}: {found.types}; {rates}; {seconds:.1f} s each", flush=True)


def digest(stimuli: Sequence[Stimulus]) -> str:
    """Return the SHA-256 of the photos in the analysis."""
    kept = [one for one in stimuli if not one.attention_check]
    return hashlib.sha256(stimuli_frame(kept).drop("image", "points", "list_id").write_csv().encode()).hexdigest()


if __name__ == "__main__":
    main()
