"""Test reading responses as counts: all formats against plain loops, and all errors."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings, strategies as st

from spotball_core.counting.counts import PARTS, Counts
from spotball_core.counting.read import read_counts
from spotball_core.counting.responses import Reader
from spotball_core.errors import InputError, OptionError, Problem, SpotballError
from spotball_core.grid import Grid
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.sources import sources_of
from spotball_core.schema import PredictionDistribution, Response, Scene
from tests.builders import as_dict, csv_text, frame, scene, scenes, write_csv, write_jsonl, write_parquet
from tests.conftest import examples
from tests.failures import locations, raises

Row = dict[str, Any]
Answers = list[tuple[Row, int | None]]

GRID = Grid.standard()
KNOWN = [scene("1"), scene("2"), scene("3"), scene("é☃"), scene("1", "basketball"), scene("9", "basketball")]
KEYS = [one.key for one in KNOWN]
WRITERS: dict[str, Callable[..., Path]] = {".jsonl": write_jsonl, ".csv": write_csv, ".parquet": write_parquet}
FORMATS = [*WRITERS, "frame"]
RANDOMS = st.randoms(use_true_random=False)
D5: Row = {"image": "2", "cell": "D5"}


def read(rows: Sequence[Row], format: str, name: str = "me", **options: Any) -> Counts:
    """Return the counts of rows that are written to a file of a format or passed as a data frame."""
    if format == "frame":
        return read_counts(frame(rows), KNOWN, **options)
    with tempfile.TemporaryDirectory() as folder:
        return read_counts(WRITERS[format](Path(folder, name + format), rows), KNOWN, **options)


def cells(counts: Counts) -> dict[int | None, float]:
    return {key[-1]: n for key, n in as_dict(counts).items()}


def spellings(index: int) -> list[str]:
    row, col = "ABCDEF"[index // 10], index % 10 + 1
    return [f"{row}{col}", f"{row.lower()}{col}", f"{col}{row}", f" {col} {row.lower()} ", f"{row}0{col}"]


def fails(
    paths: Path | list[Path], known: Sequence[Scene] = KNOWN, *, where: str | None = None, file: Path | None = None
) -> InputError:
    """Return the error that reading the files raises. Check its location and its first file if they are given."""
    with pytest.raises(InputError) as error:
        read_counts(paths, known)
    assert where is None or where in locations(error.value), sorted(locations(error.value))
    assert file is None or error.value.file == str(file)
    return error.value


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    """Generate responses without duplicates, with cells in any spelling, and the index of each cell."""
    respondents, prompts = st.sampled_from(["gemini", "ünï", "you"]), st.sampled_from(["base", "cot"])
    answer = st.tuples(st.sampled_from(KEYS), respondents, prompts, st.none() | st.integers(0, 59), RANDOMS)
    drawn = draw(st.lists(answer, min_size=1, max_size=12))
    rows: Answers = []
    for number, ((sport, image), respondent, prompt, index, rng) in enumerate(drawn, start=1):
        text = rng.choice(["ERROR", "G1", "A11", "row 4", "Ä1", "0A"] if index is None else spellings(index))
        kind = "baseline" if respondent == "you" else "model"
        row = {"sport": sport, "image": image, "respondent": respondent, "kind": kind, "prompt": prompt}
        rows.append(({**row, "sample": number, "cell": rng.choice([None, text]) if index is None else text}, index))
    return rows


def counted(rows: Answers) -> dict[Any, float]:
    keys = ("sport", "image", "respondent", "kind", "prompt")
    return dict(Counter((*(row[key] for key in keys), index) for row, index in rows))


SPELLED = (
    "Row D, Column 5",
    "row D col 5",
    "D-5",
    "D, 5",
    "(D, 5)",
    "**D5**",
    "$D5$",
    r"\boxed{D5}",
    r"$\boxed{D5}$",
    "D5.",
    "`5D`",
    "\uff24\uff15",
    "D\u200b5",
    "row 4, column 5",
    "R4C5",
    "$D$5",
)
"""Spellings of D5 with signs or words that are not part of the label."""

POSITIONS = [(1, 1), (4, 5), (6, 10), (0, 1), (7, 1), (1, 11), (-1, 3)]
UNREADABLE = ["G1", "A11", "A0", "ERROR", "D5 or D6", "D٥", "-1A", "x" * 300]
CELLS: dict[str, Any] = {
    # Rows, and the expected count of each cell. Rows and columns start at 1, and a distribution counts as one response.
    **{f"spellings of {cell}": ([D5 | {"cell": s} for s in spellings(cell)], {cell: 5}) for cell in (0, 9, 10, 34, 59)},
    "spellings with words and signs": ([D5 | {"cell": text} for text in SPELLED], {34: len(SPELLED)}),
    **{f"{text:.9} is unparsed": ([D5 | {"cell": text}], {None: 1}) for text in UNREADABLE},
    **{
        f"positions as {kind.__name__}": (
            [{"image": "2", "row": kind(row), "col": kind(col)} for row, col in POSITIONS],
            {0: 1, 34: 1, 59: 1, None: 4},
        )
        for kind in (int, float, str)
    },
    "no point": ([{"image": "2", "x": None, "y": None}, {"image": "2", "x": 1, "y": 1e0}], {None: 1, 0: 1}),
    "distribution": (
        [{"image": "2", "probabilities": {"D5": 0.25, "d6": 0.75}}, D5, {"image": "2"}],
        {34: 1.25, 35: 0.75, None: 1},
    ),
    "any order": ([dict(reversed(D5.items())), {"image": "3", "prompt": "cue", "row": 1, "col": 2}], {34: 1, 1: 1}),
    "equal rows without samples": ([D5] * 3, {34: 3}),
}


class TestAnswers:
    @pytest.mark.slow
    @settings(max_examples=10)
    @given(answers(), RANDOMS)
    def test_read_counts_of_every_format_and_split_equals_a_plain_loop(self, rows: Answers, rng: random.Random) -> None:
        given_rows = [row for row, _ in rows]
        counts = [read(given_rows, format) for format in FORMATS]
        assert as_dict(counts[0]) == counted(rows)
        assert all(other == counts[0] for other in counts)
        assert len({other.digest() for other in counts}) == 1
        cut = rng.randrange(len(rows) + 1)
        parts = [part for part in (given_rows[:cut], given_rows[cut:]) if part]
        with tempfile.TemporaryDirectory() as folder:
            endings = [rng.choice(list(WRITERS)) for _ in parts]
            files = enumerate(zip(endings, parts, strict=True))
            paths = [WRITERS[ending](Path(folder, f"part{i}{ending}"), part) for i, (ending, part) in files]
            together = read_counts(paths, KNOWN)
            assert Counts.merge([read_counts(path, KNOWN) for path in paths]) == together == counts[0]
            assert read_counts([str(path) for path in reversed(paths)], KNOWN) == together

    @settings(max_examples=8)
    @given(answers())
    def test_read_counts_of_response_records_equals_a_plain_loop(self, rows: Answers) -> None:
        labels = [None if index is None else GRID.label(index) for _, index in rows]
        answered = [row | {"cell": label} for (row, _), label in zip(rows, labels, strict=True)]
        records = [Response.model_validate(row) for row in answered]
        assert as_dict(read_counts(records, KNOWN)) == counted(rows)

    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("case", CELLS)
    def test_read_counts_of_each_form_of_answer_finds_the_cells(self, case: str, format: str) -> None:
        rows, expected = CELLS[case]
        assert cells(read(rows, format)) == expected

    def test_read_counts_accepts_empty_fields_and_integers_written_as_floats(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('image,cell\n2,\n2,""\n2," "\n2,D5\n', encoding="utf-8")
        assert cells(read_counts(path, KNOWN)) == {None: 3.0, 34: 1.0}
        path.write_text("image,sample,row,col\n2,1.0,4.0,5.0\n2,2.0,,\n2,3.0,1e0,1\n", encoding="utf-8")
        assert cells(read_counts(path, KNOWN)) == {34: 1.0, None: 1.0, 0: 1.0}


class TestNames:
    @pytest.mark.parametrize("format", FORMATS)
    def test_read_counts_uses_defaults_for_missing_columns_and_kind_human_for_the_respondent_human(
        self, format: str
    ) -> None:
        (key,) = as_dict(read([D5], format))
        assert key == ("soccer", "2", "frame" if format == "frame" else "me", "model", "base", 34)
        rows = [D5 | {"respondent": name} for name in ("human", "humans")]
        assert {key[2:4] for key in as_dict(read(rows, format))} == {("human", "human"), ("humans", "model")}

    @pytest.mark.parametrize("format", FORMATS)
    def test_read_counts_converts_names_to_text_strips_blanks_and_fills_in_empty_names(self, format: str) -> None:
        row = {"sport": " soccer", "image": "1 ", "respondent": "\tgpt ", "prompt": " ", "kind": "", "cell": "D5"}
        assert list(as_dict(read([row], format))) == [("soccer", "1", "gpt", "model", "base", 34)]
        rows = [{"image": 2, "respondent": 7, "sample": i, "cell": "D5"} for i in (1, 2)]
        assert as_dict(read(rows, format)) == {("soccer", "2", "7", "model", "base", 34): 2.0}
        row = {"image": "é☃", "respondent": "日本", "prompt": "“cue”", "cell": "D5"}
        assert list(as_dict(read([row], format))) == [("soccer", "é☃", "日本", "model", "“cue”", 34)]

    def test_missing_sport_of_an_ambiguous_image_is_an_error(self, tmp_path: Path) -> None:
        path = write_csv(tmp_path / "a.csv", [{"image": "9", "cell": "D5"}, {"image": "1", "cell": "D5"}])
        assert str(fails(path)) == (
            f"{path}:3: sport: found nothing, expected one of basketball, soccer, which all have an image '1'"
        )

    @pytest.mark.parametrize("name", ["a[1]", "a*", "a?", "~a", "a b", "é☃", "a%20"])
    @pytest.mark.parametrize("format", list(WRITERS))
    def test_read_counts_does_not_treat_file_names_as_patterns(self, tmp_path: Path, format: str, name: str) -> None:
        for other in ("a1", "ax", "a12"):
            WRITERS[format](tmp_path / f"{other}{format}", [D5 | {"cell": "A1"}])
        path = WRITERS[format](tmp_path / f"{name}{format}", [D5])
        assert as_dict(read_counts(path, KNOWN)) == {("soccer", "2", name, "model", "base", 34): 1.0}

    def test_read_counts_with_participants_counts_each_participant_separately(self) -> None:
        rows = [D5 | {"sample": 1, "participant": participant} for participant in ("b", "a", None)]
        for format in FORMATS:
            told = read(rows, format, participants=True)
            assert told.table.select("participant", "n").rows() == [(None, 1.0), ("a", 1.0), ("b", 1.0)]
            assert told.pooled() == read(rows, format)


class TestPoints:
    @pytest.mark.parametrize(
        "shape", [(6, 10, 640, 360), (3, 10, 7, 1), (7, 3, 100, 333), (1, 1, 5, 5), (9, 11, 1001, 77)]
    )
    def test_read_counts_of_points_on_cell_edges_finds_the_same_cells_as_the_grid(
        self, shape: tuple[int, int, int, int]
    ) -> None:
        rows, cols, width, height = shape
        grid = Grid(*shape)
        known = [scene("2", size=(width, height), grid={"rows": rows, "cols": cols}, ball_cells=None)]

        def near(edges: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
            return [float(near) for edge in edges for near in (np.nextafter(edge, -9e9), edge, np.nextafter(edge, 9e9))]

        xs = near(np.linspace(0, width, cols + 1)) + [k * width / cols for k in range(cols + 1)]
        ys = near(np.linspace(0, height, rows + 1)) + [k * height / rows for k in range(rows + 1)]
        points = [(x, ys[i % len(ys)]) for i, x in enumerate(xs)] + [(xs[i % len(xs)], y) for i, y in enumerate(ys)]
        expected = grid.indices_at([x for x, _ in points], [y for _, y in points]).tolist()
        given_rows = [{"image": "2", "respondent": f"{i:03}", "x": x, "y": y} for i, (x, y) in enumerate(points)]
        with tempfile.TemporaryDirectory() as folder:
            for format, write in WRITERS.items():
                table = read_counts(write(Path(folder, f"a{format}"), given_rows), known).table.sort("respondent")
                assert table["cell"].fill_null(-1).to_list() == expected

    @pytest.mark.slow
    @settings(max_examples=8)
    @given(st.lists(st.tuples(st.floats(-50, 700), st.floats(-50, 400)), min_size=1, max_size=8))
    def test_read_counts_of_random_points_finds_the_same_cells_as_the_grid(
        self, points: list[tuple[float, float]]
    ) -> None:
        expected = Counter(int(i) if i >= 0 else None for i in GRID.indices_at(*zip(*points, strict=True)))
        rows = [{"image": "2", "x": x, "y": y} for x, y in points]
        for format in FORMATS:
            assert cells(read(rows, format, accept_signs=True)) == expected

    def test_read_counts_of_points_uses_the_size_of_each_image(self, tmp_path: Path) -> None:
        known = [scene("2"), scene("3", size=(1280, 720))]
        path = write_csv(tmp_path / "a.csv", [{"image": image, "x": 600, "y": 300} for image in ("2", "3")])
        assert [key[-1] for key in as_dict(read_counts(path, known))] == [59, 24]


Shares = dict[int, float]
WEIGHTS = st.dictionaries(st.integers(0, 59), st.integers(0, 1000) | st.floats(0, 1), min_size=1, max_size=8)
DISTRIBUTIONS = WEIGHTS.filter(lambda weights: sum(weights.values()) > 1e-6).map(
    lambda weights: {index: weight / sum(weights.values()) for index, weight in weights.items()}
)


class TestDistributions:
    @pytest.mark.slow
    @settings(max_examples=8)
    @given(st.lists(DISTRIBUTIONS, min_size=1, max_size=3), RANDOMS)
    def test_distributions_in_every_form_give_equal_counts(self, drawn: list[Shares], rng: random.Random) -> None:
        by_label = [{rng.choice(spellings(i)): p for i, p in one.items()} for one in drawn]
        vectors = [[one.get(i, 0.0) for i in range(60)] for one in drawn]

        def rows(values: Sequence[object]) -> list[Row]:
            return [{"image": "2", "respondent": f"r{i}", "probabilities": value} for i, value in enumerate(values)]

        structs = [{GRID.label(i): p for i, p in one.items()} for one in drawn]
        forms = [(form, format) for form in (by_label, vectors) for format in (".jsonl", ".csv")]
        forms += [([json.dumps(one) for one in by_label], ".jsonl"), (vectors, ".parquet"), (structs, ".parquet")]
        counts = [read(rows(form), format) for form, format in forms]
        lists, model = frame(rows(vectors)), {"sport": "soccer", "kind": "model"}
        records = [PredictionDistribution.model_validate({**model, **row}) for row in rows(by_label)]
        arrays = lists.with_columns(pl.col("probabilities").cast(pl.Array(pl.Float64, 60)))
        counts += [read_counts(responses, KNOWN) for responses in (lists, arrays, records)]
        assert all(other == counts[0] for other in counts[1:])
        for i, one in enumerate(drawn):
            mine = {key[-1]: n for key, n in as_dict(counts[0]).items() if key[2] == f"r{i}"}
            assert all(mine.get(index, 0) == pytest.approx(p, rel=1e-12, abs=1 / PARTS) for index, p in one.items())
            assert sum(map(Fraction, mine.values())) == 1

    @pytest.mark.slow
    @settings(max_examples=6)
    @given(st.lists(DISTRIBUTIONS, min_size=2, max_size=6), RANDOMS)
    def test_counts_of_distributions_do_not_depend_on_row_order(self, drawn: list[Shares], rng: random.Random) -> None:
        rows = [{"image": "2", "probabilities": {GRID.label(i): p for i, p in one.items()}} for one in drawn]
        rows += [{"image": "2", "probabilities": None, "cell": "D5"}] * 2
        shuffled = rng.sample(rows, len(rows))
        for format in (".jsonl", ".csv", ".parquet"):
            one, other = read(rows, format), read(shuffled, format)
            assert one == other
            assert one.digest() == other.digest()
            assert as_dict(one)[("soccer", "2", "me", "model", "base", 34)] >= 2

    def test_distribution_with_a_rounded_sum_is_normalized_to_1(self) -> None:
        counts = read([{"image": "2", "probabilities": {"D5": 0.3333333, "D6": 0.6666666}}], ".jsonl")
        assert sum(map(Fraction, cells(counts).values())) == 1


class TestLayoutOfFiles:
    CSV = 'image,cell,reasoning\n2,D5,"left, of\n\n""him"""\n3,A1,\n'
    CSV_TEXTS = (
        CSV,
        CSV.removesuffix("\n"),
        "\ufeff" + CSV,
        CSV.replace("\n", "\r\n"),
        "\n" + CSV.replace("3,A1", "\n\n3,A1") + "\n \n\n",
        CSV.replace("\n", "\r\n").replace("3,A1", "\r\n3,A1") + "\r\n",
        CSV.replace("reasoning", "another"),
    )
    JSONL = '{"image": "2", "cell": "D5", "reasoning": "a\u2028b"}\n{"cell": "A1", "image": 3, "other": [{}]}\n'
    JSONL_TEXTS = (
        JSONL,
        JSONL.removesuffix("\n"),
        "\ufeff" + JSONL,
        JSONL.replace("\n", "\r\n"),
        "\n\n" + JSONL.replace("\n", "\n \t\n") + "\n\n",
        "  " + JSONL.replace("\n", "  \n"),
    )

    @pytest.mark.parametrize(("ending", "texts"), [("csv", CSV_TEXTS), ("jsonl", JSONL_TEXTS), ("ndjson", JSONL_TEXTS)])
    def test_read_counts_accepts_any_line_endings_blank_lines_and_a_byte_order_mark(
        self, tmp_path: Path, ending: str, texts: Sequence[str]
    ) -> None:
        path = tmp_path / f"a.{ending}"
        answered = {("soccer", "2", "a", "model", "base", 34): 1.0, ("soccer", "3", "a", "model", "base", 0): 1.0}
        for text in texts:
            path.write_bytes(text.encode())
            assert as_dict(read_counts(path, KNOWN)) == answered, text

    def test_read_counts_reads_files_written_by_write_responses(self, tmp_path: Path) -> None:
        row = dict.fromkeys(COLUMNS) | {"sport": "soccer", "image": "2", "respondent": "me", "kind": "model"}
        rows = [row | {"sample": 1, "cell": "D5", "reasoning": 'a "b",\nc'}, row | {"sample": 2, "participant": "p"}]
        for ending in WRITERS:
            write_responses(frame(rows), tmp_path / f"a{ending}")
            assert cells(read_counts(tmp_path / f"a{ending}", KNOWN)) == {34: 1.0, None: 1.0}

    @pytest.mark.parametrize("format", FORMATS)
    def test_read_counts_ignores_blanks_around_column_names_and_reads_column_next_to_row_as_col(
        self, format: str
    ) -> None:
        expected = read([{"image": "2", "sport": "soccer", "row": 4, "col": 5}], format)
        for names in ((" row", "column "), ("row ", " col"), ("row", "column")):
            row = {"image": "2", " sport": "soccer", names[0]: 4, names[1]: 5}
            assert read([row], format) == expected
        assert read([{"image": "2", "sport": "soccer", "row": 4, "col": 5, "column": 6, " row": 1}], format) == expected

    def test_read_counts_ignores_additional_columns(self) -> None:
        rows = [D5 | {"time": 1.5, "q1_answer": "yes", "_record": 3, "_source": 9}]
        for format in (".jsonl", "frame"):
            assert cells(read(rows, format)) == {34: 1.0}

    def test_read_counts_accepts_a_csv_field_longer_than_the_limit_of_the_csv_module(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text(f"image,reasoning,cell\n2,{'x' * 200_000},D5\n7,,D5\n", encoding="utf-8")
        assert [problem.line for problem in fails(path).problems] == [3]


BAD_ROWS = [
    ({"image": "7", "cell": "D5"}, "unknown-image:image", "'7'"),
    ({"image": "7", "sport": "soccer", "cell": "D5"}, "unknown-image:image", "'7' soccer"),
    ({"image": "2", "sport": "Soccer", "cell": "D5"}, "unknown-image:image", "'2' Soccer"),
    ({"image": "02", "cell": "D5"}, "unknown-image:image", "'02'"),
    ({"image": None, "cell": "D5"}, "missing-value:image", ""),
    (D5 | {"kind": "Human"}, "invalid-value:kind", "'Human'"),
    *((D5 | {"sample": sample}, "invalid-value:sample", f"'{sample}'") for sample in ("one", "0", "-1", "1.5")),
    ({"image": "2", "sample": "inf", "x": "3", "y": "4"}, "invalid-value:sample", "'inf'"),
    ({"image": "2", "x": "3", "y": None}, "missing-value:y", "x"),
    ({"image": "2", "x": None, "y": "3"}, "missing-value:x", "y"),
    ({"image": "2", "x": "left", "y": "3"}, "invalid-value:x", "'left'"),
    ({"image": "2", "x": "3", "y": "3px"}, "invalid-value:y", "'3px'"),
    ({"image": "2", "x": "inf", "y": "3"}, "invalid-value:x", "'inf'"),
    ({"image": "2", "row": "3", "col": None}, "missing-value:col", "row"),
    ({"image": "2", "row": "1.5", "col": "2"}, "invalid-value:row", "'1.5'"),
    ({"image": "2", "row": "1", "col": "B"}, "invalid-value:col", "'B'"),
    (D5 | {"x": "1", "y": "1"}, "invalid-value:cell", "cell x y"),
    (D5 | {"row": "4", "col": "5"}, "invalid-value:cell", "cell row col"),
    (D5 | {"probabilities": {"D5": 1}}, "invalid-value:cell", "cell probabilities"),
    ({"image": "2", "x": "1", "y": "1", "probabilities": {"D5": 1}}, "invalid-value:cell", "x y probabilities"),
    *(
        ({"image": "2", "probabilities": probabilities}, "invalid-distribution:probabilities", found)
        for probabilities, found in (
            ({"D5": -0.25, "D6": 1.25}, "-0.25"),
            ({"D5": 0.5, "D6": 0.25}, "0.75"),
            ({"D5": 1.000002}, "1.000002"),
            ({"D5": 0.5, "5d": 0.5}, "'D5'"),
            ({"G1": 1}, "'G1'"),
            ({"": 1}, "''"),
            ({}, "0.0"),
            ({"D5": None}, "0.0"),
            ([1, 0], "2"),
            ([], "0"),
            ("{'D5': 1}", ""),
            ({"D5": "1"}, ""),
        )
    ),
    ({"image": "7", "probabilities": {"G1": 2}}, "unknown-image:image", "'7'"),
]
"""Rows with an invalid value, the code and field of their problem, and the values that the problem names."""


def location(problem: Problem) -> str:
    """Return `code:field:line`, or `code:field` if the problem concerns the whole file."""
    return ":".join(str(part) for part in (problem.code, problem.field, problem.line) if part is not None)


@cache
def alone(number: int) -> Problem:
    with tempfile.TemporaryDirectory() as folder:
        (problem,) = fails(write_jsonl(Path(folder, "a.jsonl"), [BAD_ROWS[number][0]])).problems
    return problem


GOOD = {"image": "3", "cell": "D5", "respondent": "fine"}
ANY_ROW = st.tuples(
    st.sampled_from([None, None, *range(len(BAD_ROWS))]),
    st.integers(0, 2),
    st.sampled_from([None, "a", 'two\nlines, "quoted"', "\n\n\n"]),
)
"""Index of a row in `BAD_ROWS` (None for a valid row), the number of blank lines before it, and its reasoning."""


class TestBadRows:
    @pytest.mark.parametrize(("row", "where", "found"), BAD_ROWS)
    @pytest.mark.parametrize("format", [".jsonl", ".csv"])
    def test_error_about_an_invalid_row_names_file_line_field_and_found_values(
        self, tmp_path: Path, format: str, row: Row, where: str, found: str
    ) -> None:
        path = tmp_path / f"a{format}"
        columns = dict.fromkeys(key for one in (GOOD, row) for key in one)
        rows = [{**columns, **one} for one in (GOOD, row, GOOD)]
        lines = csv_text(rows).splitlines() if format == ".csv" else ["{}"[:0], *map(json.dumps, rows)]
        # A blank line puts the invalid row on line 4.
        path.write_text("\n".join([lines[0], lines[1], "", *lines[2:]]) + "\n", encoding="utf-8")
        error = fails(path)
        (problem,) = error.problems
        assert (problem.file, location(problem), error.total) == (str(path), f"{where}:4", 1)
        assert all(value in problem.found for value in found.split())

    @settings(max_examples=15)
    @given(st.lists(ANY_ROW, min_size=1, max_size=12), st.sampled_from([".jsonl", ".csv"]))
    def test_every_invalid_row_is_reported_once_with_its_line(
        self, rows: list[tuple[int | None, int, str | None]], format: str
    ) -> None:
        columns = ["image", "sport", "kind", "sample", "reasoning", "cell", "x", "y", "row", "col", "probabilities"]
        text = ",".join(columns) + "\n" if format == ".csv" else ""
        expected = []
        for number, (bad, blank, reason) in enumerate(rows):
            text += "\n" * blank
            row = dict.fromkeys(columns) | (GOOD if bad is None else BAD_ROWS[bad][0]) | {"reasoning": reason}
            if bad is None:
                row |= {"sample": number + 1} if number % 2 else {}
            else:
                expected.append((text.count("\n") + 1, alone(bad)))
            row = {column: row[column] for column in columns}
            text += json.dumps(row) + "\n" if format == ".jsonl" else csv_text([row]).split("\n", 1)[1]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"a{format}")
            path.write_text(text, encoding="utf-8")
            if not expected:
                assert read_counts(path, KNOWN).table["n"].sum() == len(rows)
                return
            error = fails(path)
        causes: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
        for line, one in expected:
            causes.setdefault((one.code, one.field, one.expected), []).append((line, one.found))
        assert len(error.problems) == len(causes)
        for problem, (cause, rows_of_it) in zip(error.problems, causes.items(), strict=True):
            assert (problem.code, problem.field, problem.expected) == cause
            assert problem.count == len(rows_of_it)
            assert (problem.line, *problem.lines[1:]) == tuple(line for line, _ in rows_of_it[:5])
            values = list(dict.fromkeys(value for _, value in rows_of_it))
            assert problem.found == "; ".join(values[:3] + ["..."] * (len(values) > 3))
        assert error.total == len(expected)

    @pytest.mark.parametrize("format", [".csv", ".jsonl", ".parquet"])
    def test_500_errors_with_the_same_cause_are_reported_as_one_line(self, tmp_path: Path, format: str) -> None:
        path = WRITERS[format](tmp_path / f"a{format}", [{"image": f"{i}0", "cell": "D5"} for i in range(500)])
        first = 2 if format == ".csv" else 1
        error = fails(path)
        (problem,) = error.problems
        assert (location(problem), problem.found) == (f"unknown-image:image:{first}", "'00'; '10'; '20'; ...")
        assert (error.total, problem.count, problem.lines) == (500, 500, tuple(range(first, first + 5)))
        assert len(str(error).splitlines()) == 1

    def test_25_errors_with_different_causes_are_reported_as_20_lines_and_a_count(self, tmp_path: Path) -> None:
        known = [scene(str(image), sport) for image in range(25) for sport in ("a", "b")]
        path = write_csv(tmp_path / "a.csv", [{"image": i, "cell": "D5"} for i in range(25)])
        lines = str(fails(path, known)).splitlines()
        assert [line.split(": ")[0] for line in lines[:20]] == [f"{path}:{i}" for i in range(2, 22)]
        assert len(lines) == 21
        assert "5" in lines[20]

    def test_error_in_parquet_or_a_data_frame_names_the_row(self, tmp_path: Path) -> None:
        rows = [D5, D5, D5 | {"image": "7"}]
        path = write_parquet(tmp_path / "a.parquet", rows)
        fails(path, where="unknown-image:image:3", file=path)
        fails(frame(rows), where="unknown-image:image:3", file="frame")

    def test_nan_infinite_or_missing_probabilities_in_parquet_are_errors(self, tmp_path: Path) -> None:
        values = [[float("nan")] + [0.0] * 59, [float("inf")] + [0.0] * 59, [1.0] + [None] * 59]
        path = write_parquet(tmp_path / "a.parquet", [{"image": "2", "probabilities": value} for value in values])
        sums, missing = fails(path).problems
        assert location(sums) == "invalid-distribution:probabilities:1"
        assert location(missing) == "invalid-distribution:probabilities:3"
        assert sums.lines == (1, 2)
        assert "NaN" in sums.found
        assert "inf" in sums.found

    def test_error_escapes_control_characters_and_shortens_values(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "a.jsonl", [{"image": "2\n\x1b[31m" + "x" * 500, "cell": "D5"}])
        message = str(fails(path))
        assert len(message.splitlines()) == 1
        assert "'2\\n\\x1b[31mxxx" in message
        assert len(message) < 500


