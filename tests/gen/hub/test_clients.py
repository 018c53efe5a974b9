"""Test that common Hub client libraries can load a pushed repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.io.scenes import read_scenes
from spotball_gen.hub.push import stage
from spotball_gen.items.pictures import decoded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

REASON = "the package {} is not installed: `make test-all` installs it"


def repository(folder: Path, place: Path) -> Path:
    """Write the files of the repository that a push of `folder` creates, and return their folder."""
    (place / "work").mkdir(parents=True)
    staged = stage(folder, place / "work", repo="me/balls", url="https://example.org/datasets/me/balls")
    for name, file in staged.files.items():
        (place / "repository" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "repository" / name).write_bytes(file.read_bytes())
    return place / "repository"


def response_lines(folder: Path) -> list[str]:
    names = ("responses-baselines.jsonl", "responses-odd.jsonl")
    return [line for name in names for line in (folder / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def datasets() -> Any:
    library = pytest.importorskip("datasets", reason=REASON.format("datasets"))
    library.disable_progress_bars()
    return library


def test_datasets_library_loads_scenes_and_responses_of_a_pushed_repository(
    datasets: Any, answered: Path, tmp_path: Path
) -> None:
    folder = str(repository(answered, tmp_path))
    loaded = datasets.load_dataset(folder, cache_dir=str(tmp_path / "cache"))
    scenes = read_scenes(answered / "scenes.jsonl")
    rows = sorted((row for part in loaded.values() for row in part), key=lambda row: row["position"])
    for row, scene in zip(rows, scenes, strict=True):
        assert (row["id"], row["control"], row["line"]) == (scene.image, scene.control, scene.model_dump_json())
        assert np.array_equal(np.asarray(row["image"]), decoded(answered / str(scene.path)))
    responses = datasets.load_dataset(folder, "responses", split="test", cache_dir=str(tmp_path / "cache"))
    assert sorted(responses["line"]) == sorted(response_lines(answered))
    (odd,) = (row for row in responses if row["file"] == "responses-odd.jsonl" and row["position"] == 4)
    assert (odd["cell"], odd["image"], odd["sample"]) == ("D5", scenes[4].image, None)


def test_datasets_library_loads_scores_of_a_pushed_repository(datasets: Any, scored: Path, tmp_path: Path) -> None:
    rows = datasets.load_dataset(str(repository(scored, tmp_path)), split="test", cache_dir=str(tmp_path / "cache"))
    assert {"accuracy", "euclidean_error"} <= set(rows["metric"])


def test_mlcroissant_validates_and_loads_pushed_datasets_and_scores(
    answered: Path, scored: Path, tmp_path: Path
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason=REASON.format("mlcroissant"))
    counts = []
    for folder in (answered, scored):
        path = repository(folder, tmp_path / folder.name) / "croissant.json"
        dataset = mlcroissant.Dataset(jsonld=str(path))
        assert not dataset.metadata.ctx.issues.errors
        counts.append({rows.uuid: len(list(dataset.records(rows.uuid))) for rows in dataset.metadata.record_sets})
    assert counts[0] == {"items": 12, "responses": len(response_lines(answered))}
    assert counts[1]["scores"] > 10


def test_huggingface_hub_reads_the_dataset_and_score_cards(answered: Path, scored: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="the package huggingface-hub comes with the extra hub")
    assert hub.DatasetCard.load(repository(answered, tmp_path / "a") / "README.md").data.license == "cc0-1.0"
    assert hub.DatasetCard.load(repository(scored, tmp_path / "b") / "README.md").data.pretty_name.endswith("results")
