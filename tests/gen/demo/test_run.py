"""Test that the demo with its real stages can be resumed, and that its card agrees with its scenes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from spotball_core.io.scenes import read_scenes
from tests.cli.process import MODULE
from tests.gen.runs import count_results, files, query
from tests.waiting import until

pytestmark = pytest.mark.slow


def demo(out: Path) -> list[str]:
    return [*MODULE, "gen", "run", "--demo", "--out", str(out)]


def run_demo(out: Path) -> str:
    done = subprocess.run(demo(out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "whole"
    assert "This dataset is synthetic" in run_demo(out)
    return out


def test_demo_run_that_is_killed_and_resumed_gives_the_same_dataset(whole: Path, tmp_path: Path) -> None:
    out, all_of_it = tmp_path / "out", count_results(whole)
    for share in (0.3, 0.6):
        with subprocess.Popen(demo(out), stderr=subprocess.PIPE, text=True) as child:
            until(lambda share=share: child.poll() is not None or count_results(out) >= share * all_of_it)
            child.kill()
            child.communicate(timeout=60)
        assert share * all_of_it <= count_results(out) < all_of_it
        assert not (out / "scenes.jsonl").exists()
    run_demo(out)
    assert files(out) == files(whole)
    (outcomes,) = zip(*query(out, "SELECT outcome FROM sessions ORDER BY session"), strict=True)
    assert outcomes == (None, None, "finished")


def test_demo_has_three_sports_and_a_card_that_agrees_with_the_scenes(whole: Path) -> None:
    card = json.loads((whole / "card.json").read_text(encoding="utf-8"))
    scenes = read_scenes(whole / "scenes.jsonl")
    assert {sport: sum(s.sport == sport for s in scenes) for sport in card["items"]} == card["items"]
    assert len(card["items"]) == 3
    assert card["artifacts"]["scored"] == len(scenes)
    assert card["artifacts"]["outside_the_mask"] == {"compared": len(scenes), "changed": 0}
