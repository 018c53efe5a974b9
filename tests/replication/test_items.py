"""Test the items of `replicate` on synthetic releases against hand-computed values and plain loops."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterable
from pathlib import Path

import pytest

from spotball_core import InputError, import_release, score
from spotball_core.replication import ReplicatedFigure, Replication, published, replicate
from tests.failures import raises
from tests.release_layout import BOXES, TRUTHS, write_csv
from tests.replication.small import item, items, read_rows, write_answers, write_boxes, write_clicks, write_truth

LETTERS = "ABCDEF"
BALL = (100.0, 100.0, 20.0, 20.0, "A2")

NEAR = {"where": "figure 5", "quantity": "truth near a player (%)"}
OVERLAPPING = {"where": "figure 5", "quantity": "truth overlapping a player (%)"}
EXACT = {"where": "figure 9", "sport": "soccer", "quantity": "Wasserstein, exact (px)"}

Box = tuple[float, float, float, float]


def truths(sport: str) -> list[tuple[float, float, float, float, list[str]]]:
    return [(*map(float, row[:4]), row[4].split(";")) for row in TRUTHS[sport].values()]  # type: ignore[misc]


def is_near(x: float, y: float, boxes: Iterable[Box]) -> bool:
    gaps = [math.hypot(max(x1 - x, 0, x - x2), max(y1 - y, 0, y - y2)) for x1, y1, x2, y2 in boxes]
    return min(gaps) <= 0.08 * math.hypot(640, 360)


def inside(cells: list[tuple[int, int]]) -> float:
    """Return the share of cells (rows and columns from 1) in the center window."""
    return statistics.mean(2 <= row <= 4 and 3 <= col <= 7 for row, col in cells)


# All items -----------------------------------------------------------------------------------------------------


def test_replicate_has_one_item_per_printed_figure_in_the_order_of_the_paper(found: Replication) -> None:
    places = [(i.where, i.sport, i.respondent, i.prompt, i.quantity, i.published) for i in found.items]
    for figure in published().printed:
        place = (figure.where, figure.sport, figure.respondent, figure.prompt, figure.quantity, figure.value)
        assert places.count(place) == 1
    order = list(published().titles)
    numbers = [order.index(i.where) for i in found.items]
    assert numbers == sorted(numbers)


def test_status_and_note_of_each_item_are_consistent(found: Replication) -> None:
    assert {i.status for i in found.items} == {"match", "mismatch", "no data"}
    for i in found.items:
        if i.status == "mismatch":
            assert i.note
            assert i.reproduced is not None
        if i.status == "match":
            assert not i.unexplained
        if i.status == "no data":
            assert i.reproduced is None or i.published is None
    assert set(found.unexplained) == {i for i in found.items if i.note and "unexplained" in i.note}


def test_replicate_of_the_data_folder_gives_the_same_result_and_reports_progress_for_each_of_9_groups(
    release: Path, found: Replication
) -> None:
    seen: list[tuple[int, int]] = []
    assert replicate(release / "data", on_progress=lambda done, total: seen.append((done, total))) == found
    assert seen == [(done, 9) for done in range(10)]


# Table 1 -------------------------------------------------------------------------------------------------------


def corners(sport: str, x: float, y: float, width: float, height: float) -> Box:
    """Return the ball's box in pixels; x and y are its corner in a 512 x 512 frame in soccer, else its center."""
    if sport == "soccer":
        return x * 640 / 512, y * 360 / 512, (x + width) * 640 / 512, (y + height) * 360 / 512
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@pytest.mark.parametrize("sport", ["soccer", "basketball", "volleyball"])
def test_ball_values_in_table_1_equal_those_of_plain_loops_and_have_notes_on_units(
    found: Replication, sport: str
) -> None:
    rows = truths(sport)

    def says(quantity: str) -> ReplicatedFigure:
        return item(found, where="table 1", sport=sport, quantity=quantity)

    cells = statistics.mean(len(named) for *_, named in rows)
    spans = says("cells the ball spans")
    assert (spans.reproduced, spans.standard) == (pytest.approx(cells), pytest.approx(cells))
    area = says("ball area (px²)")
    assert area.reproduced == pytest.approx(statistics.mean(w * h for _, _, w, h, _ in rows))
    boxes = [corners(sport, *row[:4]) for row in rows]
    assert area.standard == pytest.approx(statistics.mean((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes))
    distance = says("ball to image center (px)")
    as_filed = [math.hypot(1.25 * (x + w / 2) - 320, 0.703125 * (y + h / 2) - 180) for x, y, w, h, _ in rows]
    assert distance.reproduced == pytest.approx(statistics.mean(as_filed))
    of_balls = [math.hypot((x1 + x2) / 2 - 320, (y1 + y2) / 2 - 180) for x1, y1, x2, y2 in boxes]
    assert distance.standard == pytest.approx(statistics.mean(of_balls))
    assert ("512 x 512" in (area.note or "")) == (sport == "soccer")
    assert ("not the ball" in (distance.note or "")) == (sport != "soccer")


def test_ball_distance_without_gt_x_and_gt_y_has_status_no_data(tmp_path: Path) -> None:
    columns = ("image", "x", "y", "width", "height", "cell")
    write_csv(tmp_path / "data/images/soccer/soccer_gt.csv", columns, [(1, 246, 246, 20, 20, "C5")])
    distance = item(tmp_path, where="table 1", sport="soccer", quantity="ball to image center (px)")
    assert (distance.status, distance.reproduced, distance.standard) == ("no data", None, 0.0)
    near = item(tmp_path, **NEAR)
    assert (near.status, near.reproduced) == ("no data", None)


def test_player_area_is_the_mean_over_images_of_truncated_box_areas(found: Replication) -> None:
    by_image: dict[str, list[float]] = {}
    for name, (x1, y1, x2, y2) in BOXES["soccer"]:
        area = (math.trunc(x2) - math.trunc(x1)) * (math.trunc(y2) - math.trunc(y1))
        by_image.setdefault(name, []).append(area)
    expected = statistics.mean(statistics.mean(areas) for areas in by_image.values())
    i = item(found, where="table 1", sport="soccer", quantity="area of a player (px²)")
    assert i.reproduced == pytest.approx(expected)
    of_2 = ((40.5 * 120) + (39.75 * 120)) / 2
    assert i.standard == pytest.approx((of_2 + 4 * 4 + 2 * 2) / 3)  # Images 302 and 347 have one player each.


def test_players_per_scene_of_soccer_and_basketball_are_swapped(found: Replication) -> None:
    densities = {"soccer": 4 / 3, "basketball": 3 / 3, "volleyball": 4 / 3}
    shown = {"soccer": "basketball", "basketball": "soccer", "volleyball": "volleyball"}
    for sport, meant in shown.items():
        i = item(found, where="table 1", sport=sport, quantity="players per scene")
        assert i.reproduced == pytest.approx(densities[meant])
        assert ("columns swapped" in (i.note or "")) == (sport != meant)
    # Players are unknown on soccer 163, and none was detected on volleyball 2.
    assert item(found, where="table 1", sport="soccer", quantity="players per scene").standard == (2 + 1 + 1) / 3
    volleyball = item(found, where="table 1", sport="volleyball", quantity="players per scene")
    assert volleyball.standard == (1 + 0 + 2 + 1) / 4


def test_players_per_scene_rounded_twice_has_a_note(tmp_path: Path) -> None:
    truth = (10.0, 10.0, 20.0, 20.0, "A1")
    for sport in ("soccer", "basketball"):
        write_truth(tmp_path, sport, {str(i): truth for i in range(51)})
    # 217 players on 51 images are 4.2549 per image. This rounds to 4.25, but to 4.26 if it is first rounded to 4.255.
    write_boxes(tmp_path, [("basketball", f"{i % 51}.png", 0.0, 0.0, 10.0, 10.0) for i in range(217)])
    i = item(tmp_path, where="table 1", sport="soccer", quantity="players per scene")
    assert (i.status, i.unexplained) == ("mismatch", False)
    assert (i.note or "").startswith("rounded twice; columns swapped")


def test_ranks_by_players_per_scene_require_all_three_sports(release: Path, found: Replication, tmp_path: Path) -> None:
    ranks = {i.sport: i.reproduced for i in items(found, where="figure 3", quantity="rank by players per scene")}
    assert ranks == {"soccer": 2.0, "volleyball": 2.0, "basketball": 1.0}  # Two sports have the same rank.
    copy = without(release, tmp_path, "data/images/basketball", "data/responses")
    write_boxes(copy, [("soccer", "2.jpg", 0.0, 0.0, 9.0, 9.0), ("volleyball", "1.png", 0.0, 0.0, 9.0, 9.0)])
    (copy / "data/analysis/player_proximity/filtered_people_image_summary.csv").unlink()
    for i in items(copy, where="figure 3"):
        assert (i.status, i.note) == ("no data", "needs the players of all three sports")


def test_truth_in_the_center_window_equals_the_share_of_ball_cells_in_the_window(found: Replication) -> None:
    cells = [place(cell) for *_, named in truths("volleyball") for cell in named]
    i = item(found, where="section 5.1", sport="volleyball", quantity="truth in the center window (%)")
    assert i.reproduced == pytest.approx(100 * inside(cells))


def test_center_window_mismatch_is_noted_as_a_misprint_if_a_release_file_has_the_reproduced_value(
    tmp_path: Path,
) -> None:
    truth = (10.0, 10.0, 20.0, 20.0)
    # 43 of 118 cells are 36.44%, but the paper prints 36.3.
    cells = ["C4"] * 43 + ["A1"] * 75
    write_truth(tmp_path, "soccer", {str(i): (*truth, cell) for i, cell in enumerate(cells)})
    wanted = {"where": "section 5.1", "sport": "soccer", "quantity": "truth in the center window (%)"}
    assert item(tmp_path, **wanted).note == "unexplained"
    columns = ("sport", "model", "level", "prior_central", "central_ratio", "normalized_entropy")
    path = tmp_path / "data/analysis/center_bias/center_bias_soccer.csv"
    write_csv(path, columns, [("soccer", "gpt", 0, "0.3644067796610169", 1, 0.5)])
    said = item(tmp_path, **wanted)
    assert said.status == "mismatch"
    assert said.note == (
        "misprint: analysis/center_bias/center_bias_soccer.csv, column prior_central, also contains 36.4"
    )


# Tables 2 and 3, figure 4 --------------------------------------------------------------------------------------


def clicks(folder: Path, sport: str) -> dict[str, list[tuple[int, int]]]:
    by_image: dict[str, list[tuple[int, int]]] = {}
    for row in read_rows(folder / f"data/responses/humans/{sport}_clicks.csv"):
        by_image.setdefault(row["image"], []).append((int(row["row"]), int(row["col"])))
    return by_image


def place(label: str) -> tuple[int, int]:
    return LETTERS.index(label[0]) + 1, int(label[1:])


@pytest.mark.parametrize("sport", ["soccer", "volleyball"])
def test_error_center_ratio_entropy_and_accuracy_of_people_equal_plain_loops(
    release: Path, found: Replication, sport: str
) -> None:
    truth = {image: [place(cell) for cell in row[4].split(";")] for image, row in TRUTHS[sport].items()}
    answers = clicks(release, sport)
    errors = [
        statistics.mean(
            min(math.hypot(64 * (col - c), 60 * (row - r)) for r, c in truth[image]) for row, col in answers[image]
        )
        for image in answers
    ]
    people = {"sport": sport, "respondent": "human", "prompt": "base"}
    mean_error = item(found, where="table 2", quantity="mean error (px)", **people)
    spread = item(found, where="table 2", quantity="sd of the error (px)", **people)
    assert mean_error.reproduced == pytest.approx(statistics.mean(errors))
    assert spread.reproduced == pytest.approx(statistics.stdev(errors))
    guesses = [cell for cells in answers.values() for cell in cells]
    balls = [cell for cells in truth.values() for cell in cells]
    ratio = item(found, where="table 3", quantity="center ratio", **people)
    assert ratio.reproduced == pytest.approx(inside(guesses) / inside(balls))
    shares = [guesses.count(cell) / len(guesses) for cell in set(guesses)]
    entropy = item(found, where="table 3", quantity="normalized entropy", **people)
    assert entropy.reproduced == pytest.approx(-sum(p * math.log(p) for p in shares) / math.log(60))
    right = [cell in truth[image] for image, cells in answers.items() for cell in cells]
    accuracy = item(found, where="figure 4", quantity="accuracy", **people)
    assert accuracy.reproduced == pytest.approx(statistics.mean(right))


def test_standard_values_and_signature_equal_those_of_score(release: Path, found: Replication) -> None:
    release = import_release(release)
    report = score(release.responses, release.scenes, reference="human", bootstrap=0)
    for group in report.groups:
        name = {"sport": group.sport, "respondent": group.respondent, "prompt": group.prompt}
        error = item(found, where="table 2", quantity="mean error (px)", **name)
        assert error.standard == group.metrics["euclidean_error"].value
        near = item(found, where="figure 5", quantity="near-player rate", **name)
        assert near.standard == group.metrics["near_player_rate"].value
    assert found.signature == report.signature
    assert "|policy:standard|" in found.signature
    assert "|policy:paper|" in found.signature_reproduced
    assert found.signature.split("|")[2] == found.signature_reproduced.split("|")[2]


def test_table_3_value_of_a_model_is_the_mean_over_its_prompts(found: Replication) -> None:
    gpt = {"where": "table 3", "sport": "volleyball", "respondent": "gpt", "quantity": "center ratio"}
    by_prompt = [item(found, prompt=prompt, **gpt).reproduced for prompt in ("base", "cue", "cot")]
    row = item(found, prompt=None, **gpt)
    assert None not in by_prompt
    assert row.reproduced == pytest.approx(statistics.mean(value for value in by_prompt if value is not None))
    gemini = item(found, prompt=None, **{**gpt, "respondent": "gemini"})
    assert (gemini.status, gemini.note) == ("no data", "needs the answers to all three prompts")


def test_reproduced_center_ratio_over_all_sports_uses_the_truth_of_soccer(release: Path, found: Replication) -> None:
    guesses = [cell for sport in TRUTHS for cells in clicks(release, sport).values() for cell in cells]
    balls = [place(cell) for *_, named in truths("soccer") for cell in named]
    i = item(found, where="section 5.1", respondent="human", quantity="center ratio over all sports")
    assert i.reproduced == pytest.approx(inside(guesses) / inside(balls))
    # The standard value uses the truth of all images that are not controls.
    shown = {"soccer": ("2", "163"), "basketball": ("1", "2"), "volleyball": ("1", "2", "3")}
    named = (TRUTHS[sport][image][4].split(";") for sport, images in shown.items() for image in images)
    own = [place(cell) for cells in named for cell in cells]
    assert i.standard == pytest.approx(inside(guesses) / inside(own))
    assert "soccer's truth for all sports" in (i.note or "")


# Figures 5, 6, 9, 10 -------------------------------------------------------------------------------------------


def test_truth_near_a_player_equals_that_of_plain_loops(found: Replication) -> None:
    boxes: dict[str, list[Box]] = {}
    names: dict[tuple[str, str], str] = {}
    for sport, rows in BOXES.items():
        for name, box in rows:
            boxes.setdefault(name, []).append(box)
            names[sport, name.split(".")[0].split("_")[0]] = name
    rates = []
    for sport, images in TRUTHS.items():
        hits = []
        for image, (x, y, width, height, _) in images.items():
            if (sport, image) in names:
                gt_x, gt_y = 1.25 * (float(x) + float(width) / 2), 0.703125 * (float(y) + float(height) / 2)
                hits.append(is_near(gt_x, gt_y, boxes[names[sport, image]]))
        rates.append(statistics.mean(hits))
    i = item(found, **NEAR)
    assert i.reproduced == pytest.approx(100 * statistics.mean(rates))
    assert "found by search" in (i.note or "")
    # The standard value uses the positions and players of each image, without controls. Five images have players.
    hits = []
    for sport, images in (("soccer", ["2"]), ("basketball", ["1", "2"]), ("volleyball", ["1", "3"])):
        for image in images:
            left, top, right, bottom = corners(sport, *map(float, TRUTHS[sport][image][:4]))
            own = [box for name, box in BOXES[sport] if name.split(".")[0] == image]
            hits.append(is_near((left + right) / 2, (top + bottom) / 2, own))
    assert i.standard == pytest.approx(100 * statistics.mean(hits))
    assert 0 < statistics.mean(hits) < 1


def test_truth_overlapping_a_player_with_merged_boxes_equals_hand_computed_values(tmp_path: Path) -> None:
    # Basketball and volleyball share the name 1.png. With merged boxes, the basketball player overlaps both balls.
    for sport in ("soccer", "basketball", "volleyball"):
        write_truth(tmp_path, sport, {"1": BALL if sport == "soccer" else (300.0, 200.0, 20.0, 20.0, "D5")})
    soccer, basketball = ("soccer", "1.jpg", 600.0, 300.0, 640.0, 360.0), ("basketball", "1.png", 290, 190, 310, 300)
    write_boxes(tmp_path, [soccer, basketball, ("volleyball", "1.png", 0.0, 0.0, 20.0, 20.0)])
    i = item(tmp_path, **OVERLAPPING)
    assert (i.reproduced, i.standard) == (pytest.approx(200 / 3), pytest.approx(100 / 3))
    counts = (
        "published method: 0 of 1 balls in soccer, 1 of 1 balls in volleyball, 1 of 1 balls in basketball; standard, "
        "with only the players of each image: 0 of 1 balls in soccer, 0 of 1 balls in volleyball, 1 of 1 balls in "
        "basketball;"
    )
    assert counts in (i.note or "")


@pytest.mark.parametrize(("covered", "percent"), [(0.4, 100.0), (0.3, 0.0)])
def test_ball_overlaps_a_player_if_at_least_2_percent_of_its_box_is_covered(
    tmp_path: Path, covered: float, percent: float
) -> None:
    # Each ball is 20 pixels wide and ends at x = 120, so that 0.4 pixels are 0.02 of its box.
    balls = {"soccer": (80.0, 100.0, 16.0, 20.0, "B2"), "basketball": (110.0, 100.0, 20.0, 20.0, "B2")}
    files = {"soccer": "1.jpg", "basketball": "2.png", "volleyball": "3.png"}
    for sport, name in files.items():
        write_truth(tmp_path, sport, {name[0]: balls.get(sport, balls["basketball"])})
    write_boxes(tmp_path, [(sport, name, 120 - covered, 0.0, 200.0, 300.0) for sport, name in files.items()])
    i = item(tmp_path, **OVERLAPPING)
    assert (i.reproduced, i.standard) == (percent, percent)


def test_truth_overlapping_a_player_without_all_sports_has_status_no_data(tmp_path: Path) -> None:
    write_truth(tmp_path, "soccer", {"1": BALL, "2": BALL})
    boxes = [("soccer", "1.jpg", 0.0, 0.0, 640.0, 360.0), ("soccer", "2.jpg", 600.0, 300.0, 640.0, 360.0)]
    write_boxes(tmp_path, boxes)
    i = item(tmp_path, **OVERLAPPING)
    assert (i.status, i.reproduced, i.standard) == ("no data", None, 50.0)
    assert (i.note or "").startswith(
        "needs the images of all sports; published method: 1 of 2 balls in soccer; standard, with only the players "
        "of each image: "
    )


def test_figure_10_includes_controls_in_the_reproduced_value_but_not_in_the_standard_value(tmp_path: Path) -> None:
    write_truth(tmp_path, "soccer", {"1": BALL, "2": BALL})
    write_boxes(tmp_path, [("soccer", "1.jpg", 0.0, 0.0, 9.0, 9.0), ("soccer", "2.jpg", 0.0, 0.0, 640.0, 360.0)])
    write_answers(tmp_path, "gpt", 0, "soccer", {"1.jpg": ["F10"] * 3, "2_wball.jpg": ["A1"]})
    i = item(tmp_path, where="figure 10", quantity="objective at tau 0.08 and theta 0.02, divided by its maximum")
    assert i.reproduced == 1.0  # Only the answer to the control is near a player, at any thresholds.
    assert i.standard is None


def test_near_player_rate_notes_merged_boxes_only_in_affected_conditions(found: Replication) -> None:
    noted = {i.name: i.note or "" for i in items(found, where="figure 5", quantity="near-player rate")}
    touched = {name for name, note in noted.items() if "boxes merged by file name" in note}
    assert {name.split("/")[0] for name in touched} == {"basketball", "volleyball"}
    assert "basketball/gpt/base" in touched
    assert "people mixed across sports" in noted["soccer/human/base"]


def test_figures_6_and_9_have_distances_of_all_respondents_and_the_uniform_baseline(found: Replication) -> None:
    shown = items(found, **EXACT)
    names = [i.name.removeprefix("soccer/") for i in shown]
    assert names == ["gemini/cot", "gpt/base", "gpt/cue", "gpt/cot", "uniform"]
    assert all(i.published is None and i.status == "no data" and i.reproduced for i in shown)
    in_1d = items(found, **{**EXACT, "quantity": "Wasserstein, 1D (px)"})
    for exact, marginal in zip(shown, in_1d, strict=True):
        # The mean distance of the two marginals is at most the exact distance.
        assert 0 < (marginal.reproduced or 0.0) <= (exact.reproduced or 0.0)
    # The ratio in figure 6 is the mean distance over prompts divided by the distance of the uniform baseline.
    distances = [i.reproduced or math.nan for i in items(found, respondent="gpt", **EXACT)]
    uniform = item(found, respondent="uniform", **EXACT).reproduced or math.nan
    ratio = item(found, where="figure 6", sport="soccer", respondent="gpt").reproduced
    assert ratio == pytest.approx(statistics.mean(distances) / uniform)


def test_figure_10_notes_that_the_maximum_is_not_inside_the_range(found: Replication) -> None:
    tau = item(found, where="figure 10", quantity="tau at the maximum")
    assert (tau.published, tau.reproduced, tau.status) == ("0.08", 0.2, "mismatch")
    assert "no optimum inside the range" in (tau.note or "")
    assert not tau.unexplained


# Incomplete releases -------------------------------------------------------------------------------------------


def without(folder: Path, to: Path, *parts: str) -> Path:
    copy = to / "copy"
    shutil.copytree(folder, copy)
    for part in parts:
        path = copy / part
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return copy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "holds", "lacks"),
    [
        ("responses", {"table 1", "figure 3"}, {"table 2", "figure 4", "figure 9", "figure 10"}),
        ("responses/humans", {"table 2", "figure 4", "figure 10"}, {"figure 6", "figure 9", "section 4.4"}),
        ("responses/models", {"table 2", "section 4.4"}, {"section 4.3", "figure 6"}),
        ("analysis", {"table 2", "figure 4", "figure 9"}, {"figure 3", "figure 10"}),
    ],
)
def test_replicate_of_an_incomplete_release_gives_the_available_items(
    release: Path, tmp_path: Path, part: str, holds: set[str], lacks: set[str]
) -> None:
    replication = replicate(without(release, tmp_path, f"data/{part}"))
    there = {i.where for i in replication.items if i.reproduced is not None}
    assert holds <= there
    assert not lacks & there
    for i in replication.items:
        assert (i.status == "no data") == (i.reproduced is None or i.published is None)