SAME = [
    ({}, {}),
    ({"sample": 1}, {"sample": "1.0"}),
    ({"image": "2"}, {"image": " 2"}),
    ({"prompt": None}, {"prompt": "base"}),
    ({"sport": None}, {"sport": "soccer"}),
    ({"respondent": None}, {"respondent": "a"}),
    ({"respondent": "m"}, {"respondent": " m "}),
    ({"participant": None}, {"participant": " "}),
    ({"cell": "D5"}, {"cell": "A1"}),
    ({"cell": "D5"}, {"cell": None, "x": 1, "y": 1}),
    ({"cell": "D5"}, {"cell": None, "probabilities": {"A1": 1}}),
]


class TestDuplicates:
    @pytest.mark.parametrize(("one", "other"), SAME)
    @pytest.mark.parametrize("format", [".jsonl", ".csv"])
    def test_repeated_sample_is_an_error_even_if_its_fields_are_written_differently(
        self, tmp_path: Path, format: str, one: Row, other: Row
    ) -> None:
        row = {"image": "2", "sample": 1, "cell": "D5"}
        path = WRITERS[format](tmp_path / f"a{format}", [row | one, row | {"sample": 2}, row | other])
        (problem,) = fails(path).problems
        assert location(problem) == f"duplicate:sample:{4 if format == '.csv' else 3}"
        assert "soccer/2" in problem.found

    @pytest.mark.parametrize(
        "other",
        [{"sample": 2}, {"image": "3"}, {"prompt": "cue"}, {"respondent": "b"}, {"participant": "p"}, {"sample": None}],
    )
    @pytest.mark.parametrize("format", FORMATS)
    def test_rows_that_differ_in_a_key_are_not_repeated_samples(self, format: str, other: Row) -> None:
        row = D5 | {"sample": 1, "prompt": None, "respondent": "a", "participant": None}
        assert read([row, row | other], format).table["n"].sum() == 2

    def test_sample_repeated_in_two_files_is_an_error(self, tmp_path: Path) -> None:
        row = D5 | {"respondent": "me", "sample": 1}
        paths = [write_csv(tmp_path / "1.csv", [row]), write_jsonl(tmp_path / "2.jsonl", [row | {"image": "3"}, row])]
        assert "soccer/2" in str(fails(paths, where="duplicate:sample:2", file=paths[1]))

    def test_respondents_without_a_name_get_the_names_of_their_files_so_that_equal_samples_are_not_repeated(
        self, tmp_path: Path
    ) -> None:
        row = D5 | {"sample": 1}
        paths = [write_csv(tmp_path / "one.csv", [row]), write_jsonl(tmp_path / "two.jsonl", [row])]
        paths.append(write_jsonl(tmp_path / "three.jsonl", [row | {"respondent": "said"}]))
        counted_rows = read_counts(paths, KNOWN).table.select("respondent", "n").rows()
        assert sorted(counted_rows) == [("one", 1.0), ("said", 1.0), ("two", 1.0)]

    def test_files_with_equal_names_and_no_respondents_are_an_error_unless_pooled(self, tmp_path: Path) -> None:
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
        paths = [write_csv(tmp_path / folder / "m.csv", [D5]) for folder in ("one", "two")]
        error = str(fails(paths, where="duplicate:respondent", file=paths[1]))
        assert all(value in error for value in (str(paths[0]), "'m'", "soccer/2", "--pool", "pool=True"))
        assert cells(read_counts(paths, KNOWN, pool=True)) == {34: 2.0}

    @pytest.mark.parametrize("other", [{"respondent": "n"}, {"image": "3"}, {"prompt": "cot"}, {"sample": 2}], ids=str)
    def test_files_with_equal_names_and_different_rows_are_merged(self, tmp_path: Path, other: Row) -> None:
        row = D5 | ({"sample": 1} if "sample" in other else {})
        (tmp_path / "other").mkdir()
        paths = [write_csv(tmp_path / "m.csv", [row]), write_jsonl(tmp_path / "other" / "m.jsonl", [row | other])]
        assert read_counts(paths, KNOWN).table["n"].sum() == 2

    def test_respondent_with_two_kinds_is_an_error(self, tmp_path: Path) -> None:
        rows = [D5 | {"respondent": "me", "kind": kind} for kind in ("human", "human", "model")]
        whole, part = write_csv(tmp_path / "a.csv", rows), write_csv(tmp_path / "c.csv", rows[:2])
        other = write_jsonl(tmp_path / "b.jsonl", [rows[0] | {"kind": "baseline"}])
        for paths, line, kind in (([whole], 4, "model"), ([part, other], 1, "baseline")):
            error = str(fails(paths, where=f"incompatible-data:kind:{line}", file=paths[-1]))
            assert f"'{kind}'" in error
            assert "'human'" in error


