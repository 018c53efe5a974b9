"""Test the conversion of the release's ball columns to boxes, and back, against plain arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from spotball_core.release.ball import ball_box, ball_columns

PLACES = st.floats(-600, 600)
SIZES = st.floats(0.5, 600)


@given(x=PLACES, y=PLACES, width=SIZES, height=SIZES)
def test_ball_box_of_soccer_is_scaled_from_512_x_512(x: float, y: float, width: float, height: float) -> None:
    x1, y1, x2, y2 = ball_box("soccer", x, y, width, height)
    assert (x1, x2 - x1) == (pytest.approx(x * 640 / 512), pytest.approx(width * 640 / 512))
    assert (y1, y2 - y1) == (pytest.approx(y * 360 / 512), pytest.approx(height * 360 / 512))


@pytest.mark.parametrize("sport", ["basketball", "volleyball"])
@given(x=PLACES, y=PLACES, width=SIZES, height=SIZES)
def test_ball_box_of_basketball_and_volleyball_is_around_the_center_in_pixels(
    sport: str, x: float, y: float, width: float, height: float
) -> None:
    x1, y1, x2, y2 = ball_box(sport, x, y, width, height)
    assert ((x1 + x2) / 2, x2 - x1) == (pytest.approx(x), pytest.approx(width))
    assert ((y1 + y2) / 2, y2 - y1) == (pytest.approx(y), pytest.approx(height))


@pytest.mark.parametrize("sport", ["soccer", "basketball", "volleyball"])
@given(numbers=st.tuples(PLACES, PLACES, SIZES, SIZES))
def test_ball_columns_is_the_inverse_of_ball_box(sport: str, numbers: tuple[float, float, float, float]) -> None:
    assert ball_columns(sport, ball_box(sport, *numbers)) == pytest.approx(numbers, abs=1e-9)
