"""Test that all commands print tables of at most 80 columns on a terminal with 80 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spotball_core.baselines import BASELINES, baseline_responses
from spotball_core.gaze.data.stimuli import write_stimuli
from spotball_core.gaze.data.trials import write_trials
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.io.frames import write_responses
from spotball_core.synthetic.poses import synthetic_poses
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.builders import dataset
from tests.cli.process import spotball

WIDTH = 80
REFERENCE = "--reference social"
COMMANDS = (
    "score data --full",
    f"score data {REFERENCE}",
    f"score data {REFERENCE} --full --ceiling",
    "score data --metrics accuracy,log_score",
    "score data --sport synthetic-soccer",
    f"compare data --a center --b uniform {REFERENCE}",
    f"compare data --a center --b uniform {REFERENCE} --full --permutations 20",
    "cues explain data",
    "gaze analyze trials.csv",
    "gaze analyze trials.csv --full",
    "gaze analyze trials.csv --only weights",
    "plan data --a center --b nearest-player --reference oracle --price-image 1",
    "plan --observer eye --simulations 2 --trials 1,4",
    "schema",
    "demo --out demo",
    "count data --out counts.counts",
    "baselines data --out baselines.jsonl",
    "run data --provider baseline --model center --prompt base,cot --out asked --dry-run",
    "run data --provider baseline --model center --prompt base --out asked",
    "gen run --demo --out items",
)
WITHOUT_TABLES = ("demo", "count", "baselines", "run")
BOOTSTRAPPED = ("score", "compare", "cues")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("width")
    scenes = synthetic_poses(synthetic_scenes(36))
    write_responses(
        baseline_responses(scenes, list(BASELINES), samples=6), dataset(folder / "data", scenes) / "responses.jsonl"
    )
    photos = factorial_design()[:60]
    write_trials(simulate(Observer("coin", lapse=0.2), photos, prompts=2), folder / "trials.csv")
    write_stimuli(photos, folder / "stimuli.csv")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_command_prints_tables_of_at_most_80_columns(command: str, folder: Path) -> None:
    words = command.split()
    words += ["--bootstrap", "20"] if words[0] in BOOTSTRAPPED else []
    done = spotball(*words, env={"COLUMNS": str(WIDTH)}, cwd=folder)
    assert done.returncode == 0, done.stderr
    # Only on a terminal, other text is wrapped as well.
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.search(r"\S {2,}\S|─", line)]
    assert [line for line in lines if len(line) > WIDTH] == []
    assert len(lines) > 2 or command.startswith(WITHOUT_TABLES)