BAD_FILES = [
    ("a.csv", "", "no-data:file", ""),
    ("a.jsonl", "", "no-data:file", ""),
    ("a.parquet", "", "no-data:file", ""),
    ("a.csv", "image,cell\n", "no-data:file", ""),
    ("a.jsonl", "\n \n", "no-data:file", ""),
    ("a.txt", "image", "wrong-file:file", ".txt"),
    ("a", "image", "wrong-file:file", ""),
    ("a.csv", "image,cel\n2,D5\n", "unknown-column:cel", ""),
    ("a.csv", "image,cell,smaple\n2,D5,1\n", "unknown-column:smaple", ""),
    ("a.jsonl", '{"image":"2","probabilites":{}}\n', "unknown-column:probabilites", ""),
    ("a.csv", "picture,cell\n2,D5\n", "missing-column:image", "picture, cell"),
    ("a.csv", "image,note\n2,D5\n", "missing-column:cell", "image, note"),
    ("a.csv", "image|cell\n2|D5\n", "wrong-file:header:1", ""),
    ("a.csv", "image,x\n2,3\n", "missing-column:y", "x"),
    ("a.jsonl", '{"image":"2","col":3}\n', "missing-column:row", "col"),
    ("a.csv", "image,cell,cell\n2,D5,D6\n", "duplicate:cell", ""),
    ("a.csv", "image,cell\n2,D5\n2\n2,D5,x\n", "invalid-csv:line:3", "1 3"),
    ("a.csv", 'image,cell\n2,"D5\n3,A1\n', "invalid-csv:line:2", ""),
    ("a.jsonl", '{"image":"2","cell":"D5"}\n\n{"image":"2","ce', "invalid-json:line:3", """'{"image":"2","ce'"""),
    (
        "a.jsonl",
        '{"image":"2"} x\n{"image":"2","cell":"D5"},\n',
        "invalid-json:line:1",
        """'{"image":"2"} x' '{"image":"2","cell":"D5"},'""",
    ),
    ("a.jsonl", '{"image":"2","cell":"D5"}\n[]\n5\nnull\n', "invalid-json:line:2", "'[]' '5' 'null'"),
    ("a.jsonl", '{"image":"2","x":NaN,"y":1}\n', "invalid-json:line:1", """'{"image":"2","x":NaN,"y":1}' NaN"""),
    ("a.jsonl", '{"image":"2","x":1e400,"y":1}\n', "invalid-json:line:1", "1e400"),
    ("a.jsonl", '[{"image":"2","cell":"D5"}]', "invalid-json:line:1", """'[{"image":"2","cell":"D5"}]'"""),
]
"""Name and text of a file, location of its only problem, and the values that the problem names."""

