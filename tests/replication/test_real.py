"""Test which published figures the soccer part of the real release reproduces."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.replication import Replication, replicate
from tests.replication.small import item, items

pytestmark = pytest.mark.real

PEOPLE = {"sport": "soccer", "respondent": "human", "prompt": "base"}
GEMINI = {"sport": "soccer", "respondent": "gemini", "prompt": "cot"}


@pytest.fixture(scope="module")
def found(real_release: Path) -> Replication:
    return replicate(real_release)


def test_real_release_has_no_unexplained_mismatches(found: Replication) -> None:
    assert found.unexplained == ()


@pytest.mark.parametrize(
    ("quantity", "published", "reproduced", "standard"),
    [
        ("cells the ball spans", "2.27", 118 / 52, 118 / 52),
        ("ball area (px²)", "785.37", 785.365, 690.2625),
        ("ball to image center (px)", "122.81", 122.814, 122.814),
        ("area of a player (px²)", "13718.87", 13718.874, 13712.910),
    ],
)
def test_soccer_values_in_table_1_match(
    found: Replication, quantity: str, published: str, reproduced: float, standard: float
) -> None:
    said = item(found, where="table 1", sport="soccer", quantity=quantity)
    assert (said.published, said.status) == (published, "match")
    assert said.reproduced == pytest.approx(reproduced, abs=6e-4)
    assert said.standard == pytest.approx(standard, abs=6e-4)


def test_players_per_scene_of_soccer_match_the_printed_value_of_basketball(found: Replication) -> None:
    basketball = item(found, where="table 1", sport="basketball", quantity="players per scene")
    assert (basketball.published, basketball.status) == ("5.46", "match")
    assert basketball.reproduced == pytest.approx(284 / 52)
    soccer = item(found, where="table 1", sport="soccer", quantity="players per scene")
    assert (soccer.published, soccer.status, soccer.reproduced) == ("4.26", "no data", None)
    assert soccer.standard == pytest.approx(284 / 52)


def test_truth_in_the_center_window_is_a_misprint(found: Replication) -> None:
    said = item(found, where="section 5.1", sport="soccer", quantity="truth in the center window (%)")
    assert said.published == "36.3"
    assert said.reproduced == pytest.approx(100 * 43 / 118)
    assert (said.note or "").startswith("misprint")


@pytest.mark.parametrize(
    ("where", "quantity", "published", "reproduced"),
    [
        ("table 2", "mean error (px)", "113.4", 113.360),
        ("table 2", "sd of the error (px)", "65.1", 65.127),
        ("table 3", "center ratio", "1.164", 1.16427),
        ("table 3", "normalized entropy", "0.817", 0.81722),
        ("figure 4", "accuracy", "0.1921", 1441 / 7500),
        ("section 4.4", "participants", "50", 50),
        ("section 4.4", "images a participant", "50", 50),
        ("section 4.4", "guesses an image", "3", 3),
    ],
)
def test_values_of_people_match(
    found: Replication, where: str, quantity: str, published: str, reproduced: float
) -> None:
    said = item(found, where=where, quantity=quantity, **PEOPLE)
    assert (said.published, said.status) == (published, "match")
    assert said.reproduced == pytest.approx(reproduced, abs=6e-4)


@pytest.mark.parametrize(
    ("where", "quantity", "published", "reproduced", "standard"),
    [
        ("table 2", "mean error (px)", "141.1", 139.962, 145.381),
        ("table 2", "sd of the error (px)", "72.9", 70.684, 66.486),
        ("table 3", "center ratio", "1.377336690860613", 1.62618, 1.59819),
        ("table 3", "normalized entropy", "0.7924144386176947", 0.80854, 0.81103),
        ("figure 5", "near-player rate", "0.8649681528662421", 822 / 986, 822 / 986),
        ("figure 5", "overlap rate", "0.7910828025477707", 726 / 986, 726 / 986),
    ],
)
def test_gemini_cot_mismatches_are_explained_by_another_run(
    found: Replication, where: str, quantity: str, published: str, reproduced: float, standard: float
) -> None:
    said = item(found, where=where, quantity=quantity, **GEMINI)
    assert (said.published, said.status) == (published, "mismatch")
    assert said.reproduced == pytest.approx(reproduced, abs=6e-4)
    assert said.standard == pytest.approx(standard, abs=6e-4)
    assert said.note == (
        "another run: the published figure is from a run with 2,355 parsed answers, but this run has 986"
    )


def test_gemini_cot_accuracy_matches_the_released_run(found: Replication) -> None:
    said = item(found, where="figure 4", quantity="accuracy", **GEMINI)
    assert (said.published, said.reproduced, said.status) == ("0.081", 81 / 1000, "match")
    assert item(found, where="section 4.3", **GEMINI).status == "match"


def test_truth_near_and_overlapping_players_has_status_no_data_with_soccer_alone(found: Replication) -> None:
    near = item(found, where="figure 5", quantity="truth near a player (%)")
    assert (near.status, near.standard) == ("no data", pytest.approx(54.0))
    assert (near.note or "").startswith(
        "needs the images of all sports; published method: 28 of 52 balls in soccer; standard, with only the players "
        "of each image: "
    )
    overlap = item(found, where="figure 5", quantity="truth overlapping a player (%)")
    assert (overlap.status, overlap.standard) == ("no data", 0.0)
    assert (overlap.note or "").startswith(
        "needs the images of all sports; published method: 0 of 52 balls in soccer; standard, with only the players "
        "of each image: "
    )


def test_wasserstein_distances_to_people_equal_the_expected_values(found: Replication) -> None:
    shown = {
        (i.respondent, i.quantity): i.reproduced for i in items(found, where="figure 9") if i.reproduced is not None
    }
    assert shown == {
        ("gemini", "Wasserstein, exact (px)"): pytest.approx(101.760, abs=1e-3),
        ("gemini", "Wasserstein, 1D (px)"): pytest.approx(61.807, abs=1e-3),
        ("uniform", "Wasserstein, exact (px)"): pytest.approx(145.793, abs=1e-3),
        ("uniform", "Wasserstein, 1D (px)"): pytest.approx(91.612, abs=1e-3),
    }


def test_threshold_objective_has_its_maximum_at_the_edge_of_the_range(found: Replication) -> None:
    said = {i.quantity: i.reproduced for i in items(found, where="figure 10")}
    assert said["tau at the maximum"] == 0.2
    assert said["theta at the maximum"] == 0.01
    assert said["objective at tau 0.08 and theta 0.02, divided by its maximum"] == pytest.approx(0.902, abs=1e-3)


def test_items_of_other_sports_and_models_have_status_no_data(found: Replication) -> None:
    for i in found.items:
        if i.sport in ("volleyball", "basketball") and i.quantity != "players per scene":
            assert i.status == "no data"
        if i.respondent in ("gpt", "llama", "qwen"):
            assert (i.status, i.reproduced, i.standard) == ("no data", None, None)
