"""Test that the demo with its real stages can be resumed, and that other commands read its dataset."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from spotball_core.io.scenes import read_scenes
from tests.cli.process import MODULE, spotball
from tests.gen.runs import files, query
from tests.waiting import until

pytestmark = pytest.mark.slow


def demo(out: Path) -> list[str]:
    return [*MODULE, "gen", "run", "--demo", "--out", str(out)]


def said(out: Path) -> int:
    """Return the number of stage results in the ledger."""
    try:
        return int(query(out, "SELECT count(*) FROM results")[0][0])
    except sqlite3.OperationalError:
        return 0  # The ledger does not exist yet, or is being created.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "whole"
    done = subprocess.run(demo(out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "This dataset is synthetic" in done.stderr
    return out


def test_demo_run_that_is_killed_and_resumed_gives_the_same_dataset(whole: Path, tmp_path: Path) -> None:
    out, all_of_it = tmp_path / "out", said(whole)
    for share in (0.3, 0.6):
        with subprocess.Popen(demo(out), stderr=subprocess.PIPE, text=True) as child:
            until(lambda share=share: child.poll() is not None or said(out) >= share * all_of_it)
            child.kill()
            child.communicate(timeout=60)
        assert share * all_of_it <= said(out) < all_of_it
        assert not (out / "scenes.jsonl").exists()
    done = subprocess.run(demo(out), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
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


def test_demo_dataset_can_be_run_and_scored(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ("--provider", "baseline", "--model", "center", "--prompt", "base", "--out", run, "--quiet")
    asked = spotball("run", whole, *options)
    assert asked.returncode == 0, asked.stderr
    scored = spotball(
        "score", run, "--scenes", whole / "scenes.jsonl", "--bootstrap", "0", "--format", "csv", "--quiet"
    )
    assert scored.returncode == 0, scored.stderr
    rows = list(csv.DictReader(io.StringIO(scored.stdout)))
    scenes = read_scenes(whole / "scenes.jsonl")
    assert {row["sport"] for row in rows} >= {scene.sport for scene in scenes}
