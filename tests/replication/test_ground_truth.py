"""Test the rule that derives the published cells from ball boxes, and the effects of reading boxes in pixels."""

from __future__ import annotations

import math
import shutil
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_core.replication import Replication, replicate
from spotball_core.replication.ground_truth import touched_cells
from tests.replication.small import item, items, read_rows, write_answers, write_truth

SOCCER = "data/images/soccer/soccer_gt.csv"
RULE = "images whose cells follow from the rule"
CHANGED = "images whose cells differ from the cells of the ball's box in pixels"
PIXELS = st.integers(-40, 700).map(float) | st.floats(-40, 700)

Cell = tuple[int, int]


@pytest.fixture(scope="module")
def published(
    real_release: Path, other_ground_truth: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Replication:
    """Return the replication of the published soccer data with the ground truth of the other two sports."""
    folder = tmp_path_factory.mktemp("sports")
    shutil.copytree(real_release / "data/responses", folder / "data/responses")
    for sport, path in {"soccer": real_release / SOCCER, **other_ground_truth}.items():
        (folder / "data/images" / sport).mkdir(parents=True)
        shutil.copyfile(path, folder / "data/images" / sport / path.name)
    return replicate(folder)


def touched(x1: float, y1: float, x2: float, y2: float) -> set[Cell]:
    """Return the rows and columns (from 0) of the cells that contain a point of the closed rectangle."""
    return {
        (row, col)
        for row in range(6)
        for col in range(10)
        # A cell includes its left and upper edges, and excludes its right and lower edges.
        if max(x1, 64 * col) <= x2 and max(x1, 64 * col) < 64 * (col + 1)
        if max(y1, 60 * row) <= y2 and max(y1, 60 * row) < 60 * (row + 1)
    }


def position(label: str) -> Cell:
    return "ABCDEF".index(label[0]), int(label[1:]) - 1


@given(x=st.tuples(PIXELS, PIXELS).map(sorted), y=st.tuples(PIXELS, PIXELS).map(sorted))
def test_touched_cells_equal_those_of_a_loop_over_the_grid(x: list[float], y: list[float]) -> None:
    found = touched_cells((x[0], y[0], x[1], y[1]))
    assert {position(label) for label in found} == touched(x[0], y[0], x[1], y[1])


@pytest.mark.parametrize(
    ("box", "cells"),
    [
        ((256, 70, 298, 80), ("B5",)),  # The box begins on the border of columns 4 and 5.
        ((230, 70, 256, 80), ("B4", "B5")),  # The box ends on that border.
        ((10, 10, 20, 60), ("A1", "B1")),
        ((-5, -5, -1, -1), ()),
        ((639, 359, 700, 400), ("F10",)),
    ],
)
def test_touched_cells_of_a_box_at_a_cell_border_or_image_edge_equal_those_worked_out_by_hand(
    box: tuple[float, float, float, float], cells: tuple[str, ...]
) -> None:
    assert touched_cells(box) == cells


class TestSyntheticRelease:
    def test_cell_rule_reproduces_the_cells_of_all_images_of_each_sport(self, found: Replication) -> None:
        said = {i.sport: (i.published, i.reproduced, i.status) for i in items(found, quantity=RULE)}
        assert said == {
            "soccer": ("4", 4.0, "match"),
            "volleyball": ("3", 3.0, "match"),
            "basketball": ("3", 3.0, "match"),
            None: ("10", 10.0, "match"),
        }

    def test_cell_rule_mismatch_names_the_images_that_violate_the_rule(self, tmp_path: Path) -> None:
        write_truth(tmp_path, "basketball", {"7": (32, 30, 10, 10, "A1"), "8": (32, 30, 10, 10, "A2")})
        said = item(tmp_path, quantity=RULE)
        assert (said.published, said.reproduced, said.status, said.unexplained) == ("2", 1.0, "mismatch", True)
        assert (said.note or "").endswith("The rule does not hold in images 8")

    def test_effects_of_boxes_in_pixels_are_omitted_if_the_cells_of_no_image_change(self, tmp_path: Path) -> None:
        write_truth(tmp_path, "basketball", {"7": (32, 30, 10, 10, "A1")})
        write_answers(tmp_path, "gpt", 0, "basketball", {"7.png": ["A1"]})
        assert {i.quantity for i in items(tmp_path, where="ground truth")} == {RULE, CHANGED}

    def test_effects_of_boxes_in_pixels_equal_hand_computed_values(self, tmp_path: Path) -> None:
        # Each box is 20 x 40 in the frame, which is 25 x 28 in pixels. The rule treats the size as 20 x 40 pixels.
        # Around (160, 60), both boxes reach into row A. Around (160, 75), the first begins at y = 55 and the second at
        # y = 61, so that A3 is removed.
        ys = {"1": 60, "2": 75}
        truths = {image: (160 / 1.25 - 10, y / 0.703125 - 20, 20, 40, "A3;B3") for image, y in ys.items()}
        write_truth(tmp_path, "soccer", truths)
        for level in (0, 1, 2):
            write_answers(tmp_path, "gpt", level, "soccer", {"1.jpg": ["A3"] * 4, "2.jpg": ["A3", "A3", "A3", "B3"]})
        found = replicate(tmp_path)
        changed = item(found, quantity=CHANGED)
        assert (changed.reproduced, changed.note) == (1.0, "2: A3;B3 to B3")
        assert item(found, quantity=RULE).standard == 1.0

        def effect(quantity: str, prompt: str | None = "base") -> tuple[float | None, float | None]:
            said = item(found, where="ground truth", quantity=quantity, respondent="gpt", prompt=prompt)
            return said.reproduced, said.standard

        for way in ("paper", "standard"):
            assert effect(f"accuracy, policy {way}") == (1.0, 5 / 8)
            # Three of four answers to image 2 are 60 px off, so the mean is 45 px on image 2 and 0 px on image 1.
            assert effect(f"mean error (px), policy {way}") == (0.0, 22.5)
            assert effect(f"sd of the error (px), policy {way}") == (0.0, pytest.approx(45 / math.sqrt(2)))
            # One of eight answers is in the window. Two of four truth cells are in it before, two of three after.
            for prompt in ("base", None):
                assert effect(f"center ratio, policy {way}", prompt) == pytest.approx(
                    (1 / 8 / (2 / 4), 1 / 8 / (2 / 3))
                )
        spans = item(found, where="ground truth", quantity="cells the ball spans")
        assert (spans.reproduced, spans.standard) == (2.0, 1.5)


@pytest.mark.real
class TestPublishedRelease:
    def test_cell_rule_gives_the_published_cells_of_all_154_images(
        self, published: Replication, real_release: Path, other_ground_truth: dict[str, Path]
    ) -> None:
        said = {i.sport: (i.published, i.reproduced, i.standard, i.status) for i in items(published, quantity=RULE)}
        assert said == {
            "soccer": ("52", 52.0, 38.0, "match"),
            "volleyball": ("50", 50.0, 50.0, "match"),
            "basketball": ("52", 52.0, 52.0, "match"),
            None: ("154", 154.0, 140.0, "match"),
        }
        n = 0
        for sport, path in {"soccer": real_release / SOCCER, **other_ground_truth}.items():
            for row in read_rows(path):
                x, y, width, height, gt_x, gt_y = numbers(row)
                # This is how the project interprets gt_x and gt_y in all three sports.
                assert (gt_x, gt_y) == (1.25 * (x + width / 2), 0.703125 * (y + height / 2))
                center = (gt_x, gt_y) if sport == "soccer" else (x, y)
                n += around(center, width, height) == {position(label) for label in row["cell"].split(";")}
        assert n == 154

    def test_boxes_in_pixels_change_the_cells_of_14_soccer_images_and_the_accuracy_of_people(
        self, published: Replication
    ) -> None:
        said = {i.sport: i for i in items(published, quantity=CHANGED)}
        assert {sport: i.reproduced for sport, i in said.items()} == {"soccer": 14, "volleyball": 0, "basketball": 0}
        assert (said["soccer"].note or "").startswith("0: D6;D7;E6;E7 to D6;D7, 4: E5;F5 to F5, 12: D6;E6 to D6")
        people = {"where": "ground truth", "respondent": "human", "quantity": "accuracy, policy standard"}
        accuracy = item(published, **people)
        assert accuracy.reproduced == pytest.approx(1441 / 7500)
        assert accuracy.standard == pytest.approx(0.173, abs=5e-4)

    @pytest.mark.parametrize(
        ("sport", "quantity", "printed", "standard"),
        [
            ("soccer", "ball area (px²)", "785.37", 690.2625),
            ("volleyball", "ball area (px²)", "904.86", 904.86),
            ("basketball", "ball area (px²)", "1631.27", 1631.2692),
            ("soccer", "ball to image center (px)", "122.81", 122.8141),
            ("volleyball", "ball to image center (px)", "188.02", 146.4374),
            ("basketball", "ball to image center (px)", "163.30", 119.0037),
        ],
    )
    def test_published_ball_area_and_distance_in_table_1_match(
        self, published: Replication, sport: str, quantity: str, printed: str, standard: float
    ) -> None:
        said = item(published, where="table 1", sport=sport, quantity=quantity)
        assert (said.published, said.status) == (printed, "match")
        assert said.standard == pytest.approx(standard, abs=1e-4)
        assert (said.note is None) == (float(printed) == pytest.approx(standard, abs=0.005))

    def test_effects_of_boxes_in_pixels_on_soccer_equal_those_of_plain_loops(
        self, published: Replication, real_release: Path
    ) -> None:
        as_filed, in_pixels = {}, {}
        for row in read_rows(real_release / SOCCER):
            image = row["image"].split("_")[0]
            _, _, width, height, gt_x, gt_y = numbers(row)
            as_filed[image] = {position(label) for label in row["cell"].split(";")}
            in_pixels[image] = around((gt_x, gt_y), 1.25 * width, 0.703125 * height)
        answers: dict[tuple[str, str], dict[str, list[Cell | None]]] = {
            ("human", "base"): defaultdict(list),
            ("gemini", "cot"): defaultdict(list),
        }
        for row in read_rows(real_release / "data/responses/humans/soccer_clicks.csv"):
            answers["human", "base"][row["image"]].append((int(row["row"]) - 1, int(row["col"]) - 1))
        for row in read_rows(real_release / "data/responses/models/gemini/level2_soccer.csv"):
            image, cell = row["image"].split(".")[0].split("_")[0], row["cell"].strip().upper()
            answers["gemini", "cot"][image].append(position(cell) if cell else None)
        controls = {"302", "347"}
        n_items = 2
        for (respondent, prompt), named in answers.items():
            said = {i.quantity: i for i in items(published, where="ground truth", respondent=respondent, prompt=prompt)}
            n_items += len(said)
            for way in ("paper", "standard"):
                shown = {image: cells for image, cells in named.items() if way == "paper" or image not in controls}
                truth_of = {image for image in as_filed if way == "paper" or image not in controls}
                for column, truth in (("reproduced", as_filed), ("standard", in_pixels)):
                    values = figures(shown, {image: truth[image] for image in truth_of})
                    quantities = ("accuracy", "mean error (px)", "sd of the error (px)", "center ratio")
                    for quantity, expected in zip(quantities, values, strict=True):
                        assert getattr(said[f"{quantity}, policy {way}"], column) == pytest.approx(expected)
        # The loops above cover all effects.
        filed = items(published, where="ground truth", sport="soccer")
        assert len([i for i in filed if i.quantity not in (RULE, CHANGED)]) == n_items == 18


def numbers(row: dict[str, str]) -> tuple[float, float, float, float, float, float]:
    x, y, width, height, gt_x, gt_y = (float(row[name]) for name in ("x", "y", "width", "height", "gt_x", "gt_y"))
    return x, y, width, height, gt_x, gt_y


def around(center: tuple[float, float], width: float, height: float) -> set[Cell]:
    x, y = center
    return touched(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def figures(answers: dict[str, list[Cell | None]], truth: dict[str, set[Cell]]) -> tuple[float, float, float, float]:
    """Return the accuracy on images shown to people, the mean and sd of the error over images, and the center ratio."""
    seen = [(cell, truth[image]) for image, cells in answers.items() for cell in cells if image not in ("302", "347")]
    errors = [
        statistics.mean(
            min(math.hypot(64 * (cell[1] - c), 60 * (cell[0] - r)) for r, c in truth[image]) for cell in cells if cell
        )
        for image, cells in answers.items()
    ]

    guessed, balls = (
        statistics.mean(1 <= cell[0] <= 3 and 2 <= cell[1] <= 6 for cells in named.values() for cell in cells if cell)
        for named in (answers, truth)
    )
    right = statistics.mean(cell in cells for cell, cells in seen)
    return right, statistics.mean(errors), statistics.stdev(errors), guessed / balls
