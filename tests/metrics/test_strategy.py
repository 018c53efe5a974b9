"""Test strategy metrics against Shapely (player rates), loops and SciPy (center, entropy), and values by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from spotball_core import (
    center_ratio,
    image_entropy,
    near_player_rate,
    normalized_entropy,
    overlap_rate,
    symmetric_center_bias,
)
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.strategy import near_player_mask, overlap_mask, player_distances, player_shares, window_mask
from spotball_core.schema import PlayerBox
from tests.failures import raises
from tests.shapes import as_shape, cells

from .strategies import Array, boxes, counts, grids, masses

GRID = Grid(2, 3, 30, 40)  # cells of 10 x 20 pixels: A1 A2 A3 over B1 B2 B3; the diagonal is 50
Boxes = list[tuple[float, float, float, float]]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Grid, Array, Boxes]:
    grid = draw(grids())
    return grid, draw(counts(grid.n_cells)), draw(boxes(grid))


def test_near_player_rate_equals_values_computed_by_hand() -> None:
    # The box ends at x = 5 and y = 20. The distances of the centers are 0 for A1 (5, 10), 10 for A2, 20 for A3 and 10
    # for B1 (5, 30).
    counts, players = [1, 2, 3, 4, 0, 0], [[0, 0, 5, 20]]
    # A tau of 0.2 is 10 pixels. A distance of exactly 10 counts as near.
    assert near_player_rate(counts, players, tau=0.2, grid=GRID) == (1 + 2 + 4) / 10
    assert near_player_rate(counts, players, tau=0.199, grid=GRID) == 1 / 10
    # The limit is hypot(640, 360) * 0.08 = 58.744 pixels. The center of A1 (32, 30) is 58 from the third box. C5 (288,
    # 150) is hypot(42, 41) = 58.694 from the second box, just below the limit. C6 (352, 150) is farther away.
    players = [[90, 0, 100, 10], [0, 0, 246, 109], [90, 20, 95, 40]]
    assert near_player_rate(["A1", "C6"], players[:1]) == 0  # hypot(58, 20) is above the limit
    assert near_player_rate(["A1", "C6"], players[2:]) == 1 / 2
    assert near_player_rate(["C5", "C6", None], players[1:2]) == 1 / 2


@given(scene=scenes(), tau=st.floats(0.01, 1), theta=st.floats(0.001, 1))
def test_near_player_and_overlap_rates_and_player_distances_and_shares_equal_shapely(
    scene: tuple[Grid, Array, Boxes], tau: float, theta: float
) -> None:
    grid, counts, players = scene
    limit = tau * math.hypot(grid.width, grid.height)
    distances = np.array([min(center.distance(as_shape(box)) for box in players) for center, _ in cells(grid)])
    np.testing.assert_allclose(player_distances(players, grid), distances, rtol=1e-9, atol=1e-9)
    if (np.abs(distances - limit) > 1e-9).all():
        near = counts[distances <= limit].sum() / counts.sum()
        assert near_player_rate(counts, players, tau=tau, grid=grid) == pytest.approx(near, rel=1e-12)
    overlaps = [[area.intersection(as_shape(box)).area / area.area for box in players] for _, area in cells(grid)]
    shares = np.max(overlaps, axis=1)
    np.testing.assert_allclose(player_shares(players, grid), shares, rtol=1e-9, atol=1e-9)
    if (np.abs(shares - theta) > 1e-9).all():
        overlapping = counts[shares >= theta].sum() / counts.sum()
        assert overlap_rate(counts, players, theta=theta, grid=grid) == pytest.approx(overlapping, rel=1e-12)


def test_near_player_and_overlap_masks_have_the_same_default_thresholds_as_the_rates() -> None:
    # The defaults from the paper are a tau of 0.08 and a theta of 0.02.
    players, grid = [[90.0, 0, 130, 70]], Grid.standard()
    for mask, rate in ((near_player_mask, near_player_rate), (overlap_mask, overlap_rate)):
        found, known = mask(players, grid)
        assert known
        assert found.tolist() == [rate(cell, players) == 1 for cell in np.eye(60)]


def test_overlap_rate_equals_values_computed_by_hand() -> None:
    # The first box covers 5 x 20 of A1 and 5 x 10 of B1, the second 8 x 20 of A3. Cells are 10 x 20.
    counts, players = [1, 2, 3, 4, 0, 0], [[0, 0, 5, 30], [22, -5, 30, 20]]
    assert overlap_rate(counts, players, grid=GRID) == (1 + 3 + 4) / 10
    assert overlap_rate(counts, players, theta=0.5, grid=GRID) == (1 + 3) / 10
    assert overlap_rate(counts, players, theta=0.51, grid=GRID) == 3 / 10
    # Each box covers a quarter of the cell. Together they cover half of it.
    players, grid = [[0, 0, 5, 5], [5, 5, 10, 10]], Grid(1, 1, 10, 10)
    assert overlap_rate([1], players, theta=0.25, grid=grid) == 1
    assert overlap_rate([1], players, theta=0.26, grid=grid) == 0


@given(grid=grids(13, 13))
def test_overlap_rate_of_fully_covered_cells_is_1_at_theta_1(grid: Grid) -> None:
    assert overlap_rate(np.ones(grid.n_cells), [[0, 0, grid.width, grid.height]], theta=1.0, grid=grid) == 1


@pytest.mark.parametrize("rate", [near_player_rate, overlap_rate])
def test_player_rates_of_plain_boxes_player_box_records_or_a_mix_of_both_are_equal(rate: Callable[..., Any]) -> None:
    counts = [1, 2, 3, 4, 0, 0]
    plain = [[0, 0, 5, 30], [22, -5, 30, 20]]
    records = [PlayerBox(x1=0, y1=0, x2=5, y2=30), PlayerBox(x1=22, y1=-5, x2=30, y2=20)]
    expected = rate(counts, plain, grid=GRID)
    assert expected != rate(counts, plain[:1], grid=GRID)
    for players in (records, tuple(records), [records[0], plain[1]], [plain[0], records[1]], np.array(plain)):
        assert rate(counts, players, grid=GRID) == expected


NO_SHARES = (0, -0.1, 1.01, math.nan)
NO_WINDOWS = (((0, 1), (1, 1)), ((2, 1), (1, 1)), ((1, 3), (1, 1)), ((1, 1), (1, 4)))


@pytest.mark.parametrize(
    ("metric", "options", "where"),
    [
        *((near_player_rate, {"tau": share}, "invalid-option:tau") for share in NO_SHARES),
        *((overlap_rate, {"theta": share}, "invalid-option:theta") for share in NO_SHARES),
        *((center_ratio, {"window": window}, "invalid-option:window") for window in NO_WINDOWS),
        # The default window is for another grid.
        (center_ratio, {}, "different-grids"),
    ],
)
def test_strategy_metrics_with_invalid_options_raise_option_error(
    metric: Callable[..., Any], options: dict[str, Any], where: str
) -> None:
    second = [1] * 6 if metric is center_ratio else [[0, 0, 1, 1]]
    with raises(OptionError, where):
        metric([1] * 6, second, grid=GRID, **options)


def test_center_ratio_equals_values_computed_by_hand() -> None:
    # B3, D7 and C5 are in the window, A5, E5, C2 and C8 are not, and one guess is unparsed: 3/7. Two of the four ball
    # cells are in the window.
    answers = ["B3", "D7", "C5", "A5", "E5", "C2", "C8", None]
    assert center_ratio(answers, {"D3", "D4", "E3", "E4"}) == pytest.approx((3 / 7) / (2 / 4), rel=1e-15)
    # The window is the left column: it has 3 of 4 guesses and 2 of 5 ball cells.
    counts, truth = [1, 0, 1, 2, 0, 0], [1, 0, 0, 1, 2, 1]
    found = center_ratio(counts, truth, window=((1, 2), (1, 1)), grid=GRID)
    assert found == pytest.approx((3 / 4) / (2 / 5), rel=1e-15)
    assert center_ratio([1] * 60, [1] * 60, grid=Grid(6, 10, 1280, 720)) == 1
    # If no ball cell is in the default window, B3 to D7, the ratio is undefined.
    inside, grid = {f"{row}{col}" for row in "BCD" for col in range(3, 8)}, Grid.standard()
    assert {label for label, within in zip(grid.labels, window_mask(grid), strict=True) if within} == inside
    assert math.isnan(center_ratio("C5", "A1"))
    assert math.isnan(center_ratio(["C5"], np.zeros(60)))
    assert center_ratio("A1", "C5") == 0


@given(counts=counts(60), truth=counts(60))
def test_center_ratio_equals_a_plain_loop(counts: Array, truth: Array) -> None:
    guessed = true = 0.0
    for row in (2, 3, 4):
        for col in (3, 4, 5, 6, 7):
            index = (row - 1) * 10 + col - 1
            guessed += counts[index] / sum(counts)
            true += truth[index] / sum(truth)
    found = center_ratio(counts, truth)
    if true == 0:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(guessed / true, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("measure", [center_ratio, symmetric_center_bias])
def test_center_metrics_do_not_depend_on_the_form_of_the_ground_truth(measure: Callable[..., Any]) -> None:
    guesses, prior = ["C5", "A1", "F10"], np.zeros(60)
    prior[[24, 34]] = 1
    expected = measure(guesses, prior)
    for truth in (prior.tolist(), prior.astype(int), prior.astype(bool), prior.astype(bool).tolist(), {"C5", "D5"}):
        assert measure(guesses, truth) == expected
    assert measure(guesses, (3 * prior).tolist()) == pytest.approx(expected, rel=1e-12)


def test_symmetric_center_bias_equals_values_computed_by_hand() -> None:
    # The center is (15, 20). A1 (5, 10) is hypot(10, 10) away, and A2 (15, 10) is 10 away.
    found = symmetric_center_bias([1, 3, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], grid=GRID)
    assert found == pytest.approx((math.sqrt(200) + 3 * 10) / 4 / math.sqrt(200), rel=1e-14)
    # On the standard grid, the cells nearest to the center are (32, 30) away, and the corner cells (288, 150).
    found = symmetric_center_bias(["C5", "D6", None], {"A1", "F10", "A10", "F1"})
    assert found == pytest.approx(math.hypot(32, 30) / math.hypot(288, 150), rel=1e-14)


@st.composite
def pools(draw: st.DrawFn) -> tuple[Grid, Array, Array]:
    grid = draw(grids(5, 5))
    return grid, draw(counts(grid.n_cells)), draw(counts(grid.n_cells))


@given(pool=pools())
def test_symmetric_center_bias_equals_a_plain_loop(pool: tuple[Grid, Array, Array]) -> None:
    grid, guesses, truth = pool
    far_guesses = far_truth = 0.0
    for index in range(grid.n_cells):
        row, col = divmod(index, grid.cols)
        # Positions are whole numbers of half cells from the center, so that the middle cell is exactly at 0.
        x, y = (2 * col + 1 - grid.cols) * grid.cell_width / 2, (2 * row + 1 - grid.rows) * grid.cell_height / 2
        far = math.hypot(x, y)
        far_guesses += guesses[index] / sum(guesses) * far
        far_truth += truth[index] / sum(truth) * far
    found = symmetric_center_bias(guesses, truth, grid=grid)
    if far_truth == 0:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(far_guesses / far_truth, rel=1e-12)


@given(pool=pools())
def test_symmetric_center_bias_does_not_change_if_guesses_are_mirrored(pool: tuple[Grid, Array, Array]) -> None:
    grid, guesses, truth = pool
    found = symmetric_center_bias(guesses, truth, grid=grid)
    field = guesses.reshape(grid.rows, grid.cols)
    for mirrored in (field[::-1], field[:, ::-1], field[::-1, ::-1]):
        again = symmetric_center_bias(mirrored.reshape(-1), truth, grid=grid)
        assert again == pytest.approx(found, rel=1e-12, nan_ok=True)


def test_normalized_entropy_equals_values_computed_by_hand() -> None:
    # p = (1/2, 1/4, 1/4) over 8 cells: the entropy is 1/2 * 1 + 1/4 * 2 + 1/4 * 2 bits, and the maximum is 3 bits.
    assert normalized_entropy([2, 1, 1, 0, 0, 0, 0, 0]) == pytest.approx((1 / 2 + 2 / 4 + 2 / 4) / 3, rel=1e-14)
    assert normalized_entropy(["A1", "F10", None, "A1", "F10"]) == pytest.approx(math.log(2) / math.log(60), rel=1e-14)
    # The entropy of a single cell is exactly 0 and not -0, and that of equal cells never exceeds 1.
    for n_cells in range(1, 70):
        assert str(float(normalized_entropy(np.eye(n_cells)[0]))) == "0.0"
        assert n_cells == 1 or 1 - 1e-15 <= normalized_entropy(np.ones(n_cells)) <= 1


@given(mass=st.integers(1, 40).flatmap(masses))
def test_normalized_entropy_equals_scipy(mass: Array) -> None:
    found = normalized_entropy(mass)
    expected = 0.0 if len(mass) == 1 else scipy.stats.entropy(mass) / math.log(len(mass))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert 0 <= found <= 1


@given(mass=st.integers(2, 40).flatmap(counts))
def test_normalized_entropy_is_0_only_for_one_cell_and_1_only_for_equal_cells(mass: Array) -> None:
    found = normalized_entropy(mass)
    assert (found == 0) == (np.count_nonzero(mass) == 1)
    assert (found >= 1 - 1e-12) == (len(set(mass)) == 1)


def test_image_entropy_equals_values_computed_by_hand() -> None:
    # The entropies are 1, 1/2, 0 and undefined. The mean is of the three defined values.
    images = [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]]
    assert image_entropy(images) == pytest.approx((1 + 0.5 + 0) / 3, rel=1e-14)
    # Each image has one certain cell, so its entropy is 0, but the pooled cells differ, so pooled entropy is 1.
    assert normalized_entropy(np.eye(4).sum(axis=0)) == pytest.approx(1, rel=1e-14)
    assert image_entropy(np.eye(4)) == 0
    # The axes before the axis of images are kept.
    found = image_entropy(np.array([[[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 1, 1], [0, 0, 0, 0]], np.zeros((2, 4))]))
    assert found[:2] == pytest.approx([0.25, 1.0])
    assert math.isnan(found[2])
    assert image_entropy(["A1", "A2"]) == normalized_entropy(["A1", "A2"])


@given(images=st.lists(counts(6) | st.just(np.zeros(6)), min_size=1, max_size=5))
def test_image_entropy_equals_a_plain_loop(images: list[Array]) -> None:
    values = [scipy.stats.entropy(image) / math.log(6) for image in images if sum(image)]
    found = image_entropy(np.array(images))
    if values:
        assert found == pytest.approx(sum(values) / len(values), rel=1e-12, abs=1e-15)
    else:
        assert math.isnan(found)
