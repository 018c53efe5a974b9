"""Test the importer of the published release, on a synthetic copy of its layout and on the real one if available."""

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

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from spotball_core.counting.responses import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import response_files
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.release.convert import Release, import_release
from spotball_core.schema.scene import Scene
from tests.cli import process
from tests.failures import codes, raises
from tests.release_layout import write_csv, write_release

ALIASES = {"bb": "basketball", "vball": "volleyball"}
LETTERS = "ABCDEF"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_release(tmp_path / "release")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return import_release(write_release(tmp_path_factory.mktemp("release")))


@pytest.fixture(scope="module")
def real(real_release: Path) -> Release:
    return import_release(real_release)


def scene(release: Release, sport: str, image: str) -> Scene:
    (found,) = (scene for scene in release.scenes if scene.key == (sport, image))
    return found


def rows(release: Release, sport: str, image: str, respondent: str, prompt: str) -> list[dict[str, object]]:
    chosen = release.responses.filter(sport=sport, image=image, respondent=respondent, prompt=prompt)
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
                    cell = LETTERS[int(row["row"]) - 1] + row["col"]
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
    def test_import_makes_a_scene_of_each_image_that_any_file_names(self, release: Release) -> None:
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

    def test_ball_box_is_in_pixels_of_the_image(self, release: Release) -> None:
        # Soccer uses a frame of 512 x 512: 90.5 of 512 is 113.125 of 640, and 250 of 512 is 175.78125 of 360.
        assert scene(release, "soccer", "163").ball_box == (113.125, 175.78125, 146.875, 206.71875)
        # Basketball uses the center: the box is 48 x 36 around (576, 240).
        assert scene(release, "basketball", "2").ball_box == (552, 222, 600, 258)
        assert scene(release, "volleyball", "3").ball_box == (268, 102, 308, 138)
        assert scene(release, "volleyball", "51").ball_box is None

    def test_import_notes_how_ball_boxes_were_converted(self, release: Release) -> None:
        assert notes(release, "soccer_gt.csv: ball boxes were converted from pixels of a 512 x 512 frame to pixels of")
        for file in ("bb_gt.csv", "vball_gt.csv"):
            assert notes(release, f"{file}: `x` and `y` are read as the center of the ball's box")

    def test_ball_box_partly_outside_the_image_is_noted_and_not_clipped(self, release: Release) -> None:
        assert scene(release, "basketball", "81").ball_box == (-6, -8, 26, 24)
        (note,) = notes(release, "beyond the edge")
        assert note == (
            "images/basketball/bb_gt.csv: the ball's box extends beyond the edge of these images, and is not clipped: "
            "81"
        )

    def test_ball_box_outside_the_annotated_cells_is_noted(self, folder: Path, release: Release) -> None:
        assert not notes(release, "outside the annotated cells")
        replace(folder / TRUTH, "D4;E4", "A9")
        (note,) = notes(import_release(folder), "outside the annotated cells")
        assert note.endswith(
            "soccer_gt.csv: the ball's box is outside the annotated cells in these images: 2. Scores use the annotated "
            "cells"
        )

    def test_ground_truth_keeps_the_unconverted_columns(self, release: Release) -> None:
        (row,) = release.ground_truth.filter(sport="basketball", image="2").rows()
        assert row == ("basketball", "2", 576, 240, 48, 36, 1.25 * 600, 0.703125 * 258)
        assert len(release.ground_truth) == 10

    def test_all_scenes_have_the_same_size_and_grid(self, release: Release) -> None:
        assert {str(scene.layout) for scene in release.scenes} == {"6x10@640x360"}

    def test_players_are_matched_by_image_and_sport(self, release: Release) -> None:
        assert scene(release, "basketball", "1").boxes.tolist() == [[100, 100, 150, 200]]
        assert scene(release, "volleyball", "1").boxes.tolist() == [[400, 50, 450, 190]]
        assert scene(release, "soccer", "2").boxes.tolist() == [[10, 20, 50.5, 140], [300.25, 100, 340, 220]]
        assert scene(release, "volleyball", "51").boxes.tolist() == [[0, 0, 1, 1]]

    def test_players_are_empty_if_none_was_detected_and_none_if_unknown(self, release: Release) -> None:
        assert scene(release, "volleyball", "2").players == ()
        assert scene(release, "soccer", "163").players is None
        assert notes(release, "soccer: images without known players: 163")

    def test_import_notes_missing_ground_truth_and_image_files(self, release: Release) -> None:
        assert notes(release, "volleyball: images without ground truth: 51")
        assert notes(release, "volleyball: images without an image file: 3")
        assert not notes(release, "basketball: images")

    def test_players_without_a_sport_column_get_the_sport_of_the_path(self, folder: Path) -> None:
        path = folder / "data/analysis/player_proximity/filtered_people_boxes_long.csv"
        before = import_release(folder).scenes
        table = pl.read_csv(path, infer_schema=False).drop("sport")
        table.with_columns(pl.col("image").str.replace("/basketball/", "\\bb\\", literal=True)).write_csv(path)
        assert r"\bb" in path.read_text()
        assert import_release(folder).scenes == before

    def test_different_player_counts_of_boxes_and_summary_are_noted(self, folder: Path) -> None:
        path = folder / "data/analysis/player_proximity/filtered_people_image_summary.csv"
        replace(path, "soccer,2,2,", "soccer,2,5,")
        release = import_release(folder)
        assert len(scene(release, "soccer", "2").boxes) == 2
        assert notes(release, "soccer 2 has 5 players in this file, but 2 boxes")

    def test_players_in_the_summary_without_boxes_are_unknown_and_noted(self, folder: Path) -> None:
        path = folder / "data/analysis/player_proximity/filtered_people_image_summary.csv"
        replace(path, "volleyball,2,0,", "volleyball,2,3,")
        release = import_release(folder)
        assert scene(release, "volleyball", "2").players is None
        assert notes(release, "volleyball 2 has 3 players in this file, but 0 boxes")

    def test_control_with_two_image_files_uses_the_file_with_the_ball(self, folder: Path) -> None:
        other = folder / "data/images/basketball/81.jpg"
        other.write_bytes(b"the ball is gone")
        release = import_release(folder)
        assert release.image_files["basketball", "81"].name == "81_wball.png"
        assert notes(release, "images/basketball/81.jpg", "81_wball.png is used")


