"""Test the public interface with type checkers: they accept correct calls and programs, and report mistakes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import docs_types
from spotball_core import metrics
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

HEAD = """\
# pyright: reportUnusedExpression=false, reportUnusedImport=false
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from spotball_core import (
    Accumulator, Comparison, Counts, Dataset, Grid, PlayerBox, PredictionDistribution, Response, Scene, ScorePolicy,
    ScoreReport, accuracy, load, near_player_rate, read_counts, replicate, score, score_arrays, scorer,
)
from spotball_core.cues.explanation_record import CueReport
from spotball_core.cues.thresholds import ThresholdSurface
from spotball_core.extend import MeanOverImages, MeanOverResponses, Metric, Pooled, Sums
from spotball_core.interchange import ArrowFrame
from spotball_core.io.sources import Responses
from spotball_core.replication.record import Replication
from spotball_core.schema import CeilingReport, GridShape
from spotball_core.schema.report import Mixture
from spotball_core.scoring.arrays import Scorer

grid, policy = Grid.standard(), ScorePolicy.standard()
scene = Scene(sport="padel", image="1", grid=grid)
answer = Response(sport="padel", image="1", respondent="mine", kind="model", cell="C5")
names: Any = {}
counts: Counts = names
frame: pl.DataFrame = names
stream: ArrowFrame = frame
scenes: list[Scene] = names
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
data: Dataset = load("data", reference="human", pool=True, strict=True); load(frame, [scene]), load(counts, scenes)
load({"1": "D5", "2": "A1"}, truth={"1": "D5", "2": {"A1", "A2"}}), load([{"image": "1", "cell": "D5"}], truth=frame)
load("p.csv", truth="t.csv", columns={"image": "id"}, grid=Grid(8, 8, 800, 600)), load(["p.csv"], truth=Path("t.csv"))
score([{"image": 1, "cell": "D5"}], [{"image": 1, "ball_cells": ["D5"]}]), score(stream, truth=[{"image": "1", "x": 3}])
report: ScoreReport = data.score(policy="paper", by=["sport"], cluster="participant", bootstrap=0, seed=1, ceiling=True)
cues: CueReport = data.cues(["center"], mirrors=9, jobs=2); data.report("out", before=data, figures=["paper"])
read_counts(frame, [scene]), read_counts(["a.csv"], scenes)
accumulator = Accumulator([scene]); accumulator.update(["1"], np.ones((1, 60))); accumulator.update([0], ["C5"])
accumulator.compute(by=["sport"], policy="paper"), accumulator.report(counts, reference="human", ceiling=True)
score_arrays(["D5", None], frame, sample_weight=[1, 2], players=np.ones((2, 1, 4)), reference=stream)
made: Scorer = scorer("accuracy"); weighted: float = made(names, [0], ["D5"], sample_weight=[1.0])
accuracy(frame, ["D5"]), accuracy(["D5", None], scene), near_player_rate(stream, [PlayerBox(x1=1, y1=2, x2=3, y2=4)])
compared: Comparison = data.compare("a", "b", permutations=99, policy=policy); mixture: Mixture = data.mixture("a/base")
ceilings: CeilingReport = data.ceiling(splits=9); surface: ThresholdSurface = data.thresholds(taus=[0.1])
replication: Replication = replicate("release")
responses: Responses = frame
[Metric("a", "A", "A", "px", "lower", None, ("truth",), "task", accuracy, way) for way in (
    MeanOverImages(names), MeanOverResponses(names), Pooled(names), Sums(names, "images")
)]
"""

FAIL = """\
Scene(sport="padel", image="1", grid=6)
Scene(sport="padel", image="1", grid=grid, ball_cell=["C5"])
Response(sport="padel", image="1", respondent="mine", kind="machine")
ScorePolicy.standard(referense="human")
ScorePolicy.standard(bootstrap="many")
score(1)
score(frame, scene)
load(3, "scenes.jsonl")
load("data").compare("human")
load("data").score(bootstraps=0)
accumulator = Accumulator([scene]).compute(bootstraps=0)
scorer("accuracy").metric = "log_score"
"""


VALUES_HEAD = """\
from typing import assert_type

import numpy as np
import polars as pl
from numpy.typing import NDArray

import spotball_core as sc
from spotball_core import Grid, PlayerBox, PredictionDistribution, Scene

