"""Test reading CONFIG.toml, and that all its problems are reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.errors import InputError
from spotball_gen.items.stage import ORDER
from spotball_gen.pipeline.config import read_config
from tests.gen.runs import write_config

pytestmark = pytest.mark.usefixtures("plugins")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    return tmp_path


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as error:
        read_config(path)
    return str(error.value).replace(f"{path}: ", "").splitlines()


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
    expected = "`path` or `query`, or `queries` in [sports.handball]"
    assert problems(path) == [f"sources: found a source of handball without `path` and `query`, expected {expected}"]


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
    known = "check, detect, filter, frames, inpaint, label, plausibility, run, sources, sports, targets, track"
    assert problems(path) == [
        f"colour: found an unknown table, expected one of {known}. Correct its spelling or remove it",
        "run.seed: found -1, expected greater than or equal to 0",
        (
            "run.sead: found 3, expected a known key. Remove it or correct its spelling. Did you mean 'seed'? "
            "Known keys: seed, width, height, rows, cols, keep_rejected"
        ),
        (
            "sources.1.path: found 'nowhere', which does not exist, expected a video or a folder of videos. "
            "Correct the path; it is relative to the folder of a.toml"
        ),
        "frames.fps: found 0, expected greater than 0",
        "filter.kind: found 'clipp', expected one of best, clip, forgets, plain, sharpness. Did you mean 'clip'?",
        (
            "detect.secs: found 3, expected a known key. Remove it or correct its spelling. Did you mean 'seconds'? "
            "Known keys: reject_every, fail_at, break_batch, break_run, seconds, batch_size"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "sources: found none, expected a table [[sources]] with `sport`, and with `path` or `query`"),
        ("sources = 3", "sources: found none, expected a table [[sources]] with `sport`, and with `path` or `query`"),
        ("filter = 3", "filter: found 3, expected a table [filter]"),
        ('[[sources]]\nsport="soccer"\npath="videos"\nquery="x"', "expected path without query"),
        ('[[sources]]\nsport="a/b"\npath="videos"', 'sources.1.sport: found "a/b"'),
        ("[sports.soccer]\ncolor = 3", "sports.soccer.color: found 3"),
        (
            '[plausibility]\nkind="plain"\n[sports.soccer.bounds]\nballs = 3\n[[sources]]\nsport="soccer"\npath="."',
            "sports.soccer.bounds.balls: found 3, expected a known key",
        ),
    ],
)
def test_config_with_an_invalid_entry_names_it(folder: Path, text: str, expected: str) -> None:
    (folder / "a.toml").write_text(text)
    assert any(line.startswith(expected) or expected in line for line in problems(folder / "a.toml"))


def test_config_without_a_detector_is_an_error(folder: Path) -> None:
    path = write_config(folder / "a.toml")
    path.write_text(path.read_text().replace('[detect]\nkind = "plain"\n', ""))
    (line,) = problems(path)
    assert line.startswith("detect.kind: found nothing, expected one of ")


def test_config_that_is_missing_or_not_toml_is_an_error(folder: Path) -> None:
    assert problems(folder / "none.toml") == [
        "file: found no such file, expected a configuration (TOML). Check the path"
    ]
    (folder / "bad.toml").write_text("[run\nseed")
    assert problems(folder / "bad.toml")[0].startswith("file: found Expected ']'")


def test_config_with_a_stage_that_cannot_be_imported_names_the_reason(folder: Path, plugins: Path) -> None:
    entries = plugins / "spotball_test_stages-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text() + "filter.broken = tests.gen.no_such_module:X\n")
    (line,) = problems(write_config(folder / "a.toml", filter={"kind": "broken"}))
    assert "tests.gen.no_such_module:X of spotball-test-stages) cannot be loaded: ModuleNotFoundError" in line