class TestResponses:
    def test_responses_have_the_standard_columns_and_types(self, release: Release) -> None:
        types = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        assert dict(release.responses.schema) == types

    def test_responses_have_the_expected_respondents_kinds_prompts_and_counts(self, release: Release) -> None:
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
    def test_imported_counts_equal_plain_counts_of_the_files(self, tmp_path: Path, seed: int) -> None:
        folder = write_release(tmp_path, seed)
        assert imported_count(import_release(folder)) == plain_count(folder)

    def test_human_responses_use_the_person_as_participant_and_the_click_as_sample(self, release: Release) -> None:
        mine = [row for row in rows(release, "soccer", "163", "human", "base") if row["participant"] == "1"]
        assert [(row["sample"], row["cell"]) for row in mine] == [(1, "C2"), (2, "C3"), (3, "D2")]

    def test_unreadable_cells_are_unparsed_and_noted(self, release: Release) -> None:
        found = rows(release, "soccer", "163", "gemini", "cot")
        assert [row["cell"] for row in found] == ["C3", None, None, None, None, "D5"]
        assert notes(
            release,
            "responses/models/gemini/level2_soccer.csv: 4 of 18 responses name no cell",
            "1 empty; 2 outside the grid, such as 'G3'; 1 unreadable, such as 'ERROR'",
        )

    def test_clicks_outside_the_grid_are_unparsed_and_noted(self, folder: Path) -> None:
        replace(folder / "data/responses/humans/soccer_clicks.csv", "1,2,163,1,3,2", "1,2,163,1,7,2")
        replace(folder / "data/responses/humans/soccer_clicks.csv", "1,2,163,2,3,3", "1,2,163,2,,3")
        replace(folder / "data/responses/humans/soccer_clicks.csv", "1,2,163,3,4,2", "1,2,163,3.0,4.0,2.0")
        release = import_release(folder)
        mine = [row for row in rows(release, "soccer", "163", "human", "base") if row["participant"] == "1"]
        assert [(row["sample"], row["cell"]) for row in mine] == [(1, None), (2, None), (3, "D2")]
        assert notes(release, "2 of 18 responses name no cell", "1 empty; 1 outside the grid")

    def test_reasoning_text_is_unchanged(self, release: Release) -> None:
        first = rows(release, "volleyball", "51", "gpt", "cot")[0]
        assert first["reasoning"] == 'They look at "51.png",\nall of them (1)'

    def test_image_has_the_same_id_under_different_file_names(self, release: Release) -> None:
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

    def test_samples_numbered_from_0_are_renumbered_and_noted(self, folder: Path) -> None:
        path = folder / "data/responses/models/llama/level1_volleyball.csv"
        table = pl.read_csv(path)
        table.with_columns(pl.col("iteration") - 1).write_csv(path)
        release = import_release(folder)
        assert [row["sample"] for row in rows(release, "volleyball", "1", "llama", "cue")] == [1, 2, 3, 4]
        assert notes(release, "llama", "not numbered from 1")

    def test_imported_responses_have_unique_keys(self, release: Release) -> None:
        keys = release.responses.select("sport", "image", "respondent", "prompt", "participant", "sample")
        assert not keys.is_duplicated().any()
        assert (keys["sample"] >= 1).all()

    def test_different_numbers_of_responses_per_image_are_noted(self, release: Release) -> None:
        assert notes(
            release,
            "llama/level1_volleyball.csv: the number of responses differs between images: 4 on 1 image, 2 on 1 image",
        )
        assert notes(
            release,
            "gemini/level2_soccer.csv: the number of responses differs between images: 4 on 3 images, 6 on 1 image",
        )
        assert not notes(release, "gpt", "uneven")

    def test_explanation_becomes_the_reasoning_of_the_first_click(self, release: Release) -> None:
        explained = release.responses.filter(pl.col("kind") == "human").drop_nulls("reasoning")
        found = explained.select("sport", "participant", "image", "sample", "reasoning").rows()
        assert sorted(found) == [
            ("basketball", "2", "1", 1, "arms"),
            ("soccer", "1", "163", 1, 'He says "up there", they look left,\nso C2'),
            ("soccer", "3", "2", 1, "legs"),
            ("volleyball", "2", "3", 1, "hands, all of them"),
        ]
        assert notes(
            release, "soccer_explanations.csv: 1 of 3 explanations are excluded, because the participant did not"
        )
        assert notes(
            release, "basketball_explanations.csv: 2 of 3 explanations are excluded, because the participant did not"
        )
        assert not notes(release, "volleyball_explanations.csv")

    def test_second_explanation_of_an_image_is_excluded_and_noted(self, folder: Path) -> None:
        path = folder / "data/responses/humans/soccer_explanations.csv"
        path.write_text(path.read_text(encoding="utf-8") + "3,2,2,arms\n", encoding="utf-8")
        release = import_release(folder)
        mine = [row for row in rows(release, "soccer", "2", "human", "base") if row["participant"] == "3"]
        assert [row["reasoning"] for row in mine] == ["legs", None, None]
        assert notes(release, "1 of 4 explanations are excluded, because the participant had already")

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


