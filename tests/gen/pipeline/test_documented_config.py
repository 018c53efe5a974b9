"""Test that the configurations in the how-tos on generation are valid."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from scripts.docs_blocks import blocks
from spotball_gen.pipeline.config import read_config
from spotball_gen.pipeline.quotas import Targets
from spotball_gen.stages.detect_yolov8_onnx import YoloV8OnnxSettings
from spotball_gen.stages.filter_clip import ClipSettings
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusionSettings
from tests.conftest import ROOT


def listings(page: str) -> list[str]:
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    return [block.text for block in blocks(text) if block.language == "toml"]


def test_configuration_and_targets_in_the_generate_how_to_are_valid(tmp_path: Path) -> None:
    config, targets = listings("generate.md")
    (tmp_path / "videos/handball").mkdir(parents=True)
    (tmp_path / "handball.toml").write_text(config, encoding="utf-8")
    assert read_config(tmp_path / "handball.toml").stages
    assert Targets.model_validate(tomllib.loads(targets)["targets"]).count == 1000


def test_tables_in_the_generation_models_how_to_are_valid() -> None:
    (listing,) = listings("generation-models.md")
    tables: dict[str, dict[str, Any]] = tomllib.loads(listing)
    kinds: dict[str, type[BaseModel]] = {
        "filter": ClipSettings,
        "detect": YoloV8OnnxSettings,
        "inpaint": StableDiffusionSettings,
    }
    assert tables.keys() == kinds.keys()
    for stage, settings in kinds.items():
        settings.model_validate({key: value for key, value in tables[stage].items() if key != "kind"})
