"""Test the grid against plain loops, and its geometry against Shapely."""

from __future__ import annotations

import itertools
import math
import string
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from spotball_core.errors import DistributionError, GridError, SpotballError
from spotball_core.grid import Grid, parse_label, row_name, row_number
from tests.conftest import examples
from tests.failures import raises
from tests.shapes import as_shape, cells

STANDARD = Grid.standard()
GRIDS = (STANDARD, Grid(7, 13, 641, 359), Grid(1, 1, 5, 3), Grid(1, 9, 100, 33.3), Grid(30, 2, 0.7, 1234.5))

sizes = st.integers(1, 2000) | st.floats(0.01, 5000)
grids = st.builds(Grid, rows=st.integers(1, 13), cols=st.integers(1, 13), width=sizes, height=sizes)


@st.composite
def boxes(draw: st.DrawFn, grid: Grid) -> tuple[float, float, float, float]:
    """Draw boxes inside the image, on cell edges, without area, partly or completely outside, or larger than it."""

    def interval(size: float, parts: int) -> tuple[float, float]:
        edges = st.integers(-1, parts + 1).map(lambda edge: edge * size / parts)
        anywhere = st.floats(-1.5, 2.5).map(lambda share: share * size)
        low, high = sorted((draw(edges | anywhere), draw(edges | anywhere)))
        return (low, low) if draw(st.integers(0, 5)) == 0 else (low, high)

    x1, x2 = interval(grid.width, grid.cols)
    y1, y2 = interval(grid.height, grid.rows)
    return x1, y1, x2, y2


@st.composite
def grids_with_boxes(draw: st.DrawFn) -> tuple[Grid, tuple[float, float, float, float]]:
    grid = draw(grids)
    return grid, draw(boxes(grid))


INVALID: list[dict[str, Any]] = [{"rows": n} for n in (0, -1, 2.5, True, "6", None)] + [{"cols": n} for n in (0, 3.0)]
INVALID += [{side: pixels} for side in ("width", "height") for pixels in (0, -1, math.nan, math.inf)]


class TestLabels:
    def test_grid_labels_name_the_row_after_z_aa_and_the_row_after_zz_aaa(self) -> None:
        names = ["".join(letters) for n in (1, 2, 3) for letters in itertools.product(string.ascii_uppercase, repeat=n)]
        assert names[26] == "AA"
        assert names[702] == "AAA"

        grid = Grid(rows=800, cols=3, width=30, height=800)

        assert grid.labels == tuple(f"{name}{col}" for name in names[:800] for col in (1, 2, 3))
        assert [row_name(row) for row in range(1, 801)] == names[:800]
        assert [row_number(name) for name in names[:800]] == list(range(1, 801))

    @given(rows=st.integers(1, 20_000), cols=st.integers(1, 5), data=st.data())
    def test_label_position_and_index_of_a_cell_agree(self, rows: int, cols: int, data: st.DataObject) -> None:
        grid = Grid(rows, cols, 640, 360)
        row, col = data.draw(st.integers(1, rows)), data.draw(st.integers(1, cols))
        index = (row - 1) * cols + col - 1
        label = grid.label((row, col))

        assert label == label.upper()
        for name in ((row, col), index, label, label.lower(), f"{col}{row_name(row)}", f" {row_name(row)} {col} "):
            assert grid.position(name) == (row, col)
            assert grid.index(name) == index
            assert grid.label(name) == label

    @pytest.mark.parametrize(
        "cell", ["D5", "5D", "d5", "5d", " D 5 ", "\tD5\n", "D05", (4, 5), 34, np.int64(34), (np.int32(4), np.int64(5))]
    )
    def test_position_index_and_label_accept_every_spelling_of_a_cell(self, cell: str | int | tuple[int, int]) -> None:
        assert STANDARD.position(cell) == (4, 5)
        assert STANDARD.index(cell) == 34
        assert STANDARD.label(cell) == "D5"
        assert all(type(number) is int for number in STANDARD.position(cell))

    @pytest.mark.parametrize(
        "text",
        ["", " ", "D", "5", "D-5", "D5E", "5D5", "D5.0", "D,5", "Ä5", "D٥", "D5\x00", "A" + "9" * 5000, "A" * 5000],
    )
    def test_parse_label_and_index_of_text_that_is_not_a_label_raise_grid_error(self, text: str) -> None:
        for parse in (parse_label, STANDARD.index):
            with raises(GridError, "invalid-cell"):
                parse(text)

    @pytest.mark.parametrize(
        "cell",
        [
            *("D0", "0D", "G1", "A11", "AA1", "A999999999", -1, 60, (0, 1), (7, 1), (1, 0), (1, 11)),
            *(3.7, 3.0, (4.5, 5), (4, 5.0), (4,), (4, 5, 6), ("D", 5), None, [4, 5]),
        ],
    )
    def test_cell_outside_the_grid_or_of_a_wrong_type_raises_grid_error(self, cell: object) -> None:
        for ask in (STANDARD.position, STANDARD.index, STANDARD.label, lambda cell: STANDARD.mask(["A1", cell])):
            with pytest.raises(GridError):
                ask(cell)  # type: ignore[arg-type]

    def test_grid_error_is_a_value_error_with_a_code(self) -> None:
        assert issubclass(GridError, SpotballError)
        assert issubclass(GridError, ValueError)
        with raises(GridError, "outside-grid"):
            STANDARD.index("G1")
        with raises(GridError, "invalid-grid:row"):
            row_name(0)

    @pytest.mark.parametrize("bad", INVALID, ids=str)
    def test_grid_with_an_invalid_shape_or_size_raises_grid_error(self, bad: dict[str, Any]) -> None:
        (field,) = bad
        with raises(GridError, f"invalid-grid:{field}"):
            Grid(**{"rows": 6, "cols": 10, "width": 640, "height": 360, **bad})

    def test_standard_grid_has_6_x_10_cells_and_640_x_360_pixels(self) -> None:
        assert str(STANDARD) == "6x10@640x360"
        assert (STANDARD.n_cells, STANDARD.cell_width, STANDARD.cell_height) == (60, 64.0, 60.0)
        assert STANDARD.cell_area == 64 * 60
        assert STANDARD.diagonal == pytest.approx(math.sqrt(640**2 + 360**2), rel=1e-15)
        assert Grid(6, 10, 640.0, 360.0) == STANDARD
        assert hash(Grid(6, 10, 640.0, 360.0)) == hash(STANDARD)
        assert Grid(6, 10, 641, 360) != STANDARD

    def test_mask_accepts_any_spelling_and_number_of_cells(self) -> None:
        assert np.flatnonzero(STANDARD.mask(["D5", "5d", (1, 1), 59])).tolist() == [0, 34, 59]
        assert not STANDARD.mask([]).any()
        assert STANDARD.mask(label for label in ("A1", "A2")).sum() == 2


