"""Test warnings about misread files: each warning names a line and a fix, and valid files give no warnings."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from spotball_core.baselines import BASELINES, baseline_responses
from spotball_core.counting import signs
from spotball_core.counting.counts import Counts
from spotball_core.counting.counts_file import write_counts
from spotball_core.counting.engines.pieces import FilePiece, Gathered, count_piece
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError
from spotball_core.grid import Grid
from spotball_core.io.answer_options import AnswerOptions
from spotball_core.schema import Scene
from spotball_core.scoring.score import score
from tests.builders import dataset, frame, scene, write_csv, write_jsonl, write_parquet
from tests.cli.process import spotball
from tests.failures import raises

Row = dict[str, Any]
GRID = Grid.standard()
WRITERS: dict[str, Callable[..., Path]] = {".jsonl": write_jsonl, ".csv": write_csv, ".parquet": write_parquet}


def drawn_scenes(n: int, seed: int, *, rows: int = 6, cols: int = 10, sizes: bool = False) -> list[Scene]:
    """Simulate scenes with the ball in random cells, sometimes in more than one."""
    rng = np.random.default_rng(seed)
    grid = Grid(rows, cols, cols, rows)
    made = []
    for image in range(n):
        index = int(rng.integers(grid.n_cells))
        more = {index, *([index + 1] if (index + 1) % cols else [])} if rng.random() < 0.3 else {index}
        size = [(640, 360), (1280, 720), (500, 500)][int(rng.integers(3)) if sizes else 0]
        balls = [grid.label(cell) for cell in sorted(more)]
        made.append(scene(str(100 + image), ball_cells=balls, grid={"rows": rows, "cols": cols}, size=size))
    return made


KNOWN = drawn_scenes(40, 0)


def position(one: Scene) -> tuple[int, int]:
    return one.layout.position((one.ball_cells or ("A1",))[0])


def right(known: Sequence[Scene], form: str) -> list[Row]:
    """Return a correct response to each scene, as the cell, its row and column, or its center."""
    rows: list[Row] = []
    for one in known:
        row, col = position(one)
        label, (x, y) = one.layout.label((row, col)), one.layout.centers[one.layout.index((row, col))].tolist()
        forms: dict[str, Row] = {"cell": {"cell": label}, "row": {"row": row, "col": col}, "x": {"x": x, "y": y}}
        rows.append({"image": one.image, **forms[form]})
    return rows


def changed(form: str, change: Callable[[Row, int], Row]) -> list[Row]:
    return [{**row, **change(row, number)} for number, row in enumerate(right(KNOWN, form))]


FROM_0 = changed("row", lambda row, _: {"row": row["row"] - 1, "col": row["col"] - 1})
WRAPPERS = ("['{}']", "“{}”", "Cell {}", "cell: {}", "({})", '"{}"', "{}")
MISREAD: dict[str, list[Row]] = {
    "from 0": FROM_0,
    "labels from 0": changed("cell", lambda row, _: {"cell": f"{row['cell'][0]}{int(row['cell'][1:]) - 1}"}),
    "from 0, without any 0": [row for row in FROM_0 if row["row"] and row["col"]],
    "shares": changed("x", lambda row, _: {"x": row["x"] / 640, "y": row["y"] / 360}),
    "percent": changed("x", lambda row, _: {"x": row["x"] / 6.4, "y": row["y"] / 3.6}),
    "thousandths": changed("x", lambda row, _: {"x": row["x"] / 0.64, "y": row["y"] / 0.36}),
    "indices": [{"image": row["image"], "cell": str(10 * row["row"] + row["col"] - 11)} for row in right(KNOWN, "row")],
    "some indices": changed("cell", lambda row, n: {"cell": "34"} if n == 7 else {}),
    "off the image": changed("x", lambda row, n: {"x": 700} if n == 7 else {}),
    "outside the grid": changed("cell", lambda row, n: {"cell": "K11"} if n == 7 else {}),
    "rows outside the grid": changed("row", lambda row, n: {"row": 7} if n == 7 else {}),
    "one row": changed("row", lambda row, _: {"row": 3}),
    "one row of labels": changed("cell", lambda row, _: {"cell": f"A{row['cell'][1:]}"}),
    "one column": changed("x", lambda row, _: {"x": 300}),
    "unparsed": changed("cell", lambda row, n: {"cell": "not sure"} if n % 8 == 0 else {}),
    "empty": changed("cell", lambda row, n: {"cell": None} if n % 8 == 0 else {}),
    "texts": changed("cell", lambda row, _: {"cell": f"near {row['cell']}"}),
    "replies": changed("cell", lambda row, _: {"cell": f"I think that the ball is in {row['cell']}."}),
    "x and y swapped": changed("x", lambda row, _: {"x": row["y"], "y": row["x"]}),
    "row and col swapped": changed("row", lambda row, _: {"row": row["col"], "col": row["row"]}),
    "labels swapped": [
        {"image": row["image"], "cell": f"{'ABCDEFGHIJ'[row['col'] - 1]}{row['row']}"} for row in right(KNOWN, "row")
    ],
    "wrapped": changed("cell", lambda row, n: {"cell": WRAPPERS[n % len(WRAPPERS)].format(row["cell"])}),
    "pandas": changed("cell", lambda row, _: {"image": f"{row['image']}.0"}),
    "file extensions": changed("cell", lambda row, _: {"image": f"{row['image']}.JPG"}),
}
"""For each fault, the rows of a file with this fault."""

WARNED: dict[str, tuple[str, str, str]] = {
    "from 0": ("row, col", "row or column 0 in ", "--first-index 0"),
    "labels from 0": ("cell", "row or column 0 in ", "rows and columns that start at 1"),
    "from 0, without any 0": (
        "row, col",
        "27 of 27 answers that are correct only if rows and columns start at 0",
        "--first-index 0",
    ),
    "shares": ("x, y", "values between 0 and 1 in all 40 points", "--point-scale 1 "),
    "percent": ("x, y", "values between 0 and 100 in all 40 points", "--point-scale 100 "),
    "thousandths": ("x, y", "31 of 40 points outside the image", "--point-scale 1000"),
    "indices": ("cell", "whole numbers in 40 of 40 cells", "--first-index 0"),
    "some indices": ("cell", "whole numbers in 1 of 40 cells", "labels such as D5"),
    "off the image": ("x, y", "1 of 40 points outside the image (line ", "points inside the image of 640 x 360 pixels"),
    "outside the grid": ("cell", "1 of 40 cells outside the grid (line ", "cells from A1 to F10"),
    "rows outside the grid": ("row, col", "1 of 40 cells outside the grid (line ", "cells from A1 to F10"),
    "one row": ("row, col", "all 40 answers in row C", "in several rows"),
    "one row of labels": ("cell", "all 40 answers in row A", "in several rows"),
    "one column": ("x, y", "all 40 answers in column 5", "in several rows"),
    "unparsed": ("cell", "5 of 40 answers without a readable cell (line ", "cells such as D5. Write each cell"),
    "empty": ("cell", "5 of 40 answers without a readable cell (line ", "cells such as D5. Write each cell"),
    "replies": ("cell", "40 of 40 cells that look like full replies, and no cell (line ", "spotball parse"),
    "texts": ("cell", "40 of 40 cells with other text, and no cell (line ", "spotball parse"),
    "x and y swapped": (
        "x, y",
        "40 answers that agree much better with the scenes if x and y (or row and column) are swapped",
        "Swap the two values",
    ),
    "row and col swapped": ("row, col", "40 answers that agree much better", "Swap the two values"),
    "labels swapped": ("cell", "40 answers that agree much better", "Swap the two values"),
    "wrapped": ("cell", "35 of 40 cells in brackets or quotation marks", "What is around them is ignored"),
    "pandas": (
        "image",
        "40 of 40 image ids with a folder, a file extension or .0 (line ",
        "They are read as these ids",
    ),
    "file extensions": (
        "image",
        "40 of 40 image ids with a folder, a file extension or .0 (line ",
        "ids as in the scenes file, such as '100'. They are read as these ids",
    ),
}
"""The field of the warning about each fault, the start of what was found, and the fix."""

FIRST = {
    "from 0": 2,
    "labels from 0": 3,
    **dict.fromkeys(("off the image", "outside the grid", "rows outside the grid", "some indices"), 7),
}
"""The index of the first row that shows the fault, unless it is 0."""


class TestSignsOfMisreading:
    @pytest.mark.slow
    @pytest.mark.parametrize("ending", WRITERS)
    @pytest.mark.parametrize("name", MISREAD)
    def test_read_counts_warns_of_misread_files_with_line_and_fix(self, tmp_path: Path, name: str, ending: str) -> None:
        path = WRITERS[ending](tmp_path / f"m{ending}", MISREAD[name])
        (warning,) = read_counts(path, KNOWN, accept_signs=True).warnings
        field, found, fix = WARNED[name]
        assert (warning.file, warning.field, warning.count) == (str(path), field, 1)
        assert warning.found.startswith(found)
        assert fix in f"{warning.expected}. {warning.fix}"
        if warning.code == "misread-answers":
            with raises(InputError, f"misread-answers:{field}:{warning.line}"):
                read_counts(path, KNOWN)
        assert warning.line == FIRST.get(name, 0) + (2 if ending == ".csv" else 1)
        assert f"line {warning.line}: " in warning.found

    @pytest.mark.parametrize(
        ("name", "form", "options"),
        [
            ("from 0", "row", {"first_index": 0}),
            ("indices", "cell", {"first_index": 0}),
            ("shares", "x", {"point_scale": "1"}),
            ("percent", "x", {"point_scale": "molmo"}),
            ("thousandths", "x", {"point_scale": "qwen"}),
        ],
    )
    def test_read_counts_with_the_option_of_the_message_reads_the_right_cells(
        self, name: str, form: str, options: AnswerOptions
    ) -> None:
        counts = read_counts(frame(MISREAD[name]), KNOWN, **options)
        assert counts == read_counts(frame(right(KNOWN, form)), KNOWN)
        assert counts.warnings == ()

    def test_read_counts_with_an_option_that_the_answers_contradict_gives_a_warning(self) -> None:
        options: list[tuple[str, AnswerOptions]] = [
            ("from 0", {"first_index": 1}),
            ("shares", {"point_scale": "image"}),
            ("percent", {"point_scale": "image"}),
        ]
        for name, given in options:
            (warning,) = read_counts(frame(MISREAD[name]), KNOWN, **given).warnings
            assert warning.code == "invalid-value"

    def test_warning_quotes_only_the_responses_that_show_the_fault_with_their_lines(self, tmp_path: Path) -> None:
        path, good = tmp_path / "m.csv", right(KNOWN, "cell")
        (warning,) = read_counts(write_csv(path, MISREAD["unparsed"]), KNOWN).warnings
        assert (warning.file, warning.line, warning.field) == (str(path), 2, "cell")
        assert warning.found.startswith("5 of 40 answers ")
        assert warning.found.endswith(" (line 2: 'not sure'; line 10: 'not sure'; line 18: 'not sure')")
        points = [{**row, "x": 650.0} for row in right(KNOWN[:2], "x")]
        (warning,) = read_counts(write_csv(path, points), KNOWN).warnings
        assert "(line 2: x 650.0 y " in warning.found
        # Other responses to the same images, and responses of other respondents, are neither quoted nor counted.
        both = [row for one in good for row in (one, {**one, "cell": "not sure"})]
        (warning,) = read_counts(write_csv(path, both), KNOWN).warnings
        assert "(line 3: 'not sure'; line 5: 'not sure'; line 7: 'not sure')" in warning.found
        rows = [{**row, "respondent": "good"} for row in good] + [
            {**row, "respondent": "bad"} for row in MISREAD["unparsed"]
        ]
        (warning,) = read_counts(write_csv(path, rows), KNOWN).warnings
        assert warning.found.startswith("5 of 40 answers")
        assert warning.line == 42
        # For a data frame, line numbers are row numbers.
        (warning,) = read_counts(frame(MISREAD["outside the grid"]), KNOWN).warnings
        assert (warning.file, warning.line) == ("frame", 8)

    def test_warnings_of_one_cause_in_many_files_are_combined(self, tmp_path: Path) -> None:
        paths = [write_csv(tmp_path / f"m{i}.csv", MISREAD["outside the grid"]) for i in range(9)]
        (warning,) = read_counts(paths, KNOWN).warnings
        assert warning.file == str(paths[0])
        named = ", ".join(map(str, paths[1:6]))
        assert warning.found.endswith(f" (and in 8 more files: {named}, ...)")
        (warning,) = read_counts(paths[:6], KNOWN).warnings
        assert warning.found.endswith(f" (and in 5 more files: {named})")

    def test_swapped_coordinates_are_detected_by_comparison_with_people_if_the_ball_is_unknown(
        self, tmp_path: Path
    ) -> None:
        known = [one.model_copy(update={"ball_cells": None}) for one in drawn_scenes(40, 3, cols=6)]
        truth = right(drawn_scenes(40, 3, cols=6), "row")
        people = [{**row, "respondent": "human"} for row in truth]
        model = [{**row, "row": row["col"], "col": row["row"], "respondent": "m"} for row in truth]
        (warning,) = read_counts(write_csv(tmp_path / "m.csv", people + model), known).warnings
        assert "swapped" in warning.found
        assert warning.line == 42

    @pytest.mark.parametrize("spelling", ["{}.JPG", "{}.0", "images/soccer/{}.jpg", "./{}.jpg", r"C:\soccer\{}.png"])
    def test_read_counts_reads_image_ids_with_folders_and_extensions_as_ids(self, spelling: str) -> None:
        known = [*KNOWN, *(scene(one.image, "tennis") for one in KNOWN)]
        rows = [{**row, "image": spelling.format(row["image"])} for row in right(KNOWN, "cell")]
        names_sport = "soccer" in spelling
        counts = read_counts(frame(rows), known if names_sport else KNOWN)
        assert counts == read_counts(frame([{**row, "sport": "soccer"} for row in right(KNOWN, "cell")]), known)
        assert [warning.code for warning in counts.warnings] == ["assumed-format"]

    def test_read_counts_does_not_read_files_of_the_same_name_in_several_folders_as_one_image(self) -> None:
        rows = [{"image": f"{folder}/{KNOWN[0].image}.png", "cell": "D5"} for folder in ("train", "val")]
        with raises(InputError, "unknown-image:image:1"):
            read_counts(frame(rows), KNOWN)
        assert read_counts(frame(rows[:1]), KNOWN).table["image"].to_list() == [KNOWN[0].image]

    @pytest.mark.parametrize("change", [(-320.0, -180.0), (1280.0, 0.0)])
    def test_points_that_are_mostly_outside_the_image_stop_reading(self, change: tuple[float, float]) -> None:
        rows = [{**row, "x": row["x"] + change[0], "y": row["y"] + change[1]} for row in right(KNOWN, "x")]
        with raises(InputError, "misread-answers:x, y:1"):
            read_counts(frame(rows), KNOWN)

    def test_read_counts_reads_the_ends_of_the_paths_of_images_if_they_are_unique(self) -> None:
        known = [scene("1", path="frames/a/0001.jpg"), scene("2", path="frames/b/0001.jpg"), scene("3", path="c/7.jpg")]
        rows = [{"image": name, "cell": "D5"} for name in ("a/0001.jpg", "/data/frames/b/0001.jpg", "7.jpg")]
        assert sorted(read_counts(frame(rows), known).table["image"]) == ["1", "2", "3"]
        with raises(InputError, "unknown-image:image:1"):
            read_counts(frame([{"image": "0001.jpg", "cell": "D5"}]), known)

    def test_read_counts_keeps_extensions_of_scene_ids_and_ignores_others_when_finding_repeated_samples(self) -> None:
        known, row = [*KNOWN, scene("100.jpg", "basketball")], {"image": "100.jpg", "cell": "D5"}
        with raises(InputError, "unknown-image:image:1"):
            read_counts(frame([{"sport": "soccer", **row}]), known)
        assert read_counts(frame([row]), known).table["sport"].to_list() == ["basketball"]
        rows = [{"image": image, "sample": 1, "cell": "D5"} for image in ("100", "100.png")]
        with raises(InputError, "duplicate:sample:2"):
            read_counts(frame(rows), KNOWN)

    def test_score_of_a_counts_file_warns_of_detectable_misreadings(self, tmp_path: Path) -> None:
        for name, found in (("one row", ["40", "C"]), ("empty", ["5", "40"]), ("replies", ["40", "40"])):
            counts = read_counts(write_csv(tmp_path / "m.csv", MISREAD[name]), KNOWN, accept_signs=True)
            write_counts(counts, tmp_path / "m.counts")
            (warning,) = score(tmp_path / "m.counts", KNOWN, bootstrap=0).warnings
            place, told = warning.split("m.counts: cell: ")
            assert place == f"{tmp_path}/"
            assert re.findall(r"\b(?:\d+|[A-F])\b", told)[:2] == found
        shutil.copy(tmp_path / "m.counts", tmp_path / "o.counts")
        (warning,) = score([tmp_path / "m.counts", tmp_path / "o.counts"], KNOWN, bootstrap=0).warnings
        assert warning.split().count("80") == 2
        assert f"{tmp_path}/o.counts)" in warning

    @pytest.mark.slow
    @pytest.mark.parametrize("name", MISREAD)
    def test_warnings_of_file_pieces_equal_those_of_the_file(self, tmp_path: Path, name: str) -> None:
        files = [write_csv(tmp_path / "good.csv", right(KNOWN, "cell"))]
        files.append(write_parquet(tmp_path / "m.parquet", MISREAD[name]))
        good, path = map(str, files)
        together = Gathered(6, 10)
        for piece in (FilePiece(path, 20, 20), FilePiece(good), FilePiece(path, 0, 20)):
            together.add(count_piece(piece, KNOWN, participants=False, accept_signs=True))
        settled = together.settled(files, KNOWN, participants=False, accept_signs=True)
        local = read_counts(files, KNOWN, accept_signs=True)
        assert settled == local
        assert settled.warnings == local.warnings != ()

    def test_warnings_of_pieces_merged_in_several_steps_equal_those_of_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("spotball_core.counting.engines.pieces.MERGED_TOGETHER", 3)
        path = write_parquet(tmp_path / "m.parquet", MISREAD["unparsed"])
        together = Gathered(6, 10)
        for start in range(0, 40, 4):
            together.add(count_piece(FilePiece(str(path), start, 4), KNOWN, participants=False))
        assert together.settled([path], KNOWN, participants=False).warnings == read_counts(path, KNOWN).warnings


def valid(seed: int) -> tuple[list[Row], list[Scene]]:
    """Simulate a valid file. The respondent, images, samples per image and form are random; few cells are unparsed."""
    rng = np.random.default_rng(seed)
    rows, cols = [(6, 10), (6, 10), (6, 10), (8, 8), (3, 4), (1, 12), (12, 1), (2, 2)][int(rng.integers(8))]
    known = drawn_scenes(int(rng.choice([1, 3, 9, 12, 25, 50, 150])), seed, rows=rows, cols=cols, sizes=True)
    if rng.random() < 0.2:
        # The ball is in the same row of every image.
        known = [one.model_copy(update={"ball_cells": (f"A{position(one)[1]}",)}) for one in known]
    who = rng.choice(["uniform", "constant", "two cells", "center", "good", "perfect", "fixed taste"])
    form = rng.choice(["cell", "row", "x", "probabilities"])
    taste = rng.dirichlet(np.full(rows * cols, 0.05))
    spread = rng.uniform(0.3, 3)
    out: list[Row] = []
    for one in known:
        row, col = position(one)
        for _ in range(int(rng.choice([1, 1, 5]))):
            if who == "good":
                cell = row + rng.normal(0, spread), col + rng.normal(0, spread)
            elif who == "center":
                cell = (rows + 1) / 2 + rng.normal(0, rows * 0.15), (cols + 1) / 2 + rng.normal(0, cols * 0.15)
            elif who == "perfect":
                cell = row, col
            elif who == "constant":
                cell = (rows + 1) // 2, (cols + 1) // 2
            elif who == "two cells":
                cell = (rows + 1) // 2, (cols + 1) // 2 + int(rng.integers(2))
            else:
                p = taste if who == "fixed taste" else None
                cell = divmod(int(rng.choice(rows * cols, p=p)), cols)
                cell = cell[0] + 1, cell[1] + 1
            r, c = (int(np.clip(round(value), 1, size)) for value, size in zip(cell, (rows, cols), strict=True))
            label = one.layout.label((r, c))
            x, y = one.layout.rectangles[one.layout.index((r, c))].reshape(2, 2).T
            forms: dict[str, Row] = {
                "cell": {"cell": rng.choice([label, label.lower(), f"{label[1:]}{label[0]}"])},
                "row": {"row": r, "col": c},
                "x": {"x": rng.uniform(*x), "y": rng.uniform(*y)},
                "probabilities": {"probabilities": {label: 1.0}},
            }
            out.append({"image": one.image, **forms[form]})
    for number in rng.choice(len(out), size=int(0.04 * len(out)), replace=False) if form == "cell" else ():
        out[number] |= {"cell": rng.choice([None, "", "none", "I cannot tell where the ball is."])}
    return out, known


def test_point_sums_equal_values_computed_by_hand() -> None:
    """Check on an image of 60 x 40 pixels: after a swap, x = 50 is outside, and points on an edge are inside."""
    points = {"x": [0.0, 40.0, 50.0, 0.5], "y": [0.5, 0.0, 20.0, 30.0]}

    def sums_of(points: dict[str, list[float]]) -> dict[str, Any]:
        table = pl.DataFrame(points).select(_x="x", _y="y", _width=60, _height=40)
        return table.select(**signs.point_sums()).row(0, named=True)

    sums = {"across": 90.5 / 60, "down": 50.5 / 40, "fit_swapped": 3, "least": 0, "largest": 50}
    assert sums_of(points) == pytest.approx(sums)
    assert sums_of({"x": points["y"], "y": points["x"]})["largest"] == 50
    assert sums_of({name: [value + 2 for value in values] for name, values in points.items()})["least"] == 2


def test_of_cells_sums_equal_values_computed_by_hand() -> None:
    """Check on a grid of 6 x 10 with three responses in C5 and one in F10; centers are fractions of the image size."""
    keys = {"_source": 0, "respondent": "m", "kind": "model", "prompt": "base", "sport": "soccer", "image": "1"}
    rows = [
        {**keys, "n": n, "renamed": 0, "_index": index, "_row": index // 10 + 1, "_col": index % 10 + 1}
        for index, n in ((24, 3), (59, 1))
    ]
    sums = signs.of_cells(pl.DataFrame(rows), signs.balls_of(KNOWN, Grid.standard()), Grid.standard()).row(
        0, named=True
    )
    assert sums["across"] == pytest.approx((3 * 4.5 + 9.5) / 10)
    assert sums["down"] == pytest.approx((3 * 2.5 + 5.5) / 6)
    assert (sums["n"], sums["numbers"], sums["row_low"], sums["row_high"]) == (4, 4, 2, 5)
    assert (sums["col_low"], sums["col_high"]) == (4, 9)


@pytest.mark.parametrize(("replies", "shown"), [(3, False), (4, True)])
def test_warning_of_full_replies_appears_only_if_more_than_a_tenth_of_the_responses_are_replies(
    replies: int, shown: bool
) -> None:
    rows = right(KNOWN, "cell")[:30]
    for row in rows[:replies]:
        row["cell"] = "I would say that the ball is close to the left goal."
    warnings = read_counts(frame(rows), KNOWN).warnings
    assert any("look like full replies" in warning.found for warning in warnings) == shown


class TestNoFalseAlarms:
    @pytest.mark.slow
    def test_1000_valid_files_have_no_warnings(self, tmp_path: Path) -> None:
        """Read all files with the same grid in one call. Signs of misreading are found separately for each file."""
        files: defaultdict[tuple[int, int], list[Path]] = defaultdict(list)
        scenes_of: defaultdict[tuple[int, int], list[Scene]] = defaultdict(list)
        for seed in range(1000):
            rows, known = valid(seed)
            names = {"respondent": f"m{seed}", "sport": f"s{seed}"}
            shape = known[0].layout.rows, known[0].layout.cols
            files[shape].append(write_jsonl(tmp_path / f"{seed}.jsonl", [row | names for row in rows]))
            scenes_of[shape] += [one.model_copy(update={"sport": f"s{seed}"}) for one in known]
        for shape, paths in files.items():
            assert read_counts(paths, scenes_of[shape]).warnings == (), shape

    @pytest.mark.parametrize("samples", [1, 50])
    def test_baseline_responses_have_no_warnings(self, samples: int) -> None:
        known = [
            one.model_copy(update={"players": None if i % 4 == 0 else [], "ball_cells": None if i % 5 == 0 else balls})
            for i, one in enumerate(drawn_scenes(60, 5))
            for balls in [one.ball_cells]
        ]
        rows = baseline_responses(known, BASELINES, samples=samples)
        assert rows["cell"].null_count() > 0.1 * len(rows)
        assert read_counts(rows, known).warnings == ()

    def test_few_responses_or_responses_in_the_only_row_of_the_ball_have_no_warnings(self) -> None:
        for rows in (["A1", "A5", "A9"], ["A1", None, None], ["D5", "?", "?"], ["C5"] * 3):
            answers = [{"image": KNOWN[i].image, "cell": cell} for i, cell in enumerate(rows)]
            assert read_counts(frame(answers), KNOWN).warnings == ()
        # All responses are in one row, but so is the ball.
        known = [scene(str(i), ball_cells=[f"E{i % 10 + 1}"]) for i in range(40)]
        assert read_counts(frame(right(known, "cell")), known).warnings == ()

    def test_published_release_has_no_warnings(self, real_release: Path) -> None:
        from spotball_core.release.convert import import_release

        release = import_release(real_release)
        assert read_counts(release.responses, release.scenes).warnings == ()
        baselines = baseline_responses(release.scenes, BASELINES)
        assert read_counts(baselines, release.scenes).warnings == ()


class TestCommands:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        rows = [{**row, "respondent": "m"} for row in MISREAD["outside the grid"]]
        people = [{**row, "respondent": "human"} for row in right(KNOWN, "cell")]
        return dataset(tmp_path / "set", KNOWN, m=rows, human=people)

    def test_score_command_prints_warnings_and_fails_with_strict(self, folder: Path) -> None:
        done = spotball("score", folder, "--bootstrap", "0", "--format", "json")
        (warning,) = json.loads(done.stdout)["warnings"]
        assert "(line 8: 'K11')" in warning
        assert (done.returncode, done.stderr) == (0, f"warning: {warning}\n")
        assert f"warning: {warning}" in spotball("score", folder, "--bootstrap", "0").stdout
        strict = spotball("score", folder, "--bootstrap", "0", "--strict")
        assert (strict.returncode, strict.stdout, strict.stderr) == (2, "", f"error: {warning} [invalid-value]\n")

    @pytest.mark.slow
    def test_count_compare_and_report_commands_show_warnings_and_fail_with_strict(
        self, folder: Path, tmp_path: Path
    ) -> None:
        done = spotball("count", folder, "--out", tmp_path / "m.counts")
        assert (done.returncode, "warning: " in done.stderr, "'K11'" in done.stderr) == (0, True, True)
        strict = spotball("count", folder, "--out", tmp_path / "n.counts", "--strict")
        assert (strict.returncode, (tmp_path / "n.counts").exists()) == (2, False)
        arguments = ("compare", folder, "--a", "human", "--b", "m", "--bootstrap", "0", "--permutations", "9")
        done = spotball(*arguments, "--format", "json")
        assert any("'K11'" in warning for warning in json.loads(done.stdout)["warnings"])
        assert spotball(*arguments, "--strict").returncode == 2
        done = spotball("report", folder, "--out", tmp_path / "page", "--bootstrap", "0")
        assert done.returncode == 0
        assert "'K11'" in html.unescape((tmp_path / "page/report.html").read_text("utf-8"))
        assert "'K11'" in json.loads((tmp_path / "page/report.json").read_text("utf-8"))["warnings"][0]
        strict = spotball("report", folder, "--out", tmp_path / "other", "--bootstrap", "0", "--strict")
        assert (strict.returncode, (tmp_path / "other").exists()) == (2, False)


def test_score_function_returns_warnings_and_raises_with_strict() -> None:
    rows = frame(MISREAD["outside the grid"])
    report = score(rows, KNOWN, bootstrap=0)
    assert "'K11'" in report.warnings[0]
    with raises(InputError, "invalid-value:cell:8"):
        score(rows, KNOWN, bootstrap=0, strict=True)
    counts = read_counts(rows, KNOWN)
    assert score(counts, KNOWN, bootstrap=0) == report
    assert Counts.merge([counts, counts]).warnings == counts.warnings * 2


def test_warning_quotes_parquet_values_read_together_with_json_lines(tmp_path: Path) -> None:
    """Check that values of the Parquet file are quoted although JSON Lines are read as text and Parquet is typed."""
    known = [scene("1")]
    lines = write_jsonl(tmp_path / "a.jsonl", [{"image": "1", "respondent": "a", "cell": "A1"}])
    cells, places = [*["A1"] * 6, None, None], [*[None] * 6, 1, None]
    prompts = [*["base"] * 7, "cot"]
    table = pl.DataFrame({"image": "1", "respondent": "b", "prompt": prompts, "cell": cells, "row": places})
    table.with_columns(col="row").write_parquet(tmp_path / "b.parquet")
    (warning,) = read_counts([lines, tmp_path / "b.parquet"], known, pool=True).warnings
    assert warning.found == "1 of 1 answers without a readable cell (line 8: nothing)"
