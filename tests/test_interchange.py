"""Frames and columns of other libraries give what arrays and labels give."""

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

GRID = Grid.standard()
DRAW = np.random.default_rng(0)
MASS = DRAW.multinomial(50, np.full(60, 1 / 60), 4).astype(float)
TRUTH = np.eye(60, dtype=bool)[[3, 30, 31, 59]] | np.eye(60, dtype=bool)[24]
BOXES = np.array([[10, 20, 80, 200], [300, 40, 350, 220.5]])


class Stream:
    """Arrow data and nothing else, as a database's result has it."""

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


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("key", METRICS)
def test_a_frame_with_a_column_a_cell_is_the_array(library: str, key: str) -> None:
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
def test_columns_without_cells_names_stand_in_order(library: str) -> None:
    frame = FRAMES[library]({f"p{i}": MASS[:, i] for i in range(60)})
    assert spotball_core.accuracy(frame, TRUTH).tolist() == spotball_core.accuracy(MASS, TRUTH).tolist()


def test_a_pandas_frame_of_an_array() -> None:
    frame = pd.DataFrame(MASS, index=list("wxyz"))
    assert spotball_core.accuracy(frame, TRUTH).tolist() == spotball_core.accuracy(MASS, TRUTH).tolist()


@pytest.mark.parametrize("library", FRAMES)
def test_cells_without_a_column_hold_nothing(library: str) -> None:
    frame = FRAMES[library]({"d5": [2.0], "A1": [1.0]})
    assert spotball_core.accuracy(frame, ["D5"]).tolist() == [pytest.approx(2 / 3)]


@pytest.mark.parametrize("library", FRAMES)
def test_frames_that_are_unclear(library: str) -> None:
    make = FRAMES[library]
    with pytest.raises(GridError, match="two columns have the name of cell D5"):
        spotball_core.accuracy(make({"D5": [1], "d5": [1]}), ["D5"])
    with pytest.raises(GridError, match="but the column 'image' is not"):
        spotball_core.accuracy(make({"image": [7], "D5": [1]}), ["D5"])
    with pytest.raises(DistributionError, match="contains values that are not numbers"):
        spotball_core.accuracy(make({"D5": ["often"], "D6": ["never"]}), ["D5"])
    with pytest.raises(DistributionError, match="3 values"):
        spotball_core.accuracy(make({"a": [1], "b": [1], "c": [0]}), ["D5"], grid=GRID)


@pytest.mark.parametrize("library", COLUMNS)
@given(labels=st.lists(st.sampled_from([*GRID.labels, None]), min_size=1, max_size=8))
def test_a_column_of_labels_is_the_list(library: str, labels: list[str | None]) -> None:
    column = COLUMNS[library](labels)
    if all(label is None for label in labels):
        # As files have them: a column of text, all of it missing.
        texts = {
            "pandas": lambda: pd.Series(labels, dtype=object),
            "polars": lambda: pl.Series(labels, dtype=pl.String),
        }
        column = texts[library]() if library in texts else column
    assert values_of(column, GRID) == labels
    assert spotball_core.euclidean_error(column, {"D5"}) == pytest.approx(
        spotball_core.euclidean_error(labels, "D5"), nan_ok=True
    )


def test_a_column_of_numbers_is_an_array() -> None:
    for column in (pd.Series(MASS[0]), pl.Series(MASS[0])):
        assert spotball_core.accuracy(column, TRUTH[0]) == spotball_core.accuracy(MASS[0], TRUTH[0])


@pytest.mark.parametrize("library", FRAMES)
def test_boxes_by_their_sides(library: str) -> None:
    frame = FRAMES[library](
        {"conf": [0.9, 0.8], "y2": BOXES[:, 3], "x1": BOXES[:, 0], "x2": BOXES[:, 2], "y1": BOXES[:, 1]}
    )
    assert spotball_core.near_player_rate(MASS, frame).tolist() == spotball_core.near_player_rate(MASS, BOXES).tolist()
    with pytest.raises(GridError, match="Add y2"):
        spotball_core.near_player_rate(MASS, FRAMES[library]({"x1": [1], "x2": [2], "y1": [1]}))


@pytest.mark.parametrize("library", FRAMES)
def test_responses_from_any_frame(library: str) -> None:
    scenes = [Scene(sport="s", image=str(i), grid=GRID, ball_cells=["C5"]) for i in range(3)]
    cells = ["C5", None, "C6"]
    rows = [Response(sport="s", image=str(i), respondent="me", kind="model", cell=cells[i]) for i in range(3)]
    columns = {"sport": ["s"] * 3, "image": ["0", "1", "2"], "respondent": ["me"] * 3, "cell": cells}
    assert score(FRAMES[library](columns), scenes).groups == score(rows, scenes).groups


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(values: object, **options: Any) -> pl.DataFrame:
        if isinstance(values, pd.DataFrame):
            raise ModuleNotFoundError("No module named 'pyarrow'")
        return real(values, **options)

    real = pl.DataFrame
    monkeypatch.setattr(pl, "DataFrame", refuse)
    frame = frame_of(pd.DataFrame({"cell": ["C5", None], "sample": [1, 2]}))
    assert frame.to_dict(as_series=False) == {"cell": ["C5", None], "sample": [1, 2]}


