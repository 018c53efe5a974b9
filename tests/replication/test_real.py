"""Test which published figures the soccer part of the real release reproduces, and numbers in the documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spotball_core import ScorePolicy, import_release, read_counts
from spotball_core.cues.thresholds import threshold_surface
from spotball_core.replication import Replication
from spotball_core.scoring.ceiling import noise_ceiling
from spotball_core.scoring.groups import Scoring
from tests.conftest import ROOT
from tests.replication.small import item, items

pytestmark = pytest.mark.real

SOCCER = {"sport": "soccer"}
PEOPLE = {"sport": "soccer", "respondent": "human", "prompt": "base"}
GEMINI = {"sport": "soccer", "respondent": "gemini", "prompt": "cot"}


def test_real_release_has_no_unexplained_mismatches(real: Replication) -> None:
    assert real.unexplained == ()


def test_players_per_scene_of_soccer_match_the_printed_value_of_basketball(real: Replication) -> None:
    basketball = item(real, where="table 1", sport="basketball", quantity="players per scene")
    assert (basketball.published, basketball.status) == ("5.46", "match")
    assert basketball.reproduced == pytest.approx(284 / 52)
    soccer = item(real, where="table 1", sport="soccer", quantity="players per scene")
    assert (soccer.published, soccer.status, soccer.reproduced) == ("4.26", "no data", None)
    assert soccer.standard == pytest.approx(284 / 52)


def test_truth_in_the_center_window_of_soccer_has_the_note_that_it_is_a_misprint(real: Replication) -> None:
    said = item(real, where="section 5.1", sport="soccer", quantity="truth in the center window (%)")
    assert (said.published, said.reproduced) == ("36.3", pytest.approx(100 * 43 / 118))
    assert (said.note or "").startswith("misprint")


@pytest.mark.parametrize(
    ("name", "where", "quantity", "published", "status", "reproduced", "standard"),
    [
        (SOCCER, "table 1", "cells the ball spans", "2.27", "match", 118 / 52, 118 / 52),
        (SOCCER, "table 1", "ball area (px²)", "785.37", "match", 785.365, 690.2625),
        (SOCCER, "table 1", "ball to image center (px)", "122.81", "match", 122.814, 122.814),
        (SOCCER, "table 1", "area of a player (px²)", "13718.87", "match", 13718.874, 13712.910),
        (PEOPLE, "table 2", "mean error (px)", "113.4", "match", 113.360, None),
        (PEOPLE, "table 2", "sd of the error (px)", "65.1", "match", 65.127, None),
        (PEOPLE, "table 3", "center ratio", "1.164", "match", 1.16427, None),
        (PEOPLE, "table 3", "normalized entropy", "0.817", "match", 0.81722, None),
        (PEOPLE, "figure 4", "accuracy", "0.1921", "match", 1441 / 7500, None),
        (PEOPLE, "section 4.4", "participants", "50", "match", 50, None),
        (PEOPLE, "section 4.4", "images a participant", "50", "match", 50, None),
        (PEOPLE, "section 4.4", "guesses an image", "3", "match", 3, None),
        (GEMINI, "table 2", "mean error (px)", "141.1", "mismatch", 139.962, 145.381),
        (GEMINI, "table 2", "sd of the error (px)", "72.9", "mismatch", 70.684, 66.486),
        (GEMINI, "table 3", "center ratio", "1.377336690860613", "mismatch", 1.62618, 1.59819),
        (GEMINI, "table 3", "normalized entropy", "0.7924144386176947", "mismatch", 0.80854, 0.81103),
        (GEMINI, "figure 5", "near-player rate", "0.8649681528662421", "mismatch", 822 / 986, 822 / 986),
        (GEMINI, "figure 5", "overlap rate", "0.7910828025477707", "mismatch", 726 / 986, 726 / 986),
    ],
)
def test_soccer_values_match_the_paper_or_have_the_note_that_the_paper_used_another_run(
    real: Replication,
    name: dict[str, str],
    where: str,
    quantity: str,
    published: str,
    status: str,
    reproduced: float,
    standard: float | None,
) -> None:
    said = item(real, where=where, quantity=quantity, **name)
    assert (said.published, said.status) == (published, status)
    assert said.reproduced == pytest.approx(reproduced, abs=6e-4)
    assert standard is None or said.standard == pytest.approx(standard, abs=6e-4)
    if status == "mismatch":
        run = "another run: the published figure is from a run with 2,355 parsed answers, but this run has 986"
        assert said.note == run


def test_accuracy_and_answers_per_image_of_gemini_cot_match_the_published_values(real: Replication) -> None:
    said = item(real, where="figure 4", quantity="accuracy", **GEMINI)
    assert (said.published, said.reproduced, said.status) == ("0.081", 81 / 1000, "match")
    assert item(real, where="section 4.3", **GEMINI).status == "match"


@pytest.mark.parametrize(("relation", "n_balls", "standard"), [("near", 28, 54.0), ("overlapping", 0, 0.0)])
def test_truth_near_or_overlapping_players_has_status_no_data_with_soccer_alone(
    real: Replication, relation: str, n_balls: int, standard: float
) -> None:
    said = item(real, where="figure 5", quantity=f"truth {relation} a player (%)")
    assert (said.status, said.standard) == ("no data", pytest.approx(standard))
    assert (said.note or "").startswith(
        f"needs the images of all sports; published method: {n_balls} of 52 balls in soccer; standard, with only the "
        "players of each image: "
    )


def test_wasserstein_distances_to_people_equal_the_recorded_values(real: Replication) -> None:
    shown = [i for i in items(real, where="figure 9") if i.reproduced is not None]
    assert {(i.respondent, i.quantity): i.reproduced for i in shown} == {
        ("gemini", "Wasserstein, exact (px)"): pytest.approx(101.760, abs=1e-3),
        ("gemini", "Wasserstein, 1D (px)"): pytest.approx(61.807, abs=1e-3),
        ("uniform", "Wasserstein, exact (px)"): pytest.approx(145.793, abs=1e-3),
        ("uniform", "Wasserstein, 1D (px)"): pytest.approx(91.612, abs=1e-3),
    }


def test_threshold_objective_has_its_maximum_at_the_edge_of_the_range(real: Replication) -> None:
    said = {i.quantity: i.reproduced for i in items(real, where="figure 10")}
    assert (said["tau at the maximum"], said["theta at the maximum"]) == (0.2, 0.01)
    assert said["objective at tau 0.08 and theta 0.02, divided by its maximum"] == pytest.approx(0.902, abs=1e-3)


def test_items_of_sports_and_models_that_the_release_lacks_have_status_no_data(real: Replication) -> None:
    for i in real.items:
        if i.sport in ("volleyball", "basketball") and i.quantity != "players per scene":
            assert i.status == "no data"
        if i.respondent in ("gpt", "llama", "qwen"):
            assert (i.status, i.reproduced, i.standard) == ("no data", None, None)


# Documentation -----------------------------------------------------------------------------------------------


def prose(page: str) -> str:
    return " ".join((ROOT / "docs/explanation" / page).read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def soccer(real_release: Path) -> Scoring:
    release = import_release(real_release)
    counts = read_counts(release.responses, release.scenes, participants=True)
    return Scoring(counts, release.scenes, ScorePolicy.standard(reference="human", bootstrap=0))


def test_documented_entropies_equal_those_of_the_data(soccer: Scoring) -> None:
    text = prose("statistics.md")
    report = soccer.report()
    people, gemini = report.group("human").metrics, report.group("gemini").metrics
    plain, matched = "image_entropy", "image_entropy_matched"
    assert f"image entropy is {people[plain].value:.2f} for people, with 150 responses per image" in text
    assert f"and {gemini[plain].value:.2f} for Gemini, with 20" in text
    values = f"{people[matched].value:.2f} and {gemini[matched].value:.2f}"
    assert f"matched entropies, which do not depend on the number of responses, are {values}" in text


def test_documented_ceiling_and_uniform_distance_equal_those_of_the_data(soccer: Scoring) -> None:
    (ceiling,) = noise_ceiling(soccer).ceilings
    page = prose("statistics.md")
    assert f"In soccer, it is {ceiling.split_half.value:.1f} px" in page
    assert f"the uniform distribution is {ceiling.uniform:.1f} px from people" in page


def test_documented_objective_at_the_published_thresholds_equals_that_of_the_data(soccer: Scoring) -> None:
    surface = threshold_surface(soccer)
    tau, theta = np.flatnonzero(surface.taus == 0.08)[0], np.flatnonzero(surface.thetas == 0.02)[0]
    assert not surface.plateau[tau, theta]
    below = 1 - surface.objective[tau, theta] / surface.objective.max()
    said = f"In the soccer data, its value at these thresholds is {below:.0%} below the maximum"
    assert said in prose("replication.md")


def test_documented_ball_distance_and_area_equal_those_of_the_data(real: Replication) -> None:
    distance = item(real, where="table 1", sport="soccer", quantity="ball to image center (px)")
    assert (distance.published, f"{distance.standard:.2f}") == ("122.81", "122.81")
    assert f"soccer | {distance.published} px | {distance.standard:.2f} px |" in prose("replication.md")
    area = item(real, where="table 1", sport="soccer", quantity="ball area (px²)")
    assert f"soccer | {area.published} px² | {area.standard:.2f} px² |" in prose("replication.md")


def test_documented_effects_of_reading_ball_boxes_in_pixels_equal_those_of_the_data(real: Replication) -> None:
    text = prose("replication.md")
    effects = items(real, where="ground truth", sport="soccer")
    (changed,) = (i for i in effects if "differ from the cells of the ball's box" in i.quantity)
    assert f"{changed.reproduced:.0f} of the 52 soccer images would have other cells" in text
    people = {i.quantity: i for i in effects if i.respondent == "human"}
    accuracy, error = people["accuracy, policy standard"], people["mean error (px), policy standard"]
    assert f"people's accuracy would be {accuracy.standard:.1%} instead of {accuracy.reproduced:.1%}" in text
    assert f"their mean error {error.standard:.1f} instead of {error.reproduced:.1f} px" in text


def test_documented_numbers_of_balls_near_players_equal_those_of_the_data(real: Replication) -> None:
    page = prose("replication.md")
    for relation, n, words in (
        ("near", 28, "near a player in 28 of 52 images in soccer"),
        ("overlapping", 0, "*overlap* a player only if players are merged by file name: 0, 25 and 7 images"),
    ):
        said = item(real, quantity=f"truth {relation} a player (%)")
        assert f"{n} of 52 balls in soccer" in (said.note or "")
        assert words in page


def test_documented_near_player_rate_of_people_equals_that_of_the_data(soccer: Scoring) -> None:
    people = soccer.report().group("human").metrics["near_player_rate"].value
    assert f"{people:.0%} of people's guesses in soccer are near a player, not 77%" in prose("replication.md")
