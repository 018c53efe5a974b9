"""Test the plausibility rules: for each rule, one image breaks it; bounds are exact; sports can set their own."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError
from shapely.geometry import box as rectangle

from spotball_gen.items.item import Box, Item, Sport, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Outcome, Reject
from spotball_gen.stages.plausibility_rules import Rules, RulesSettings, measured
from tests.gen.making import context_of

SOURCE = VideoSource("match", "match.avi", "soccer", "", "match.avi", "")
SIZE = 640.0, 360.0
DIAGONAL = math.hypot(*SIZE)

LEFT, RIGHT = Box(100, 100, 160, 260, 0.9, "player"), Box(300, 100, 360, 260, 0.8, "player")
BALL = Box(200, 150, 236, 186, 0.7)
"""A ball that is 36 pixels wide and 40 pixels away from the left player."""


def item(*boxes: Box, **fields: Any) -> Item:
    return Item("match-000001000", SOURCE, 1.0, 0, PictureFile(Path("none.png")), boxes=boxes, **fields)


def judged(*boxes: Box, sport: Sport | None = None, **settings: Any) -> Item | Reject:
    context = context_of(Path(), sports={"soccer": sport or Sport()})
    outcome = Rules(RulesSettings.model_validate(settings), context).process([item(*boxes)])
    assert not outcome.failures
    (result,) = outcome.items + outcome.rejects
    return result


def rejected(*boxes: Box, **settings: Any) -> Reject:
    result = judged(*boxes, **settings)
    assert isinstance(result, Reject)
    return result


def test_plausible_item_gets_ball_players_scores_and_audience_note() -> None:
    fan = Box(400, 10, 410, 30, 0.9, "player")
    unsure = Box(500, 100, 560, 260, 0.2, "player")
    found = (LEFT, BALL, fan, RIGHT, unsure)
    done = judged(*found)
    assert isinstance(done, Item)
    assert (done.ball, done.players, done.boxes) == (BALL, (LEFT, RIGHT), found)
    assert done.notes == {"plausibility": {"audience": {"small": 1}}}
    assert done.scores == {
        "players": 2,
        "ball_size": 0.1,
        "ball_aspect": 1,
        "ball_edge": pytest.approx(150 / 360, abs=1e-4),
        "ball_overlap": 0,
        "ball_distance": pytest.approx(40 / DIAGONAL, abs=1e-4),
    }


def moved(box: Box, dx: float, dy: float = 0) -> Box:
    return replace(box, x1=box.x1 + dx, x2=box.x2 + dx, y1=box.y1 + dy, y2=box.y2 + dy)


@pytest.mark.parametrize(
    ("boxes", "settings", "expected"),
    [
        ((LEFT, RIGHT), {}, "no ball"),
        ((LEFT, RIGHT, replace(BALL, score=0.29)), {}, "no ball"),
        ((LEFT, RIGHT, replace(BALL, score=0.3)), {}, None),
        ((LEFT, RIGHT, BALL, moved(BALL, 200)), {}, "several balls"),
        ((LEFT, RIGHT, BALL, replace(moved(BALL, 200), score=0.29)), {}, None),
        ((LEFT, RIGHT, BALL), {"min_size": 0.11}, "ball too small"),
        ((LEFT, RIGHT, BALL), {"min_size": 0.1}, None),
        ((LEFT, RIGHT, BALL), {"max_size": 0.09}, "ball too large"),
        ((LEFT, RIGHT, replace(BALL, y2=210)), {}, "ball not round"),
        ((LEFT, RIGHT, replace(BALL, x2=260)), {"max_aspect": 1.7}, None),
        ((LEFT, moved(LEFT, 540), moved(BALL, 403)), {}, "ball at the edge"),
        ((LEFT, moved(LEFT, 540), moved(BALL, 403)), {"edge": 0}, None),
        ((LEFT, RIGHT, moved(BALL, 0, -150)), {}, "ball at the edge"),
        ((LEFT, BALL), {}, "too few players"),
        ((BALL,), {}, "too few players"),
        ((BALL,), {"min_players": 0}, None),
        ((LEFT, RIGHT, BALL), {"max_players": 1, "min_players": 1}, "too many players"),
        ((LEFT, RIGHT, moved(BALL, -41)), {}, "ball over a player"),
        ((LEFT, RIGHT, moved(BALL, -40)), {}, None),
        # The ball overlaps the player in 18 of its 36 columns.
        ((LEFT, RIGHT, moved(BALL, -58)), {"max_overlap": 0.5}, None),
        ((LEFT, RIGHT, moved(BALL, -59)), {"max_overlap": 0.5}, "ball over a player"),
        ((LEFT, RIGHT, moved(BALL, -39)), {"min_distance": 2 / DIAGONAL}, "ball too near a player"),
        ((LEFT, RIGHT, BALL), {"max_distance": 39 / DIAGONAL}, "ball far from players"),
        ((LEFT, RIGHT, BALL), {"max_distance": 41 / DIAGONAL}, None),
        # The nearest person is audience and does not count.
        ((LEFT, RIGHT, moved(BALL, 310), Box(550, 150, 560, 170, 0.9, "player")), {}, "ball far from players"),
    ],
)
def test_rules_reject_an_item_only_if_a_measure_is_beyond_its_bound(
    boxes: tuple[Box, ...], settings: dict[str, Any], expected: str | None
) -> None:
    result = judged(*boxes, **settings)
    assert (result.reason if isinstance(result, Reject) else None) == expected


def test_reject_reports_the_measure_and_its_bound() -> None:
    far = rejected(LEFT, RIGHT, moved(BALL, 310))
    assert (far.item, far.stage, far.scores["ball_size"]) == ("match-000001000", "plausibility", 0.1)
    assert far.detail == f"ball_distance {round(150 / DIAGONAL, 4):g}, expected at most 0.2"
    unsure = rejected(LEFT, RIGHT, replace(BALL, score=0.2))
    assert unsure.detail == "no detections with a score of at least 0.3; all scores: 0.20"
    assert rejected(LEFT, RIGHT).detail == "no ball was detected"


def test_bounds_of_a_sport_replace_the_settings_for_that_sport_only() -> None:
    assert rejected(LEFT, BALL, sport=Sport(bounds={"max_size": 0.05})).reason == "ball too large"
    context = context_of(Path(), sports={"tennis": Sport(bounds={"min_players": 1}), "soccer": Sport()})
    stage = Rules(RulesSettings(), context)
    tennis = replace(item(LEFT, BALL), id="other", source=replace(SOURCE, sport="tennis"))
    outcome = stage.process([item(LEFT, BALL), tennis])
    assert [kept.id for kept in outcome.items] == ["other"]
    with pytest.raises(ValidationError):
        Rules(RulesSettings(), context_of(Path(), sports={"golf": Sport(bounds={"holes": 18})}))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"min_size": 0.3}, r"min_size.*0\.3.*max_size.*0\.25"),
        ({"min_players": 3, "max_players": 2}, "min_players"),
        ({"min_distance": 0.5}, "min_distance"),
        ({"near": 1}, "near"),
    ],
)
def test_rules_settings_with_invalid_values_are_refused(wrong: dict[str, float], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        RulesSettings.model_validate(wrong)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    x, y = draw(st.floats(0, 600)), draw(st.floats(0, 340))
    return Box(x, y, x + draw(st.floats(1, 300)), y + draw(st.floats(1, 300)), label="player")


@given(boxes(), st.lists(boxes(), min_size=1, max_size=4))
def test_measured_overlap_distance_and_edge_equal_shapely(ball: Box, players: list[Box]) -> None:
    found = measured(ball, players, SIZE)
    shape, others = rectangle(*ball.corners), [rectangle(*player.corners) for player in players]
    overlap = max(shape.intersection(other).area for other in others) / shape.area
    assert found["ball_overlap"] == pytest.approx(overlap, abs=1e-4)
    assert found["ball_distance"] == pytest.approx(min(map(shape.distance, others)) / DIAGONAL, abs=1e-4)
    edges = rectangle(0, 0, *SIZE).exterior
    if rectangle(0, 0, *SIZE).contains(shape):
        assert found["ball_edge"] == pytest.approx(shape.distance(edges) / SIZE[1], abs=1e-4)
    else:
        assert found["ball_edge"] <= 0


@given(st.lists(boxes(), max_size=6), st.lists(st.floats(0, 1), max_size=4))
def test_item_is_kept_only_with_exactly_one_confident_ball(players: list[Box], scores: list[float]) -> None:
    balls = [Box(40.0 * number, 100, 40.0 * number + 20, 120, score) for number, score in enumerate(scores, start=1)]
    result = judged(*players, *balls)
    sure = [ball for ball in balls if ball.score >= 0.3]
    if isinstance(result, Item):
        assert [result.ball] == sure
        assert set(result.players) <= set(players)
    else:
        assert len(sure) == 1 or result.reason == ("several balls" if sure else "no ball")


def test_box_without_area_fails_only_its_item() -> None:
    stage = Rules(RulesSettings(), context_of(Path()))
    flat = item(LEFT, RIGHT, replace(BALL, x2=BALL.x1))
    outcome: Outcome = stage.process([flat, replace(item(LEFT, RIGHT, BALL), id="good")])
    assert [failure.item for failure in outcome.failures] == ["match-000001000"]
    assert [kept.id for kept in outcome.items] == ["good"]