# Types of columns: they give what arrays give, or raise an error of ours ----------------------------------------------

SCENES = [Scene(sport="s", image=str(i), grid=GRID, ball_cells=["C5"]) for i in range(2)]
ROWS, TRUE = MASS[:2], TRUTH[:2]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "Float32", "UInt8"])
def test_nullable_frames(dtype: str) -> None:
    plain = spotball_core.accuracy(ROWS, TRUE).tolist()
    for names in ([f"p{i}" for i in range(60)], GRID.labels):
        frame = pd.DataFrame(ROWS, columns=list(names)).astype(dtype)
        assert spotball_core.accuracy(frame, TRUE).tolist() == plain
        assert spotball_core.accuracy(ROWS, pd.DataFrame(TRUE, columns=list(names)).astype("boolean")).tolist() == plain
        frame.iloc[0, 0] = pd.NA
        with pytest.raises(DistributionError):
            spotball_core.accuracy(frame, TRUE)


@pytest.mark.parametrize("dtype", ["Int64", "Float64"])
def test_nullable_boxes(dtype: str) -> None:
    whole = pd.DataFrame(BOXES.round(), columns=["x1", "y1", "x2", "y2"])
    frame = whole.astype(dtype).assign(name=["a", "b"])
    expected = spotball_core.near_player_rate(ROWS, whole).tolist()
    assert spotball_core.near_player_rate(ROWS, frame).tolist() == expected
    frame.loc[0, "x1"] = pd.NA
    with pytest.raises(GridError, match="must contain numbers"):
        spotball_core.near_player_rate(ROWS, frame)
    with pytest.raises(GridError, match="must contain numbers"):
        spotball_core.near_player_rate(ROWS, whole.assign(x1=["left", "right"]))


@pytest.mark.parametrize("dtype", ["int64[pyarrow]", "double[pyarrow]"])
def test_arrow_backed_frames(dtype: str) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs PyArrow")
    frame = pd.DataFrame(ROWS, columns=list(GRID.labels)).astype(dtype)
    assert spotball_core.accuracy(frame, TRUE).tolist() == spotball_core.accuracy(ROWS, TRUE).tolist()
    labels = pd.Series(["D5", None], dtype="string[pyarrow]")
    assert spotball_core.accuracy(labels, "D5") == 0.5
    lists = pd.Series(ROWS.tolist(), dtype=pd.ArrowDtype(pa.list_(pa.float64())))
    assert spotball_core.accuracy(lists, TRUE).tolist() == spotball_core.accuracy(ROWS, TRUE).tolist()


def test_arrays_of_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow", reason="needs PyArrow")
    labels = pa.array(["D5", None])
    for column in (labels, labels.dictionary_encode(), pa.chunked_array([labels])):
        assert spotball_core.accuracy(column, "D5") == 0.5
    expected = spotball_core.accuracy(ROWS, TRUE).tolist()
    for kind in (pa.list_(pa.float64()), pa.list_(pa.float64(), 60)):
        assert spotball_core.accuracy(pa.array(ROWS.tolist(), type=kind), TRUE).tolist() == expected
    assert spotball_core.accuracy(pa.array(ROWS[0]), TRUE[0]) == expected[0]
    with pytest.raises(DistributionError):
        spotball_core.accuracy(pa.array([*ROWS[0][1:], None]), TRUE[0])


LISTS: dict[str, Callable[[Any], Any]] = {
    "Polars lists": lambda rows: pl.Series(rows.tolist()),
    "Polars arrays": lambda rows: pl.Series(rows.tolist(), dtype=pl.Array(pl.Float64, 60)),
    "pandas lists": lambda rows: pd.Series(rows.tolist()),
    "pandas arrays": lambda rows: pd.Series(list(rows)),
}


@pytest.mark.parametrize("library", LISTS)
def test_columns_of_lists(library: str) -> None:
    column = LISTS[library](ROWS)
    assert spotball_core.accuracy(column, TRUE).tolist() == spotball_core.accuracy(ROWS, TRUE).tolist()
    assert spotball_core.score_arrays(column, TRUE) == spotball_core.score_arrays(ROWS, TRUE)
    truth = LISTS[library](TRUE.astype(float))
    assert spotball_core.accuracy(ROWS, truth).tolist() == spotball_core.accuracy(ROWS, TRUE).tolist()


@pytest.mark.parametrize("library", FRAMES)
def test_distributions_as_lists_in_a_frame(library: str) -> None:
    shares = (ROWS / ROWS.sum(axis=1, keepdims=True)).tolist()
    found = score(FRAMES[library]({"image": ["0", "1"], "probabilities": shares}), SCENES, bootstrap=0)
    assert found.groups[0].metrics["accuracy"].value == pytest.approx((ROWS[:, 24] / ROWS.sum(axis=1)).mean())


