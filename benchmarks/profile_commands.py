"""Profile whole commands and the minimum times of their parts, and write docs/assets/profile.json.

Each command runs on synthetic data of the full release's size in a separate process. A timer inspects its main thread
every 5 ms and assigns the time since the last inspection to the innermost entry of `PLACES` on the stack. The work of
other threads counts as the time of the code that waits for them.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs/assets/profile.json"
ROUNDS = 3
EVERY = 0.005

PLACES = {
    "imports": ("<frozen importlib",),
    "optimal transport": ("/metrics/transport",),
    "random draws": ("/metrics/sampling.py",),
    "mixtures": ("/cues/mixture_weights.py", "/cues/mixture.py"),
    "noise ceiling": ("/scoring/ceiling.py",),
    "resampling": ("/stats/bootstrap.py", "/scoring/estimates.py:_resampled"),
    "threshold fit": ("/cues/thresholds.py", "/replication/thresholds.py"),
    "drawing": ("/matplotlib/", "/spotball_core/plots/", "/report/charts/", "/pages/figures.py"),
    "page and images": ("/spotball_core/pages/", "/report/gallery.py", "/report/sections/", "<template>", "/jinja2/"),
    "tables": ("/text/tables.py", "/rich/"),
    "reading": (
        "/spotball_core/io/",
        "/spotball_core/counting/",
        "/scoring/score.py:load_counts",
        "/replication/release_files.py",
    ),
}
"""Parts of paths, some with a function, by topic. The innermost frame that matches a part determines the topic."""

REST = "metrics and the rest"
AROUND = "interpreter"

READ = "import polars, sys; polars.scan_ndjson(f'{sys.argv[1]}/responses*.jsonl').collect()"
FLOORS = {
    "start of Python": "pass",
    "import numpy, polars, pydantic, typer": "import numpy, polars, pydantic, typer",
    "import ot": "import ot",
    "import matplotlib.figure, jinja2": "import matplotlib.figure, jinja2",
    "reading the same responses with Polars": READ,
}
"""Statements for a fresh interpreter, which receives the study's folder as argument."""


def place_of(frame: FrameType | None) -> str:
    """Return the topic (a key of `PLACES`, or `REST`) of the innermost frame of a call stack that matches one."""
    while frame is not None:
        code = frame.f_code
        here = f"{code.co_filename}:{code.co_name}"
        for place, marks in PLACES.items():
            if any(mark in here for mark in marks):
                return place
        frame = frame.f_back
    return REST


def watched(file: Path, arguments: list[str]) -> None:
    """Run a command of spotball in this process, and write its seconds per topic to a file."""
    seconds: dict[str, float] = defaultdict(float)
    last = time.perf_counter()

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[place_of(frame)] += now - last
        last = now

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, EVERY, EVERY)
    sys.argv = ["spotball", *arguments]
    try:
        from spotball_core.cli.app import main

        main()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        file.write_text(json.dumps(seconds), encoding="utf-8")


def profiles(commands: dict[str, list[str]], folder: Path) -> list[dict[str, Any]]:
    """Return each command's seconds by topic and its peak memory, from its fastest run."""
    from measure import process

    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, arguments in commands.items():
            file = folder / "seconds.json"
            used = process([sys.executable, __file__, str(file), *arguments], accept=(0, 1))
            places = json.loads(file.read_text(encoding="utf-8"))
            places[AROUND] = used.seconds - sum(places.values())
            ordered = dict(sorted(places.items(), key=lambda item: -item[1]))
            runs[name].append(
                {"command": name, "seconds": used.seconds, "megabytes": used.megabytes, "places": ordered}
            )
    return [min(each, key=lambda run: run["seconds"]) for each in runs.values()]


def solver_alone(folder: Path) -> tuple[int, float]:
    """Return how many pairs `spotball score` compares, and the time of POT's solver for them."""
    import numpy as np
    from measure import in_turn
    from ot.lp.emd_wrap import emd_c

    from spotball_core import ScorePolicy
    from spotball_core.scoring.groups import Scoring
    from spotball_core.scoring.score import load_counts

    counts, scenes = load_counts(folder, None, participants=False)
    scoring = Scoring(counts, scenes, ScorePolicy.standard(reference="human"))
    problems = []
    for group in scoring.groups:
        answers = scoring.estimator(group).answers
        if answers.is_reference or answers.reference is None:
            continue
        distances = scoring.arrays.grids[0].distances
        for p, q in zip(answers.mass, answers.reference, strict=True):
            left = p / p.sum() - q / q.sum()
            more, less = np.flatnonzero(left > 0), np.flatnonzero(left < 0)
            cost = np.ascontiguousarray(distances[np.ix_(more, less)])
            problems.append((left[more], -left[less] * (left[more].sum() / -left[less].sum()), cost))
    solve = {"solver": lambda: [emd_c(p, q, cost, 10_000_000, 1) for p, q, cost in problems]}
    return len(problems), in_turn(solve, ROUNDS)["solver"]


def main() -> None:
    """Profile all commands, and write the file."""
    from measure import process
    from release import write_release
    from results import here_and_now
    from study import write_study

    from spotball_core import synthetic_scenes

    setting = here_and_now()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        study, release = folder / "study", folder / "release"
        write_study(study)
        write_release(release, synthetic_scenes(156))
        commands = {
            "score": ["score", str(study), "--reference", "human", "--format", "json", "--quiet"],
            "replicate": ["replicate", str(release), "--format", "json", "--quiet"],
            # Use one process, because the timer does not see other processes.
            "report": [
                *("report", str(study), "--reference", "human", "--out", str(folder / "report"), "--quiet"),
                *("--jobs", "1"),
            ],
        }
        found = profiles(commands, folder)
        floors = {
            name: min(process([sys.executable, "-c", code, str(study)]).seconds for _ in range(ROUNDS))
            for name, code in FLOORS.items()
        }
        pairs, seconds = solver_alone(study)
    floors[f"POT's solver for the {pairs:,} pairs that `score` compares"] = seconds
    record = {"setting": asdict(setting), "commands": found, "floors": floors}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for command in found:
        print(f"{command['command']}: {command['seconds']:.1f} s", command["places"])
    print(floors)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        watched(Path(sys.argv[1]), sys.argv[2:])
    else:
        main()
