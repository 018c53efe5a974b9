"""Test the data that sections pass to charts and maps, against hand-computed values, and the players per image."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from spotball_core.grid import Grid
from spotball_core.pages.maps import MapFigure
from spotball_core.plots.dots import DotChart
from spotball_core.plots.heat_maps import HeatMapChart
from spotball_core.report.build import all_sections
from spotball_core.report.charts.proximity import ProximityChart, StripChart
from spotball_core.report.maps import sport_maps
from spotball_core.report.numbers.crowds import coverage, crowd
from spotball_core.report.numbers.records import CellMap
from spotball_core.report.sections import people as sections_people, players as sections_players
from spotball_core.report.sections.people import MixtureChart
from spotball_core.report.view import PageView
from tests.report.study import GRID, responses, scenes, view_of


def test_proximity_section_plots_player_rates_with_intervals_and_the_share_of_balls_near_players(
    view: PageView,
) -> None:
    # Soccer images 1, 2 and 3 have known players. The ball is near a player only in image 2, and never on a player.
    assert sections_players.truth_point(view, "soccer") == (pytest.approx(1 / 3), 0.0)
    # In volleyball, the ball of image 1 overlaps a player, and image 2 has no players.
    assert sections_players.truth_point(view, "volleyball") == (1.0, 1.0)
    (picture,) = sections_players.proximity(view).pictures
    assert isinstance(picture.chart, ProximityChart)
    soccer = picture.chart.panels[0]
    assert soccer.under == "3 images with players"
    for point, score in zip(soccer.points, view.of_sport("soccer"), strict=True):
        near, overlap = score.metrics["near_player_rate"], score.metrics["overlap_rate"]
        assert (point.near, point.near_ends) == (near.value, near.ci95)
        assert (point.overlap, point.overlap_ends) == (overlap.value, overlap.ci95)
    # Of alpha's 30 parsed guesses on these images, 10 are on the player in the corner.
    (alpha,) = [point for point in soccer.points if (point.respondent, point.prompt) == ("alpha", "base")]
    assert alpha.overlap == pytest.approx(1 / 3)


def test_density_section_excludes_images_with_unknown_players(view: PageView) -> None:
    section = sections_players.density(view)
    chart = section.pictures[0].chart
    assert isinstance(chart, StripChart)
    (_, players, _), (_, covered, _) = chart.measures
    corner, other = 60 * 55 / (640 * 360), 70 * 50 / (640 * 360)
    assert [strip.values for strip in players] == [(1, 2, 1), (2, 0)]
    assert covered[0].values == pytest.approx([corner, corner + other, corner])
    assert covered[1].values == pytest.approx([(60 * 140 + 40 * 40) / (640 * 360), 0])
    assert section.points[0].startswith(
        "soccer: on average over 3 images, an image has 1.33 players (1 to 2), which cover 1.9% of it"
    )


def test_alignment_chart_has_lines_for_people_and_uniform_guessing(view: PageView) -> None:
    (section,) = [section for section in all_sections(view) if section.name == "alignment"]
    chart = section.pictures[0].chart
    assert isinstance(chart, DotChart)
    for panel in chart.panels:
        people, uniform = panel.rules
        assert (people.value, people.ends, people.name) == (0.0, None, "like people")
        assert uniform.value == view.by_sport[panel.title].uniform.wasserstein_matched
        matched = [group.metrics["wasserstein_matched"].value for group in view.of_sport(panel.title)]
        assert [dot.value for dot in panel.dots] == [value for value in matched if value is not None]
        assert [dot.color for dot in panel.dots] == ["#b8458f", "#b8458f", "#2d2380"]


def test_mixture_chart_shows_the_fitted_weights_and_intervals_of_each_respondent(view: PageView) -> None:
    section = sections_people.mixture(view)
    chart = section.pictures[0].chart
    assert isinstance(chart, MixtureChart)
    for panel in chart.panels:
        for mix, group in zip(panel.mixes, view.of_sport(panel.title), strict=True):
            found = view.mixture(group)
            assert found is not None
            assert mix.weights == {part: (weight.value, weight.ci95) for part, weight in found.weights.items()}
            assert ("people" in mix.weights) == (group.respondent != "human")


def test_heat_maps_show_guesses_pooled_over_the_scored_images_without_controls(view: PageView) -> None:
    figure = sections_people.where(view).maps
    assert figure is not None
    soccer, volleyball = figure.chart.sports
    assert [one.name for one in soccer.maps] == ["the ball", "people", "alpha base", "alpha cot", "beta"]
    sizes = [one.size for one in soccer.maps[:3]]
    assert sizes == ["5 cells, 4 images", "48 guesses, 4 images", "35 guesses, 4 images"]
    assert volleyball.maps[1].size == "24 guesses, 2 images"
    # Alpha also answered A1 on the control, which is excluded, so 15 of 35 guesses are at A1.
    assert "most at A1 (42.9%)" in soccer.maps[2].alt
    assert figure.window is not None
    assert (figure.window.x, figure.window.y, figure.window.wide, figure.window.high) == (128, 60, 320, 180)


def test_heat_maps_of_one_sport_share_one_color_scale() -> None:
    def cells(**shares: float) -> CellMap:
        on_grid = np.zeros(60)
        on_grid[[GRID.index(label) for label in shares]] = list(shares.values())
        return CellMap(n=4, n_images=2, shares=tuple(on_grid.tolist()), in_window=None)

    sport = sport_maps("soccer", cells(A1=0.75, A2=0.25), [("other", cells(D5=0.5, D6=0.5))], GRID)
    figure = MapFigure("maps", "", "", HeatMapChart((sport,), GRID))
    assert figure.top == "75.0%"
    drawn = [figure.tiles(heat_map.shares) for heat_map in sport.maps]
    assert [[(tile.x, tile.y, round(tile.density, 6)) for tile in one] for one in drawn] == [
        [(0, 0, 1), (64, 0, round(1 / 3, 6))],
        [(256, 180, round(2 / 3, 6)), (320, 180, round(2 / 3, 6))],
    ]


@pytest.mark.slow
def test_gallery_shows_baselines_only_if_there_are_no_models(view: PageView) -> None:
    with_baseline = responses().with_columns(
        kind=pl.when(pl.col("respondent") == "beta").then(pl.lit("baseline")).otherwise("kind")
    )
    without_models = with_baseline.filter(pl.col("respondent") != "alpha")
    for rows, expected in ((with_baseline, {"alpha"}), (without_models, {"beta"})):
        made = view_of(rows)
        assert {group.respondent for group in made.compared} == expected
        (section,) = [section for section in all_sections(made) if section.name == "gallery"]
        assert section.gallery is not None
        assert {card.respondent for image in section.gallery.images for card in image.cards} == expected
        assert ("Baselines (beta) are not shown" in " ".join(section.points)) == (expected == {"alpha"})
        assert {made.color(group) for group in made.compared} == ({"#858585"} if expected == {"beta"} else {"#b8458f"})
    assert {group.respondent for group in view.compared} == {"alpha", "beta"}


def test_largest_weight_sentence_lists_the_names_of_2_respondents_but_only_counts_36(view: PageView) -> None:
    mixture = next(mix for mix in view.page.mixtures if mix.respondent == "beta")
    few = sections_people._largest({"a": mixture, "b": mixture})
    assert "has the largest weight for a and b (" in few
    many = sections_people._largest({f"m{i}": mixture for i in range(36)})
    assert "has the largest weight for 36 of 36 respondents and prompts (" in many


# Players ------------------------------------------------------------------------------------------------------

boxes = st.lists(
    st.tuples(st.integers(-5, 25), st.integers(-5, 15), st.integers(0, 20), st.integers(0, 12)).map(
        lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
    ),
    max_size=5,
)


@given(boxes)
def test_coverage_is_the_share_of_pixels_in_any_box(some: list[tuple[int, int, int, int]]) -> None:
    inside = sum(any(x1 <= x < x2 and y1 <= y < y2 for x1, y1, x2, y2 in some) for x in range(20) for y in range(10))
    assert coverage(some, Grid(2, 4, 20, 10)) == pytest.approx(inside / 200)


def test_crowd_player_counts_and_coverage_of_images_with_known_players_equal_hand_computed_values() -> None:
    soccer = [scene for scene in scenes() if scene.sport == "soccer"]
    found = crowd(soccer, bootstrap=50, seed=0)
    assert found is not None
    # The players of image 4 are unknown.
    assert [(one.image, one.n_players) for one in found.images] == [("1", 1), ("2", 2), ("3", 1), ("9", 1)]
    assert found.n_players.value == 1.25
    assert found.covered.value == pytest.approx(
        np.mean([coverage(scene.boxes, scene.layout) for scene in soccer[:3] + soccer[4:]])
    )
    low, high = found.n_players.ci95 or (0.0, 0.0)
    assert 1 <= low <= 1.25 <= high <= 2
    bare = crowd(soccer, bootstrap=0, seed=0)
    assert bare is not None
    assert bare.n_players.ci95 is None
    assert crowd(soccer[3:4], bootstrap=0, seed=0) is None
