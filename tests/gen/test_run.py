"""Test complete generations: dataset, ledger, refused changes, and the effect of errors."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import weakref
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from spotball_core.errors import InputError, OptionError, SpotballError
from spotball_core.io.scenes import read_scenes
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.pictures import decoded
from spotball_gen.items.stage import ORDER
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.run import GenerationResult, generate
from spotball_gen.stages.frames_pyav import PyAV
from tests.failures import raises
from tests.gen.runs import SIZE, files, query, write_config, write_videos

pytestmark = pytest.mark.usefixtures("plugins", "short_leak_test")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    write_videos(tmp_path / "videos", {"a": 6, "b": 4})
    return tmp_path / "videos"


def run(
    tmp_path: Path, name: str = "out", *, retry_failed: bool = False, **tables: Any
) -> tuple[GenerationResult, Path]:
    out = tmp_path / name
    return generate(write_config(tmp_path / f"{name}.toml", **tables), out, retry_failed=retry_failed), out


def test_scenes_of_a_generated_dataset_match_its_images_boxes_cells_and_outlines(made: Path) -> None:
    scenes = read_scenes(made / "scenes.jsonl")
    assert len(scenes) == 12
    for scene in scenes:
        assert scene.path == f"images/soccer/{scene.image}.png"
        asked, seen = decoded(made / scene.path), decoded(made / f"with_ball/soccer/{scene.image}.png")
        assert asked.shape == (SIZE["height"], SIZE["width"], 3)
        x1, y1, x2, y2 = (round(edge) for edge in scene.ball_box)
        changed = (asked != seen).any(-1)
        assert changed[y1:y2, x1:x2].mean() > 0.75
        changed[y1:y2, x1:x2] = False
        assert not changed.any()
        assert scene.ball_cells == tuple(scene.layout.cells_in(scene.ball_box))
        assert not scene.control
        box, _ = scene.players
        outline, unknown = scene.player_outlines
        assert unknown is None
        xs, ys = zip(*(point for polygon in outline for point in polygon), strict=True)
        # The outline is clipped like the box. Its upper edge is as wide as the box, unless the image cuts it off.
        assert min(*xs, *ys) >= 0
        assert max(xs) <= SIZE["width"]
        assert max(ys) <= SIZE["height"]
        if box.y1 > 0 and box.x1 > 0 and box.x2 < SIZE["width"]:
            assert (min(xs), max(xs), min(ys)) == pytest.approx((box.x1, box.x2, box.y1))


def test_scenes_have_keypoints_of_the_detector_and_frames_of_the_video(made: Path) -> None:
    """Check the nose of the second player, which is at the upper edge of a box that the image does not cut off."""
    known = 0
    for scene in read_scenes(made / "scenes.jsonl"):
        first, second = scene.keypoints
        x1, y1, x2, _ = scene.boxes[1]
        assert np.isnan(first).all()
        if x2 - x1 == 10:
            known += 1
            assert second[0].tolist() == pytest.approx([x1 + 5, y1 + 2, 0.9])
            assert (second[1:] == 0).all()
        name, _, ms = scene.image.rsplit("-", 2)
        video = cv2.VideoCapture(str(made.parent / "videos" / f"{name.replace('-', '|')}.avi"))
        video.set(cv2.CAP_PROP_POS_FRAMES, int(ms) // 200)
        there, pixels = video.read()
        assert there
        assert np.array_equal(pixels[..., ::-1], decoded(made / "with_ball/soccer" / f"{scene.image}.png"))
    assert known > 0


@pytest.mark.usefixtures("videos")
class TestRunAgain:
    def test_lost_files_in_a_moved_folder_are_written_again_with_at_most_two_items_in_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, out = run(tmp_path)
        before = files(out)
        out = out.rename(tmp_path / "moved")
        (out / "scenes.jsonl").unlink()
        shutil.rmtree(out / "images")
        read: list[weakref.ref[Any]] = []
        most: list[int] = []
        loaded = Ledger.item

        def item(self: Ledger, name: str) -> Any:
            most.append(sum(one() is not None for one in read))
            found = loaded(self, name)
            read.append(weakref.ref(found))
            return found

        monkeypatch.setattr(Ledger, "item", item)
        assert run(tmp_path, "moved")[0].written.fresh
        assert files(out) == before
        assert len(read) == 30  # 10 items each for the selection, the images and the card
        assert max(most) <= 2

    @pytest.mark.slow
    def test_second_run_changes_nothing_and_files_depend_only_on_the_seed(self, tmp_path: Path) -> None:
        def state() -> Any:
            times = {path: path.stat().st_mtime_ns for path in out.rglob("*.*") if ".work" not in str(path)}
            return files(out), times, query(out, "SELECT * FROM results")

        first, out = run(tmp_path)
        before = state()
        second, _ = run(tmp_path)
        assert (first.written.fresh, second.written.fresh) == (True, False)
        assert state() == before
        assert query(out, "SELECT outcome FROM sessions") == [("finished",), ("finished",)]
        assert (second.written.chosen, second.written.without_test) == (10, ())
        shutil.copytree(tmp_path / "videos", tmp_path / "else" / "videos")
        assert files(run(tmp_path / "else")[1]) == files(out)
        _, other = run(tmp_path, "other", run={"seed": 4})
        assert (out / "scenes.jsonl").read_bytes() != (other / "scenes.jsonl").read_bytes()


@pytest.mark.usefixtures("videos")
class TestLedger:
    def test_items_store_source_scores_notes_and_versions(self, tmp_path: Path) -> None:
        _, out = run(tmp_path)
        with Ledger(out) as ledger:
            items = list(ledger.items())
        assert len(items) == 10
        for item in items:
            assert item.source.origin in ("videos/a.avi", "videos/b.avi")
            assert item.source.license == "CC0"
            assert item.id == f"{item.source.video}-{item.time * 1000:09.0f}"
            assert set(item.scores) == {"filter", "detect", "inpaint", "label"}
            assert item.scores["filter"] == item.image.mean()
            assert list(item.notes) == ["frames", *ORDER]
            assert item.notes["inpaint"]["seed"] == item.seed(3, "inpaint")
            assert item.notes["frames"]["number"] == item.time * 5
            assert item.notes["frames"]["size"] == [160, 96]
            versions = {stage: note["version"] for stage, note in item.notes.items()}
            assert versions == {"frames": PyAV.version} | dict.fromkeys(ORDER, "1")
        (packages,) = query(out, "SELECT packages FROM sessions")[0]
        assert json.loads(packages)["numpy"] == np.__version__
        assert "no-such-package" not in packages

    def test_ledger_stores_reason_and_detail_of_rejects_and_steps_count_the_rejects(self, tmp_path: Path) -> None:
        ended, out = run(tmp_path, filter={"reject_every": 2}, detect={"reject_every": 3})
        asked = "SELECT stage, item, reason, detail, scores FROM results WHERE outcome = 'rejected' ORDER BY 1"
        rows = query(out, asked)
        rejected = [("detect", 3), ("detect", 3), *(("filter", second) for second in (0, 2, 4, 0, 2))]
        assert [(row[0], round(int(row[1][-9:]) / 1000)) for row in rows] == rejected
        assert {row[2] for row in rows} == {"that second"}
        assert rows[0][3] == "at 3.000 s"
        assert set(json.loads(rows[0][4])) == {"mean"}
        assert ended.written.chosen == 3
        steps = {step.stage: (step.entered, step.kept, step.rejected) for step in ended.written.steps}
        assert (steps["filter"], steps["detect"], steps["label"]) == ((10, 5, 5), (5, 3, 2), (3, 3, 0))

    def test_rejects_are_in_the_funnel_and_keep_pictures_only_with_keep_rejected(self, tmp_path: Path) -> None:
        _, out = run(tmp_path, filter={"reject_every": 2})
        assert len(list((out / ".work/frames").rglob("*.image"))) == 5
        _, other = run(tmp_path, "other", filter={"reject_every": 2}, run={"keep_rejected": True})
        assert len(list((other / ".work/frames").rglob("*.image"))) == 10
        assert files(out) == files(other)
        rows = list(csv.reader(io.StringIO((out / "funnel.csv").read_text())))
        assert ["filter", "rejected", "that second", "5"] in rows
        assert ["targets", "kept", "", "5"] in rows
        text = " ".join(ET.parse(out / "funnel.svg").getroot().itertext())
        assert "5 of 10" in text
        assert "5 that second" in text


def test_near_duplicate_frames_across_videos_are_rejected_except_the_first(tmp_path: Path) -> None:
    (tmp_path / "videos").mkdir()
    for name, shots in {"a": (Shot("play", 3, 1),), "b": (Shot("play", 2, 2), Shot("play", 3, 1))}.items():
        write_match(tmp_path / f"videos/{name}.avi", "synthetic-soccer", shots, width=320, height=180, rate=5)
    ended, out = run(tmp_path, frames={"duplicate_bits": 8})
    rows = query(out, "SELECT item, reason, detail FROM results WHERE stage = 'frames' AND outcome = 'rejected'")
    assert [(item[0], item[-9:], reason) for item, reason, _ in sorted(rows)] == [
        ("b", f"00000{second}000", "near duplicate") for second in (2, 3, 4)
    ]
    assert all("bits from a-" in detail for _, _, detail in rows)
    assert ended.written.chosen == 5
    assert run(tmp_path, "all", frames={"duplicate_bits": -1})[0].written.chosen == 8


def test_duplicate_video_file_is_excluded(tmp_path: Path, videos: Path) -> None:
    shutil.copy(videos / "a.avi", videos / "c.avi")
    told: list[str] = []
    generate(write_config(tmp_path / "out.toml"), tmp_path / "out", tell=told.append)
    assert query(tmp_path / "out", "SELECT count(*) FROM videos") == [(2,)]
    assert any("c.avi: excluded, because another file contains the same video" in line for line in told)
    # The same command does not treat the duplicate as a new video.
    assert not run(tmp_path)[0].written.fresh


@pytest.mark.usefixtures("videos")
class TestRefusedChanges:
    def test_changed_configuration_is_an_error_if_it_affects_results(self, tmp_path: Path) -> None:
        _, out = run(tmp_path)
        with raises(OptionError, "different-settings") as error:
            generate(write_config(tmp_path / "b.toml", run={"seed": 9}, filter={"reject_every": 2}), out)
        lines = str(error.value).splitlines()
        assert lines[1:3] == ["  filter.reject_every: 0 -> 2", "  run.seed: 3 -> 9"]
        assert len(lines) == 4
        with raises(OptionError, "different-settings"):
            generate(write_config(tmp_path / "b.toml", filter={"kind": "best"}), out)
        assert not generate(write_config(tmp_path / "b.toml", run={"keep_rejected": True}), out).written.fresh

    def test_new_or_changed_video_is_an_error_and_a_removed_one_is_allowed(self, tmp_path: Path, videos: Path) -> None:
        run(tmp_path)
        write_videos(videos, {"c": 3})
        with raises(OptionError, "output-exists:--out"):
            run(tmp_path)
        (videos / "c.avi").rename(videos / "a.avi")
        with raises(InputError, "changed-file:video"):
            run(tmp_path)
        (videos / "a.avi").unlink()
        assert not run(tmp_path)[0].written.fresh

    def test_output_folder_with_other_files_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine.txt").write_text("mine")
        with raises(OptionError, "output-exists:--out"):
            run(tmp_path)
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


@pytest.mark.usefixtures("videos")
class TestFaults:
    @pytest.mark.slow
    @pytest.mark.parametrize("break_batch", [False, True])
    def test_failing_item_does_not_affect_other_items(self, tmp_path: Path, break_batch: bool) -> None:
        ended, out = run(tmp_path, inpaint={"fail_at": (2, 3), "break_batch": break_batch})
        assert ended.written.chosen == 6
        failed = [("inpaint", f"00000{second}000", True) for _ in "ab" for second in (2, 3)]
        assert [(f.stage, f.item[-9:], "RuntimeError: an odd image" in f.error) for f in ended.failures] == failed
        shared = {name: data for name, data in files(out).items() if name.startswith("images/")}
        assert len(shared) == 6
        assert shared.items() <= files(run(tmp_path, "whole")[1]).items()

    @pytest.mark.slow
    def test_failed_items_are_retried_only_with_retry_failed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tests.gen.plain_stages import Paint

        with monkeypatch.context() as broken:
            broken.setattr(Paint, "_fails", lambda self, item: round(item.time) == 2)
            ended, out = run(tmp_path)
        assert len(ended.failures) == 2
        assert len(run(tmp_path)[0].failures) == 2
        ended, _ = run(tmp_path, retry_failed=True)
        assert (ended.failures, ended.written.chosen) == ((), 10)
        assert files(out) == files(run(tmp_path, "whole")[1])

    def test_spotball_error_in_a_stage_stops_the_run(self, tmp_path: Path) -> None:
        with raises(SpotballError, "failed"):
            run(tmp_path, filter={"break_run": "spotball"})
        assert query(tmp_path / "out", "SELECT count(*) FROM results WHERE stage = 'filter'") == [(0,)]

    @pytest.mark.parametrize("settings", [{"break_run": "cuda is gone"}, {"kind": "forgets"}])
    def test_stage_that_always_fails_or_loses_items_stops_the_run(
        self, tmp_path: Path, videos: Path, settings: dict[str, str]
    ) -> None:
        write_videos(videos, {"long": 40})
        with raises(SpotballError, "stage-failed"):
            run(tmp_path, filter=settings)

    @pytest.mark.slow
    def test_corrupt_video_fails_and_other_videos_are_used(self, tmp_path: Path, videos: Path) -> None:
        _, whole = run(tmp_path, "whole")
        (videos / "bad.avi").write_bytes(b"RIFF but no more" * 1000)
        write_videos(videos, {"cut": 20})
        os.truncate(videos / "cut.avi", (videos / "cut.avi").stat().st_size // 2)
        ended, out = run(tmp_path)
        assert [(f.item.split("-")[0], f.stage) for f in ended.failures] == [("bad", "frames"), ("cut", "frames")]
        assert ended.failures[0].error == "the file is not a readable video"
        assert "ends after" in ended.failures[1].error
        found = files(out)
        assert {n: d for n, d in files(whole).items() if n.startswith("images/")}.items() <= found.items()
        assert 5 <= sum(name.startswith("images/soccer/cut") for name in found) <= 12

    def test_run_with_all_items_rejected_writes_only_the_funnel(self, tmp_path: Path) -> None:
        ended, out = run(tmp_path, filter={"reject_every": 1})
        assert ended.written.chosen == 0
        assert sorted(files(out)) == ["funnel.csv", "funnel.svg"]

    def test_filter_that_keeps_the_better_half_decides_after_all_items_are_scored(self, tmp_path: Path) -> None:
        _, plain = run(tmp_path, "plain")
        scores = {item: json.loads(r)["scores"]["filter"] for item, r in query(plain, "SELECT item, record FROM items")}
        ended, out = run(tmp_path, filter={"kind": "best"})
        best = sorted(scores, key=lambda name: (scores[name], name))[5:]
        assert sorted(scene.image for scene in read_scenes(out / "scenes.jsonl")) == sorted(best)
        steps = {step.stage: (step.kept, dict(step.reasons)) for step in ended.written.steps}
        assert steps["filter"] == (5, {"not of the better half": 5})

    def test_retry_failed_does_not_retry_items_of_a_stage_that_has_made_its_final_decision(
        self, tmp_path: Path
    ) -> None:
        settings = {"kind": "best", "fail_at": (1,)}
        ended, out = run(tmp_path, filter=settings)
        before = files(out)
        assert len(ended.failures) == 2
        assert len(run(tmp_path, retry_failed=True, filter=settings)[0].failures) == 2
        assert files(out) == before
