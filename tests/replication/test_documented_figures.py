"""Test that numbers in the documentation agree with the published soccer data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spotball_core import ScorePolicy, import_release, replicate
from spotball_core.counting.responses import read_counts
from spotball_core.cues.thresholds import threshold_surface
from spotball_core.scoring.ceiling import noise_ceiling
from spotball_core.scoring.groups import Scoring
from tests.conftest import ROOT

pytestmark = pytest.mark.real


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
    assert ceiling.split_half.value is not None
    assert f"two halves of 25 participants are {ceiling.split_half.value:.1f} px apart" in prose("statistics.md")
    assert f"the uniform distribution is {ceiling.uniform:.1f} px from people" in prose("statistics.md")


def test_documented_objective_at_the_published_thresholds_equals_that_of_the_data(soccer: Scoring) -> None:
    surface = threshold_surface(soccer)
    tau, theta = np.flatnonzero(surface.taus == 0.08)[0], np.flatnonzero(surface.thetas == 0.02)[0]
    assert not surface.plateau[tau, theta]
    below = 1 - surface.objective[tau, theta] / surface.objective.max()
    assert f"In the soccer data, its value at these thresholds is {below:.0%} below the maximum" in prose(
        "replication.md"
    )


def test_documented_ball_distance_from_the_center_equals_that_of_the_data(real_release: Path) -> None:
    items = replicate(real_release).items
    (item,) = (i for i in items if i.quantity == "ball to image center (px)" and i.sport == "soccer")
    assert item.standard is not None
    assert (item.published, f"{item.standard:.2f}") == ("122.81", "122.81")
    assert f"soccer | {item.published} px | {item.standard:.2f} px |" in prose("replication.md")


def test_documented_ball_area_equals_that_of_the_data(real_release: Path) -> None:
    items = replicate(real_release).items
    (item,) = (i for i in items if i.quantity == "ball area (px²)" and i.sport == "soccer")
    assert f"soccer | {item.published} px² | {item.standard:.2f} px² |" in prose("replication.md")


def test_documented_effects_of_boxes_in_pixels_equal_those_of_the_data(real_release: Path) -> None:
    text = prose("replication.md")
    items = [i for i in replicate(real_release).items if i.where == "ground truth" and i.sport == "soccer"]
    (changed,) = (i for i in items if "differ from the cells of the ball's box" in i.quantity)
    assert f"{changed.reproduced:.0f} of the 52 soccer images would have other cells" in text
    people = {i.quantity: i for i in items if i.respondent == "human"}
    accuracy, error = people["accuracy, policy standard"], people["mean error (px), policy standard"]
    assert accuracy.reproduced is not None
    assert accuracy.standard is not None
    assert f"people's accuracy would be {accuracy.standard:.1%} instead of {accuracy.reproduced:.1%}" in text
    assert f"their mean error {error.standard:.1f} instead of {error.reproduced:.1f} px" in text


def test_documented_numbers_of_balls_near_players_equal_those_of_the_data(real_release: Path) -> None:
    items = replicate(real_release).items
    (near,) = (i for i in items if i.quantity == "truth near a player (%)")
    (overlap,) = (i for i in items if i.quantity == "truth overlapping a player (%)")
    assert "28 of 52 balls in soccer" in (near.note or "")
    assert "0 of 52 balls in soccer" in (overlap.note or "")
    assert "near a player in 28 of 52 images in soccer" in prose("replication.md")
    assert "is the case in 0 of 52 images in soccer" in prose("replication.md")


def test_documented_near_player_rate_of_people_equals_that_of_the_data(soccer: Scoring) -> None:
    people = soccer.report().group("human").metrics["near_player_rate"].value
    assert people is not None
    assert f"{people:.0%} of people's guesses in soccer are near a player, not 77%" in prose("replication.md")
