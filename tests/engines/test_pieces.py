"""Files counted in pieces: the same as whole, and what is wrong is found."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotball_core.engines import pieces
from spotball_core.engines.pieces import Gathered, Piece, count_piece
from spotball_core.io.responses import read_counts
from tests.builders import scenes, write_csv, write_jsonl

KNOWN = scenes("1", "2", "3")

cell_or_more = st.fixed_dictionaries({"cell": st.sampled_from(["C2", "d5", "F10", "nowhere", None])}) | st.builds(
    lambda share: {"probabilities": {"D5": share, "E6": 1 - share}}, st.floats(0, 1)
)
rows = st.lists(
    st.builds(lambda image, answer: {"image": image, **answer}, st.sampled_from("123"), cell_or_more), min_size=1
)


def gathered(some: list[Piece]) -> Gathered:
    together = Gathered(6, 10)
    for piece in some:
        together.add(count_piece(piece, KNOWN, participants=False))
    return together


@settings(max_examples=20)
@given(rows, st.sets(st.integers(0, 30)), st.randoms(use_true_random=False))
def test_parts_of_a_file_in_any_order_count_as_the_file(
    tmp_path_factory: pytest.TempPathFactory, some: list[dict[str, object]], cuts: set[int], rng: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    records = [{"probabilities": None, "cell": None} | row for row in some]
    frame = pl.DataFrame(records, infer_schema_length=None)
    for path in (folder / "m.parquet", write_jsonl(folder / "n.jsonl", some), write_csv(folder / "o.csv", records)):
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        borders = [0, *sorted(cut for cut in cuts if 0 < cut < len(some)), len(some)]
        parts = [Piece(str(path), a, b - a) for a, b in itertools.pairwise(borders)]
        together = gathered(rng.sample(parts, len(parts)))
        assert not together.suspects()
        assert together.counts() == read_counts(path, KNOWN)


def test_many_pieces_are_added_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MERGED_TOGETHER", 3)
    path = write_jsonl(tmp_path / "m.jsonl", [{"image": "1", "cell": "D5"}] * 10)
    assert gathered([Piece(str(path), i, 1) for i in range(10)]).counts() == read_counts(path, KNOWN)


def test_pieces_that_cannot_be_counted_and_files_that_do_not_agree(tmp_path: Path) -> None:
    row = {"image": "1", "respondent": "a", "cell": "D5"}
    files = {
        "good": [row | {"respondent": "b"}],
        "model": [row],
        "human": [row | {"kind": "human"}],
        "unknown": [row | {"image": "9"}],
    }
    paths = {name: write_jsonl(tmp_path / f"{name}.jsonl", some) for name, some in files.items()}
    together = gathered([Piece(str(path)) for path in paths.values()])
    assert together.suspects() == {str(paths[name]) for name in ("model", "human", "unknown")}
    (error,) = together.errors.values()
    assert "unknown.jsonl:1: image: found '9'" in error


class TestParquet:
    @pytest.fixture(autouse=True)
    def _arrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("pyarrow", reason='needs the "ray" extra')
        monkeypatch.setattr(pieces, "PIECE_ROWS", 25)

    @pytest.mark.parametrize(
        ("n", "size", "expected"),
        [
            (25, 10, [(None, None)]),
            (26, 10, [(0, 20), (20, 6)]),
            (100, 10, [(0, 20), (20, 20), (40, 20), (60, 20), (80, 20)]),
            (90, 30, [(0, 30), (30, 30), (60, 30)]),
            (0, 10, [(None, None)]),
        ],
    )
    def test_row_groups_go_together(
        self, tmp_path: Path, n: int, size: int, expected: list[tuple[int | None, int | None]]
    ) -> None:
        path = tmp_path / "m.parquet"
        cells = ["D5", "E6", None, "C2"]
        pl.DataFrame({"image": ["1"] * n, "cell": [cells[i % 4] for i in range(n)]}).write_parquet(
            path, row_group_size=size
        )
        made = list(pieces.pieces_of([path]))
        assert [(piece.start, piece.length) for piece in made] == expected
        if n:
            assert gathered(made).counts() == read_counts(path, KNOWN)

    def test_other_files_and_broken_ones_are_whole(self, tmp_path: Path) -> None:
        broken = tmp_path / "x.parquet"
        broken.write_bytes(b"PAR1 nonsense")
        files = [broken, tmp_path / "missing.parquet", tmp_path / "m.csv"]
        assert list(pieces.pieces_of(files)) == [Piece(str(file)) for file in files]
        assert gathered([Piece(str(broken))]).suspects() == {str(broken)}
