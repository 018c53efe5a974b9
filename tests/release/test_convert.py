"""Test the importer of the published release, on a synthetic copy of its layout and on the real one if available.

The ball's columns and boxes are compared with plain arithmetic.
"""

from __future__ import annotations

import csv
import filecmp
import gzip
import os
import re
import signal
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import response_files
from spotball_core.io.frames import COLUMNS
from spotball_core.io.scenes import read_scenes
from spotball_core.release.convert import Release, import_release
from spotball_core.release.tables import ball_box, ball_columns
from spotball_core.schema.scene import Scene
from tests import builders
from tests.cli import process
from tests.failures import codes, raises
from tests.release_layout import write_csv, write_release

TRUTH = "data/images/soccer/soccer_gt.csv"
CLICKS = "data/responses/humans/soccer_clicks.csv"
EXPLAINED = "data/responses/humans/soccer_explanations.csv"
GPT = "data/responses/models/gpt/level0_soccer.csv"
BOXES = "data/analysis/player_proximity/filtered_people_boxes_long.csv"
SUMMARY = "data/analysis/player_proximity/filtered_people_image_summary.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_release(tmp_path / "release")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return import_release(write_release(tmp_path_factory.mktemp("release")))


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Import a release with more irregularities than the published one."""
    folder = write_release(tmp_path_factory.mktemp("edited"))
    replace(folder / TRUTH, "D4;E4", "A9")
    replace(folder / SUMMARY, "soccer,2,2,", "soccer,2,5,")
    replace(folder / SUMMARY, "volleyball,2,0,", "volleyball,2,3,")
    (folder / "data/images/basketball/81.jpg").write_bytes(b"the ball is gone")
    replace(folder / CLICKS, "1,2,163,1,3,2", "1,2,163,1,7,2")
    replace(folder / CLICKS, "1,2,163,2,3,3", "1,2,163,2,,3")
    replace(folder / CLICKS, "1,2,163,3,4,2", "1,2,163,3.0,4.0,2.0")
    replace(folder / EXPLAINED, "3,1,2,legs\n", "3,1,2,legs\n3,2,2,arms\n")
    (folder / "data/responses/humans/basketball_clicks.csv").unlink()
    llama = folder / "data/responses/models/llama/level1_volleyball.csv"
    pl.read_csv(llama).with_columns(pl.col("iteration") - 1).write_csv(llama)
    for file in ("images/soccer/cover.jpg", "images/soccer/.DS_Store", "responses/humans/hockey_clicks.csv"):
        (folder / "data" / file).write_bytes(b"")
    write_csv(folder / "data/responses/models/human/level0_soccer.csv", ("image",), [])
    return import_release(folder)


@pytest.fixture(scope="module")
def real(real_release: Path) -> Release:
    return import_release(real_release)


def scene(release: Release, sport: str, image: str) -> Scene:
    (found,) = (scene for scene in release.scenes if scene.key == (sport, image))
    return found


def rows(
    release: Release, sport: str, image: str, respondent: str, prompt: str, **more: str
) -> list[dict[str, object]]:
    chosen = release.responses.filter(sport=sport, image=image, respondent=respondent, prompt=prompt, **more)
    return chosen.to_dicts()


def notes(release: Release, *words: str) -> list[str]:
    return [note for note in release.notes if all(word in note for word in words)]


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def plain_count(folder: Path) -> Counter[tuple[str, ...]]:
    """Count each (sport, image, respondent, prompt, cell) in the files of a release with plain loops."""
    counts: Counter[tuple[str, ...]] = Counter()
    for path in (folder / "data/responses").rglob("*.csv"):
        part, _, sport = path.stem.partition("_")
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                image = row["image"].split(".")[0].split("_")[0]
                if path.name.endswith("_clicks.csv"):
                    cell = "ABCDEF"[int(row["row"]) - 1] + row["col"]
                    counts[part, image, "human", "base", cell] += 1
                elif part.startswith("level"):
                    prompt = {"level0": "base", "level1": "cue", "level2": "cot"}[part]
                    match = re.fullmatch("([A-F])([1-9]|10)|([1-9]|10)([A-F])", row["cell"].upper())
                    cell = (match[1] or match[4]) + (match[2] or match[3]) if match else ""
                    counts[sport, image, path.parent.name, prompt, cell] += 1
    return counts


def imported_count(release: Release) -> Counter[tuple[str, ...]]:
    columns = release.responses.select("sport", "image", "respondent", "prompt", pl.col("cell").fill_null(""))
    return Counter(columns.rows())


class TestScenes:
    def test_import_creates_a_scene_for_each_image_named_in_any_file(self, release: Release) -> None:
        found = [(s.sport, s.image, s.control, s.path, s.ball_cells) for s in release.scenes]
        assert found == [
            ("soccer", "2", False, "images/soccer/2.jpg", ("D4", "E4")),
            ("soccer", "163", False, "images/soccer/163.jpg", ("C2", "C3", "D2", "D3")),
            ("soccer", "302", True, "images/soccer/302.jpg", ("E4", "E5")),
            ("soccer", "347", True, "images/soccer/347.jpg", ("E5", "E6", "F5", "F6")),
            ("basketball", "1", False, "images/basketball/1.png", ("D10",)),
            ("basketball", "2", False, "images/basketball/2.png", ("D9", "D10", "E9", "E10")),
            ("basketball", "81", True, "images/basketball/81.png", ("A1",)),
            ("volleyball", "1", False, "images/volleyball/1.png", ("B6",)),
            ("volleyball", "2", False, "images/volleyball/2.png", ("A2",)),
            ("volleyball", "3", False, None, ("B5", "C5")),
            ("volleyball", "51", True, "images/volleyball/51.png", None),
        ]
        assert {str(scene.layout) for scene in release.scenes} == {"6x10@640x360"}

    def test_ball_boxes_are_in_pixels_and_unclipped_and_their_conversion_is_noted(self, release: Release) -> None:
        # Soccer uses a frame of 512 x 512: 90.5 of 512 is 113.125 of 640, and 250 of 512 is 175.78125 of 360.
        assert scene(release, "soccer", "163").ball_box == (113.125, 175.78125, 146.875, 206.71875)
        # Basketball uses the center: the box is 48 x 36 around (576, 240).
        assert scene(release, "basketball", "2").ball_box == (552, 222, 600, 258)
        assert scene(release, "volleyball", "3").ball_box == (268, 102, 308, 138)
        assert scene(release, "volleyball", "51").ball_box is None
        assert notes(release, "soccer_gt.csv: ball boxes were converted from pixels of a 512 x 512 frame to pixels of")
        for file in ("bb_gt.csv", "vball_gt.csv"):
            assert notes(release, f"{file}: `x` and `y` are read as the center of the ball's box")
        assert scene(release, "basketball", "81").ball_box == (-6, -8, 26, 24)
        (note,) = notes(release, "beyond the edge")
        assert note == (
            "images/basketball/bb_gt.csv: the ball's box extends beyond the edge of these images, and is not clipped: "
            "81"
        )

    def test_ground_truth_keeps_the_unconverted_columns(self, release: Release) -> None:
        (row,) = release.ground_truth.filter(sport="basketball", image="2").rows()
        assert row == ("basketball", "2", 576, 240, 48, 36, 1.25 * 600, 0.703125 * 258)
        assert len(release.ground_truth) == 10

    def test_import_matches_players_by_image_and_sport_and_distinguishes_no_players_from_unknown_players(
        self, release: Release
    ) -> None:
        assert scene(release, "basketball", "1").boxes.tolist() == [[100, 100, 150, 200]]
        assert scene(release, "volleyball", "1").boxes.tolist() == [[400, 50, 450, 190]]
        assert scene(release, "soccer", "2").boxes.tolist() == [[10, 20, 50.5, 140], [300.25, 100, 340, 220]]
        assert scene(release, "volleyball", "51").boxes.tolist() == [[0, 0, 1, 1]]
        assert scene(release, "volleyball", "2").players == ()
        assert scene(release, "soccer", "163").players is None

    def test_import_notes_missing_ground_truth_image_files_and_players(self, release: Release) -> None:
        assert notes(release, "soccer: images without known players: 163")
        assert notes(release, "volleyball: images without ground truth: 51")
        assert notes(release, "volleyball: images without an image file: 3")
        assert not notes(release, "basketball: images")


class TestEditedRelease:
    def test_ball_box_outside_the_annotated_cells_is_noted(self, edited: Release, release: Release) -> None:
        assert not notes(release, "outside the annotated cells")
        (note,) = notes(edited, "outside the annotated cells")
        assert note.endswith(
            "soccer_gt.csv: the ball's box is outside the annotated cells in these images: 2. Scores use the annotated "
            "cells"
        )

    def test_different_player_counts_of_boxes_and_summary_are_noted(self, edited: Release) -> None:
        assert len(scene(edited, "soccer", "2").boxes) == 2
        assert notes(edited, "soccer 2 has 5 players in this file, but 2 boxes")
        # Players in the summary without boxes are unknown.
        assert scene(edited, "volleyball", "2").players is None
        assert notes(edited, "volleyball 2 has 3 players in this file, but 0 boxes")

    def test_control_with_two_image_files_uses_the_file_with_the_ball(self, edited: Release) -> None:
        assert edited.image_files["basketball", "81"].name == "81_wball.png"
        assert notes(edited, "images/basketball/81.jpg", "81_wball.png is used")

    def test_empty_clicks_and_clicks_outside_the_grid_are_unparsed_and_noted(self, edited: Release) -> None:
        mine = rows(edited, "soccer", "163", "human", "base", participant="1")
        assert [(row["sample"], row["cell"]) for row in mine] == [(1, None), (2, None), (3, "D2")]
        assert notes(edited, "2 of 18 responses name no cell", "1 empty; 1 outside the grid")

    def test_samples_numbered_from_0_are_renumbered_and_noted(self, edited: Release) -> None:
        assert [row["sample"] for row in rows(edited, "volleyball", "1", "llama", "cue")] == [1, 2, 3, 4]
        assert notes(edited, "llama", "not numbered from 1")

    def test_repeated_explanations_and_those_without_clicks_are_excluded_and_noted(self, edited: Release) -> None:
        mine = rows(edited, "soccer", "2", "human", "base", participant="3")
        assert [row["reasoning"] for row in mine] == ["legs", None, None]
        assert notes(edited, "1 of 4 explanations are excluded, because the participant had already")
        assert edited.responses.filter(sport="basketball", respondent="human").is_empty()
        assert notes(edited, "basketball_explanations.csv: 3 of 3 explanations are excluded")

    def test_files_outside_the_release_layout_are_excluded_and_noted(self, edited: Release) -> None:
        (note,) = notes(edited, "these files are excluded, because they are not part of the release layout")
        assert "images/soccer/cover.jpg" in note
        assert "responses/humans/hockey_clicks.csv" in note
        assert "responses/models/human/level0_soccer.csv" in note
        assert ".DS_Store" not in note


class TestResponses:
    def test_responses_have_the_standard_columns_and_types_and_unique_keys(self, release: Release) -> None:
        types = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        assert dict(release.responses.schema) == types
        keys = release.responses.select("sport", "image", "respondent", "prompt", "participant", "sample")
        assert not keys.is_duplicated().any()
        assert (keys["sample"] >= 1).all()

    def test_responses_have_the_respondents_kinds_prompts_and_counts_computed_by_hand(self, release: Release) -> None:
        groups = release.responses.group_by("respondent", "kind", "prompt").len().rows()
        assert sorted(groups) == [
            # (4 + 3 + 4 images) x 4 samples per prompt; Gemini has two more samples on soccer 163.
            ("gemini", "model", "cot", 46),
            ("gpt", "model", "base", 44),
            ("gpt", "model", "cot", 44),
            ("gpt", "model", "cue", 44),
            # 3 people x (2 + 2 + 3 images) x 3 clicks.
            ("human", "human", "base", 63),
            ("llama", "model", "cue", 6),
            ("qwen", "model", "base", 18),
        ]

    @pytest.mark.parametrize("seed", range(5))
    def test_imported_counts_equal_counts_of_the_files_from_plain_loops(self, tmp_path: Path, seed: int) -> None:
        folder = write_release(tmp_path, seed)
        assert imported_count(import_release(folder)) == plain_count(folder)

    def test_human_responses_use_the_person_as_participant_and_the_click_as_sample(self, release: Release) -> None:
        mine = rows(release, "soccer", "163", "human", "base", participant="1")
        assert [(row["sample"], row["cell"]) for row in mine] == [(1, "C2"), (2, "C3"), (3, "D2")]

    def test_unreadable_cells_are_unparsed_and_noted(self, release: Release) -> None:
        found = rows(release, "soccer", "163", "gemini", "cot")
        assert [row["cell"] for row in found] == ["C3", None, None, None, None, "D5"]
        assert notes(
            release,
            "responses/models/gemini/level2_soccer.csv: 4 of 18 responses name no cell",
            "1 empty; 2 outside the grid, such as 'G3'; 1 unreadable, such as 'ERROR'",
        )

    def test_image_has_the_same_id_under_different_file_names_and_reasoning_is_unchanged(
        self, release: Release
    ) -> None:
        first = rows(release, "volleyball", "51", "gpt", "cot")[0]
        assert first["reasoning"] == 'They look at "51.png",\nall of them (1)'
        for model in ("gpt", "gemini"):
            assert len(rows(release, "volleyball", "51", model, "cot")) == 4
            assert len(rows(release, "soccer", "347", model, "cot")) == 4

    def test_repeated_sample_numbers_are_renumbered_and_keep_every_row(self, folder: Path, release: Release) -> None:
        with (folder / "data/responses/models/qwen/level0_basketball.csv").open(encoding="utf-8", newline="") as file:
            told = [row["cell"] for row in csv.DictReader(file) if row["image"] == "1.png"]
        found = rows(release, "basketball", "1", "qwen", "base")
        assert [(row["sample"], row["cell"]) for row in found] == list(enumerate(told, start=1))
        assert len(told) == 8
        assert [row["sample"] for row in rows(release, "basketball", "2", "qwen", "base")] == [1, 2, 3, 4, 5, 6]
        # Four sample numbers of image 1 and two of image 2 occur twice.
        assert notes(release, "qwen/level0_basketball.csv: 12 rows have a sample number that occurs more than once")
        assert not notes(release, "gpt", "occurs more than once")

    def test_different_numbers_of_responses_per_image_are_noted(self, release: Release) -> None:
        assert notes(release, "llama/level1_volleyball.csv: the number of responses", ": 4 on 1 image, 2 on 1 image")
        assert notes(release, "gemini/level2_soccer.csv: the number of responses", ": 4 on 3 images, 6 on 1 image")
        assert not notes(release, "gpt", "the number of responses")

    def test_explanation_becomes_the_reasoning_of_the_first_click(self, release: Release) -> None:
        explained = release.responses.filter(pl.col("kind") == "human").drop_nulls("reasoning")
        found = explained.select("sport", "participant", "image", "sample", "reasoning").rows()
        assert sorted(found) == [
            ("basketball", "2", "1", 1, "arms"),
            ("soccer", "1", "163", 1, 'He says "up there", they look left,\nso C2'),
            ("soccer", "3", "2", 1, "legs"),
            ("volleyball", "2", "3", 1, "hands, all of them"),
        ]
        assert notes(release, "soccer_explanations.csv: 1 of 3 explanations are excluded", "did not click")
        assert notes(release, "basketball_explanations.csv: 2 of 3 explanations are excluded", "did not click")
        assert not notes(release, "volleyball_explanations.csv")

    @given(
        number=st.integers(0, 9999).map(str),
        ending=st.sampled_from(["", ".jpg", ".png", "_wball.png", "_wballjpg.jpg", ".0"]),
    )
    def test_image_id_is_the_leading_number_of_the_file_name(
        self, tmp_path_factory: pytest.TempPathFactory, number: str, ending: str
    ) -> None:
        data = tmp_path_factory.mktemp("one")
        header = ("image", "x", "y", "width", "height", "cell")
        write_csv(data / "images/soccer/soccer_gt.csv", header, [(number, 1, 1, 1, 1, "A1")])
        answers = data / "responses/models/gpt/level0_soccer.csv"
        write_csv(answers, ("image", "iteration", "cell"), [(f"{number}{ending}", 1, "A1")])
        (only,) = import_release(data).scenes
        assert only.key == ("soccer", number)
        assert only.control == ("wball" in ending)


class TestAcceptedLayouts:
    def test_import_accepts_the_data_folder_and_symbolic_links_to_files(self, folder: Path, release: Release) -> None:
        path = folder / GPT
        path.rename(path.with_name("kept.csv"))
        path.symlink_to("kept.csv")
        assert import_release(folder / "data").responses.equals(release.responses)

    def test_import_of_ground_truth_alone_writes_only_scenes(self, tmp_path: Path, folder: Path) -> None:
        part = tmp_path / "part/images/vball"
        part.mkdir(parents=True)
        (part / "vball_gt.csv").write_bytes((folder / "data/images/volleyball/vball_gt.csv").read_bytes())
        release = import_release(tmp_path / "part")
        assert [scene.key for scene in release.scenes] == [("volleyball", image) for image in ("1", "2", "3")]
        assert release.responses.is_empty()
        assert release.responses.columns == list(COLUMNS)
        release.write(tmp_path / "out")
        assert list(content(tmp_path / "out")) == ["scenes.jsonl"]

    def test_import_accepts_short_and_long_sport_names_and_player_files_without_a_sport_column(
        self, folder: Path, release: Release
    ) -> None:
        # Without a column `sport`, the path of the image names the sport.
        boxes = pl.read_csv(folder / BOXES, infer_schema=False).drop("sport")
        path = pl.col("image").str.replace("/basketball/", "\\bb\\", literal=True)
        boxes.with_columns(path).write_csv(folder / BOXES)
        assert r"\bb" in (folder / BOXES).read_text()
        for path in sorted((folder / "data").rglob("*"), reverse=True):
            name = path.name
            for short, long in (("bb", "basketball"), ("vball", "volleyball")):
                name = name.replace(long, short) if long in name else name.replace(f"{short}_gt", f"{long}_gt")
            path.rename(path.with_name(name))
        assert (folder / "data/images/bb/basketball_gt.csv").exists()
        renamed = import_release(folder)
        assert renamed.scenes == release.scenes
        assert renamed.responses.sort(COLUMNS).equals(release.responses.sort(COLUMNS))


class TestWrite:
    def test_write_creates_scenes_responses_and_images_of_the_right_sport(self, folder: Path, tmp_path: Path) -> None:
        release = import_release(folder)
        release.write(tmp_path / "new/out")
        files = content(tmp_path / "new/out")
        respondents = {f"responses-{name}.jsonl" for name in ("human", "gpt", "gemini", "qwen", "llama")}
        images = {scene.path for scene in release.scenes if scene.path}
        assert set(files) == {"scenes.jsonl", *respondents, *images}
        assert read_scenes(tmp_path / "new/out/scenes.jsonl") == release.scenes
        for name in respondents:
            read = pl.read_ndjson(tmp_path / "new/out" / name, schema=release.responses.schema)
            mine = release.responses.filter(pl.lit(name) == pl.format("responses-{}.jsonl", "respondent"))
            assert read.equals(mine)
        for sport in ("basketball", "volleyball"):
            assert files[f"images/{sport}/1.png"] == (folder / f"data/images/{sport}/1.png").read_bytes()
        assert files["images/basketball/1.png"] != files["images/volleyball/1.png"]

    def test_write_fills_an_empty_folder_and_replaces_an_earlier_import(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        out.mkdir()
        release = import_release(folder)
        release.write(out)
        once = content(out)
        assert read_scenes(out / "scenes.jsonl") == release.scenes
        (out / "responses-gpt.jsonl").write_text("")
        (out / "images/soccer/2.jpg").unlink()
        import_release(folder).write(out)
        assert content(out) == once
        (folder / "data/images/soccer/163.jpg").write_bytes(b"another")
        import_release(folder).write(out)
        assert content(out) == {**once, "images/soccer/163.jpg": b"another"}
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "release"]

    @pytest.mark.parametrize(
        ("earlier", "file", "text"),
        [
            (False, "thesis.txt", "mine"),
            (True, "responses-mine.jsonl", '{"image": "2", "cell": "D5"}'),
            (True, ".git/HEAD", "ref"),
            (False, "scenes.jsonl", builders.scene("9999").model_dump_json()),
            (False, "scenes.jsonl", "{}\n"),
        ],
    )
    def test_write_to_a_folder_with_other_files_fails_and_changes_nothing(
        self, folder: Path, tmp_path: Path, earlier: bool, file: str, text: str
    ) -> None:
        out = tmp_path / "out"
        if earlier:
            import_release(folder).write(out)
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(text)
        before = content(out)
        with raises(OptionError, "output-exists:--out") as caught:
            import_release(folder).write(out)
        assert not earlier or file in str(caught.value)
        assert content(out) == before

    def test_write_to_a_file_or_the_release_folder_fails_and_changes_nothing(
        self, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "out").write_text("mine")
        before = content(tmp_path)
        for out in (tmp_path / "out", folder):
            with raises(OptionError, "output-exists:--out"):
                import_release(folder).write(out)
        assert content(tmp_path) == before

    def test_write_with_a_missing_image_leaves_no_output(self, folder: Path, tmp_path: Path) -> None:
        release = import_release(folder)
        (folder / "data/images/volleyball/2.png").unlink()
        with raises(OptionError, "unwritable-output"):
            release.write(tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["release"]

    @pytest.mark.parametrize("existing", [False, True])
    def test_interrupted_write_changes_nothing(self, folder: Path, tmp_path: Path, existing: bool) -> None:
        out = tmp_path / "out"
        release = import_release(folder)
        if existing:
            release.write(out)
        before = content(tmp_path)

        def interrupted(done: int, total: int) -> None:
            if done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            release.write(out, on_progress=interrupted)
        assert content(tmp_path) == before
        assert out.exists() == existing

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
    @pytest.mark.parametrize("existing", [False, True])
    def test_killed_write_changes_nothing_and_can_be_rerun(self, folder: Path, tmp_path: Path, existing: bool) -> None:
        out = tmp_path / "out"
        if existing:
            import_release(folder).write(out)
        before = content(out)
        program = (
            "import os, signal, sys\n"
            "from spotball_core.release.convert import import_release\n"
            "def killed(done, total):\n"
            "    if done == 3:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "import_release(sys.argv[1]).write(sys.argv[2], on_progress=killed)\n"
        )
        ran = subprocess.run([sys.executable, "-c", program, folder, out], check=False)
        assert ran.returncode == -signal.SIGKILL
        assert out.exists() == existing
        assert content(out) == before
        import_release(folder).write(out)
        assert "scenes.jsonl" in content(out)


class TestBadInput:
    @pytest.mark.parametrize(
        ("file", "old", "new", "where", "found"),
        [
            # Line 1 is the header. Each row of GPT takes two lines, because its quoted reasoning contains a line break.
            (TRUTH, "163,90.5", "goal,90.5", "invalid-value:image:3", "'goal'"),
            (TRUTH, "163,90.5", "2,90.5", "invalid-value:image:3", "'2'"),
            (TRUTH, "163,90.5", "163,left", "invalid-value:x:3", "'left'"),
            (TRUTH, "163,90.5", "163,nan", "invalid-value:x:3", "'nan'"),
            (TRUTH, "250,27,44", "250,-27,44", "invalid-value:width:3", "'-27'"),
            (TRUTH, "250,27,44", "250,27,", "missing-value:height:3", ""),
            (TRUTH, "E4;E5", "E4;G5", "invalid-value:cell:4", "'E4;G5'"),
            (TRUTH, "E4;E5", "", "missing-value:cell:4", ""),
            (TRUTH, "image,x", "picture,x", "missing-column:image:1", "picture, x, y, width"),
            (CLICKS, "1,2,163,1", "1,2,one,1", "invalid-value:image:5", "'one'"),
            (CLICKS, "1,2,163,1", ",2,163,1", "missing-value:id:5", ""),
            (CLICKS, "1,2,163,1", "1,2,163,first", "invalid-value:click:5", "'first'"),
            (CLICKS, "1,2,163,1", "1,2,163,1.5", "invalid-value:click:5", "'1.5'"),
            (EXPLAINED, "2,1,302", "2,1,", "missing-value:image:4", ""),
            (EXPLAINED, ",response", ",answer", "missing-column:response:1", "id, order, image, answer"),
            (GPT, "2.jpg,2", "2.jpg,twice", "invalid-value:iteration:4", "'twice'"),
            (GPT, "2.jpg,2", "x2.jpg,2", "invalid-value:image:4", "'x2.jpg'"),
            (GPT, ",cell", ",answer", "missing-column:cell:1", "image, iteration, reasoning, answer"),
            (GPT, "2.jpg,2", '2.jpg,"2', "invalid-csv:line:4", ""),
            (BOXES, "soccer,", "hockey,", "invalid-value:sport:2", "'hockey'"),
            (BOXES, "soccer,", "bb,", "invalid-value:image:2", "'/content/drive/MyDrive/spotball_eval/soccer/2.jpg'"),
            (BOXES, "10.0,20.0", "ten,20.0", "invalid-value:x1:2", "'ten'"),
            (BOXES, "10.0,20.0,50.5", "10.0,20.0,5", "invalid-value:x2:2", "'5'"),
            (BOXES, "50.5,140.0", "50.5,14", "invalid-value:y2:2", "'14'"),
            (SUMMARY, "soccer,2,2", "soccer,2,-2", "invalid-value:n_person_kept:5", "'-2'"),
            (SUMMARY, "soccer,2,2", ",2,2", "missing-value:sport:5", ""),
            (CLICKS, "1,2,163,1,3,2", "1,2,163,1,3,2,9", "invalid-csv:line:5", "7 fields"),
            # Without this check, the values of `order` would be read as rows of the grid.
            (CLICKS, "id,order,", "id,row,", "duplicate:row", ""),
            (GPT, ",reasoning,", ",reasonning,", "unknown-column:reasonning", ""),
        ],
    )
    def test_import_of_a_wrong_value_or_column_reports_the_file_column_and_line(
        self, folder: Path, file: str, old: str, new: str, where: str, found: str
    ) -> None:
        replace(folder / file, old, new)
        with raises(InputError, where) as caught:
            import_release(folder)
        (problem,) = caught.value.problems
        assert (problem.file, problem.count) == (str(folder / file), 1)
        assert found in problem.found

    @pytest.mark.parametrize(
        ("name", "change", "where"),
        [
            (GPT, lambda data: b"", "unreadable-file:file"),
            (GPT, lambda data: b"image,iteration,cell\n1.jpg,1,\xff\xfe\n", "unreadable-file:line:2"),
            (GPT, gzip.compress, "unreadable-file:file"),
            (GPT, zlib.compress, "unreadable-file:file"),
            (GPT, lambda data: zlib.compress(data, 0), "unreadable-file:file"),
            (TRUTH, lambda data: data.partition(b"\n")[0] + b"\n\n", "no-data:file"),
            *((name, lambda data: data.partition(b"\n")[0] + b"\n", "no-data:file") for name in (GPT, CLICKS, TRUTH)),
            *((name, lambda data: data.replace(b"\n", b"\r"), "invalid-csv:file") for name in (GPT, CLICKS, TRUTH)),
        ],
    )
    def test_import_of_a_file_without_readable_rows_is_an_error(
        self, folder: Path, name: str, change: Any, where: str
    ) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))
        with raises(InputError, where) as caught:
            import_release(folder)
        assert caught.value.file == str(path)

    @pytest.mark.parametrize("name", [GPT, CLICKS, TRUTH, "data/images/soccer/163.jpg", BOXES])
    @pytest.mark.parametrize("what", ["a folder", "a FIFO", "a link to nothing"])
    def test_import_with_a_folder_fifo_or_broken_link_in_place_of_a_file_is_an_error(
        self, folder: Path, name: str, what: str
    ) -> None:
        path = folder / name
        path.unlink()
        make: dict[str, Callable[[], object]] = {
            "a folder": path.mkdir,
            "a FIFO": lambda: os.mkfifo(path),
            "a link to nothing": lambda: path.symlink_to("gone.csv"),
        }
        make[what]()
        with raises(InputError, "missing-file:file"):
            import_release(folder)

    def test_import_reports_a_misplaced_file_a_second_file_for_a_sport_and_a_linked_folder(self, folder: Path) -> None:
        misplaced = folder / "data/images/basketball/soccer_gt.csv"
        (folder / TRUTH).rename(misplaced)
        models = folder / "data/responses/models"
        second = models / "qwen/level0_bb.csv"
        second.write_bytes((models / "qwen/level0_basketball.csv").read_bytes())
        (models / "gpt").rename(folder / "gpt")
        (models / "gpt").symlink_to(folder / "gpt")
        with pytest.raises(InputError) as caught:
            import_release(folder)
        assert {(problem.code, problem.file, problem.field) for problem in caught.value.problems} == {
            ("wrong-file", str(misplaced), "file name"),
            ("wrong-file", str(second), "file name"),
            ("wrong-file", str(models / "gpt"), "folder"),
        }

    @pytest.mark.parametrize("model", ["gpt[4o]", "gpt*", "gpt?", "GPT {4}"])
    def test_model_names_are_not_read_as_glob_patterns(self, folder: Path, model: str, tmp_path: Path) -> None:
        models = folder / "data/responses/models"
        # A folder that the pattern would match has different answers.
        (models / "gpt4").mkdir()
        (models / "gpt4/level0_soccer.csv").write_text("image,iteration,cell\n163.jpg,1,A1\n")
        (models / model).mkdir()
        (models / model / "level0_soccer.csv").write_text("image,iteration,cell\n163.jpg,1,F10\n163.jpg,2,F10\n")
        found = import_release(folder)
        assert found.responses.filter(respondent=model)["cell"].to_list() == ["F10", "F10"]
        found.write(tmp_path / "out")
        known = read_scenes(tmp_path / "out/scenes.jsonl")
        counts = read_counts(response_files(tmp_path / "out"), known)
        assert counts.table.filter(respondent=model)["n"].sum() == 2

    def test_import_of_a_folder_without_ground_truth_or_of_a_path_that_is_no_folder_is_an_error(
        self, folder: Path, tmp_path: Path
    ) -> None:
        for path in (folder / "data").rglob("*_gt.csv"):
            path.unlink()
        with raises(InputError, "wrong-file:ground truth"):
            import_release(folder)
        (tmp_path / "file.txt").write_text("")
        for name, code in (("nowhere", "missing-file"), ("file.txt", "wrong-file")):
            with raises(InputError, f"{code}:folder"):
                import_release(tmp_path / name)

    def test_import_reports_problems_of_all_files_in_line_order_and_once_per_cause(self, folder: Path) -> None:
        replace(folder / TRUTH, "E4;E5", "Z")
        replace(folder / TRUTH, "163,90.5", "163,left")
        replace(folder / TRUTH, "2,164", ",164")
        write_csv(folder / CLICKS, ("id", "image", "click", "row", "col"), [(1, 163, "x", 1, 1) for _ in range(30)])
        with pytest.raises(InputError) as error:
            import_release(folder)
        *of_truth, last = error.value.problems
        assert [(p.line, p.field) for p in of_truth] == [(2, "image"), (3, "x"), (4, "cell")]
        assert {p.file for p in of_truth} == {str(folder / TRUTH)}
        assert of_truth[1].code == "invalid-value"
        assert (last.code, last.file, last.field) == ("invalid-value", str(folder / CLICKS), "click")
        assert (last.found, last.count, last.lines) == ("'x'", 30, (2, 3, 4, 5, 6))


def spotball(*arguments: object) -> subprocess.CompletedProcess[str]:
    return process.spotball("import-release", *map(str, arguments))


class TestCommand:
    def test_import_release_command_writes_a_dataset_and_prints_a_summary(self, folder: Path, tmp_path: Path) -> None:
        ran = spotball(folder, "--out", tmp_path / "out")
        assert (ran.returncode, ran.stdout) == (0, "")
        said = ran.stderr.splitlines()
        assert said[:4] == [
            "soccer: 4 scenes, 2 of them controls (302, 347)",
            "basketball: 3 scenes, 1 of them controls (81)",
            "volleyball: 4 scenes, 1 of them controls (51)",
            "human: 63 responses (soccer base 18, basketball base 18, volleyball base 27)",
        ]
        assert "qwen: 18 responses (basketball base 18)" in said
        assert any(line.startswith("note: responses/models/gemini/level2_soccer.csv: 4 of 18") for line in said)
        assert "copying images: 10 done" in said
        assert said[-1] == f"wrote {tmp_path / 'out'}"
        import_release(folder).write(tmp_path / "mirror")
        assert content(tmp_path / "out") == content(tmp_path / "mirror")
        for _ in range(2):
            ran = spotball(folder, "--out", tmp_path / "quiet", "--quiet")
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        assert content(tmp_path / "quiet") == content(tmp_path / "mirror")

    def test_import_release_command_with_an_error_writes_nothing(self, folder: Path, tmp_path: Path) -> None:
        ran = spotball(folder, "--out", folder)
        assert (ran.returncode, codes(ran.stderr)) == (2, ["output-exists"])
        # The last file is truncated.
        last = folder / "data/responses/models/qwen/level0_basketball.csv"
        last.write_bytes(last.read_bytes()[: last.read_bytes().rindex(b"all of them")])
        ran = spotball(folder, "--out", tmp_path / "out")
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"error: {last}")
        assert "Traceback" not in ran.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["release"]


@pytest.mark.real
class TestRealRelease:
    def test_real_soccer_scenes_match_the_paper(self, real: Release) -> None:
        soccer = [scene for scene in real.scenes if scene.sport == "soccer"]
        assert len(soccer) == 52
        assert [scene.image for scene in soccer if scene.control] == ["302", "347"]
        assert all(scene.path and scene.ball_cells and scene.players is not None for scene in soccer)
        # Table 1 of the paper prints this mean number of cells, including controls.
        assert f"{sum(len(scene.ball_cells or ()) for scene in soccer) / 52:.2f}" == "2.27"
        assert sum(len(scene.boxes) for scene in soccer) == 284

    def test_real_ball_boxes_are_scaled_centered_on_gt_x_and_gt_y_and_in_the_annotated_cells(
        self, real: Release
    ) -> None:
        # The box is 164, 324.5, 14, 25 in the frame of 512 x 512; x is scaled by 1.25 and y by 0.703125.
        assert scene(real, "soccer", "2").ball_box == (205, 228.1640625, 222.5, 245.7421875)
        for sport, image, *_, gt_x, gt_y in real.ground_truth.iter_rows():
            x1, y1, x2, y2 = scene(real, sport, image).ball_box or (0, 0, 0, 0)
            assert ((x1 + x2) / 2, (y1 + y2) / 2) == (gt_x, gt_y)
        assert not notes(real, "outside the annotated cells")

    @pytest.mark.parametrize("image", ["302", "347"])
    def test_real_ball_boxes_of_controls_surround_the_white_ball_pixels(self, real: Release, image: str) -> None:
        found = scene(real, "soccer", image)
        assert found.control
        assert found.ball_box is not None
        x1, y1, x2, y2 = found.ball_box
        with Image.open(real.image_files[found.key]) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        # The balls are white and the grass around them is not.
        rows, cols = np.nonzero(pixels.min(axis=-1) > 140)
        around = (cols > x1 - 30) & (cols < x2 + 30) & (rows > y1 - 30) & (rows < y2 + 30)
        assert around.sum() > 100
        left, right, top, bottom = cols[around].min(), cols[around].max(), rows[around].min(), rows[around].max()
        assert x1 <= left < right + 1 <= x2
        assert y1 <= top < bottom + 1 <= y2
        assert right + 1 - left > (x2 - x1) / 2

    def test_real_responses_have_the_published_counts(self, real: Release, real_release: Path) -> None:
        people = real.responses.filter(sport="soccer", respondent="human")
        assert (len(people), people["participant"].n_unique(), people["cell"].null_count()) == (7500, 50, 0)
        gemini = real.responses.filter(sport="soccer", respondent="gemini", prompt="cot")
        assert (len(gemini), gemini["cell"].null_count()) == (1040, 14)
        seen = gemini.filter(pl.col("image").is_in(people["image"].unique().to_list()))
        assert (len(seen), seen["cell"].null_count()) == (1000, 14)
        assert imported_count(real) == plain_count(real_release)

    def test_write_of_the_real_release_copies_scenes_and_images(self, real: Release, tmp_path: Path) -> None:
        real.write(tmp_path / "out")
        assert read_scenes(tmp_path / "out/scenes.jsonl") == real.scenes
        for key, file in real.image_files.items():
            assert filecmp.cmp(file, tmp_path / "out" / (scene(real, *key).path or ""), shallow=False)


PLACES = st.floats(-600, 600)
SIZES = st.floats(0.5, 600)


@given(x=PLACES, y=PLACES, width=SIZES, height=SIZES)
def test_ball_box_of_soccer_is_scaled_from_a_frame_of_512_x_512_pixels(
    x: float, y: float, width: float, height: float
) -> None:
    x1, y1, x2, y2 = ball_box("soccer", x, y, width, height)
    assert (x1, x2 - x1) == (pytest.approx(x * 640 / 512), pytest.approx(width * 640 / 512))
    assert (y1, y2 - y1) == (pytest.approx(y * 360 / 512), pytest.approx(height * 360 / 512))


@pytest.mark.parametrize("sport", ["basketball", "volleyball"])
@given(x=PLACES, y=PLACES, width=SIZES, height=SIZES)
def test_ball_box_of_basketball_and_volleyball_is_centered_on_x_and_y_in_pixels(
    sport: str, x: float, y: float, width: float, height: float
) -> None:
    x1, y1, x2, y2 = ball_box(sport, x, y, width, height)
    assert ((x1 + x2) / 2, x2 - x1) == (pytest.approx(x), pytest.approx(width))
    assert ((y1 + y2) / 2, y2 - y1) == (pytest.approx(y), pytest.approx(height))


@pytest.mark.parametrize("sport", ["soccer", "basketball", "volleyball"])
@given(numbers=st.tuples(PLACES, PLACES, SIZES, SIZES))
def test_ball_columns_is_the_inverse_of_ball_box(sport: str, numbers: tuple[float, float, float, float]) -> None:
    assert ball_columns(sport, ball_box(sport, *numbers)) == pytest.approx(numbers, abs=1e-9)
