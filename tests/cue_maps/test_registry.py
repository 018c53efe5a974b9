"""The registry of cues: what is in it, cues of other packages, and cues that are wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core import CUES, Cue, OptionError, cue_scores
from spotball_core.cue_maps import scores
from spotball_core.synthetic.respondents import cue_distributions
from tests.builders import scene
from tests.conftest import ROOT
from tests.packages import install_package

TOY = ROOT / "tests/toy_metrics"


def python(code: str, *folders: Path) -> str:
    """What code prints that runs with these folders and this checkout on its path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_cues_are_described() -> None:
    assert list(CUES)[:9] == ["location", "center", "players", "feet", "head", "torso", "view", "limbs", "blocked"]
    assert {cue.group for cue in CUES.values() if cue.is_base} == {"place", "players"}
    for key, cue in CUES.items():
        assert key == cue.key
        assert all((cue.title, cue.group, cue.unit, cue.description, cue.needs))


def test_the_registry_is_read_only() -> None:
    with pytest.raises(TypeError):
        CUES["mine"] = CUES["center"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        CUES["center"].key = "other"  # type: ignore[misc]


@pytest.mark.slow
def test_another_package_adds_a_cue() -> None:
    code = (
        "from spotball_core import *\n"
        "scene = Scene(sport='a', image='1', grid=Grid.standard())\n"
        "scores = cue_scores([scene])\n"
        "print(list(CUES)[-1], scores.cues[-1].title, scores.values[0, [0, -1], -1].round(3).tolist())"
    )
    assert python(code, TOY).strip() == "toy_low Low in the image [0.083, 0.917]"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("toy_cues:lowness", "of type function, expected spotball_core.Cue"),
        ("spotball_core.cue_maps.registry:_ALL", "of type tuple, expected spotball_core.Cue"),
        ("toy_cues:TAKEN", "the cue 'broken' has the key 'head', which another cue already has"),
    ],
)
def test_wrong_entries_are_errors(target: str, message: str, tmp_path: Path) -> None:
    install_package(tmp_path, "broken", "spotball.cues", {"broken": target})
    code = "import spotball_core as s\ntry: list(s.CUES)\nexcept s.OptionError as error: print(error)"
    assert message in python(code, TOY, tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((1, 59)), r"shape \(1, 59\), expected \(1, 60\)"),
        (np.where(np.arange(60) == 3, np.nan, 0.0)[None], "NaN or infinity in some cells"),
        (np.full((1, 60), np.inf), "NaN or infinity in some cells"),
    ],
)
def test_wrong_scores_are_errors(values: Any, message: str) -> None:
    cue: Cue = replace(CUES["center"], function=lambda scenes: values)
    with pytest.raises(OptionError, match=message):
        scores._checked(cue, [scene("1")])


@pytest.mark.parametrize(
    ("given", "keys", "message"),
    [
        (["1"], ["gaze"], "unknown cue 'gaze'. Available: location, center, players"),
        (["1"], [], "cues: found none, expected at least one"),
        ([], None, "scenes: found none, expected at least one"),
        (["1", "2", "1"], None, "scenes: found soccer/1 more than once. Pass each scene once"),
    ],
)
def test_wrong_arguments_are_errors(given: list[str], keys: list[str] | None, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        cue_scores([scene(image) for image in given], keys)


def test_scenes_need_one_grid_shape() -> None:
    other = scene("2", grid={"rows": 3, "cols": 4}, ball_cells=("A1",))
    with pytest.raises(OptionError, match="found grids of 3x4, 6x10 cells, expected grids of one shape"):
        cue_scores([scene("1"), other])


def test_a_simulated_respondent_needs_one_grid_shape_in_all_sports() -> None:
    scenes = [scene("1"), scene("2", sport="tennis", grid={"rows": 3, "cols": 4}, ball_cells=("A1",))]
    with pytest.raises(OptionError, match="expected grids of one shape"):
        cue_distributions(scenes, {"players": 1.0})