ENCODINGS = ("latin-1", "cp1252")
NOT_UTF8: dict[str, tuple[str, bytes, str, str]] = {
    # Name and content of a file, location of its problem, and the value that the error names.
    **{f"CSV {e}": ("a.csv", "image,cell\n2,é\n".encode(e), "unreadable-file:line", "") for e in ENCODINGS},
    **{
        f"JSON {e}": ("a.jsonl", '{"image":"2",\n"cell":"é"}\n'.encode(e), "unreadable-file:line", "")
        for e in ENCODINGS
    },
    "one line": ("a.csv", b"image,cell\n" + b"2,D5\n" * 2000 + b"2,\xff\n", "unreadable-file:line:2002", "0xff"),
    "compressed": ("a.csv", gzip.compress(b"image,cell\n2,D5\n"), "unreadable-file:file", ""),
}


class TestBadFiles:
    @pytest.mark.parametrize(("name", "text", "where", "found"), BAD_FILES)
    def test_invalid_file_error_states_the_problem_and_its_line(
        self, tmp_path: Path, name: str, text: str, where: str, found: str
    ) -> None:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        (problem,) = fails(path).problems
        assert (problem.file, location(problem)) == (str(path), where)
        assert all(value in problem.found for value in found.split())

    def test_error_about_an_unknown_column_names_the_most_similar_column(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        for text, similar in (("image,cel\n2,D5\n", "cell"), ("image,cell,smaple\n2,D5,1\n", "sample")):
            path.write_text(text, encoding="utf-8")
            (problem,) = fails(path).problems
            assert similar in problem.expected.split()

    @pytest.mark.parametrize("case", NOT_UTF8)
    def test_file_that_is_not_text_in_utf8_is_an_error(self, tmp_path: Path, case: str) -> None:
        name, content, where, found = NOT_UTF8[case]
        (tmp_path / name).write_bytes(content)
        assert found in str(fails(tmp_path / name, where=where))

    def test_read_counts_of_a_missing_file_an_empty_file_or_a_file_given_twice_is_an_error(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "folder.csv").mkdir()
        fails(tmp_path / "no.csv", where="missing-file:file", file=tmp_path / "no.csv")
        fails(tmp_path / "folder.csv", where="wrong-file:file", file=tmp_path / "folder.csv")
        one, empty, link = (tmp_path / f"{name}.csv" for name in ("one", "empty", "link"))
        write_csv(one, [{"image": "2", "x": 1, "y": 1}])
        empty.write_text("image,cell\n", encoding="utf-8")
        fails([one, empty], where="no-data:file", file=empty)
        link.symlink_to(one)
        fails([one, link], where="duplicate:file")

    def test_truncated_parquet_file_or_one_with_lists_of_cells_is_an_error(self, tmp_path: Path) -> None:
        path = write_parquet(tmp_path / "a.parquet", [D5])
        whole = path.read_bytes()
        for cut in (3, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:cut])
            assert len(str(fails(path, where="unreadable-file:file")).splitlines()) == 1
        pl.DataFrame({"image": ["2"], "cell": [["D5"]]}).write_parquet(path)
        fails(path, where="wrong-type:cell")

    @pytest.mark.parametrize(
        ("responses", "known", "where"),
        [
            ([], KNOWN, "no-data:responses"),
            (5, KNOWN, "wrong-type:responses"),
            (["a.csv", Response(sport="s", image="2", respondent="a", kind="model")], KNOWN, "wrong-type:responses"),
            ([5], KNOWN, "wrong-type:responses"),
            ([D5], [scene("2"), scene("3", grid={"rows": 4, "cols": 4}, ball_cells=None)], "different-grids"),
            ([D5], [], "no-data:scenes"),
            ([D5], scenes("1", "2", "2"), "duplicate"),
        ],
    )
    def test_read_counts_of_invalid_input_is_an_error(self, responses: Any, known: Sequence[Scene], where: str) -> None:
        with raises(OptionError, where):
            read_counts(responses, known)


