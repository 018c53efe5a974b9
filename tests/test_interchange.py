"""Test that frames and columns of other libraries give the same results as arrays and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import spotball_core
from spotball_core import DistributionError, Grid, GridError, InputError, Response, Scene, SpotballError, score
from spotball_core.interchange import frame_of, values_of
from spotball_core.metrics.registry import METRICS
from tests.failures import raises

GRID = Grid.standard()
DRAW = np.random.default_rng(0)
MASS = DRAW.multinomial(50, np.full(60, 1 / 60), 4).astype(float)
TRUTH = np.eye(60, dtype=bool)[[3, 30, 31, 59]] | np.eye(60, dtype=bool)[24]
BOXES = np.array([[10, 20, 80, 200], [300, 40, 350, 220.5]])
SCENES = [Scene(sport="s", image=str(i), grid=GRID, ball_cells=["C5"]) for i in range(2)]
ROWS, TRUE = MASS[:2], TRUTH[:2]


def accuracies(guesses: Any, truth: Any = TRUE) -> list[float]:
    return spotball_core.accuracy(guesses, truth).tolist()


PLAIN = accuracies(ROWS)


class Stream:
    """Provide only Arrow data, like the result of a database query."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": lambda columns: Stream(pl.DataFrame(columns)),
}
COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": pd.Series,
    "pandas text": lambda values: pd.Series(values, dtype="string"),
    "polars": pl.Series,
    "numpy": lambda values: np.array(values, dtype=object),
}


class TestFrames:
    @pytest.mark.parametrize("library", FRAMES)
    @pytest.mark.parametrize("key", METRICS)
    def test_metric_of_a_frame_with_one_column_per_cell_matches_the_array(self, library: str, key: str) -> None:
        metric = METRICS[key]
        needed: dict[str, Any] = {"truth": TRUTH, "reference": MASS[::-1], "players": np.stack([BOXES] * 4)}
        others = [needed[need] for need in metric.needs]
        order = np.random.default_rng(1).permutation(60)
        shuffled = FRAMES[library]({GRID.labels[i]: MASS[:, i] for i in order})
        plain = metric.function(MASS, *others)
        assert np.asarray(metric.function(shuffled, *others)).tolist() == pytest.approx(np.asarray(plain).tolist())
        if "truth" in metric.needs:
            truth = FRAMES[library]({GRID.labels[i]: TRUTH[:, i] for i in order})
            assert metric.function(MASS, truth).tolist() == plain.tolist()

    @pytest.mark.parametrize("library", FRAMES)
    def test_frame_without_cell_names_uses_columns_in_order_and_cells_without_a_column_have_no_mass(
        self, library: str
    ) -> None:
        assert accuracies(FRAMES[library]({f"p{i}": ROWS[:, i] for i in range(60)})) == PLAIN
        assert accuracies(FRAMES[library]({"d5": [2.0], "A1": [1.0]}), ["D5"]) == [pytest.approx(2 / 3)]

    @pytest.mark.parametrize("library", FRAMES)
    def test_accuracy_of_a_frame_with_ambiguous_columns_or_text_values_raises_an_error(self, library: str) -> None:
        make = FRAMES[library]
        with raises(GridError, "invalid-grid"):
            spotball_core.accuracy(make({"D5": [1], "d5": [1]}), ["D5"])
        with raises(GridError, "invalid-grid"):
            spotball_core.accuracy(make({"image": [7], "D5": [1]}), ["D5"])
        with raises(DistributionError, "invalid-distribution"):
            spotball_core.accuracy(make({"D5": ["often"], "D6": ["never"]}), ["D5"])
        with raises(DistributionError, "wrong-shape:guesses"):
            spotball_core.accuracy(make({"a": [1], "b": [1], "c": [0]}), ["D5"], grid=GRID)

    @pytest.mark.parametrize("library", COLUMNS)
    @given(labels=st.lists(st.sampled_from([*GRID.labels, None]), min_size=1, max_size=8))
    def test_values_of_a_column_of_labels_equals_the_list_of_labels(
        self, library: str, labels: list[str | None]
    ) -> None:
        column = COLUMNS[library](labels)
        if library in ("pandas", "polars") and all(label is None for label in labels):
            # File readers give a column that has only missing values the type text, so use the same type here.
            column = pd.Series(labels, dtype=object) if library == "pandas" else pl.Series(labels, dtype=pl.String)
        assert values_of(column, GRID) == labels
        assert spotball_core.euclidean_error(column, {"D5"}) == pytest.approx(
            spotball_core.euclidean_error(labels, "D5"), nan_ok=True
        )

    def test_accuracy_of_a_number_column_or_a_frame_with_numbered_columns_equals_that_of_the_array(self) -> None:
        for column in (pd.Series(ROWS[0]), pl.Series(ROWS[0])):
            assert spotball_core.accuracy(column, TRUE[0]) == PLAIN[0]
        assert accuracies(pd.DataFrame(ROWS, index=list("wx"))) == PLAIN

    @pytest.mark.parametrize("library", FRAMES)
    def test_near_player_rate_of_a_frame_of_boxes_equals_that_of_the_array_and_needs_all_four_sides(
        self, library: str
    ) -> None:
        columns = {"y2": BOXES[:, 3], "x1": BOXES[:, 0], "x2": BOXES[:, 2], "y1": BOXES[:, 1]}
        frame = FRAMES[library]({"conf": [0.9, 0.8], **columns})
        assert (
            spotball_core.near_player_rate(MASS, frame).tolist() == spotball_core.near_player_rate(MASS, BOXES).tolist()
        )
        with raises(GridError, "invalid-boxes"):
            spotball_core.near_player_rate(MASS, FRAMES[library]({"x1": [1], "x2": [2], "y1": [1]}))

    @pytest.mark.parametrize("library", FRAMES)
    def test_score_of_a_pandas_polars_or_arrow_frame_equals_score_of_response_records(self, library: str) -> None:
        scenes = [Scene(sport="s", image=str(i), grid=GRID, ball_cells=["C5"]) for i in range(3)]
        cells = ["C5", None, "C6"]
        rows = [Response(sport="s", image=str(i), respondent="me", kind="model", cell=cells[i]) for i in range(3)]
        columns = {"sport": ["s"] * 3, "image": ["0", "1", "2"], "respondent": ["me"] * 3, "cell": cells}
        assert score(FRAMES[library](columns), scenes).groups == score(rows, scenes).groups

    def test_frame_of_converts_a_pandas_frame_without_pyarrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(values: object, **options: Any) -> pl.DataFrame:
            if isinstance(values, pd.DataFrame):
                raise ModuleNotFoundError("No module named 'pyarrow'")
            return real(values, **options)

        real = pl.DataFrame
        monkeypatch.setattr(pl, "DataFrame", refuse)
        frame = frame_of(pd.DataFrame({"cell": ["C5", None], "sample": [1, 2]}))
        assert frame.to_dict(as_series=False) == {"cell": ["C5", None], "sample": [1, 2]}


