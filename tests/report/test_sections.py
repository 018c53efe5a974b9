"""What the sections hand to charts and maps, against numbers worked out by hand on the hand-made study."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from spotball_core.groups import Scoring
from spotball_core.report import sections_people, sections_players
from spotball_core.report.analysis import Analysis, analyze
from spotball_core.report.build import all_sections
from spotball_core.report.charts_density import StripChart
from spotball_core.report.charts_dots import DotChart
from spotball_core.report.charts_mixture import MixtureChart
from spotball_core.report.charts_proximity import ProximityChart
from spotball_core.report.maps import map_row
from spotball_core.schema import ScorePolicy
from spotball_core.scoring import load
from tests.report.study import GRID, responses, scenes


def test_the_star_is_where_the_ball_is(analysis: Analysis) -> None:
    # Soccer's images with players are 1, 2 and 3: the ball is near a player in 2, on one in none.
    assert sections_players.truth_point(analysis, "soccer") == (pytest.approx(1 / 3), 0.0)
    # Volleyball's 1 has the ball under a player; nobody is on 2.
    assert sections_players.truth_point(analysis, "volleyball") == (1.0, 1.0)


def test_points_are_the_scores_with_their_intervals(analysis: Analysis) -> None:
    (picture,) = sections_players.proximity(analysis).pictures
    assert isinstance(picture.chart, ProximityChart)
    soccer = picture.chart.panels[0]
    assert soccer.under == "3 images with players"
    for point, (_, score) in zip(soccer.points, analysis.of_sport("soccer"), strict=True):
        near, overlap = score.metrics["near_player_rate"], score.metrics["overlap_rate"]
        assert (point.near, point.near_ends) == (near.value, near.ci95)
        assert (point.overlap, point.overlap_ends) == (overlap.value, overlap.ci95)
    # 10 of alpha's 30 parsed guesses to these are on the player in the corner.
    (alpha,) = [point for point in soccer.points if (point.respondent, point.prompt) == ("alpha", "base")]
    assert alpha.overlap == pytest.approx(1 / 3)


def test_crowds_are_counted_where_somebody_looked(analysis: Analysis) -> None:
    section = sections_players.density(analysis)
    chart = section.pictures[0].chart
    assert isinstance(chart, StripChart)
    (_, players, _), (_, covered, _) = chart.measures
    corner, other = 60 * 55 / (640 * 360), 70 * 50 / (640 * 360)
    assert [strip.values.tolist() for strip in players] == [[1, 2, 1], [2, 0]]
    assert covered[0].values == pytest.approx([corner, corner + other, corner])
    assert covered[1].values == pytest.approx([(60 * 140 + 40 * 40) / (640 * 360), 0])
    assert section.points[0].startswith("soccer: 1.33 players an image (1 to 2), covering 1.9% of it")


def test_the_ceilings_line_and_the_floors_are_in_the_distances_chart(analysis: Analysis) -> None:
    (section,) = [section for section in all_sections(analysis) if section.name == "alignment"]
    chart = section.pictures[0].chart
    assert isinstance(chart, DotChart)
    for panel in chart.panels:
        ceiling = analysis.ceilings[panel.title]
        half, uniform = panel.rules
        assert (half.value, half.ends) == (ceiling.split_half.value, ceiling.split_half.ci95)
        assert uniform.value == pytest.approx(ceiling.uniform)
        floors = [ceiling.sampling_floor[g.name] for g, _ in analysis.of_sport(panel.title) if g.respondent != "human"]
        assert [dot.tick for dot in panel.dots] == floors
        assert [dot.color for dot in panel.dots] == ["#0077bb", "#0077bb", "#00694a"]


def test_weights_are_the_mixtures(analysis: Analysis) -> None:
    section = sections_people.mixture(analysis)
    chart = section.pictures[0].chart
    assert isinstance(chart, MixtureChart)
    for panel in chart.panels:
        for mix, (group, _) in zip(panel.mixes, analysis.of_sport(panel.title), strict=True):
            found = analysis.mixtures[group.name].weights
            assert mix.weights == {part: (weight.value, weight.ci95) for part, weight in found.items()}
            assert ("people" in mix.weights) == (group.respondent != "human")


def test_maps_hold_the_pooled_guesses_of_the_scored_images(analysis: Analysis) -> None:
    soccer, volleyball = sections_people.where(analysis).maps
    assert [one.name for one in soccer.maps] == ["the ball", "human", "alpha base", "alpha cot", "beta"]
    assert [one.under for one in soccer.maps[:3]] == [
        "5 cells, 4 images",
        "48 guesses, 4 images",
        "35 guesses, 4 images",
    ]
    assert volleyball.maps[1].under == "24 guesses, 2 images"
    # The control, which alpha answered with A1, is not in: 15 of 35 are at A1.
    assert "most at A1 (42.9%)" in soccer.maps[2].alt
    assert soccer.window is not None
    assert (soccer.window.x, soccer.window.y, soccer.window.wide, soccer.window.high) == (128, 60, 320, 180)


def test_maps_of_a_sport_share_a_scale() -> None:
    one, other = np.zeros((2, 60)), np.zeros((1, 60))
    one[0, GRID.index("A1")], one[1, GRID.index("A2")] = 3, 1
    other[0, GRID.index("D5")] = other[0, GRID.index("D6")] = 2
    row = map_row("soccer", {"one": (one, "guess"), "other": (other, "guess")}, GRID, None)
    assert row.top == "75.0%"
    assert [[(tile.x, tile.y, round(tile.density, 6)) for tile in one.tiles] for one in row.maps] == [
        [(0, 0, 1), (64, 0, round(1 / 3, 6))],
        [(256, 180, round(2 / 3, 6)), (320, 180, round(2 / 3, 6))],
    ]


def test_baselines_are_shown_image_by_image_only_where_nobody_else_is(analysis: Analysis) -> None:
    with_baseline = responses().with_columns(
        kind=pl.when(pl.col("respondent") == "beta").then(pl.lit("baseline")).otherwise("kind")
    )
    for rows, expected in (
        (with_baseline, {"alpha"}),
        (with_baseline.filter(pl.col("respondent") != "alpha"), {"beta"}),
    ):
        counts, known = load(rows, scenes(), participants=True)
        made = analyze(Scoring(counts, known, ScorePolicy.standard(reference="human", bootstrap=0)), known)
        assert {group.respondent for group in made.explained} == expected
        (section,) = [section for section in all_sections(made) if section.name == "gallery"]
        assert section.gallery is not None
        assert {album.title.split(",")[0] for album in section.gallery.albums} == expected
        assert ("baselines (beta) are left out" in " ".join(section.lead)) == (expected == {"alpha"})
        assert {made.color(group) for group in made.explained} == ({"#858585"} if expected == {"beta"} else {"#0077bb"})
    assert {group.respondent for group in analysis.explained} == {"alpha", "beta"}
