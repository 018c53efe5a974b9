"""Test that applying a review removes rejected images and boxes, and loses nothing if it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.scene import Scene
from spotball_core.synthetic.scenes import synthetic_scenes
from spotball_gen.review.apply import apply_review, with_decisions
from spotball_gen.review.material import ORIGINAL, pieces
from spotball_gen.review.store import Decision, Key, ReviewStore, Verdict
from tests.cli.process import spotball
from tests.failures import codes
from tests.gen.review.made import plain_dataset

SCENES = synthetic_scenes(5)


def decide(store: ReviewStore, reviewer: str, key: Key, decision: Decision) -> None:
    number = store.last(reviewer)
    store.decide(f"{reviewer} {number} {key}", reviewer, key, decision, after=number)


@st.composite
def reviews(draw: st.DrawFn) -> list[dict[Key, Decision]]:
    found: list[dict[Key, Decision]] = []
    for _ in range(draw(st.integers(0, 3))):
        mine = {}
        for scene in SCENES:
            verdict: Verdict | None = draw(st.sampled_from(["accept", "accept", "reject", "repaint", None]))
            boxes = draw(st.sets(st.sampled_from([box.corners for box in scene.players or ()])))
            if draw(st.booleans()):
                mine[scene.key] = Decision(verdict, None, tuple(boxes))
        found.append(mine)
    return found


@given(reviews(), st.booleans())
def test_with_decisions_keeps_only_images_and_boxes_that_all_reviewers_keep(
    decisions: list[dict[Key, Decision]], only_accepted: bool
) -> None:
    kept, applied = with_decisions(SCENES, decisions, only_accepted=only_accepted)
    expected = {}
    for scene in SCENES:
        verdicts = [of[scene.key].verdict for of in decisions if scene.key in of]
        if "reject" in verdicts or "repaint" in verdicts or (only_accepted and "accept" not in verdicts):
            continue
        gone = [box for of in decisions if scene.key in of for box in of[scene.key].unchecked]
        expected[scene.key] = [box.corners for box in scene.players or () if box.corners not in gone]
    assert {scene.key: [box.corners for box in scene.players or ()] for scene in kept} == expected
    assert [scene.key for scene in kept] == [scene.key for scene in SCENES if scene.key in expected]
    assert applied.kept == len(kept)
    left_out = applied.undecided if only_accepted else 0
    assert applied.kept + applied.rejected + applied.waiting + left_out == len(SCENES)
    before = {scene.key: len(scene.players or ()) for scene in SCENES}
    assert applied.boxes == sum(before[scene.key] - len(scene.players or ()) for scene in kept)


def test_player_added_by_two_reviewers_is_added_once_without_an_outline() -> None:
    scene = SCENES[0]
    outline = (((0.0, 0.0), (9.0, 0.0), (9.0, 9.0)),)
    count = len(scene.players or ())
    scene = scene.model_copy(update={"player_outlines": (outline,) * count})
    one, same, other = (10.0, 10.0, 30.0, 60.0), (12.0, 11.0, 30.0, 62.0), (200.0, 10.0, 230.0, 60.0)
    decisions = [{scene.key: Decision("accept", added=(one,))}, {scene.key: Decision("accept", added=(same, other))}]
    (kept,), applied = with_decisions([scene], decisions)
    assert applied.added == 2
    assert [box.corners for box in kept.players or ()][count:] == [one, other]
    assert (kept.player_outlines or ())[count:] == (None, None)


def test_with_decisions_removes_outline_and_keypoints_of_a_removed_player() -> None:
    scene = SCENES[0]
    players = scene.players or ()
    assert len(players) > 1
    outlines = [(((box.x1, box.y1), (box.x2, box.y1), (box.x2, box.y2)),) for box in players[:-1]]
    poses = [[[box.x1, box.y1, 0.5]] * 17 for box in players]
    scene = scene.model_copy(update={"player_outlines": (*outlines, None)}).with_keypoints(poses)
    gone = Decision("accept", None, (players[0].corners,))
    (kept,), _ = with_decisions([scene], [{scene.key: gone}])
    assert (kept.player_outlines, kept.keypoints.tolist()) == ((*outlines[1:], None), poses[1:])
    assert kept.players == players[1:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_dataset(tmp_path)


def reject(folder: Path, *scenes: Scene) -> None:
    with ReviewStore(folder) as store:
        for scene in scenes:
            decide(store, "anna", scene.key, Decision("reject", "other"))


def test_apply_review_can_be_repeated_and_undone(folder: Path) -> None:
    scenes, made = read_scenes(folder / "scenes.jsonl"), (folder / "scenes.jsonl").read_bytes()
    images = {path: path.read_bytes() for path in folder.rglob("*.png")}
    box = (scenes[1].players or ())[0].corners
    with ReviewStore(folder) as store:
        decide(store, "anna", scenes[0].key, Decision("reject", "other"))
        decide(store, "anna", scenes[1].key, Decision("accept", None, (box,)))
        decide(store, "ben", scenes[2].key, Decision("repaint", None, (), ((0, 0, 9, 9),)))
    for _ in range(2):
        done = spotball("gen", "apply-review", folder)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.splitlines() == [
            "2 images kept; boxes: 1 removed, 0 added",
            "1 image rejected, 1 image to inpaint again",
            "1 image without a decision, kept",
        ]
        assert (folder / ORIGINAL).read_bytes() == made
        kept = read_scenes(folder / "scenes.jsonl")
        assert [scene.key for scene in kept] == [scenes[1].key, scenes[3].key]
        assert box not in [one.corners for one in kept[0].players or ()]
        assert kept[0].model_copy(update={"players": scenes[1].players}) == scenes[1]
    with ReviewStore(folder) as store:
        # The review always shows the original dataset, so that all decisions can be undone.
        assert len(pieces(folder, store)) == 4
        assert store.undo("anna", store.last("anna")) == scenes[1].key
        store.undo("anna", store.last("anna"))
        store.undo("ben", store.last("ben"))
    apply_review(folder)
    assert (folder / "scenes.jsonl").read_bytes() == made
    assert {path: path.read_bytes() for path in folder.rglob("*.png")} == images


def test_apply_review_uses_the_scenes_of_a_regenerated_dataset(folder: Path) -> None:
    scenes = read_scenes(folder / "scenes.jsonl")
    reject(folder, scenes[0])
    apply_review(folder)
    # A new dataset that equals an earlier result of a review still counts as new.
    for new in (scenes[:3], scenes[1:]):
        write_scenes(new, folder / "scenes.jsonl")
        apply_review(folder)
        assert read_scenes(folder / ORIGINAL) == new
        assert read_scenes(folder / "scenes.jsonl") == tuple(scene for scene in new if scene != scenes[0])


@pytest.mark.parametrize("survived", [0, 1])
def test_interrupted_apply_review_can_be_repeated(folder: Path, monkeypatch: pytest.MonkeyPatch, survived: int) -> None:
    scenes, made = read_scenes(folder / "scenes.jsonl"), (folder / "scenes.jsonl").read_bytes()
    reject(folder, *scenes[: 1 + survived])
    if survived:
        apply_review(folder)
        with ReviewStore(folder) as store:
            store.undo("anna", store.last("anna"))
    before = (folder / "scenes.jsonl").read_bytes()
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if Path(target).name == "scenes.jsonl":
            raise KeyboardInterrupt
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            apply_review(folder)
    assert (folder / "scenes.jsonl").read_bytes() == before
    apply_review(folder)
    assert read_scenes(folder / "scenes.jsonl") == scenes[1:]
    assert (folder / ORIGINAL).read_bytes() == made


def test_apply_review_without_a_review_or_without_images_left_exits_with_status_2(tmp_path: Path) -> None:
    folder = plain_dataset(tmp_path, images=1)
    made = (folder / "scenes.jsonl").read_bytes()
    for code in ("wrong-folder", "no-data"):
        done = spotball("gen", "apply-review", folder)
        assert (done.returncode, codes(done.stderr)) == (2, [code])
        reject(folder, SCENES[0])
    assert (folder / "scenes.jsonl").read_bytes() == made