def test_replicate_without_ground_truth_raises_input_error(release: Path, tmp_path: Path) -> None:
    with raises(InputError, "wrong-file:ground truth"):
        replicate(without(release, tmp_path, "data/images"))


def test_replicate_of_answers_without_a_parsed_cell_gives_accuracy_0_and_no_data_for_other_items(
    tmp_path: Path,
) -> None:
    write_truth(tmp_path, "soccer", {"1": (10, 10, 20, 20, "A1"), "2": (10, 10, 20, 20, "A1")})
    write_answers(tmp_path, "gpt", 0, "soccer", {"1.jpg": ["ERROR", ""], "2.jpg": ["", "G9"]})
    write_clicks(tmp_path, "soccer", 2, ["1", "2"], cell=(9, 9))
    write_boxes(tmp_path, [("soccer", "1.jpg", 0.0, 0.0, 50.0, 50.0)])
    replication = replicate(tmp_path)
    gpt = {"sport": "soccer", "respondent": "gpt", "prompt": "base"}
    assert item(replication, where="table 2", quantity="mean error (px)", **gpt).status == "no data"
    assert item(replication, where="figure 4", quantity="accuracy", **gpt).reproduced == 0.0
    assert item(replication, where="figure 10", quantity="tau at the maximum").status == "no data"
    assert item(replication, where="figure 9", quantity="Wasserstein, exact (px)", **gpt).reproduced is None
