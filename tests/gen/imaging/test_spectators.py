"""Test the detection of spectators with hand-made cases and properties that hold for all boxes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, strategies as st

from spotball_gen.items.item import Box
from spotball_gen.stages.plausibility_rules import SpectatorSettings, audience_reasons

HEIGHT = 360.0
PLAYERS = [Box(100, 150, 160, 300), Box(300, 140, 360, 290), Box(500, 160, 550, 310)]
"""Three players with a height of 150 pixels each."""


def reasons(boxes: list[Box], **settings: float) -> tuple[str, ...]:
    return audience_reasons(boxes, HEIGHT, SpectatorSettings.model_validate(settings))


def of(box: Box, *others: Box, **settings: float) -> str:
    """Return the audience reason of one box among the players and others."""
    return reasons([*PLAYERS, box, *others], **settings)[3]


def standing(x: float, feet: float, tall: float) -> Box:
    return Box(x, feet - tall, x + tall / 2.5, feet)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        # A quarter of 150 is 37.5.
        (standing(20, 200, 37), "small"),
        (standing(20, 200, 38), ""),
        # 0.3 of 360 is 108; people in the stands are less than half as tall as 150.
        (standing(20, 107, 70), "in the stands"),
        (standing(20, 109, 70), ""),
        (standing(20, 107, 76), ""),
        # A box cut by the image edge counts as twice as tall as it is wide: 25 wide is 50 tall, 40 wide is 80 tall.
        (Box(20, 330, 45, 359), ""),
        (Box(20, 340, 35, 360), "small"),
        (Box(20, 1, 60, 30), ""),
        (Box(20, 0, 45, 30), "in the stands"),
    ],
)
def test_audience_reasons_exclude_people_by_size_and_position(box: Box, expected: str) -> None:
    assert of(box) == expected


def test_audience_reasons_compare_heights_with_the_image_height_if_all_people_are_small() -> None:
    # 0.06 of 360 is 21.6.
    assert reasons([standing(20, 200, 21), standing(90, 200, 22)]) == ("small", "")
    assert reasons([]) == ()


def row(count: int, tall: float, apart: float) -> list[Box]:
    return [standing(20 + number * apart, 200, tall) for number in range(count)]


def test_audience_reasons_exclude_a_crowd_depending_on_its_size_height_and_gaps() -> None:
    # At a height of 40 and a distance of 50, neighbors are within 1.5 heights.
    crowd = row(8, 40, 50)
    assert reasons([*PLAYERS, *crowd]) == ("",) * 3 + ("in a crowd",) * 8
    fewer, scattered, large = row(7, 40, 50), row(8, 40, 61), row(8, 76, 50)
    for others in (fewer, scattered, large):
        assert set(reasons([*PLAYERS, *others])) == {""}
    assert of(crowd[0], *crowd[1:], crowd=0) == of(crowd[0], *crowd[1:], crowd=9) == ""
    assert of(scattered[0], *scattered[1:], crowd_gap=1.6) == "in a crowd"


def test_audience_reasons_do_not_compare_heights_with_a_single_person_close_to_the_camera() -> None:
    assert reasons([*PLAYERS, Box(400, 0, 640, 360)], relative_height=0.9) == ("",) * 4


def quarters(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(4 * low, 4 * high).map(lambda number: number / 4)


@st.composite
def people(draw: st.DrawFn) -> list[Box]:
    # Quarters of a pixel can be mirrored without rounding.
    size = quarters(1, 200)
    places = draw(st.lists(st.tuples(quarters(0, 600), quarters(0, 340)), max_size=15))
    return [Box(x, y, x + draw(size), y + draw(size)) for x, y in places]


@given(people(), st.randoms(use_true_random=False))
def test_audience_reasons_do_not_depend_on_box_order_or_mirroring(boxes: list[Box], random: Random) -> None:
    expected = reasons(boxes, crowd=3)
    order = list(range(len(boxes)))
    random.shuffle(order)
    assert reasons([boxes[i] for i in order], crowd=3) == tuple(expected[i] for i in order)
    assert reasons([Box(640 - box.x2, box.y1, 640 - box.x1, box.y2) for box in boxes], crowd=3) == expected


@given(people())
def test_audience_reasons_never_exclude_the_tallest_person(boxes: list[Box]) -> None:
    # The tallest person can only be small compared with the image, so this limit is switched off.
    found = reasons(boxes, min_player_height=0)
    # The height of a box that the image edge cuts is not known.
    if boxes and all(box.y1 > 4 and box.y2 < HEIGHT - 4 for box in boxes):
        assert not found[max(range(len(boxes)), key=lambda i: boxes[i].height)]
