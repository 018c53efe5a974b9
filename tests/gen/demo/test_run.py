"""Test that a run with the real stages can be resumed, and that its card agrees with its scenes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from spotball_core.io.scenes import read_scenes
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from tests.gen.runs import command, count_results, files, query
from tests.waiting import until

pytestmark = pytest.mark.slow

SPORTS = ("synthetic-soccer", "synthetic-volleyball")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a configuration with a short video of each of two sports."""
    folder = tmp_path_factory.mktemp("matches")
    sources = ""
    for sport in SPORTS:
        write_match(folder / f"{sport}.avi", sport, (Shot("play", 4, 4), Shot("play", 3, 5)))
        sources += f'[[sources]]\nsport = "{sport}"\npath = "{sport}.avi"\nlicense = "synthetic"\n'
    (folder / "config.toml").write_text(f'{sources}[detect]\nkind = "color"\n', encoding="utf-8")
    return folder / "config.toml"


@pytest.fixture(scope="module")
def whole(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    subprocess.run(command(config, out), check=True, capture_output=True)
    return out


def test_run_that_is_killed_and_resumed_gives_the_same_dataset(config: Path, whole: Path, tmp_path: Path) -> None:
    out, all_of_it = tmp_path / "out", count_results(whole)
    for share in (0.3, 0.6):
        with subprocess.Popen(command(config, out), stderr=subprocess.PIPE, text=True) as child:
            until(lambda share=share: child.poll() is not None or count_results(out) >= share * all_of_it)
            child.kill()
            child.communicate(timeout=60)
        assert share * all_of_it <= count_results(out) < all_of_it
        assert not (out / "scenes.jsonl").exists()
    subprocess.run(command(config, out), check=True, capture_output=True)
    assert files(out) == files(whole)
    (outcomes,) = zip(*query(out, "SELECT outcome FROM sessions ORDER BY session"), strict=True)
    assert outcomes == (None, None, "finished")


def test_dataset_card_agrees_with_the_scenes(whole: Path) -> None:
    card = json.loads((whole / "card.json").read_text(encoding="utf-8"))
    scenes = read_scenes(whole / "scenes.jsonl")
    assert {sport: sum(scene.sport == sport for scene in scenes) for sport in SPORTS} == card["items"]
    assert card["artifacts"]["scored"] == len(scenes)
    assert card["artifacts"]["outside_the_mask"] == {"compared": len(scenes), "changed": 0}
