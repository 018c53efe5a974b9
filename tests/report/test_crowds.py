"""Test the share of an image that players cover, and the means over images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.grid import Grid
from spotball_core.report.numbers.crowds import coverage, crowd
from tests.report.study import scenes

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


def test_crowd_counts_and_coverage_equal_hand_computed_values() -> None:
    soccer = [scene for scene in scenes() if scene.sport == "soccer"]
    found = crowd(soccer, bootstrap=50, seed=0)
    assert found is not None
    # The players of image 4 are unknown.
    assert [(one.image, one.n_players) for one in found.images] == [("1", 1), ("2", 2), ("3", 1), ("9", 1)]
    assert found.n_players.value == 1.25
    assert found.covered.value == pytest.approx(
        np.mean([coverage(scene.boxes, scene.layout) for scene in soccer[:3] + soccer[4:]])
    )
    assert found.n_players.ci95 is not None
    low, high = found.n_players.ci95
    assert 1 <= low <= 1.25 <= high <= 2
    bare = crowd(soccer, bootstrap=0, seed=0)
    assert bare is not None
    assert bare.n_players.ci95 is None
    assert crowd(soccer[3:4], bootstrap=0, seed=0) is None
