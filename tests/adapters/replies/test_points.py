"""Test reading points and boxes in replies, in the conventions of grounding models."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.replies import POLICIES, ParsePolicy, parse_reply
from spotball_adapters.replies.points import CONVENTIONS, POINT_ANSWERS, Mention, fitting_scales, only_scale
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from tests.adapters.replies.test_parsing import ANY_TEXT
from tests.failures import raises

STANDARD = Grid.standard()

# The point (380, 220) of the image with 640 x 360 pixels is in D6.
READ: tuple[tuple[ParsePolicy, str], ...] = (
    ("point-1000", "(594, 611)"),
    ("point-1000", "594, 611"),
    ("point-1000", "<point>594 611</point>"),
    ("point-1000", "(x, y) = (594, 611)"),
    ("point-1000", "The striker is at (100, 200). The ball is at (594, 611)."),
    ("point-1000", "<think>(10, 10)?</think>(594, 611)"),
    ("point-1000", "(594, 611)\n\nHuman: again\n\nAssistant: (10, 10)"),
    ("point-100", "Ball: 59.4%, 61.1%"),
    ("point-1", "x=0.594, y=0.611"),
    ("point-1", "I think (0.594; 0.611)"),
    ("point-image", '{"x": 380.5, "y": 220}'),
    ("point-molmo", '<point x="59.4" y="61.1" alt="the ball">the ball</point>'),
    ("point-gemini", '[{"point": [611, 594], "label": "ball"}]'),
    ("point-gemini", "[611, 594]"),
    ("point-qwen", '[{"point_2d": [594, 611], "label": "ball"}, {"point_2d": [100, 200], "label": "player"}]'),
    ("box-gemini", '{"box_2d": [561, 544, 661, 644], "label": "ball"}'),
    ("box-qwen", '{"bbox_2d": [544, 561, 644, 661], "label": "ball"}'),
    ("box-qwen", "<|box_start|>(544,561),(644,661)<|box_end|>"),
    ("box-qwen", "<box>[[544, 561, 644, 661]]</box>"),
    ("box-image", '{"x1": 360, "y1": 200, "x2": 400, "y2": 240}'),
    ("box-1000", "544, 561, 644, 661"),
    ("point-1", '{"x": 0.59400000000000001, "y": 0.61099999999999999}'),
)


@pytest.mark.parametrize(("policy", "text"), READ)
def test_point_policy_reads_the_cell_of_the_point_or_box_center(policy: ParsePolicy, text: str) -> None:
    assert parse_reply(text, STANDARD, policy=policy).cell == "D6"


@pytest.mark.parametrize(
    ("policy", "text", "problem"),
    [
        ("point-1000", "no idea", "no answer"),
        ("point-1000", "", "empty"),
        ("point-1000", "[10, 20, 30, 40]", "no answer"),
        ("box-1000", "(10, 20)", "no answer"),
        ("point-1000", "The player at (100, 200) looks to (300, 400)", "several answers"),
        ("point-1000", "Point: (2000, 3)", "outside the grid"),
        ("point-image", "(641, 3)", "outside the grid"),
        ("point-image", "[-33.6, 105.0]", "outside the grid"),
        ("point-image", "10, 20, 30", "no answer"),
    ],
)
def test_point_policy_gives_a_problem_if_no_single_point_is_stated(
    policy: ParsePolicy, text: str, problem: str
) -> None:
    read = parse_reply(text, STANDARD, policy=policy)
    assert (read.cell, read.problem) == (None, problem)


def test_point_policy_of_a_reply_cut_off_within_a_number_gives_no_cell() -> None:
    assert parse_reply("594, 61", STANDARD, policy="point-1000", finish="length").problem == "cut off"
    assert parse_reply("(594, 611) because", STANDARD, policy="point-1000", finish="length").cell == "D6"


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(sorted(CONVENTIONS)), st.integers(1, 9), st.integers(1, 9))
def test_point_policies_agree_with_the_cell_of_the_scaled_point(
    across: float, down: float, name: str, rows: int, cols: int
) -> None:
    grid = Grid(rows, cols, 640, 360)
    convention = CONVENTIONS[name]  # type: ignore[index]
    width, height = (convention.size, convention.size) if convention.size else (640, 360)
    x, y = round(across * width, 4), round(down * height, 4)
    text = f"[{y:.4f}, {x:.4f}]" if convention.y_first else f"[{x:.4f}, {y:.4f}]"
    expected = grid.cell_at(x / width * 640, y / height * 360)
    assert parse_reply(text, grid, policy=f"point-{name}").cell == expected  # type: ignore[arg-type]


@given(ANY_TEXT, st.sampled_from(sorted(set(POLICIES) - {"strict", "lenient"})))
def test_point_policies_of_any_text_return_a_cell_of_the_grid_or_a_problem(text: str, policy: ParsePolicy) -> None:
    read = parse_reply(text, STANDARD, policy=policy)
    assert (read.cell in STANDARD.labels) == (read.problem is None)


def test_parse_policies_contain_each_kind_of_answer_with_each_scale() -> None:
    named = {f"{answer}-{scale}" for answer in POINT_ANSWERS for scale in CONVENTIONS}
    assert set(POLICIES) == {"strict", "lenient", *named}


@pytest.mark.parametrize(
    ("points", "scales"),
    [
        ([(0.5, 0.6)], ["1"]),
        ([(700, 900)], ["1000"]),
        ([(1200, 3)], []),
        ([(300, 200)], ["image", "1000"]),
        ([(59, 61)], ["image", "100", "1000"]),
        # Five points in the corner of the larger scales cannot be a coincidence.
        ([(59, 21), (30, 20), (10, 31), (33, 12), (60, 33)], ["100"]),
    ],
)
def test_fitting_scales_lists_the_scales_that_all_points_fit(
    points: list[tuple[float, float]], scales: list[str]
) -> None:
    assert fitting_scales((Mention(0, 1, point), STANDARD) for point in points) == scales


def test_only_scale_without_exactly_one_fitting_scale_is_an_error() -> None:
    assert only_scale([("(700, 900)", STANDARD), ("no idea", STANDARD)], "point") == "1000"
    for replies in (["(300, 200)"], ["(1200, 3)"], ["no idea"], []):
        with raises(OptionError, "missing-option:--point-scale"):
            only_scale([(reply, STANDARD) for reply in replies], "point")
