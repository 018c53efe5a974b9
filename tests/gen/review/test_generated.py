"""Test the review of a generated dataset: which images come first, and which files apply-review updates."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spotball_core.errors import OptionError
from spotball_core.io.scenes import read_scenes
from spotball_gen.dataset.finish import CHECKSUMS
from spotball_gen.pipeline.folder import LEDGER, WORK
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.apply import apply_review
from spotball_gen.review.material import pieces
from spotball_gen.review.store import Decision, ReviewStore
from tests.failures import raises
from tests.gen.runs import files, run_process, write_config, write_videos


@pytest.fixture
def made(tmp_path: Path, plugins: Path) -> Path:
    write_videos(tmp_path / "videos", {"a": 6})
    done = run_process(write_config(tmp_path / "config.toml"), tmp_path / "out", plugins)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def test_review_shows_images_over_a_limit_first(made: Path) -> None:
    scenes = sorted(scene.image for scene in read_scenes(made / "scenes.jsonl"))
    assert len(scenes) == 6
    noted = {scenes[1]: (True, 0.96), scenes[4]: (True, 0.99), scenes[2]: (True, None), scenes[3]: (False, 0.999)}
    with closing(sqlite3.connect(made / WORK / LEDGER)) as connection, connection:
        for item, (first, artifact) in noted.items():
            ((text,),) = connection.execute("SELECT record FROM items WHERE item = ?", (item,)).fetchall()
            record = json.loads(text)
            record["notes"]["check"] = {"review_first": first, "why": ["stands out"] if first else []}
            record["scores"] |= {} if artifact is None else {"artifact": artifact}
            connection.execute("UPDATE items SET record = ? WHERE item = ?", (json.dumps(record), item))
    with ReviewStore(made) as store:
        found = pieces(made, store)
    expected = [scenes[4], scenes[1], scenes[2], scenes[0], scenes[3], scenes[5]]
    assert [piece.scene.image for piece in found] == expected
    assert [piece.first for piece in found] == [True] * 3 + [False] * 3
    assert found[0].why == ("stands out",)
    for piece in found:
        assert piece.with_ball is not None
        assert piece.with_ball.read_bytes() != piece.without.read_bytes()


def test_apply_review_updates_card_split_and_checksums(made: Path) -> None:
    before, scenes = files(made), read_scenes(made / "scenes.jsonl")
    with ReviewStore(made) as store:
        number = store.decide("1", "anna", scenes[0].key, Decision("reject", "blurred"), after=0)
    with Ledger(made), raises(OptionError, "in-use"):
        apply_review(made)
    apply_review(made)
    after = files(made)
    assert read_scenes(made / "scenes.jsonl") == scenes[1:]
    card = json.loads(after["card.json"])
    assert card["items"] == {"soccer": 5}
    assert (card["review"]["reviewers"], card["review"]["rejected"], card["review"]["kept"]) == (1, 1, 5)
    listed = dict(reversed(line.split("  ")) for line in after[CHECKSUMS].decode().splitlines())
    beside = {CHECKSUMS, "scenes.before-review.jsonl"} | {name for name in after if name.startswith("review.sqlite")}
    assert {name: hashlib.sha256(after[name]).hexdigest() for name in after if name not in beside} == listed
    unchanged = [name for name in before if name.startswith(("images/", "with_ball/", "funnel."))]
    assert {name: after[name] for name in unchanged} == {name: before[name] for name in unchanged}
    with ReviewStore(made) as store:
        store.undo("anna", number)
    apply_review(made)
    again = files(made)
    assert again["scenes.jsonl"] == before["scenes.jsonl"]
    assert again["splits.json"] == before["splits.json"]
