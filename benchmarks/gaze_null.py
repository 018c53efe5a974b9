"""Claim under test: if nothing affects the choices, each test of the battery rejects at its level of 5%.

Every data set is independent: one synthetic respondent, 80 photos of one set of four objects, and one trial per photo.
The respondents guess, follow only the eyes (null of Test 2.4) or only the head (null of Test 3). For the null of Test
1, they are as accurate as the published people, on 111 natural photos of two to four objects from the front.

    python benchmarks/gaze_null.py [--datasets 2000] [--jobs 2] [--out docs/assets/gaze-null.json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from spotball_core.gaze.battery.findings import Key
from spotball_core.gaze.battery.performance import PUBLISHED
from spotball_core.gaze.battery.run import Battery
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.measures import wilson, with_measures
from spotball_core.gaze.power.observers import Cue, Observer, factorial_design, simulate
from spotball_core.service.files import replacing
from spotball_core.service.parallel import in_processes

ROOT = Path(__file__).parents[1]
PAGE_DATA = ROOT / "docs/assets/gaze-null.json"
NULLS: dict[str, tuple[Key, ...]] = {
    "guess": ("proximity", "view", "2.1", "2.2", "2.3", "2.4", "3", "4"),
    "eye": ("2.4",),
    "head": ("3",),
    "people": ("1",),
}


@dataclass(frozen=True)
class Task:
    """One data set."""

    null: str
    number: int


def design(null: str) -> list[Stimulus]:
    """Return one set of four objects at two proximities and from two views; for Test 1, natural photos."""
    stimuli = factorial_design()
    if null == "people":
        return [one for one in stimuli if one.head_target is None and one.view == "front"]
    return [one for one in stimuli if one.objects == stimuli[0].objects and one.proximity != 2 and one.view != "right"]


def rejections(task: Task) -> dict[Key, bool]:
    """Return whether each test rejects its null hypothesis in one data set; Test 4 rejects if it supports a type."""
    cue: Cue = "guess" if task.null == "people" else task.null  # type: ignore[assignment]
    seed = np.random.default_rng((31, list(NULLS).index(task.null), task.number))
    rows = simulate(Observer(cue, noise=0.5, stimulus_noise=0.0), design(task.null), prompts=1, seed=seed).frame
    if task.null == "people":
        n, gaze = rows["n_objects"].to_numpy(), rows["gaze"].to_numpy()
        right = seed.random(len(rows)) < np.array([PUBLISHED[size] for size in n.tolist()])
        rows = rows.with_columns(choice=pl.Series(np.where(right, gaze, (gaze + 1) % n)))
    battery = Battery(with_measures(rows))
    found = {key: battery[key] for key in NULLS[task.null]}
    return {
        key: finding.supports != "neither" if key == "4" else finding.p < 0.05
        for key, finding in found.items()
        if finding.supports is not None or finding.p is not None
    }


def rates(outcomes: Sequence[dict[Key, bool]]) -> dict[str, dict[str, float | list[float]]]:
    table: dict[str, dict[str, float | list[float]]] = {}
    for key in outcomes[0]:
        values = [outcome[key] for outcome in outcomes if key in outcome]
        table[key] = {"n": len(values), "rejected": sum(values), "ci95": list(wilson(sum(values), len(values)))}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    content = {}
    for null in NULLS:
        tasks = [Task(null, number) for number in range(options.datasets)]
        content[null] = rates(list(in_processes(rejections, tasks, options.jobs)))
        print(null, content[null], flush=True)
        with replacing(options.out) as beside:
            beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
