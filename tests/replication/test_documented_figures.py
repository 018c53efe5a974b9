"""Figures of the published soccer data that the documentation states in prose are those the data gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spotball_core import ScorePolicy, compare, import_release, noise_ceiling, replicate, threshold_surface
from spotball_core.groups import Scoring
from spotball_core.io.responses import read_counts
from tests.conftest import ROOT

pytestmark = pytest.mark.real


def prose(page: str) -> str:
    return " ".join((ROOT / "docs/explanation" / page).read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def soccer(real_release: Path) -> Scoring:
    release = import_release(real_release)
    counts = read_counts(release.responses, release.scenes, participants=True)
    return Scoring(counts, release.scenes, ScorePolicy.standard(reference="human", bootstrap=0))


def test_entropies_of_equal_numbers_of_answers(soccer: Scoring) -> None:
    text = prose("statistics.md")
    whole = {group.respondent: group.metrics["image_entropy"].value for group in soccer.report().groups}
    assert whole["human"] is not None
    assert whole["gemini"] is not None
    said = f"people's image entropy is {whole['human']:.2f} and Gemini's {whole['gemini']:.2f}"
    assert said in text
    policy = ScorePolicy.standard(bootstrap=0)
    thinned = compare(Scoring(soccer.counts, soccer.arrays.scenes, policy), "human", "gemini", permutations=10)
    (contrast,) = thinned.contrasts
    assert contrast.metrics["image_entropy"].a is not None
    assert f"the entropy is {contrast.metrics['image_entropy'].a:.2f}" in text


def test_ceiling_and_uniform(soccer: Scoring) -> None:
    (ceiling,) = noise_ceiling(soccer)
    assert ceiling.split_half.value is not None
    assert f"two halves of 25 are {ceiling.split_half.value:.1f} px apart" in prose("statistics.md")
    assert f"the uniform distribution is at {ceiling.uniform:.1f} px" in prose("statistics.md")


def test_the_published_thresholds_are_off_the_plateau(soccer: Scoring) -> None:
    surface = threshold_surface(soccer)
    tau, theta = np.flatnonzero(surface.taus == 0.08)[0], np.flatnonzero(surface.thetas == 0.02)[0]
    assert not surface.plateau[tau, theta]
    below = 1 - surface.objective[tau, theta] / surface.objective.max()
    assert f"which in the soccer data are {below:.0%} below it" in prose("replication.md")


def test_distance_from_the_center(real_release: Path) -> None:
    items = replicate(real_release).items
    (item,) = (i for i in items if i.quantity == "ball to image center (px)" and i.sport == "soccer")
    assert item.standard is not None
    assert float(item.published) == pytest.approx(122.81)
    assert f"{item.standard:.0f} instead of 123 pixels in soccer" in prose("replication.md")


def test_people_near_players(soccer: Scoring) -> None:
    people = soccer.report().group("human").metrics["near_player_rate"].value
    assert people is not None
    assert f"people are near a player in {people:.0%} of their guesses and not in 77%" in prose("replication.md")
