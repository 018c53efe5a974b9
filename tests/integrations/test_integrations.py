"""Test the task for lmms-eval and the dataset class for VLMEvalKit, alone and in these tools if they are installed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spotball_adapters.outputs.parse import parse_files
from spotball_core import read_scenes, score
from tests.adapters.run_process import dataset
from tests.conftest import ROOT

FOLDER = ROOT / "integrations"

PROGRAM = """
import json, os, sys
folder, tasks, out, repeats = sys.argv[1:]
os.environ |= {"HF_HOME": out + "/hf", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
os.chdir(folder)
from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.loggers import EvaluationTracker
from lmms_eval.tasks import TaskManager

class Scripted(lmms):
    def generate_until(self, requests):
        for request in requests:
            _, _, visual, doc_id, task, split = request.args
            (picture,) = visual(self.task_dict[task][split][doc_id])
            assert picture.mode == "RGB"
        return [f"Reasoning: {n}.\\nCell: {'ABC'[n % 3]}{n % 7 + 1}" for n in range(len(requests))]

    def loglikelihood(self, requests):
        raise NotImplementedError

    generate_until_multi_round = loglikelihood

tracker = EvaluationTracker(output_path=out)
manager = TaskManager("ERROR", include_path=tasks, include_defaults=False)
found = simple_evaluate(
    model=Scripted(), tasks=["spotball"], task_manager=manager, evaluation_tracker=tracker, log_samples=True,
    batch_size=1, repeats=int(repeats), bootstrap_iters=0,
)
samples = found.pop("samples")
tracker.save_results_aggregated(results=found, samples=samples, datetime_str="now")
for task, records in samples.items():
    tracker.save_results_samples(task_name=task, samples=records)
with open(out + "/results.json", "w", encoding="utf-8") as file:
    json.dump(found["results"], file, default=str)
"""


def load(name: str, file: str) -> ModuleType:
    spec = spec_from_file_location(name, FOLDER / file)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a dataset, and name it in the environment variable that our VLMEvalKit class reads."""
    folder = dataset(tmp_path / "data", images=3)
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    monkeypatch.setenv("SPOTBALL_DATASET", str(folder))
    return folder


@pytest.fixture
def utils(data: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module of the lmms-eval task, and make the folder of a dataset the current directory."""
    monkeypatch.chdir(data)
    return load("spotball_lmms_utils", "lmms_eval/utils.py")


@pytest.fixture
def made(data: Path) -> Any:
    """Return our VLMEvalKit dataset. Skip the test if VLMEvalKit, which is not on PyPI, is not installed."""
    reason = "VLMEvalKit is not installed: see https://github.com/open-compass/VLMEvalKit"
    pytest.importorskip("vlmeval.dataset.image_base", reason=reason)
    return load("spot_the_ball", "vlmevalkit/spot_the_ball.py").SpotTheBall("SpotTheBall_base")


def docs() -> list[dict[str, str]]:
    return [{"text": line} for line in Path("scenes.jsonl").read_text(encoding="utf-8").splitlines()]


def test_lmms_eval_question_picture_and_ball_cells_match_the_scene_and_prompt(utils: ModuleType) -> None:
    (first, *_) = docs()
    scene = json.loads(first["text"])
    (picture,) = utils.picture(first)
    assert picture.size == (scene["width"], scene["height"])
    assert scene["sport"] in utils.question(first, {"prompt": "base"})
    assert utils.question(first, {"prompt": "base"}) != utils.question(first, {"prompt": "cue"})
    assert utils.ball_cells(first) == ",".join(scene["ball_cells"])


def test_lmms_eval_metrics_equal_the_mean_over_sports_of_those_of_score(utils: ModuleType) -> None:
    replies = [["Cell: C2", "Cell: A1"], [["Cell: B3"], ["no idea"]], ["Cell: F9"]]
    answered = [utils.answers(doc, said)["spotball_accuracy"] for doc, said in zip(docs(), replies, strict=True)]
    assert [one["cells"] for one in answered] == [["C2", "A1"], ["B3", None], ["F9"]]
    rows = [
        {"sport": one["sport"], "image": one["image"], "respondent": "m", "sample": n, "cell": cell}
        for one in answered
        for n, cell in enumerate(one["cells"], start=1)
    ]
    groups = score(rows, read_scenes("scenes.jsonl"), bootstrap=0).groups
    assert len(groups) == 2
    for metric in utils.METRICS:
        values = [value for group in groups if (value := group.metrics[metric].value) is not None]
        expected = sum(values) / len(values) if values else math.nan
        assert getattr(utils, metric)(answered) == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 3])
def test_lmms_eval_task_gives_the_metrics_of_score_and_parse_files_reads_its_samples(
    repeats: int, data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("lmms_eval", reason="lmms-eval is not installed: pip install lmms-eval")
    command = [sys.executable, "-c", PROGRAM, str(data), str(FOLDER / "lmms_eval"), str(tmp_path / "out"), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    (samples,) = (tmp_path / "out").rglob("*_samples_spotball_base.jsonl")
    # No index file is needed, because the samples of our task name their images.
    scenes = read_scenes(data / "scenes.jsonl")
    parsed = parse_files([samples], scenes, respondent="m")
    assert (len(parsed.reading.rows), parsed.missing) == (3 * repeats, 0)
    groups = score(parsed.reading.rows, scenes, bootstrap=0).groups
    for metric in ("accuracy", "euclidean_error", "normalized_entropy"):
        mean = sum(group.metrics[metric].value or 0.0 for group in groups) / len(groups)
        assert results["spotball_base"][f"spotball_{metric},every"] == pytest.approx(mean)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["xlsx", "tsv"])
def test_evaluate_in_vlmevalkit_returns_the_metrics_of_score(
    made: Any, data: Path, tmp_path: Path, ending: str
) -> None:
    from vlmeval.smp import dump

    assert len(made) == 3
    picture, text = made.build_prompt(0)
    assert Path(picture["value"]).stat().st_size > 0
    assert (picture["type"], text["type"]) == ("image", "text")
    table = made.data.copy()
    table["prediction"] = ["Cell: C2", "Reasoning: Left.\nCell: B3", "no idea"]
    file = tmp_path / f"model_SpotTheBall_base.{ending}"
    dump(table, str(file))
    scenes = read_scenes(data / "scenes.jsonl")
    parsed = parse_files([file], scenes, respondent="m")
    groups = score(parsed.reading.rows, scenes, bootstrap=0).groups
    expected: dict[str, float] = {f"{group.sport}|n_unparsed": group.n_unparsed for group in groups}
    values = {f"{group.sport}|{key}": one.value for group in groups for key, one in group.metrics.items()}
    expected |= {key: value for key, value in values.items() if value is not None}
    expected["Overall|accuracy"] = sum(expected[f"{group.sport}|accuracy"] for group in groups) / 2
    assert made.evaluate(str(file)) == pytest.approx(expected)
    assert made.report_primary_metric(expected) == {"Overall|accuracy": expected["Overall|accuracy"]}
