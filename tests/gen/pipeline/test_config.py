"""Test reading CONFIG.toml, that all its problems are reported at once, and that the how-tos show valid files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scripts.docs_blocks import blocks
from spotball_core.errors import InputError, Problem
from spotball_gen.items.item import Sport
from spotball_gen.items.stage import ORDER
from spotball_gen.pipeline.config import SourceSettings, read_config
from spotball_gen.pipeline.quotas import Targets
from spotball_gen.stages.detect_color import ColorSettings
from spotball_gen.stages.detect_file import FileSettings
from spotball_gen.stages.detect_yolov8_onnx import YoloV8OnnxSettings
from spotball_gen.stages.filter_clip import ClipSettings
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusionSettings
from tests.conftest import ROOT
from tests.failures import raises
from tests.gen.runs import write_config

pytestmark = pytest.mark.usefixtures("plugins")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    return tmp_path


def problems(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as error:
        read_config(path)
    assert error.value.file == str(path)
    return error.value.problems


def test_config_uses_defaults_for_missing_keys(folder: Path) -> None:
    plan = read_config(write_config(folder / "a.toml"))
    assert (plan.run.seed, plan.run.rows, plan.run.cols) == (3, 6, 10)
    assert str(plan.run.grid) == "6x10@160x96"
    assert tuple(choice.stage for choice in plan.stages) == ORDER
    assert plan.frames.kind == "pyav"
    assert plan.frames.settings.model_dump()["fps"] == 1
    assert list(plan.sports) == ["soccer"]
    assert plan.sports["soccer"].prompts == ("a picture of soccer players in action with ball",)


def test_config_accepts_a_new_sport(folder: Path) -> None:
    path = write_config(folder / "a.toml")
    text = path.read_text().replace('"soccer"', '"handball"')
    path.write_text(f'{text}\n[sports.handball]\nprompts = ["handball"]\nbounds = {{ reject_every = 4 }}\n')
    plan = read_config(path)
    assert plan.sports["handball"].bounds == {"reject_every": 4}
    assert plan.sports["handball"].ball_class == "sports ball"
    assert plan.identity()["sports.handball.prompts"] == ["handball"]


def test_source_without_path_and_query_needs_a_sport_with_queries(folder: Path) -> None:
    path = write_config(folder / "a.toml")
    path.write_text(path.read_text().replace('path = "videos"', "count = 3"))
    assert read_config(path).sources[0].count == 3
    path.write_text(path.read_text().replace('"soccer"', '"handball"'))
    (problem,) = problems(path)
    assert (problem.code, problem.field) == ("invalid-value", "sources")
    assert "handball" in problem.found


def test_config_reports_all_problems_at_once(folder: Path) -> None:
    path = write_config(
        folder / "a.toml",
        run={"seed": -1, "sead": 3},
        filter={"kind": "clipp"},
        detect={"secs": 3},
        frames={"fps": 0},
        colour={"a": 1},
        source="nowhere",
    )
    found = problems(path)
    assert [(problem.code, problem.field) for problem in found] == [
        ("unknown-key", "colour"),
        ("invalid-value", "run.seed"),
        ("unknown-key", "run.sead"),
        ("invalid-value", "sources.1.path"),
        ("invalid-value", "frames.fps"),
        ("invalid-value", "filter.kind"),
        ("unknown-key", "detect.secs"),
    ]
    values = ["", "-1", "3", "'nowhere'", "0", "'clipp'", "3"]
    assert all(value in problem.found for value, problem in zip(values, found, strict=True))
    suggestions = ["detect", "", "'seed'", "a.toml", "", "'clip'", "'seconds'"]
    assert all(name in str(problem) for name, problem in zip(suggestions, found, strict=True))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("sources = 3", "missing-value:sources"),
        ("filter = 3", "invalid-value:filter"),
        ('[[sources]]\nsport="soccer"\npath="videos"\nquery="x"', "invalid-value:sources.1"),
        ('[[sources]]\nsport="a/b"\npath="videos"', "invalid-value:sources.1.sport"),
        ("[sports.soccer]\ncolor = 3", "unknown-key:sports.soccer.color"),
        (
            '[plausibility]\nkind="plain"\n[sports.soccer.bounds]\nballs = 3\n[[sources]]\nsport="soccer"\npath="."',
            "unknown-key:sports.soccer.bounds.balls",
        ),
    ],
)
def test_read_config_with_an_invalid_entry_raises_an_error_that_names_the_entry(
    folder: Path, text: str, where: str
) -> None:
    (folder / "a.toml").write_text(text)
    with raises(InputError, where):
        read_config(folder / "a.toml")


def test_read_config_with_a_stage_that_cannot_be_imported_reports_the_reason(folder: Path, plugins: Path) -> None:
    entries = plugins / "spotball_test_stages-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text() + "filter.broken = tests.gen.no_such_module:X\n")
    (problem,) = problems(write_config(folder / "a.toml", filter={"kind": "broken"}))
    assert (problem.code, problem.field) == ("invalid-value", "filter.kind")
    for part in ("tests.gen.no_such_module:X", "spotball-test-stages", "ModuleNotFoundError"):
        assert part in problem.found


def listings(page: str) -> list[str]:
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    return [block.text for block in blocks(text) if block.language == "toml"]


def test_configurations_in_the_how_tos_are_valid(tmp_path: Path) -> None:
    config, targets = listings("generate.md")
    (tmp_path / "videos/handball").mkdir(parents=True)
    (tmp_path / "handball.toml").write_text(config, encoding="utf-8")
    assert read_config(tmp_path / "handball.toml").stages
    assert Targets.model_validate(tomllib.loads(targets)["targets"]).count == 1000
    models, larger = (tomllib.loads(listing) for listing in listings("generation-models.md"))
    kinds = {"filter": ClipSettings, "detect": YoloV8OnnxSettings, "inpaint": StableDiffusionSettings}
    assert models.keys() == kinds.keys()
    for stage, table in (*models.items(), *larger.items()):
        kinds[stage].model_validate({key: value for key, value in table.items() if key != "kind"})


def test_configurations_in_the_reference_are_valid() -> None:
    (config,) = (tomllib.loads(text) for text in listings("../reference/generation.md"))
    assert len([SourceSettings.model_validate(table) for table in config["sources"]]) == 2
    assert Sport.model_validate(config["sports"]["handball"]).prompts
    colors, boxes = (tomllib.loads(text)["detect"] for text in listings("../reference/generation-stages.md"))
    assert (colors.pop("kind"), boxes.pop("kind")) == ("color", "file")
    assert ColorSettings.model_validate(colors).colors
    assert FileSettings.model_validate(boxes).classes