class TestDistances:
    @pytest.mark.parametrize("grid", GRIDS, ids=str)
    def test_grid_centers_rectangles_and_distances_equal_plain_loops(self, grid: Grid) -> None:
        wide, high = grid.width / grid.cols, grid.height / grid.rows
        centers, rectangles = [], []
        for row in range(grid.rows):
            for col in range(grid.cols):
                centers.append((col * wide + wide / 2, row * high + high / 2))
                rectangles.append((col * wide, row * high, (col + 1) * wide, (row + 1) * high))
        middle = (grid.width / 2, grid.height / 2)
        distances = [[math.dist(a, b) for b in centers] for a in centers]
        in_cells = [[math.hypot((x - u) / wide, (y - v) / high) for u, v in centers] for x, y in centers]

        np.testing.assert_allclose(grid.centers, centers, rtol=1e-12)
        np.testing.assert_allclose(grid.rectangles, rectangles, rtol=1e-12)
        np.testing.assert_allclose(grid.distances, distances, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(grid.cell_distances, in_cells, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(grid.center_distances, [math.dist(c, middle) for c in centers], rtol=1e-9, atol=1e-9)

    @given(grid=grids)
    def test_distances_are_symmetric_and_0_only_for_equal_cells_and_center_distances_are_0_only_in_the_middle(
        self, grid: Grid
    ) -> None:
        np.testing.assert_array_equal(grid.distances, grid.distances.T)
        np.testing.assert_array_equal(grid.distances == 0, np.eye(grid.n_cells, dtype=bool))
        assert grid.distances.max() <= grid.diagonal
        field = grid.center_distances.reshape(grid.rows, grid.cols)
        np.testing.assert_array_equal(field, field[::-1])
        np.testing.assert_array_equal(field, field[:, ::-1])
        middle = field[grid.rows // 2, grid.cols // 2]
        assert (middle == 0) == (grid.rows % 2 == 1 and grid.cols % 2 == 1)

    @pytest.mark.parametrize("name", ["centers", "rectangles", "distances", "cell_distances", "center_distances"])
    def test_grid_arrays_are_cached_and_read_only(self, name: str) -> None:
        grid = Grid(2, 3, 30, 20)
        array = getattr(grid, name)
        assert getattr(grid, name) is array
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        assert grid.labels is grid.labels
        with pytest.raises(AttributeError):
            grid.rows = 3  # type: ignore[misc]


class TestPoints:
    def test_cell_at_a_shared_edge_is_the_cell_right_or_below_and_at_the_image_edge_the_last_cell(self) -> None:
        under = math.nextafter(64, 0)
        for x, y, cell in (
            (0, 0, "A1"),
            (under, 59.999, "A1"),
            (64, 59.999, "A2"),
            (under, 60, "B1"),
            (576, 300, "F10"),
        ):
            assert STANDARD.cell_at(x, y) == cell
        assert [STANDARD.cell_at(x, y) for x, y in ((640, 360), (640, 0), (0, 360))] == ["F10", "A10", "F1"]

    @pytest.mark.parametrize(
        ("x", "y"),
        [
            (-1e-9, 0),
            (math.nextafter(640, 641), 0),
            (0, -1),
            (0, 360.001),
            (math.nan, 0),
            (0, math.inf),
            (-math.inf, 0),
        ],
    )
    def test_indices_at_a_point_outside_the_image_is_minus_1_and_cell_at_raises_grid_error(
        self, x: float, y: float
    ) -> None:
        assert STANDARD.indices_at(x, y) == -1
        with raises(GridError, "outside-grid"):
            STANDARD.cell_at(x, y)

    def test_indices_at_broadcasts_arrays_and_finds_the_cell_of_each_center(self) -> None:
        xs, ys = np.array([[0.0], [100.0], [-1.0]]), np.array([0.0, 60.0])
        assert STANDARD.indices_at(xs, ys).tolist() == [[0, 10], [1, 11], [-1, -1]]
        assert STANDARD.indices_at([], []).shape == (0,)
        for grid in GRIDS:
            assert grid.indices_at(*grid.centers.T).tolist() == list(range(grid.n_cells))

    @given(x=st.floats(0, 640), y=st.floats(0, 360))
    def test_indices_at_on_the_standard_grid_equals_coordinates_divided_by_the_cell_size(
        self, x: float, y: float
    ) -> None:
        row, col = min(int(y // 60), 5), min(int(x // 64), 9)
        assert STANDARD.indices_at(x, y) == row * 10 + col

    @given(grid=grids | st.sampled_from(GRIDS), data=st.data())
    def test_indices_at_agrees_with_the_rectangles(self, grid: Grid, data: st.DataObject) -> None:
        xs, ys = np.unique(grid.rectangles[:, ::2]), np.unique(grid.rectangles[:, 1::2])

        def coordinate(edges: NDArray[Any], size: float) -> float:
            edge = data.draw(st.sampled_from(edges.tolist()))
            near = st.sampled_from([edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf)])
            return data.draw(near | st.floats(0, size))

        x, y = coordinate(xs, grid.width), coordinate(ys, grid.height)
        holding = [
            index
            for index, (x1, y1, x2, y2) in enumerate(grid.rectangles.tolist())
            if (x1 <= x < x2 or x == x2 == grid.width) and (y1 <= y < y2 or y == y2 == grid.height)
        ]

        assert len(holding) <= 1
        assert grid.indices_at(x, y) == (holding[0] if holding else -1)
        assert bool(holding) == (0 <= x <= grid.width and 0 <= y <= grid.height)


def assert_like_shapely(grid: Grid, box: tuple[float, float, float, float]) -> None:
    shape = as_shape(box)
    shares = [area.intersection(shape).area / area.area for _, area in cells(grid)]
    distances = [center.distance(shape) for center, _ in cells(grid)]
    found = grid.box_shares(box)
    np.testing.assert_allclose(found, shares, rtol=1e-9, atol=1e-9)
    assert 0 <= found.min() <= found.max() <= 1
    np.testing.assert_allclose(grid.box_distances(box), distances, rtol=1e-9, atol=1e-9)


WRONG_SHAPES = [[0, 0, 10], [0, 0, 10, 10, 10], 5, [], [[0, 0, 1, 1], [0, 0, 1]], None]
WRONG_VALUES = [[10, 0, 5, 10], [0, 10, 10, 5], [math.nan, 0, 10, 10], [0, 0, math.inf, 10], ["a", "b", "c", "d"]]
WRONG_VALUES.append([-math.inf, -math.inf, math.inf, math.inf])


class TestBoxes:
    @settings(max_examples=examples(150))
    @given(drawn=grids_with_boxes())
    def test_box_shares_and_distances_match_shapely(
        self, drawn: tuple[Grid, tuple[float, float, float, float]]
    ) -> None:
        assert_like_shapely(*drawn)

    @pytest.mark.parametrize(
        "box",
        [
            (64, 60, 128, 120),  # one complete cell, touching eight others
            (64, 60, 64, 120),  # no width, on an edge
            (70, 60, 90, 60),  # no height, on an edge
            (96, 90, 96, 90),  # a point, on a center
            (640, 360, 640, 360),  # a point, in the corner
            (-50, -50, 0, 0),  # touches the image's corner from outside
            (-50, 100, 30.5, 250),  # partly outside
            (700, 400, 800, 500),  # completely outside
            (-10, -10, 650, 370),  # larger than the image
            (1e-12, 1e-12, 640 - 1e-12, 360 - 1e-12),
        ],
    )
    def test_box_shares_and_distances_of_edge_cases_match_shapely(self, box: tuple[float, float, float, float]) -> None:
        assert_like_shapely(STANDARD, box)

    @given(grid=grids)
    def test_box_as_large_as_the_image_or_larger_covers_each_cell_completely(self, grid: Grid) -> None:
        for margin in (0, 1.5):
            box = (-margin, -margin, grid.width + margin, grid.height + margin)
            assert (grid.box_shares(box) == 1.0).all()
            assert (grid.box_distances(box) == 0.0).all()

    def test_missing_box_has_zero_shares_and_infinite_distances(self) -> None:
        rows = np.array([[[0, 0, 64, 60], [np.nan] * 4], [[np.nan] * 4, [640, 0, 640, 360]]])
        shares, distances = STANDARD.box_shares(rows), STANDARD.box_distances(rows)

        assert shares.shape == distances.shape == (2, 2, 60)
        assert shares[0, 0].tolist() == [1.0] + [0.0] * 59
        assert not shares[0, 1].any()
        assert not shares[1].any()
        assert np.isposinf(distances[0, 1]).all()
        assert np.isposinf(distances[1, 0]).all()
        assert distances[0, 0, 1] == 32
        assert distances[1, 1, :10].tolist() == [640 - 32 - 64 * col for col in range(10)]
        assert STANDARD.box_shares(np.empty((0, 4))).shape == (0, 60)

    @pytest.mark.parametrize("box", [*WRONG_SHAPES, *WRONG_VALUES], ids=repr)
    def test_invalid_box_raises_grid_error(self, box: object) -> None:
        for measure in (STANDARD.box_shares, STANDARD.box_distances):
            with pytest.raises(GridError):
                measure(box)  # type: ignore[arg-type]

    def test_cells_in_a_box_returns_the_covered_share_of_each_cell_above_min_share(self) -> None:
        grid = Grid(2, 2, 20, 20)
        # Cells have 10 x 10 pixels. The box covers 5 x 10, 2 x 10, 5 x 1 and 2 x 1 pixels of the four cells.
        box = (5, 0, 12, 11)
        assert grid.cells_in(box) == pytest.approx({"A1": 0.5, "A2": 0.2, "B1": 0.05, "B2": 0.02})
        assert list(grid.cells_in(box, min_share=0.2)) == ["A1"]
        assert list(grid.cells_in(box, min_share=0.03)) == ["A1", "A2", "B1"]
        assert grid.cells_in((5, 5, 5, 15)) == {}

    def test_box_shares_treat_masked_boxes_as_missing_and_partly_masked_values_raise_grid_error(self) -> None:
        boxes = np.array([[0, 0, 64, 60], [64, 0, 128, 60]])
        masked = np.ma.array(boxes, mask=[[True] * 4, [False] * 4])
        np.testing.assert_array_equal(STANDARD.box_shares(masked), STANDARD.box_shares([[math.nan] * 4, boxes[1]]))
        assert np.isinf(STANDARD.box_distances(masked)[0]).all()
        for use in (STANDARD.box_shares, STANDARD.box_distances):
            with raises(GridError, "invalid-grid:boxes"):
                use(np.ma.masked_equal(boxes, 60))
        with raises(GridError, "invalid-grid:x, y"):
            STANDARD.indices_at(np.ma.array([1.0, 2.0], mask=[False, True]), [1, 2])


def pooled_by_loop(array: NDArray[Any], rows: int, cols: int) -> list[Fraction]:
    """Return for each cell the sum of the pixels' values, weighted by the share of each pixel inside the cell."""
    height, width = array.shape
    sums = [Fraction(0)] * (rows * cols)

    def share(pixel: int, pixels: int, cell: int, cells: int) -> Fraction:
        start, end = Fraction(pixel, pixels), Fraction(pixel + 1, pixels)
        return max(Fraction(0), min(end, Fraction(cell + 1, cells)) - max(start, Fraction(cell, cells))) * pixels

    for i, j in np.ndindex(height, width):
        for row, col in np.ndindex(rows, cols):
            area = share(i, height, row, rows) * share(j, width, col, cols)
            sums[row * cols + col] += Fraction(float(array[i, j])) * area
    return sums


EMPTY = [np.zeros((0, 5)), np.zeros((5, 0)), np.zeros((0, 3, 3))]
INVALID_MAPS = [3.0, [1.0, 2.0], [[1.0, math.nan]], [[1.0, math.inf]], [[1.0, 2.0], [3.0]], [["a", "b"]], None]


class TestMaps:
    @settings(max_examples=examples(60))
    @given(
        rows=st.integers(1, 5),
        cols=st.integers(1, 5),
        height=st.integers(1, 9),
        width=st.integers(1, 9),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_pool_of_a_map_of_any_resolution_equals_a_plain_loop(
        self, rows: int, cols: int, height: int, width: int, seed: int
    ) -> None:
        array = np.random.default_rng(seed).normal(size=(height, width))
        exact = pooled_by_loop(array, rows, cols)

        pooled = Grid(rows, cols, 640, 333).pool(array)

        assert pooled == pytest.approx([float(value) for value in exact], rel=1e-12, abs=1e-12)
        assert pooled.sum() == pytest.approx(array.sum(), rel=1e-12, abs=1e-12)

    def test_pool_sums_pixels_within_cells_exactly_and_divides_pixels_on_a_border_by_area(self) -> None:
        # With 12 x 30 pixels, each cell has 2 x 3 pixels, and sums of whole numbers are exact.
        array = np.arange(360.0).reshape(12, 30)
        expected = array.reshape(6, 2, 10, 3).sum(axis=(1, 3)).ravel()
        assert STANDARD.pool(array).tolist() == expected.tolist()
        assert STANDARD.pool(np.ones((360, 640))).tolist() == [3840.0] * 60
        # The middle pixel is divided among four cells, and the pixels next to it between two.
        assert Grid(2, 2, 100, 100).pool([[0, 2, 0], [0, 4, 0], [0, 0, 8]]).tolist() == [2.0, 2.0, 1.0, 9.0]
        assert Grid(2, 4, 100, 100).pool([[8.0]]).tolist() == [1.0] * 8

    def test_pool_of_several_maps_keeps_leading_axes(self) -> None:
        maps = np.random.default_rng(0).random((2, 3, 7, 11))
        pooled = STANDARD.pool(maps)
        assert pooled.shape == (2, 3, 60)
        for place in np.ndindex(2, 3):
            assert pooled[place] == pytest.approx(STANDARD.pool(maps[place]), rel=1e-12)

    def test_pool_accepts_a_bfloat16_tensor_with_gradients(self) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.ones(12, 30, dtype=torch.bfloat16, requires_grad=True)
        assert STANDARD.pool(tensor).tolist() == [6.0] * 60

    @pytest.mark.parametrize("maps", [*EMPTY, *INVALID_MAPS, np.ma.masked_invalid([[1.0, math.nan]])])
    def test_pool_of_invalid_maps_raises_distribution_error(self, maps: Any) -> None:
        with pytest.raises(DistributionError):
            STANDARD.pool(maps)


class TestLargeGrids:
    @pytest.mark.parametrize("grid", [Grid(70, 90, 640, 360), Grid(1, 5000, 640, 3), Grid(101, 57, 33.3, 1000)])
    def test_distance_sums_by_fourier_transform_equal_sums_of_distances(self, grid: Grid) -> None:
        rng = np.random.default_rng(grid.rows)
        weights = rng.random((2, grid.n_cells)) * (rng.random((2, grid.n_cells)) < [[1.0], [0.5]])
        cells = np.arange(grid.n_cells)
        some = rng.choice(cells, 20, replace=False)
        expected = weights @ grid.distances_between(some, cells).T
        assert grid.distance_sums(weights)[:, some] == pytest.approx(expected, rel=1e-11)

    def test_distance_sums_of_few_cells_are_exact(self) -> None:
        grid = Grid(100, 100, 640, 360)
        weights = np.zeros(grid.n_cells)
        weights[5] = 1
        assert (grid.distance_sums(weights) == grid.distances_from(5)).all()

    def test_grid_with_too_many_cells_or_a_size_beyond_a_float_raises_grid_error(self) -> None:
        with raises(GridError, "too-large:rows, cols"):
            Grid(1001, 1000, 5, 5)
        assert Grid(1000, 1000, 5, 5).n_cells == 10**6
        with raises(GridError, "invalid-grid:width"):
            Grid(6, 10, 10**400, 5)