class TestParts:
    def test_import_accepts_the_data_folder(self, folder: Path, release: Release) -> None:
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

    def test_explanations_without_clicks_are_excluded_and_noted(self, folder: Path) -> None:
        (folder / "data/responses/humans/soccer_clicks.csv").unlink()
        release = import_release(folder)
        assert release.responses.filter(sport="soccer", respondent="human").is_empty()
        assert notes(release, "soccer_explanations.csv: 3 of 3 explanations are excluded")

    def test_import_accepts_all_names_of_each_sport(self, folder: Path, release: Release) -> None:
        for path in sorted((folder / "data").rglob("*"), reverse=True):
            name = path.name
            for short, long in ALIASES.items():
                name = name.replace(long, short) if long in name else name.replace(f"{short}_gt", f"{long}_gt")
            path.rename(path.with_name(name))
        assert (folder / "data/images/bb/basketball_gt.csv").exists()
        renamed = import_release(folder)
        assert renamed.scenes == release.scenes
        assert renamed.responses.sort(COLUMNS).equals(release.responses.sort(COLUMNS))

    def test_files_outside_the_release_layout_are_excluded_and_noted(self, folder: Path) -> None:
        humans = folder / "data/responses/humans"
        write_csv(humans / "hockey_clicks.csv", ("id",), [])
        write_csv(folder / "data/responses/models/human/level0_soccer.csv", ("image",), [])
        (folder / "data/images/soccer/cover.jpg").write_bytes(b"")
        (folder / "data/images/soccer/.DS_Store").write_bytes(b"")
        (note,) = notes(
            import_release(folder), "these files are excluded, because they are not part of the release layout"
        )
        assert "images/soccer/cover.jpg" in note
        assert "responses/humans/hockey_clicks.csv" in note
        assert "responses/models/human/level0_soccer.csv" in note
        assert ".DS_Store" not in note