LISTS: dict[str, Callable[[Any], Any]] = {
    "Polars lists": lambda rows: pl.Series(rows.tolist()),
    "Polars arrays": lambda rows: pl.Series(rows.tolist(), dtype=pl.Array(pl.Float64, 60)),
    "pandas lists": lambda rows: pd.Series(rows.tolist()),
    "pandas arrays": lambda rows: pd.Series(list(rows)),
}


class Tensor:
    """Simulate a tensor that NumPy cannot convert, because it has gradients or is bfloat16."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, dtype=float)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self) -> Tensor:
        return self

    cpu = double = detach

    def numpy(self) -> Any:
        return self.values


def check_tensors(tensor: Callable[[Any], Any]) -> None:
    assert accuracies(tensor(ROWS)) == accuracies(ROWS, tensor(TRUE)) == PLAIN
    near = spotball_core.near_player_rate(ROWS, BOXES.round()).tolist()
    assert spotball_core.near_player_rate(ROWS, tensor(BOXES.round())).tolist() == near
    weights = [1.0, 3.0]
    expected = spotball_core.score_arrays(ROWS, TRUE, sample_weight=weights)
    assert spotball_core.score_arrays(tensor(ROWS), TRUE, sample_weight=tensor(weights)) == expected


class TensorWithoutValues(Tensor):
    """Simulate a tensor that cannot be converted to an array, because it is sparse or has no data."""

    def numpy(self) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


class FrameWithoutArrow:
    """Simulate a frame like those of Modin, with columns and arrays but without Arrow data."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._frame = pd.DataFrame(columns)
        self.columns = self._frame.columns

    def __getitem__(self, name: str) -> pd.Series:
        return self._frame[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_numpy(self) -> Any:
        return self._frame.to_numpy()


MIXED = pd.DataFrame({"image": ["0", "1"], "cell": [34, "C5"]})
TWICE = pd.DataFrame([["0", "C5", "C6"]], columns=["image", "cell", "cell"])


class TestTypesOfColumns:
    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "Float32", "UInt8"])
    def test_accuracy_of_a_nullable_pandas_frame_equals_that_of_the_array_and_missing_values_raise_an_error(
        self, dtype: str
    ) -> None:
        for names in ([f"p{i}" for i in range(60)], GRID.labels):
            frame = pd.DataFrame(ROWS, columns=list(names)).astype(dtype)
            assert accuracies(frame) == PLAIN
            assert accuracies(ROWS, pd.DataFrame(TRUE, columns=list(names)).astype("boolean")) == PLAIN
            frame.iloc[0, 0] = pd.NA
            with pytest.raises(DistributionError):
                spotball_core.accuracy(frame, TRUE)

    @pytest.mark.parametrize("dtype", ["Int64", "Float64"])
    def test_near_player_rate_of_nullable_pandas_boxes_equals_plain_boxes_and_missing_values_raise_grid_error(
        self, dtype: str
    ) -> None:
        whole = pd.DataFrame(BOXES.round(), columns=["x1", "y1", "x2", "y2"])
        frame = whole.astype(dtype).assign(name=["a", "b"])
        expected = spotball_core.near_player_rate(ROWS, whole).tolist()
        assert spotball_core.near_player_rate(ROWS, frame).tolist() == expected
        frame.loc[0, "x1"] = pd.NA
        with raises(GridError, "invalid-boxes"):
            spotball_core.near_player_rate(ROWS, frame)
        with raises(GridError, "invalid-boxes"):
            spotball_core.near_player_rate(ROWS, whole.assign(x1=["left", "right"]))

    @pytest.mark.parametrize("dtype", ["int64[pyarrow]", "double[pyarrow]"])
    def test_accuracy_of_arrow_backed_pandas_data_equals_that_of_the_array(self, dtype: str) -> None:
        pa = pytest.importorskip("pyarrow", reason="needs PyArrow")
        assert accuracies(pd.DataFrame(ROWS, columns=list(GRID.labels)).astype(dtype)) == PLAIN
        assert spotball_core.accuracy(pd.Series(["D5", None], dtype="string[pyarrow]"), "D5") == 0.5
        assert accuracies(pd.Series(ROWS.tolist(), dtype=pd.ArrowDtype(pa.list_(pa.float64())))) == PLAIN

    def test_accuracy_of_pyarrow_arrays_equals_that_of_the_array_and_a_missing_value_raises_an_error(self) -> None:
        pa = pytest.importorskip("pyarrow", reason="needs PyArrow")
        labels = pa.array(["D5", None])
        for column in (labels, labels.dictionary_encode(), pa.chunked_array([labels])):
            assert spotball_core.accuracy(column, "D5") == 0.5
        for kind in (pa.list_(pa.float64()), pa.list_(pa.float64(), 60)):
            assert accuracies(pa.array(ROWS.tolist(), type=kind)) == PLAIN
        assert spotball_core.accuracy(pa.array(ROWS[0]), TRUE[0]) == PLAIN[0]
        with pytest.raises(DistributionError):
            spotball_core.accuracy(pa.array([*ROWS[0][1:], None]), TRUE[0])

    @pytest.mark.parametrize("library", LISTS)
    def test_accuracy_and_score_arrays_of_columns_of_lists_equal_those_of_the_array(self, library: str) -> None:
        column = LISTS[library](ROWS)
        assert accuracies(column) == accuracies(ROWS, LISTS[library](TRUE.astype(float))) == PLAIN
        assert spotball_core.score_arrays(column, TRUE) == spotball_core.score_arrays(ROWS, TRUE)

    @pytest.mark.parametrize("library", FRAMES)
    def test_score_reads_lists_in_a_frame_column_as_distributions(self, library: str) -> None:
        shares = (ROWS / ROWS.sum(axis=1, keepdims=True)).tolist()
        found = score(FRAMES[library]({"image": ["0", "1"], "probabilities": shares}), SCENES, bootstrap=0)
        assert found.groups[0].metrics["accuracy"].value == pytest.approx((ROWS[:, 24] / ROWS.sum(axis=1)).mean())

    def test_score_reads_arrays_or_mappings_in_a_pandas_column_as_distributions(self) -> None:
        for shares in (list(np.eye(60)[[24, 25]].astype(np.float16)), [{"C5": 1.0}, {"C5": 0.0, "C6": 1.0}][::-1]):
            found = score(pd.DataFrame({"image": ["0", "1"], "probabilities": shares}), SCENES, bootstrap=0)
            assert found.groups[0].metrics["accuracy"].value == 0.5

    @pytest.mark.parametrize(
        "column",
        [
            pl.Series([[0.5], [0.2, 0.3]]),
            pl.Series([{"D5": 1}, {"D5": 2}]),
            pl.DataFrame({"probabilities": ROWS.tolist()}),
            pd.DataFrame({"probabilities": ROWS.tolist()}),
            [[1, 0], [1]],
            # Cell indices are neither labels nor one number per cell.
            [34, 35],
            pd.Series([34, 35], dtype="Int64"),
            ["D5", 34],
            np.zeros((2, 60), dtype="M8[s]"),
            pl.LazyFrame({"D5": [1]}),
        ],
        ids=str,
    )
    def test_metrics_of_values_that_are_neither_labels_nor_one_number_per_cell_raise_an_error(
        self, column: Any
    ) -> None:
        for call in (
            lambda: spotball_core.accuracy(column, ["D5"], grid=GRID),
            lambda: spotball_core.accuracy(ROWS, column),
            lambda: spotball_core.score_arrays(column, ["D5", "D6"]),
            lambda: spotball_core.Accumulator(SCENES).update(column, ["0", "1"]),
        ):
            with pytest.raises(SpotballError):
                call()

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
    def test_accuracy_of_float16_float32_and_longdouble_arrays_equals_that_of_float64(self, dtype: type) -> None:
        assert accuracies(ROWS.astype(dtype), TRUE.astype(dtype)) == pytest.approx(PLAIN, rel=1e-12)

    def test_metrics_of_simulated_tensors_equal_those_of_arrays_and_tensors_without_values_raise_an_error(self) -> None:
        check_tensors(Tensor)
        with raises(DistributionError, "invalid-distribution:guesses"):
            spotball_core.accuracy(TensorWithoutValues(ROWS), TRUE)
        with raises(GridError, "invalid-boxes:players"):
            spotball_core.near_player_rate(ROWS, TensorWithoutValues(BOXES))
        assert accuracies([Tensor(row) for row in ROWS]) == PLAIN

    @pytest.mark.parametrize("requires_grad", [False, True])
    @pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
    def test_metrics_of_torch_tensors_equal_those_of_arrays(self, dtype: str, requires_grad: bool) -> None:
        torch = pytest.importorskip("torch", reason="needs PyTorch")
        options = {"dtype": getattr(torch, dtype), "requires_grad": requires_grad}
        check_tensors(lambda values: torch.tensor(np.asarray(values, dtype=float), **options))

    @pytest.mark.parametrize("kind", ["sparse", "meta"])
    def test_accuracy_of_a_sparse_or_meta_torch_tensor_raises_distribution_error(self, kind: str) -> None:
        torch = pytest.importorskip("torch", reason="needs PyTorch")
        tensor = torch.tensor(ROWS).to_sparse() if kind == "sparse" else torch.tensor(ROWS, device="meta")
        with raises(DistributionError, "invalid-distribution:guesses"):
            spotball_core.accuracy(tensor, TRUE)

    def test_score_and_accuracy_accept_a_frame_without_arrow_data(self) -> None:
        frame = FrameWithoutArrow({"image": ["0", "1"], "cell": ["C5", None]})
        assert score(frame, SCENES, bootstrap=0).groups[0].metrics["accuracy"].value == 0.5
        assert accuracies(FrameWithoutArrow(dict(zip(GRID.labels, ROWS.T, strict=True)))) == PLAIN

    @pytest.mark.parametrize("library", FRAMES)
    @pytest.mark.parametrize("indices", [[24, 25], [24.0, None]], ids=["integers", "floats"])
    def test_score_of_a_frame_with_cell_indices_raises_input_error_and_with_nan_counts_unparsed_responses(
        self, library: str, indices: list[Any]
    ) -> None:
        with raises(InputError, "misread-answers:cell"):
            score(FRAMES[library]({"image": ["0", "1"], "cell": indices}), SCENES)
        missing = score(FRAMES[library]({"image": ["0", "1"], "cell": np.full(2, np.nan)}), SCENES, bootstrap=0)
        assert missing.groups[0].n_unparsed == 2

    def test_score_of_a_parquet_file_with_cell_indices_raises_input_error(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        pl.DataFrame({"image": ["0", "1"], "cell": [None, 25]}).write_parquet(path)
        with raises(InputError, "misread-answers:cell"):
            score(path, SCENES)

    def test_score_reads_the_path_of_an_image_of_the_library_datasets(self, tmp_path: Path) -> None:
        images = [{"bytes": b"\xff\xd8", "path": f"{image}.jpg"} for image in ("0", "1")]
        pl.DataFrame({"image": images, "cell": ["C5", "A1"]}).write_parquet(tmp_path / "a.parquet")
        assert score(tmp_path / "a.parquet", SCENES, bootstrap=0).groups[0].n_images == 2

    @pytest.mark.parametrize("frame", [MIXED, TWICE, pd.Series(["C5"])], ids=["mixed", "twice", "column"])
    def test_score_of_mixed_cell_types_or_a_repeated_column_or_a_series_raises_input_error(self, frame: Any) -> None:
        with raises(InputError, "missing-column:columns"):
            score(frame, SCENES)