SEEDS = {
    ".csv": b'image,cell,x,y,probabilities,reasoning\n2,D5,,,,"a ""b"""\n2,,1.5,2,,\n3,,,,"{""D5"": 1.0}",\n',
    ".jsonl": b'{"image":"2","cell":"D5"}\n{"image":2,"x":1.5,"y":1e1}\n{"image":"3","probabilities":{"D5":1.0}}\n',
}


@st.composite
def edited(draw: st.DrawFn, ending: str) -> bytes:
    data = SEEDS[ending]
    for _ in range(draw(st.integers(1, 4))):
        start, length = draw(st.integers(0, len(data))), draw(st.integers(0, 4))
        signs = st.lists(st.sampled_from(list(b'",\n\r{}[]:019.-eE \\\x00\xff')), max_size=3).map(bytes)
        data = data[:start] + draw(signs) + data[start + length :]
    return data


EDITED = [st.tuples(st.just(ending), edited(ending)) for ending in SEEDS]
BYTES = st.tuples(st.sampled_from(list(WRITERS)), st.binary(max_size=50))
TEXTS = st.tuples(
    st.sampled_from([".csv", ".jsonl"]),
    st.builds(
        lambda head, text: (head + text).encode("utf-8", "replace"),
        st.sampled_from(["", "image,cell\n"]),
        st.text(max_size=40),
    ),
)


