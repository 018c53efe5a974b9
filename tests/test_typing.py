"""What type checkers make of the public interface: calls that users write pass, and mistakes in them are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

HEAD = """\
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from spotball_core import (
    Accumulator, ArrowFrame, Ceiling, Comparison, Counts, Grid, Group, Mixture, PlayerBox, PredictionDistribution,
    Replication, Response, Responses, Scene, ScorePolicy, Scorer, Scoring, ThresholdSurface, accuracy, compare, explain,
    load_counts, near_player_rate, noise_ceiling, read_counts, replicate, score, score_arrays, scorer,
    threshold_surface,
)
from spotball_core.schema import GridShape

grid, policy = Grid.standard(), ScorePolicy.standard()
scene = Scene(sport="padel", image="1", grid=grid)
answer = Response(sport="padel", image="1", respondent="mine", kind="model", cell="C5")
names: Any = {}
counts: Counts = names
frame: pl.DataFrame = names
stream: ArrowFrame = frame
scoring: Scoring = names
"""

PASS = """\
Scene(sport="padel", image=1, grid=grid, ball_cells=["C5"], ball_box=[0, 0, 1, 1], players=[[1, 2, 3, 4]], path="a.png")
Scene(sport="padel", image="1", grid=GridShape(rows=2, cols=2), width=64, height=36, ball_cells=("A1",), control=True)
Scene(sport="padel", image="1", grid=grid, players=(PlayerBox(x1=1, y1=2, x2=3, y2=4),))
Scene(sport="padel", image="1", grid={"rows": 2, "cols": 2}, width=64, height=36, players=())
Response(sport="padel", image=1, respondent="mine", kind="human", prompt="cot", sample=1, participant=7)
PredictionDistribution(sport="padel", image="1", respondent="mine", kind="model", probabilities={"C5": 1})
PredictionDistribution(sport="padel", image="1", respondent="mine", kind="model", probabilities=[1.0, 0])
ScorePolicy.standard(reference="human", window=((2, 3), (3, 6)), by=["respondent"], bootstrap=0, seed=1)
ScorePolicy.paper(tau=0.1, theta=0.1, top_k=2, cluster="participant")
ScorePolicy(by=("sport",), window=((2, 3), (3, 6)), reference="human")
score("data"), score(Path("data")), score(["data", "more"]), score([Path("data")])
score(counts, "scenes.jsonl", policy=policy, wasserstein_unit="cell")
score([answer], [scene], bootstrap=0), score((answer,), (scene,)), score(frame, [scene]), score(stream, [scene])
all_counts, scenes = load_counts("data", None, participants=True)
read_counts(frame, [scene]), read_counts(["a.csv"], scenes)
accumulator = Accumulator([scene]); accumulator.update(["1"], np.ones((1, 60))); accumulator.update([0], ["C5"])
accumulator.compute(by=["sport"], policy="paper"), accumulator.report(counts, reference="human", ceiling=True)
score_arrays(["D5", None], frame, sample_weight=[1, 2], players=np.ones((2, 1, 4)), reference=stream)
made: Scorer = scorer("accuracy"); weighted: float = made(names, [0], ["D5"], sample_weight=[1.0])
accuracy(frame, ["D5"]), accuracy(["D5", None], scene), near_player_rate(stream, [PlayerBox(x1=1, y1=2, x2=3, y2=4)])
compared: Comparison = compare(scoring, "a", "b"); ceilings: tuple[Ceiling, ...] = noise_ceiling(scoring)
group: Group = scoring.groups[0]; mixture: Mixture = explain(scoring, group)
surface: ThresholdSurface = threshold_surface(scoring); replication: Replication = replicate("release")
responses: Responses = frame
"""

FAIL = """\
Scene(sport="padel", image="1", grid=6)
Scene(sport="padel", image="1", grid=grid, ball_cell=["C5"])
Response(sport="padel", image="1", respondent="mine", kind="machine")
ScorePolicy.standard(referense="human")
ScorePolicy.standard(bootstrap="many")
score(1)
score(frame, scene)
load_counts(3, None, participants=True)
accumulator = Accumulator([scene]).compute(bootstraps=0)
scorer("accuracy").metric = "log_score"
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[int]]:
    """For both files, the lines after the head in which mypy finds errors."""
    folder = tmp_path_factory.mktemp("typing")
    files = {name: folder / f"typing_{name}.py" for name in ("pass", "fail")}
    files["pass"].write_text(HEAD + PASS, encoding="utf-8")
    files["fail"].write_text(HEAD + FAIL, encoding="utf-8")
    # No configuration: what users get without the plugin of Pydantic.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    command += ["--cache-dir", str(folder / "cache"), "--disable-error-code=import-untyped"]
    done = subprocess.run([*command, *map(str, files.values())], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    lines: dict[str, set[int]] = {name: set() for name in files}
    for line in done.stdout.splitlines():
        file, number, kind = line.split(":", 2)
        for name, path in files.items():
            if Path(file).name == path.name and kind.startswith(" error"):
                lines[name].add(int(number) - HEAD.count("\n"))
    return lines


def test_documented_calls_pass(errors: dict[str, set[int]]) -> None:
    assert errors["pass"] == set()


def test_mistakes_are_found(errors: dict[str, set[int]]) -> None:
    assert errors["fail"] == set(range(1, FAIL.count("\n") + 1))


def test_the_calls_of_constructors_work() -> None:
    lines = PASS.splitlines()[:10]
    exec(HEAD.replace("= names", "= None") + "\n".join(lines), {})
