"""Test the review of a generated dataset: order of images, files that apply-review updates, and `--repaint`.

With `--repaint`, regions that reviewers mark are inpainted with a larger mask and reviewed again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spotball_core.errors import OptionError
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.dataset.finish import CHECKSUMS
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import decoded
from spotball_gen.pipeline.folder import LEDGER, WORK
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.apply import apply_review
from spotball_gen.review.material import pieces
from spotball_gen.review.store import Corners, Decision, ReviewStore
from spotball_gen.run import generate
from spotball_gen.stages.inpaint_telea import Telea
from tests.failures import raises
from tests.gen.review.test_apply import decide
from tests.gen.runs import files, query, run_process, write_config, write_videos

REGION = (100.0, 60.0, 118.0, 70.0)


def scenes_of(out: Path) -> tuple[Scene, ...]:
    return tuple(sorted(read_scenes(out / "scenes.jsonl"), key=lambda scene: scene.key))


def box_of(scene: Scene) -> Corners:
    return (scene.players or ())[0].corners


def image_of(out: Path, scene: Scene, part: str = "images") -> Image:
    return decoded(out / part / scene.sport / f"{scene.image}.png")


def checksums(found: dict[str, bytes]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the checksums that a dataset lists, and those of the listed files."""
    listed = dict(reversed(line.split("  ")) for line in found[CHECKSUMS].decode().splitlines())
    return listed, {name: hashlib.sha256(found[name]).hexdigest() for name in listed}


@pytest.fixture
def made(tmp_path: Path, plugins: Path) -> Path:
    write_videos(tmp_path / "videos", {"a": 6})
    generate(write_config(tmp_path / "config.toml"), tmp_path / "out")
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
    assert ([piece.first for piece in found], found[0].why) == ([True] * 3 + [False] * 3, ("stands out",))
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
    listed, computed = checksums(after)
    assert listed == computed
    beside = {CHECKSUMS, "scenes.before-review.jsonl"} | {name for name in after if name.startswith("review.sqlite")}
    assert set(listed) == set(after) - beside
    unchanged = [name for name in before if name.startswith(("images/", "with_ball/", "funnel."))]
    assert {name: after[name] for name in unchanged} == {name: before[name] for name in unchanged}
    with ReviewStore(made) as store:
        store.undo("anna", number)
    apply_review(made)
    again = files(made)
    assert (again["scenes.jsonl"], again["splits.json"]) == (before["scenes.jsonl"], before["splits.json"])


@pytest.fixture
def config(tmp_path: Path, plugins: Path) -> Path:
    write_videos(tmp_path / "videos", {"a": 5})
    return write_config(tmp_path / "config.toml", inpaint={"kind": "telea"}, check={"kind": "artifacts"})


@pytest.fixture
def reviewed(config: Path, tmp_path: Path) -> Path:
    """Return a dataset where Anna marks a shadow in image 1 and rejects 2, and Ben accepts image 1 without one box."""
    generate(config, tmp_path / "out")
    first, second, *_ = scenes_of(tmp_path / "out")
    with ReviewStore(tmp_path / "out") as store:
        decide(store, "anna", first.key, Decision("repaint", regions=(REGION,)))
        decide(store, "anna", second.key, Decision("reject", "other"))
        decide(store, "ben", first.key, Decision("accept", None, (box_of(first),)))
    return tmp_path / "out"