class TestArbitraryFiles:
    """Check that any file is either counted or raises a SpotballError."""

    @example((".jsonl", b'{"image":"2","cell":' + b"[" * 3000 + b"]" * 3000 + b"}\n"))
    @settings(max_examples=examples(140))
    @given(st.one_of(*EDITED, BYTES, TEXTS))
    def test_read_counts_of_damaged_files_random_bytes_or_random_text_raises_only_spotball_errors(
        self, file: tuple[str, bytes]
    ) -> None:
        ending, data = file
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"a{ending}")
            path.write_bytes(data)
            with contextlib.suppress(SpotballError):
                assert not read_counts(path, KNOWN).table.is_empty()

    @settings(max_examples=examples(25))
    @given(
        st.lists(
            st.sampled_from([None, "", "D5", "é", "2", "-1", "1e9", "{}", "[", "\x00", "soccer", "human"]),
            min_size=9,
            max_size=9,
        ),
        st.sampled_from(FORMATS),
    )
    def test_read_counts_of_any_text_in_any_column_raises_only_spotball_errors(
        self, values: list[str | None], format: str
    ) -> None:
        columns = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant", "cell", "probabilities")
        with contextlib.suppress(SpotballError):
            read([dict(zip(columns, values, strict=True))], format)


@pytest.mark.parametrize(("said", "found"), [("first line\nsecond", "first line"), ("", "ComputeError")])
def test_error_that_no_single_file_causes_is_reported_for_the_first_file(tmp_path: Path, said: str, found: str) -> None:
    paths = [write_csv(tmp_path / f"{name}.csv", [D5]) for name in "ab"]
    error = Reader(sources_of(paths), KNOWN, False)._unreadable(pl.exceptions.ComputeError(said))
    (problem,) = error.problems
    assert (problem.file, location(problem), problem.found) == (str(paths[0]), "unreadable-file:file", found)


