"""Test the registry of cues, cues of other packages, and invalid cues."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core import CUES, OptionError, Scene, cue_scores
from spotball_core.cue_maps.registry import _checked
from spotball_core.extend import Cue
from spotball_core.synthetic.respondents import cue_distributions
from tests.builders import scene, scenes
from tests.conftest import ROOT
from tests.failures import raises
from tests.packages import install_package

TOY = ROOT / "tests/toy_metrics"
SMALL = scene("2", "tennis", grid={"rows": 3, "cols": 4}, ball_cells=("A1",))


def python(code: str, *folders: Path) -> str:
    """Run code with the folders and this checkout on the module path, and return its output."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return done.stdout


def test_registry_describes_every_cue_and_is_read_only() -> None:
    assert list(CUES)[:9] == ["location", "center", "players", "feet", "head", "torso", "view", "limbs", "blocked"]
    assert {cue.group for cue in CUES.values() if cue.is_base} == {"place", "players"}
    for key, cue in CUES.items():
        assert key == cue.key
        assert all((cue.title, cue.group, cue.unit, cue.description, cue.needs))
    with pytest.raises(TypeError):
        CUES["mine"] = CUES["center"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        CUES["center"].key = "other"  # type: ignore[misc]


@pytest.mark.slow
def test_cue_of_another_package_is_registered_and_scored() -> None:
    code = (
        "from spotball_core import *\nscores = cue_scores([Scene(sport='a', image='1', grid=Grid.standard())])\n"
        "print(list(CUES)[-1], scores.cues[-1].title, scores.values[0, [0, -1], -1].round(3).tolist())"
    )
    assert python(code, TOY).strip() == "toy_low Low in the image [0.083, 0.917]"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("toy_cues:lowness", "of type function, expected spotball_core.extend.Cue"),
        ("spotball_core.cue_maps.registry:_ALL", "of type tuple, expected spotball_core.extend.Cue"),
        ("toy_cues:TAKEN", "the cue 'broken' has the key 'head', which another cue already has"),
    ],
)
def test_invalid_cue_of_another_package_is_an_error(target: str, message: str, tmp_path: Path) -> None:
    install_package(tmp_path, "broken", "spotball.cues", {"broken": target})
    code = "import spotball_core as s\ntry: list(s.CUES)\nexcept s.OptionError as error: print(error)"
    assert message in python(code, TOY, tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((1, 59)), "wrong-shape"),
        (np.where(np.arange(60) == 3, np.nan, 0.0)[None], "invalid-value"),
        (np.full((1, 60), np.inf), "invalid-value"),
    ],
)
def test_cue_function_with_invalid_scores_is_an_error(values: Any, message: str) -> None:
    cue: Cue = replace(CUES["center"], function=lambda scenes: values)
    with raises(OptionError, message):
        _checked(cue, [scene("1")])


@pytest.mark.parametrize(
    ("given", "keys", "where"),
    [
        ([scene("1")], [], "no-data"),
        ([], None, "no-data"),
        (scenes("1", "2", "1"), None, "duplicate:scenes"),
        ([scene("1"), SMALL], None, "different-grids:scenes"),
    ],
)
def test_cue_scores_with_invalid_arguments_is_an_error(given: list[Scene], keys: list[str] | None, where: str) -> None:
    with raises(OptionError, where):
        cue_scores(given, keys)


def test_cue_distributions_of_sports_with_different_grids_is_an_error() -> None:
    with raises(OptionError, "different-grids:scenes"):
        cue_distributions([scene("1"), SMALL], {"players": 1.0})