def test_distributions_of_pandas_in_other_forms() -> None:
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
        # Indices of cells: neither labels nor a number per cell.
        [34, 35],
        pd.Series([34, 35], dtype="Int64"),
        ["D5", 34],
        np.zeros((2, 60), dtype="M8[s]"),
        pl.LazyFrame({"D5": [1]}),
    ],
    ids=str,
)
def test_what_is_neither_labels_nor_numbers(column: Any) -> None:
    for call in (
        lambda: spotball_core.accuracy(column, ["D5"], grid=GRID),
        lambda: spotball_core.accuracy(ROWS, column),
        lambda: spotball_core.score_arrays(column, ["D5", "D6"]),
        lambda: spotball_core.Accumulator(SCENES).update(column, ["0", "1"]),
    ):
        with pytest.raises(SpotballError):
            call()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_floats_of_other_sizes(dtype: type) -> None:
    assert spotball_core.accuracy(ROWS.astype(dtype), TRUE.astype(dtype)).tolist() == pytest.approx(
        spotball_core.accuracy(ROWS, TRUE).tolist(), rel=1e-12
    )


class Tensor:
    """A tensor as NumPy sees one that has gradients or is bfloat16."""

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
    plain = spotball_core.accuracy(ROWS, TRUE).tolist()
    assert spotball_core.accuracy(tensor(ROWS), TRUE).tolist() == plain
    assert spotball_core.accuracy(ROWS, tensor(TRUE)).tolist() == plain
    near = spotball_core.near_player_rate(ROWS, BOXES.round()).tolist()
    assert spotball_core.near_player_rate(ROWS, tensor(BOXES.round())).tolist() == near
    weights = [1.0, 3.0]
    expected = spotball_core.score_arrays(ROWS, TRUE, sample_weight=weights)
    assert spotball_core.score_arrays(tensor(ROWS), TRUE, sample_weight=tensor(weights)) == expected


class TensorWithoutValues(Tensor):
    """A tensor that cannot be made an array: sparse, or without data."""

    def numpy(self) -> Any:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


def test_tensors() -> None:
    check_tensors(Tensor)
    with pytest.raises(DistributionError, match="expected labels or an array of numbers"):
        spotball_core.accuracy(TensorWithoutValues(ROWS), TRUE)
    with pytest.raises(GridError, match="expected boxes"):
        spotball_core.near_player_rate(ROWS, TensorWithoutValues(BOXES))
    assert (
        spotball_core.accuracy([Tensor(row) for row in ROWS], TRUE).tolist()
        == spotball_core.accuracy(ROWS, TRUE).tolist()
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_tensors_of_torch(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    check_tensors(lambda values: torch.tensor(np.asarray(values, dtype=float), dtype=getattr(torch, dtype)))
    check_tensors(
        lambda values: torch.tensor(np.asarray(values, dtype=float), dtype=getattr(torch, dtype), requires_grad=True)
    )


@pytest.mark.parametrize("kind", ["sparse", "meta"])
def test_tensors_of_torch_without_values(kind: str) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    tensor = torch.tensor(ROWS).to_sparse() if kind == "sparse" else torch.tensor(ROWS, device="meta")
    with pytest.raises(DistributionError, match="expected labels or an array of numbers"):
        spotball_core.accuracy(tensor, TRUE)


class FrameWithoutArrow:
    """A frame as Modin has it: columns and their arrays, but no Arrow data."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._frame = pd.DataFrame(columns)
        self.columns = self._frame.columns

    def __getitem__(self, name: str) -> pd.Series:
        return self._frame[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_numpy(self) -> Any:
        return self._frame.to_numpy()


def test_frames_without_arrow_data() -> None:
    frame = FrameWithoutArrow({"image": ["0", "1"], "cell": ["C5", None]})
    assert score(frame, SCENES, bootstrap=0).groups[0].metrics["accuracy"].value == 0.5
    cells = FrameWithoutArrow(dict(zip(GRID.labels, ROWS.T, strict=True)))
    assert spotball_core.accuracy(cells, TRUE).tolist() == spotball_core.accuracy(ROWS, TRUE).tolist()


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("indices", [[24, 25], [24.0, None]], ids=["integers", "floats"])
def test_responses_with_indices_of_cells(library: str, indices: list[Any]) -> None:
    with pytest.raises(InputError, match="cell: found numbers such as 24, expected labels such as D5"):
        score(FRAMES[library]({"image": ["0", "1"], "cell": indices}), SCENES)
    missing = score(FRAMES[library]({"image": ["0", "1"], "cell": np.full(2, np.nan)}), SCENES, bootstrap=0)
    assert missing.groups[0].n_unparsed == 2


def test_a_parquet_file_with_indices_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"image": ["0", "1"], "cell": [None, 25]}).write_parquet(path)
    with pytest.raises(InputError, match=r"a\.parquet: cell: found numbers such as 25"):
        score(path, SCENES)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (pd.DataFrame({"image": ["0", "1"], "cell": [34, "C5"]}), "one type of values"),
        (pd.DataFrame([["0", "C5", "C6"]], columns=["image", "cell", "cell"]), "column names are unique"),
        (pd.Series(["C5"]), "column"),
    ],
    ids=["mixed", "twice", "column"],
)
def test_frames_that_are_no_responses(frame: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        score(frame, SCENES)