class TestWrite:
    def test_write_creates_scenes_responses_and_images(self, folder: Path, tmp_path: Path) -> None:
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

    def test_write_copies_the_image_of_the_right_sport(self, folder: Path, tmp_path: Path) -> None:
        import_release(folder).write(tmp_path / "out")
        files = content(tmp_path / "out")
        for sport in ("basketball", "volleyball"):
            assert files[f"images/{sport}/1.png"] == (folder / f"data/images/{sport}/1.png").read_bytes()
        assert files["images/basketball/1.png"] != files["images/volleyball/1.png"]

    def test_write_twice_gives_identical_files(self, folder: Path, tmp_path: Path) -> None:
        import_release(folder).write(tmp_path / "out")
        once = content(tmp_path / "out")
        import_release(folder).write(tmp_path / "out")
        assert content(tmp_path / "out") == once
        assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "release"]

    def test_write_replaces_an_earlier_import(self, folder: Path, tmp_path: Path) -> None:
        import_release(folder).write(tmp_path / "out")
        (tmp_path / "out/responses-gpt.jsonl").write_text("")
        (tmp_path / "out/images/soccer/2.jpg").unlink()
        (folder / "data/images/soccer/163.jpg").write_bytes(b"another")
        import_release(folder).write(tmp_path / "out")
        files = content(tmp_path / "out")
        assert files["images/soccer/163.jpg"] == b"another"
        assert files["images/soccer/2.jpg"]
        assert files["responses-gpt.jsonl"]

    def test_write_fills_an_existing_empty_folder(self, release: Release, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        import_release(folder).write(tmp_path / "out")
        assert read_scenes(tmp_path / "out/scenes.jsonl") == release.scenes

    def foreign_file(self, out: Path) -> None:
        (out / "thesis.txt").write_text("mine")

    def foreign_responses(self, out: Path) -> None:
        import_release(out.parent / "release").write(out)
        write_responses(pl.DataFrame({"image": ["2"], "cell": ["D5"]}), out / "responses-mine.jsonl")

    def hidden_file(self, out: Path) -> None:
        import_release(out.parent / "release").write(out)
        (out / ".git").mkdir()
        (out / ".git/HEAD").write_text("ref")

    def foreign_scenes(self, out: Path) -> None:
        write_scenes([Scene.model_validate({**SOMEBODYS, "image": "9999"})], out / "scenes.jsonl")

    def broken_scenes(self, out: Path) -> None:
        (out / "scenes.jsonl").write_text("{}\n")

    @pytest.mark.parametrize(
        ("fill", "named"),
        [
            (foreign_file, ""),
            (foreign_responses, "responses-mine.jsonl"),
            (hidden_file, ".git/HEAD"),
            (foreign_scenes, ""),
            (broken_scenes, ""),
        ],
    )
    def test_write_to_a_folder_with_other_files_fails_and_changes_nothing(
        self, folder: Path, tmp_path: Path, fill: Callable[[TestWrite, Path], None], named: str
    ) -> None:
        out = tmp_path / "out"
        out.mkdir()
        fill(self, out)
        before = content(out)
        with raises(OptionError, "output-exists:--out") as caught:
            import_release(folder).write(out)
        assert named in str(caught.value)
        assert content(out) == before

    def test_write_to_a_path_that_is_a_file_raises_option_error(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("mine")
        with raises(OptionError, "output-exists:--out"):
            import_release(folder).write(tmp_path / "out")
        assert (tmp_path / "out").read_text() == "mine"

    def test_write_to_the_release_folder_raises_option_error(self, folder: Path) -> None:
        before = content(folder)
        with raises(OptionError, "output-exists:--out"):
            import_release(folder).write(folder)
        assert content(folder) == before

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


SOMEBODYS = {"sport": "soccer", "width": 640, "height": 360, "grid": {"rows": 6, "cols": 10}}

TRUTH = "data/images/soccer/soccer_gt.csv"
CLICKS = "data/responses/humans/soccer_clicks.csv"
EXPLAINED = "data/responses/humans/soccer_explanations.csv"
GPT = "data/responses/models/gpt/level0_soccer.csv"
BOXES = "data/analysis/player_proximity/filtered_people_boxes_long.csv"
SUMMARY = "data/analysis/player_proximity/filtered_people_image_summary.csv"


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
            (
                BOXES,
                "soccer,",
                "basketball,",
                "invalid-value:image:2",
                "'/content/drive/MyDrive/spotball_eval/soccer/2.jpg'",
            ),
            (BOXES, "10.0,20.0", "ten,20.0", "invalid-value:x1:2", "'ten'"),
            (BOXES, "10.0,20.0,50.5", "10.0,20.0,5", "invalid-value:x2:2", "'5'"),
            (BOXES, "50.5,140.0", "50.5,14", "invalid-value:y2:2", "'14'"),
            (SUMMARY, "soccer,2,2", "soccer,2,-2", "invalid-value:n_person_kept:5", "'-2'"),
            (SUMMARY, "soccer,2,2", ",2,2", "missing-value:sport:5", ""),
        ],
    )
    def test_import_of_a_wrong_value_reports_file_line_and_field(
        self, folder: Path, file: str, old: str, new: str, where: str, found: str
    ) -> None:
        replace(folder / file, old, new)
        with raises(InputError, where) as caught:
            import_release(folder)
        (problem,) = caught.value.problems
        assert (problem.file, problem.count) == (str(folder / file), 1)
        assert found in problem.found

    def test_import_of_an_empty_file_raises_input_error(self, folder: Path) -> None:
        (folder / GPT).write_text("")
        with raises(InputError, "unreadable-file:file"):
            import_release(folder)

    def test_import_of_a_file_that_is_not_utf8_raises_input_error(self, folder: Path) -> None:
        (folder / GPT).write_bytes(b"image,iteration,cell\n1.jpg,1,\xff\xfe\n")
        with raises(InputError, "unreadable-file:line:2"):
            import_release(folder)

    def test_import_of_a_row_with_too_many_fields_raises_input_error(self, folder: Path) -> None:
        replace(folder / CLICKS, "1,2,163,1,3,2", "1,2,163,1,3,2,9")
        with raises(InputError, "invalid-csv:line:5"):
            import_release(folder)

    def test_import_without_ground_truth_files_raises_input_error(self, folder: Path) -> None:
        for path in (folder / "data").rglob("*_gt.csv"):
            path.unlink()
        with raises(InputError, "wrong-file:ground truth"):
            import_release(folder)

    def test_import_of_ground_truth_with_only_a_header_raises_input_error(self, folder: Path) -> None:
        header = (folder / TRUTH).read_text(encoding="utf-8").splitlines()[0]
        (folder / TRUTH).write_text(f"{header}\n\n", encoding="utf-8")
        with raises(InputError, "no-data:file"):
            import_release(folder)

    @pytest.mark.parametrize("name", [GPT, CLICKS, TRUTH])
    @pytest.mark.parametrize(
        ("change", "where"),
        [
            (lambda text: text.partition("\n")[0] + "\n", "no-data:file"),
            (lambda text: text.replace("\r\n", "\n").replace("\n", "\r"), "invalid-csv:file"),
        ],
    )
    def test_import_of_a_file_without_rows_raises_input_error(
        self, folder: Path, name: str, change: Callable[[str], str], where: str
    ) -> None:
        path = folder / name
        path.write_bytes(change(path.read_text(encoding="utf-8")).encode())
        with raises(InputError, where) as caught:
            import_release(folder)
        assert caught.value.file == str(path)

    @pytest.mark.parametrize("name", [GPT, CLICKS, TRUTH, "data/images/soccer/163.jpg", BOXES])
    @pytest.mark.parametrize("what", ["a folder", "a FIFO", "a link to nothing"])
    def test_import_of_a_folder_fifo_or_broken_link_as_a_file_raises_input_error(
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

    def test_import_with_a_linked_folder_raises_input_error(self, folder: Path) -> None:
        models = folder / "data/responses/models"
        (models / "gpt").rename(folder / "gpt")
        (models / "gpt").symlink_to(folder / "gpt")
        with raises(InputError, "wrong-file:folder"):
            import_release(folder)

    def test_import_follows_file_links_within_the_release(self, folder: Path, release: Release) -> None:
        path = folder / GPT
        path.rename(path.with_name("kept.csv"))
        path.symlink_to("kept.csv")
        assert import_release(folder).responses.equals(release.responses)

    def test_import_with_two_columns_of_the_same_name_raises_input_error(self, folder: Path) -> None:
        # Without this check, the values of `order` would be read as rows of the grid.
        replace(folder / CLICKS, "id,order,image,click,row,col", "id,row,image,click,row,col")
        with raises(InputError, "duplicate:row"):
            import_release(folder)

    def test_import_with_a_misspelled_column_raises_input_error(self, folder: Path) -> None:
        header = (folder / GPT).read_text(encoding="utf-8").partition("\n")[0]
        replace(folder / GPT, header, header.replace("reasoning", "reasonning"))
        with raises(InputError, "unknown-column:reasonning"):
            import_release(folder)

    @pytest.mark.parametrize("model", ["gpt[4o]", "gpt*", "gpt?", "GPT {4}"])
    def test_model_names_with_glob_characters_are_read_literally(
        self, folder: Path, model: str, tmp_path: Path
    ) -> None:
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

    @pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda data: zlib.compress(data, 0)])
    def test_import_of_a_compressed_file_raises_input_error(self, folder: Path, pack: Callable[[bytes], bytes]) -> None:
        (folder / GPT).write_bytes(pack((folder / GPT).read_bytes()))
        with raises(InputError, "unreadable-file:file"):
            import_release(folder)

    def test_import_of_ground_truth_in_the_wrong_sport_folder_raises_input_error(self, folder: Path) -> None:
        (folder / TRUTH).rename(folder / "data/images/basketball/soccer_gt.csv")
        with raises(InputError, "wrong-file:file name"):
            import_release(folder)

    def test_import_with_two_response_files_for_one_sport_raises_input_error(self, folder: Path) -> None:
        path = folder / "data/responses/models/gpt/level0_basketball.csv"
        path.with_name("level0_bb.csv").write_bytes(path.read_bytes())
        with raises(InputError, "wrong-file:file name"):
            import_release(folder)

    @pytest.mark.parametrize(("name", "code"), [("nowhere", "missing-file"), ("file.txt", "wrong-file")])
    def test_import_of_a_path_that_is_not_a_folder_raises_input_error(
        self, tmp_path: Path, name: str, code: str
    ) -> None:
        (tmp_path / "file.txt").write_text("")
        with raises(InputError, f"{code}:folder"):
            import_release(tmp_path / name)

    def test_problems_of_a_file_are_in_line_order(self, folder: Path) -> None:
        replace(folder / TRUTH, "E4;E5", "Z")
        replace(folder / TRUTH, "163,90.5", "163,left")
        replace(folder / TRUTH, "2,164", ",164")
        with pytest.raises(InputError) as error:
            import_release(folder)
        assert [(p.line, p.field) for p in error.value.problems] == [(2, "image"), (3, "x"), (4, "cell")]

    def test_problems_of_all_files_are_reported_once_per_cause(self, folder: Path) -> None:
        replace(folder / TRUTH, "163,90.5", "163,left")
        write_csv(folder / CLICKS, ("id", "image", "click", "row", "col"), [(1, 163, "x", 1, 1) for _ in range(30)])
        with pytest.raises(InputError) as error:
            import_release(folder)
        first, second = error.value.problems
        assert (first.code, first.file, first.line, first.field) == ("invalid-value", str(folder / TRUTH), 3, "x")
        assert (second.code, second.file, second.field) == ("invalid-value", str(folder / CLICKS), "click")
        assert (second.found, second.count, second.lines) == ("'x'", 30, (2, 3, 4, 5, 6))


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

    def test_import_release_command_with_quiet_prints_nothing_when_run_twice(
        self, folder: Path, tmp_path: Path
    ) -> None:
        for _ in range(2):
            ran = spotball(folder, "--out", tmp_path / "out", "--quiet")
            assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        assert (tmp_path / "out/scenes.jsonl").exists()

    def test_import_release_command_with_a_truncated_file_writes_nothing(self, folder: Path, tmp_path: Path) -> None:
        last = folder / "data/responses/models/qwen/level0_basketball.csv"
        last.write_bytes(last.read_bytes()[: last.read_bytes().rindex(b"all of them")])
        ran = spotball(folder, "--out", tmp_path / "out")
        assert ran.returncode == 2
        assert ran.stderr.startswith(f"error: {last}")
        assert "Traceback" not in ran.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["release"]

    def test_import_release_command_into_a_folder_with_other_files_fails(self, folder: Path) -> None:
        ran = spotball(folder, "--out", folder)
        assert ran.returncode == 2
        assert codes(ran.stderr) == ["output-exists"]

    def test_import_release_help_contains_an_example(self) -> None:
        ran = spotball("--help")
        assert ran.returncode == 0
        assert "spotball import-release spot-the-ball-release --out dataset" in " ".join(ran.stdout.split())


