"""Test the dataset class for VLMEvalKit if VLMEvalKit is installed. It is not on PyPI."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from spotball_adapters.outputs.parse import parse_files
from spotball_core import read_scenes, score
from tests.adapters.run_process import dataset
from tests.conftest import ROOT

REASON = "VLMEvalKit is not installed: see https://github.com/open-compass/VLMEvalKit"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = dataset(tmp_path / "data", images=3)
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    monkeypatch.setenv("SPOTBALL_DATASET", str(folder))
    return folder


@pytest.fixture
def made(data: Path) -> Any:
    pytest.importorskip("vlmeval.dataset.image_base", reason=REASON)
    spec = importlib.util.spec_from_file_location(
        "spot_the_ball", ROOT / "integrations" / "vlmevalkit" / "spot_the_ball.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SpotTheBall("SpotTheBall_base")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["xlsx", "tsv"])
def test_evaluate_returns_the_metrics_of_score(made: Any, data: Path, tmp_path: Path, ending: str) -> None:
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
    for group in groups:
        values = {key: one.value for key, one in group.metrics.items()}
        expected |= {f"{group.sport}|{key}": value for key, value in values.items() if value is not None}
    expected["Overall|accuracy"] = sum(expected[f"{group.sport}|accuracy"] for group in groups) / 2
    assert made.evaluate(str(file)) == pytest.approx(expected)
    assert made.report_primary_metric(expected) == {"Overall|accuracy": expected["Overall|accuracy"]}