grid = Grid(1, 3, 300, 100)
scene = Scene(sport="padel", image="1", grid=grid, ball_cells=["A1"], players=[[1, 2, 3, 4]])
shares = PredictionDistribution(sport="padel", image="1", respondent="mine", kind="model", probabilities=[1, 0, 0])
counts: NDArray[np.int64] = np.array([[20, 4, 0], [8, 8, 8]])
frame = pl.DataFrame(counts, schema=["A1", "A2", "A3"])
boxes = pl.DataFrame({"x1": [1], "y1": [2], "x2": [3], "y2": [4]})
"""

FLOATS = (
    'sc.accuracy(["A1", None], {"A1", "A2"})',
    'sc.accuracy("A1", "A1", grid=grid)',
    "sc.accuracy(shares, scene)",
    "sc.accuracy([2, 1, 0], [True, False, False], unparsed=1)",
    "sc.accuracy([np.float64(2), np.float64(1)], (np.True_, np.False_))",
    "sc.accuracy([np.int64(2), np.int64(0)], [1.0, 0.0])",
    'sc.euclidean_error({"A1": 0.5, "A2": 0.5}, scene)',
    'sc.expected_error(["A2"], "A3", grid=grid)',
    "sc.top_k_accuracy([2, 1, 0], [1, 0, 0], k=1)",
    'sc.wasserstein(["A1"], [0, 0, 1], unit="cell", grid=grid)',
    "sc.wasserstein_1d([1, 0, 0], [0, 0, 1], grid=grid)",
    "sc.near_player_rate([1, 0, 0], [[1, 2, 3, 4]], grid=grid)",
    "sc.near_player_rate([1, 0, 0], [PlayerBox(x1=1, y1=2, x2=3, y2=4)], grid=grid)",
    "sc.overlap_rate([1, 0, 0], boxes, grid=grid)",
    "sc.overlap_rate([1, 0, 0], scene)",
    "sc.center_ratio([1, 0, 0], scene, window=((1, 1), (2, 2)))",
    "sc.symmetric_center_bias([1, 0, 0], [1, 0, 0], grid=grid)",
    "sc.normalized_entropy([1, 1, 0])",
    "sc.image_entropy([[1, 1, 0], [1, 0, 0]])",
    "sc.image_entropy(frame, grid=grid)",
    "sc.log_score([1, 0, 0], scene)",
    "sc.brier_score([1, 0, 0], [1, 0, 0])",
    "sc.energy_score([1, 0, 0], scene)",
    "sc.wasserstein_matched([[20, 0, 0]], [[0, 20, 0]], grid=grid)",
    "sc.wasserstein_1d_matched(frame, frame, grid=grid)",
    "sc.normalized_entropy_matched([20, 0, 0])",
    "sc.image_entropy_matched([[20, 0, 0]])",
    "sc.top_k_accuracy_matched([20, 0, 0], [1, 0, 0])",
    "sc.log_score_matched([20, 0, 0], [1, 0, 0])",
    "sc.brier_score_matched([20, 0, 0], [1, 0, 0])",
    "sc.energy_score_matched([20, 0, 0], scene)",
)
"""Calls that return a float: for one image, or for one set of images if the metric needs a set."""

ARRAYS = (
    'sc.accuracy(["A1", None], ["A1", "A2"], grid=grid)',
    'sc.accuracy([["A1", "A2"], ["A1"]], ["A1", {"A2", "A3"}], grid=grid)',
    'sc.euclidean_error(["A1"], [scene])',
    'sc.near_player_rate(["A1"], [scene])',
    "sc.accuracy(counts, scene)",
    "sc.accuracy([1, 0, 0], counts > 7)",
    "sc.accuracy([[2, 1, 0], [1, 1, 1]], [1, 0, 0])",
    "sc.accuracy([np.ones(3), np.ones(3)], scene)",
    "sc.accuracy([1, 0, 0], scene, unparsed=[1, 2])",
    "sc.accuracy(frame, scene)",
    "sc.euclidean_error(counts, scene)",
    "sc.wasserstein(counts, [1, 0, 0], grid=grid)",
    "sc.near_player_rate(counts, scene)",
    "sc.near_player_rate([[1, 0, 0], [1, 0, 0]], [[[1, 2, 3, 4]], [[5, 6, 7, 8]]], grid=grid)",
    "sc.normalized_entropy(counts)",
    "sc.image_entropy(np.stack([counts, counts]))",
    "sc.wasserstein_matched(np.stack([counts, counts]), counts, grid=grid)",
    "sc.top_k_accuracy_matched(counts, scene)",
)
"""Calls that return an array: for arrays, frames of several images, or lists of lists."""

VALUES = VALUES_HEAD + "".join(
    f"assert_type({call}, {kind})\n"
    for kind, calls in {"float": FLOATS, "NDArray[np.float64]": ARRAYS}.items()
    for call in calls
)


def of_mypy(folder: Path) -> list[docs_types.Error]:
    # Use no configuration, because users do not necessarily enable mypy's Pydantic plugin.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    command += ["--cache-dir", str(folder / "cache"), "--disable-error-code=import-untyped"]
    done = subprocess.run([*command, *map(str, folder.glob("*.py"))], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [line.split(":", 2) for line in done.stdout.splitlines()]
    return [(Path(file).name, int(number), text) for file, number, text in lines if text.startswith(" error")]


@pytest.mark.parametrize("checked", [of_mypy, docs_types.pyright], ids=["mypy", "pyright"])
def test_type_checkers_accept_documented_calls_and_programs_report_mistakes_and_infer_floats_and_arrays(
    checked: Callable[[Path], list[docs_types.Error]], tmp_path: Path
) -> None:
    # Each start of a type checker reads the types of all libraries, so check everything in one start.
    for program in (ROOT / "tests/programs").glob("*.py"):
        shutil.copy(program, tmp_path)
    for name, text in (("pass", HEAD + PASS), ("fail", HEAD + FAIL), ("values", VALUES)):
        Path(tmp_path, f"typing_{name}.py").write_text(text, encoding="utf-8")
    found = checked(tmp_path)
    n = HEAD.count("\n")
    lines_of_fail = {number - n for file, number, _ in found if file == "typing_fail.py"}
    assert lines_of_fail == set(range(1, FAIL.count("\n") + 1))
    assert [error for error in found if error[0] != "typing_fail.py"] == []


@pytest.mark.parametrize(("calls", "kind"), [(FLOATS, float), (ARRAYS, np.ndarray)], ids=["float", "array"])
def test_metric_calls_return_floats_or_arrays_as_the_type_checkers_infer(calls: tuple[str, ...], kind: type) -> None:
    names: dict[str, Any] = {}
    exec(VALUES_HEAD, names)
    assert {call: type(value) for call in calls if not isinstance(value := eval(call, names), kind)} == {}


def test_type_checked_calls_cover_every_metric_and_type_checked_constructor_calls_run() -> None:
    assert {call.split("(")[0].removeprefix("sc.") for call in FLOATS} == set(metrics.__all__)
    lines = PASS.splitlines()[:10]
    exec(HEAD.replace("= names", "= None") + "\n".join(lines), {})