NESTED = [[(1 + row * 10 + col) / 1830 for col in range(10)] for row in range(6)]
"""Distribution over 6 x 10 cells with the probabilities 1/1830, 2/1830, ..., 60/1830."""
FLAT = list(itertools.chain(*NESTED))


class TestNestedDistributions:
    @pytest.mark.parametrize("format", FORMATS)
    def test_read_counts_of_a_nested_distribution_equals_that_of_the_flat_list(self, format: str) -> None:
        nested = read([{"image": "2", "probabilities": NESTED}], format)
        assert nested == read([{"image": "2", "probabilities": FLAT}], format)
        assert cells(nested) == pytest.approx(dict(enumerate(FLAT)), rel=1e-12)
        assert nested.n_answers == 1

    def test_read_counts_of_a_column_of_nested_arrays_equals_that_of_nested_lists(self) -> None:
        table = pl.DataFrame({"image": ["2"], "probabilities": np.array([NESTED])})
        assert table.schema["probabilities"] == pl.Array(pl.Float64, (6, 10))
        assert read_counts(table, KNOWN) == read([{"image": "2", "probabilities": NESTED}], "frame")

    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize(
        ("probabilities", "found"),
        [
            (np.full((10, 6), 1 / 60).tolist(), [10, 6]),
            ([[1.0], [0.0, 0.0]], [2, 1, 2]),
            ([[1.0]], [1, 1]),
            ([[1.0, *[0.0] * 9], *[[0.0] * 10] * 4, []], [6, 10, 0]),
        ],
    )
    def test_read_counts_of_a_nested_distribution_with_a_wrong_shape_raises_an_error_that_names_the_shape(
        self, format: str, probabilities: list[Any], found: list[int]
    ) -> None:
        rows = [{"image": "2", "probabilities": NESTED}, {"image": "3", "probabilities": probabilities}]
        with raises(InputError, f"invalid-distribution:probabilities:{3 if format == '.csv' else 2}") as caught:
            read(rows, format)
        (problem,) = caught.value.problems
        assert [int(number) for number in re.findall(r"\d+", problem.found)] == found

    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize(("value", "found"), [(None, ""), (-1.0, "-1.0"), (0.5, "1.499")])
    def test_read_counts_of_a_nested_distribution_with_an_invalid_number_raises_an_error(
        self, format: str, value: float | None, found: str
    ) -> None:
        rows = [{"image": "3", "probabilities": [[value, *NESTED[0][1:]], *NESTED[1:]]}]
        with raises(InputError, "invalid-distribution:probabilities") as caught:
            read(rows, format)
        assert found in caught.value.problems[0].found