@pytest.mark.real
class TestRealRelease:
    def test_real_soccer_scenes_match_the_paper(self, real: Release) -> None:
        soccer = [scene for scene in real.scenes if scene.sport == "soccer"]
        assert len(soccer) == 52
        assert [scene.image for scene in soccer if scene.control] == ["302", "347"]
        assert all(scene.path and scene.ball_cells and scene.players is not None for scene in soccer)
        # Table 1 of the paper prints this mean number of cells, including controls.
        assert f"{sum(len(scene.ball_cells or ()) for scene in soccer) / 52:.2f}" == "2.27"

    def test_real_ball_box_is_scaled_to_image_pixels(self, real: Release) -> None:
        # The box is 164, 324.5, 14, 25 in the frame of 512 x 512; x is scaled by 1.25 and y by 0.703125.
        assert scene(real, "soccer", "2").ball_box == (205, 228.1640625, 222.5, 245.7421875)

    def test_real_soccer_ball_boxes_are_centered_on_gt_x_and_gt_y(self, real: Release) -> None:
        for sport, image, *_, gt_x, gt_y in real.ground_truth.iter_rows():
            x1, y1, x2, y2 = scene(real, sport, image).ball_box or (0, 0, 0, 0)
            assert ((x1 + x2) / 2, (y1 + y2) / 2) == (gt_x, gt_y)

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

    def test_real_ball_boxes_are_inside_the_annotated_cells(self, real: Release) -> None:
        assert not notes(real, "outside the annotated cells")

    def test_real_soccer_scenes_have_284_players(self, real: Release) -> None:
        assert sum(len(scene.boxes) for scene in real.scenes if scene.sport == "soccer") == 284

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