def test_repaint_inpaints_marked_region_and_returns_image_to_review(reviewed: Path, config: Path) -> None:
    out, scenes = reviewed, scenes_of(reviewed)
    apply_review(out)
    before, made = files(out), image_of(out, scenes[0])
    told: list[str] = []
    ended = generate(config, out, repaint=True, tell=told.append)
    assert ended.written.fresh
    assert "Inpainting 1 image again." in told

    # The marked region has changed. Outside the new mask, the image still equals the frame.
    now, frame = image_of(out, scenes[0]), image_of(out, scenes[0], "with_ball")
    x1, y1, x2, y2 = map(int, REGION)
    changed = (now != made).any(axis=2)
    assert changed[y1:y2, x1:x2].mean() > 0.5
    with Ledger(out) as ledger:
        item = ledger.item(scenes[0].image)
    assert item.mask is not None
    assert (item.mask.array[y1:y2, x1:x2] == 255).all()
    assert not (now != frame).any(axis=2)[item.mask.array == 0].any()
    assert (item.notes["inpaint"]["regions"], item.notes["inpaint"]["repainted"]) == ([list(REGION)], 1)
    assert {path.name for path in (out / ".work/masks").rglob(f"{item.id}*")} == {f"{item.id}-1.png"}
    assert item.cells == scenes[0].ball_cells

    # The image is first in the review queue. Images that the review excluded are still excluded.
    assert [scene.image for scene in scenes_of(out)] == [scene.image for scene in scenes[2:]]
    with ReviewStore(out) as store:
        decisions = {name: of[scenes[0].key] for name, of in store.decisions().items()}
        assert decisions == {"anna": Decision(), "ben": Decision(None, None, (box_of(scenes[0]),))}
        first = next(piece for piece in pieces(out, store) if piece.scene.image == scenes[0].image)
        assert (first.first, first.why[0]) == (True, "inpainted again")
        decide(store, "ben", scenes[0].key, Decision("accept", None, (box_of(scenes[0]),)))
    assert apply_review(out).kept == 4
    found = files(out)
    listed, computed = checksums(found)
    assert listed == computed
    untouched = [name for name in before if name.startswith(("images/", "with_ball/")) and scenes[0].image not in name]
    assert {name: found[name] for name in untouched} == {name: before[name] for name in untouched}


def test_second_repaint_changes_nothing_until_a_new_region_is_marked(reviewed: Path, config: Path) -> None:
    generate(config, reviewed, repaint=True)
    found, results = files(reviewed), query(reviewed, "SELECT * FROM results ORDER BY item, stage")
    told: list[str] = []
    assert not generate(config, reviewed, repaint=True, tell=told.append).written.fresh
    assert "Inpainting 0 images again." in told
    assert files(reviewed) == found
    assert query(reviewed, "SELECT * FROM results ORDER BY item, stage") == results
    # A region marked later is inpainted together with the earlier regions.
    first = scenes_of(reviewed)[0]
    with ReviewStore(reviewed) as store:
        decide(store, "anna", first.key, Decision("repaint", regions=((10.0, 10.0, 20.0, 20.0),)))
    generate(config, reviewed, repaint=True)
    with Ledger(reviewed) as ledger:
        note = ledger.item(first.image).notes["inpaint"]
    assert (note["regions"], note["repainted"]) == ([list(REGION), [10.0, 10.0, 20.0, 20.0]], 2)


@pytest.mark.slow
def test_interrupted_repaint_keeps_dataset_and_is_finished_by_the_next_run(
    reviewed: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(reviewed)

    def interrupted(self: Telea, item: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(Telea, "_painted", interrupted)
        with pytest.raises(KeyboardInterrupt):
            generate(config, reviewed, repaint=True)
    kept = {name: data for name, data in files(reviewed).items() if "sqlite" not in name}
    assert kept == {name: data for name, data in before.items() if "sqlite" not in name}
    # A run without `repaint` finishes the interrupted repaint.
    generate(config, reviewed)
    image = f"images/soccer/{scenes_of(reviewed)[0].image}.png"
    assert files(reviewed)[image] != before[image]
    generate(config, reviewed, repaint=True)
    with ReviewStore(reviewed) as store:
        assert [of[scenes_of(reviewed)[0].key].verdict for of in store.decisions().values()] == [None, None]


@pytest.mark.slow
def test_repaint_of_an_unreviewed_dataset_is_an_error(config: Path, tmp_path: Path, plugins: Path) -> None:
    assert run_process(config, tmp_path / "out", plugins).returncode == 0
    done = run_process(config, tmp_path / "out", plugins, "--repaint")
    assert done.returncode == 2
    assert "has not been reviewed" in done.stderr
    assert json.loads((tmp_path / "out/card.json").read_text())["items"] == {"soccer": 5}
