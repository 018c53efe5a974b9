"""Provide a fake Hub on the loopback interface, and folders to push to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spotball_core.baselines import baseline_responses
from spotball_core.counting.parse_record import write_parse_policy
from spotball_core.io.frames import write_responses
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.scoring.score import score
from tests.gen.hub.server import FakeHub, serve


def direct(hub: FakeHub, patch: pytest.MonkeyPatch) -> None:
    """Make the client library use a Hub, even if it was already imported and has read the environment."""
    reason = "the package huggingface-hub comes with the extra hub"
    constants = pytest.importorskip("huggingface_hub.constants", reason=reason)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(constants, "ENDPOINT", hub.url)
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    patch.setenv("HF_ENDPOINT", hub.url)
    patch.setenv("HF_TOKEN", hub.token)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Start a fake Hub, and make the client library use it, with a token and without the Xet upload protocol."""
    (tmp_path / "stored-login").write_text("hf_storedLogin")
    with serve() as hub:
        direct(hub, monkeypatch)
        monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "stored-login"))
        yield hub


@pytest.fixture(scope="session")
def answered(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a generated dataset with an attention check, and responses in several formats."""
    folder = shutil.copytree(made, tmp_path_factory.mktemp("hub") / "balls")
    scenes = read_scenes(folder / "scenes.jsonl")
    control = scenes[-1].model_copy(update={"control": True})
    write_scenes([*scenes[:-1], control], folder / "scenes.jsonl")
    rows = baseline_responses(scenes, samples=4)
    write_responses(rows, folder / "responses-baselines.jsonl")
    write_responses(rows.with_columns(respondent=rows["respondent"] + "-csv"), folder / "responses-csv.csv")
    lines = [
        json.dumps({"cell": f"D{number}", "image": scene.image, "extra": {"ü": [1.50, None]}}, ensure_ascii=False)
        for number, scene in enumerate(scenes[:9], start=1)
    ]
    lines[0] = lines[0].replace(": ", ":   ")
    (folder / "responses-odd.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_parse_policy(folder / "responses-odd.jsonl", "lenient")
    return folder


@pytest.fixture(scope="session")
def scored(answered: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two score reports, in which one respondent is a model."""
    folder = tmp_path_factory.mktemp("scored")
    (folder / "reports").mkdir()
    for name, policy in (("a", "standard"), ("b", "paper")):
        text = (answered / "responses-baselines.jsonl").read_text().replace('"baseline"', '"model"')
        (folder / "responses.jsonl").write_text(text)
        report = score(folder / "responses.jsonl", answered / "scenes.jsonl", policy=policy, bootstrap=20)
        (folder / "reports" / f"{name}.json").write_text(report.model_dump_json(indent=1))
    (folder / "other.json").write_text("{}")
    return folder
