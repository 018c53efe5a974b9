"""Test reading and writing of scenes.jsonl."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.errors import InputError, Problem, SpotballError
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema import Scene
from tests.builders import IDENTIFIERS, PATHS, scene
from tests.conftest import examples
from tests.failures import raises

LINE = '{"sport":"soccer","image":"163","width":640,"height":360,"grid":{"rows":6,"cols":10}}'


def fails(path: Path, where: str) -> Problem:
    """Return the only problem of a file, and check its code and location."""
    with raises(InputError, where) as caught:
        read_scenes(path)
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    return problem


def written(folder: Path, *lines: str) -> Path:
    path = folder / "scenes.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


BOX = st.tuples(*[st.floats(0, 50, allow_nan=False)] * 4).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)
SCENES = st.builds(
    lambda image, sport, cells, box, players, control, path: scene(
        image, sport, ball_cells=cells, ball_box=box, players=players, control=control, path=path
    ),
    IDENTIFIERS,
    IDENTIFIERS,
    st.none() | st.lists(st.sampled_from(["A1", "f10", "5D"]), unique=True),
    st.none() | BOX,
    st.none() | st.lists(BOX, max_size=2),
    st.booleans(),
    st.none() | PATHS,
)


class TestRoundTrip:
    @settings(max_examples=examples(40))
    @given(st.lists(SCENES, min_size=1, max_size=4, unique_by=lambda one: one.key))
    def test_read_scenes_returns_the_scenes_that_write_scenes_wrote(self, known: list[Scene]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "scenes.jsonl")
            write_scenes(known, path)
            assert read_scenes(path) == tuple(known)

    def test_write_scenes_writes_one_line_per_sport_and_image(self, tmp_path: Path) -> None:
        path = tmp_path / "scenes.jsonl"
        write_scenes([scene("1", "soccer"), scene("1", "volleyball")], path)
        assert [json.loads(line)["sport"] for line in path.read_text().splitlines()] == ["soccer", "volleyball"]
        assert [one.key for one in read_scenes(path)] == [("soccer", "1"), ("volleyball", "1")]

    @pytest.mark.parametrize(
        "text",
        [
            LINE,
            LINE + "\n",
            "\n\n" + LINE + "\n  \n\n",
            LINE + "\r\n\r\n",
            "\ufeff" + LINE,
            LINE.replace('"163"', "163"),
        ],
    )
    def test_read_scenes_accepts_blank_lines_any_line_endings_and_a_byte_order_mark(
        self, tmp_path: Path, text: str
    ) -> None:
        path = tmp_path / "scenes.jsonl"
        path.write_bytes(text.encode())
        assert [one.key for one in read_scenes(path)] == [("soccer", "163")]

    def test_read_scenes_does_not_end_a_line_at_a_unicode_line_separator(self, tmp_path: Path) -> None:
        path = written(tmp_path, LINE.replace("163", "a\u2028b\u0085c"))
        assert fails(path, "invalid-value:image:1").found == '"a\\u2028b\\u0085c"'


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "where", "found"),
        [
            ("{", "invalid-value:line:4", '"{"'),
            ("[]", "invalid-value:line:4", "[]"),
            (LINE[:-3], "invalid-value:line:4", LINE[:20]),
            (LINE.replace('"image":"163",', ""), "missing-value:image:4", ""),
            (LINE.replace("640", "0"), "invalid-value:width:4", "0"),
            (LINE.replace("640", '"wide"'), "invalid-value:width:4", '"wide"'),
            (LINE.replace("640", "1" + "0" * 400), "invalid-value:width:4", ""),
            (LINE.replace('"rows":6', '"rows":40000000'), "invalid-value:grid:4", ""),
            (LINE.replace("}}", '},"players":[[0,0,1' + "0" * 400 + ",1]]}"), "invalid-value:players.0.x2:4", ""),
            (LINE.replace("}}", '},"ball_cell":["C2"]}'), "unknown-key:ball_cell:4", '["C2"]'),
            (LINE.replace("}}", '},"players":[[5,0,1,1]]}'), "invalid-value:players.0:4", "[5, 0, 1, 1]"),
            (LINE.replace("}}", '},"players":[[1,2,3]]}'), "invalid-value:players.0:4", "[1, 2, 3]"),
            (LINE.replace("}}", '},"ball_box":[0,0,1]}'), "missing-value:ball_box.3:4", ""),
        ],
    )
    def test_read_scenes_of_an_invalid_scene_reports_line_field_and_value(
        self, tmp_path: Path, line: str, where: str, found: str
    ) -> None:
        path = written(tmp_path, "", LINE.replace("163", "1"), " ", line, LINE.replace("163", "2"))
        problem = fails(path, where)
        assert found.removesuffix('"') in problem.found.replace("\\", "")
        assert problem.expected

    def test_read_scenes_with_a_cell_outside_the_grid_or_a_duplicate_image_is_an_error(self, tmp_path: Path) -> None:
        path = written(tmp_path, LINE.replace("}}", '},"ball_cells":["G1"]}'))
        assert "'G1'" in str(fails(path, "invalid-value:line:1"))
        problem = fails(written(tmp_path, LINE, "", LINE), "duplicate:image:3")
        assert "soccer/163" in problem.found
        assert re.findall(r"\d+", problem.found) == ["163", "1"]

    def test_read_scenes_reports_a_repeated_cause_once_and_stops_after_ten_thousand_problems(
        self, tmp_path: Path
    ) -> None:
        problem = fails(written(tmp_path, *(["{"] * 25)), "invalid-value:line:1")
        assert (problem.count, problem.lines) == (25, (1, 2, 3, 4, 5))
        with pytest.raises(InputError) as caught:
            read_scenes(written(tmp_path, *(["{}"] * 50_000)))
        assert 10_000 < caught.value.total < 10_100
        assert caught.value.problems[0].line == 1

    @pytest.mark.parametrize("name", ["predictions.csv", "scenes.jsonl"])
    @pytest.mark.parametrize("text", ["image,cell\n163,D5\n164,D6\n", "\ufeffimage;cell\n", '"image","x","y"\n'])
    def test_read_scenes_of_a_csv_file_is_an_error_that_names_the_format(
        self, tmp_path: Path, name: str, text: str
    ) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        problem = fails(tmp_path / name, "wrong-file:file")
        assert "CSV" in problem.found
        assert "--scenes" in problem.fix

    @pytest.mark.parametrize("name", ["a.parquet", "a.counts"])
    def test_read_scenes_of_a_parquet_file_is_an_error_that_names_the_format(self, tmp_path: Path, name: str) -> None:
        pl.DataFrame({"image": ["163"]}).write_parquet(tmp_path / name)
        assert "Parquet" in fails(tmp_path / name, "wrong-file:file").found

    def test_read_scenes_of_a_missing_file_a_folder_or_a_file_without_scenes_is_an_error(self, tmp_path: Path) -> None:
        fails(tmp_path / "no.jsonl", "missing-file:file")
        fails(tmp_path, "wrong-file:file")
        for text in ("", "\n\n", "\ufeff"):
            fails(written(tmp_path, text), "no-data:file")

    def test_read_scenes_of_a_compressed_file_or_of_text_that_is_not_utf8_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "scenes.jsonl"
        # The first invalid byte is named only if the format is unknown.
        for data, named in ((gzip.compress(LINE.encode()), False), (LINE.encode("utf-16"), True)):
            path.write_bytes(data)
            assert ("0x" in fails(path, "unreadable-file:file").found) == named

    @settings(max_examples=examples(60))
    @given(
        st.binary(max_size=40)
        | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
        | st.tuples(st.integers(0, len(LINE)), st.binary(max_size=3)).map(
            lambda edit: LINE.encode()[: edit[0]] + edit[1] + LINE.encode()[edit[0] + 1 :]
        )
    )
    def test_read_scenes_of_any_bytes_raises_only_spotball_errors(self, data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "scenes.jsonl")
            path.write_bytes(data)
            with contextlib.suppress(SpotballError):
                assert read_scenes(path)
