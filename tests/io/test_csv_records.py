"""Test the line numbers of CSV records against a plain count of the written lines and against Polars."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

from spotball_core.io import csv_records
from spotball_core.io.csv_records import read_layout, record_lines

SIGNS = ["a", "b", ",", '"', "\n", "\r\n", " ", "\u2028", "é"]
FIELDS = st.lists(st.sampled_from(SIGNS), max_size=5).map("".join).filter(str.strip)
QUOTE = "a quotation mark in the middle of a field"
BLANKS = st.lists(st.sampled_from(["", " ", "\t"]), max_size=2)


@pytest.fixture(params=[1 << 22, 7, 64], ids=lambda size: f"blocks of {size}")
def block_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "_BLOCK", request.param)


def record(fields: list[str], newline: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=newline).writerow(fields)
    return out.getvalue()


class TestWholeFiles:
    @given(
        records=st.lists(st.tuples(BLANKS, st.lists(FIELDS, min_size=3, max_size=3)), max_size=6),
        before=st.lists(st.just(""), max_size=2),
        newline=st.sampled_from(["\n", "\r\n"]),
        bom=st.booleans(),
        ends=st.booleans(),
    )
    def test_record_lines_and_blank_records_equal_a_plain_count_of_the_lines_and_the_rows_of_polars(
        self, records: list[tuple[list[str], list[str]]], before: list[str], newline: str, bom: bool, ends: bool
    ) -> None:
        text = "".join(blank + newline for blank in before) + "a,b,c" + newline
        numbers, lines, blank, number = [], [], [], 0
        for blanks, fields in records:
            for empty in blanks:
                text += empty + newline
                blank.append(number)
                number += 1
            lines.append(text.count("\n") + 1)
            numbers.append(number)
            text += record(fields, newline)
            number += 1
        text = ("\ufeff" if bom else "") + (text if ends else text.removesuffix(newline))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.csv")
            path.write_text(text, encoding="utf-8", newline="")
            for size in (1 << 22, 5, 40):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(csv_records, "_BLOCK", size)
                    layout = read_layout(path)
                    assert layout.problems == ()
                    assert layout.blank == tuple(blank)
                    assert record_lines(path, numbers) == dict(zip(numbers, lines, strict=True))
            # Polars numbers records in the same way, so its rows that are not blank are the written records.
            rows = pl.scan_csv(path, infer_schema=False, row_index_name="i").collect().rows()
            assert [row[1:] for row in rows if row[0] not in blank] == [tuple(fields) for _, fields in records]

    @pytest.mark.usefixtures("block_size")
    def test_record_lines_of_long_records_are_correct_and_omit_records_that_do_not_exist(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        long = "x\n" * 500 + '"quoted", too'
        path.write_text("a,b\n" + record([long, "1"], "\n") + "2,3\n", encoding="utf-8")
        assert not read_layout(path).problems
        assert record_lines(path, [0, 1, 2, 7]) == {0: 2, 1: 503}
        assert record_lines(path, []) == {}


class TestBrokenFiles:
    @pytest.mark.usefixtures("block_size")
    @pytest.mark.parametrize(
        ("text", "lines", "found"),
        [
            ("a,b\n1\n1,2\n", [2], "1 field"),
            ("a,b\n1,2,3\n1,2\n1,2,3,4\n", [2, 4], "3 fields"),
            ("a,b\n\n1,2\n\n\n1,2,3\n", [6], "3 fields"),
            ('a,b\n1,"x\ny"\n1,2,\n', [4], "3 fields"),
            ('a,b\n1,x"y\n1,2,3\n', [2], QUOTE),
            ('a,b\n1, "x"\n1,2\n', [2], QUOTE),
            ('a,b\n1,2\n"1"x,2\n', [3], QUOTE),
            ('a,b\n1,2\n1,"2\n1,2\n', [3], QUOTE),
            ('a,b\n1,2,3\n1,"2\n1,2\n', [2, 3], "3 fields"),
            ("a,b\n1,2\n1", [3], "1 field"),
            ('a,b\n1,2\n1,"', [3], QUOTE),
            ('"a,b\n1,2\n', [1], QUOTE),
        ],
    )
    def test_read_layout_of_a_broken_file_reports_lines_and_cause(
        self, tmp_path: Path, text: str, lines: list[int], found: str
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text(text, encoding="utf-8")
        layout = read_layout(path)
        assert sorted(line for problem in layout.problems for line in problem.lines or [problem.line]) == lines
        assert layout.problems[0].found.startswith(found)

    @pytest.mark.usefixtures("block_size")
    def test_read_layout_reports_a_repeated_cause_as_one_problem_with_a_count(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("a,b\n" + "1,2\n1,2,3\n" * 50, encoding="utf-8")
        (problem,) = read_layout(path).problems
        assert (problem.found, problem.count, problem.lines) == ("3 fields", 50, (3, 5, 7, 9, 11))

    @given(st.binary(max_size=60))
    def test_read_layout_and_record_lines_accept_any_bytes(self, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.csv")
            path.write_bytes(data)
            layout = read_layout(path)
            assert all(problem.count >= len(problem.lines) for problem in layout.problems)
            record_lines(path, range(5))
