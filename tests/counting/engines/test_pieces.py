"""Test that files counted in pieces give the same counts and the same errors as whole files."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.counting.counts import Counts
from spotball_core.counting.engines import pieces
from spotball_core.counting.engines.pieces import Counted, FilePiece, Gathered, count_piece
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, SpotballError
from tests.builders import scenes, write_csv, write_jsonl, write_parquet
from tests.conftest import examples
from tests.failures import raises

KNOWN = scenes("1", "2", "3")

cell_or_more = st.fixed_dictionaries({"cell": st.sampled_from(["C2", "d5", "F10", "nowhere", None])}) | st.builds(
    lambda share: {"probabilities": {"D5": share, "E6": 1 - share}}, st.floats(0, 1)
)
rows = st.lists(
    st.builds(lambda image, answer: {"image": image, **answer}, st.sampled_from("123"), cell_or_more), min_size=1
)


def gathered(some: list[FilePiece], *, participants: bool = False) -> Gathered:
    together = Gathered(6, 10)
    for piece in some:
        together.add(count_piece(piece, KNOWN, participants=participants))
    return together


def cut(path: Path, n: int, at: set[int]) -> list[FilePiece]:
    """Split a file of n rows into pieces that start at the given rows."""
    borders = [0, *sorted(row for row in at if 0 < row < n), n]
    return [FilePiece(str(path), start, end - start) for start, end in itertools.pairwise(borders)]


def outcome(count: Callable[[], Counts]) -> Counts | str:
    try:
        return count()
    except InputError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=20)
@given(rows, st.sets(st.integers(0, 30)), st.randoms(use_true_random=False))
def test_counts_of_file_pieces_in_any_order_equal_counts_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, some: list[dict[str, object]], cuts: set[int], rng: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    records = [{"probabilities": None, "cell": None} | row for row in some]
    paths = [write_parquet(folder / "m.parquet", records), write_jsonl(folder / "n.jsonl", some)]
    for path in (*paths, write_csv(folder / "o.csv", records)):
        parts = cut(path, len(some), cuts)
        together = gathered(rng.sample(parts, len(parts)))
        assert not together.suspects()
        assert together.counts() == read_counts(path, KNOWN)


sampled = st.fixed_dictionaries(
    {
        "image": st.sampled_from("12"),
        "respondent": st.sampled_from([None, "a"]),
        "kind": st.sampled_from([None, "model"] * 10 + ["human"]),
        "participant": st.sampled_from([None, "p"]),
        "cell": st.just("D5"),
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["in order", "any", "some without"])
@settings(max_examples=examples(25))
@given(st.lists(sampled, min_size=1, max_size=12), st.data())
def test_settled_of_pieces_equals_read_counts_and_raises_an_error_if_read_counts_does(
    tmp_path_factory: pytest.TempPathFactory, numbers: str, rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("across")
    if numbers == "in order":
        given = {"respondent": "a", "participant": None}
        numbered = {image: itertools.count(1) for image in "12"}
        rows = [row | given | {"sample": next(numbered[row["image"]])} for row in rows]
    else:
        number = st.integers(1, 9) if numbers == "any" else st.none() | st.integers(1, 99)
        rows = [row | {"sample": data.draw(number)} for row in rows]
    rows = data.draw(st.permutations(rows))
    split = data.draw(st.integers(0, len(rows)))
    files, parts = [], []
    for name, some in (("one", rows[:split]), ("two", rows[split:])):
        if some:
            (folder / name).mkdir()
            # Both files have the same name, so the default respondent, the name of the file, is the same.
            files.append(write_jsonl(folder / name / "m.jsonl", some))
            parts += cut(files[-1], len(some), data.draw(st.sets(st.integers(1, 11), max_size=3)))
    participants = data.draw(st.booleans())
    together = gathered(data.draw(st.permutations(parts)), participants=participants)
    found = outcome(lambda: together.settled(files, KNOWN, participants=participants))
    local = outcome(lambda: read_counts(files, KNOWN, participants=participants))
    # If there are several errors, the two functions may report different ones.
    assert type(found) is type(local)
    assert isinstance(found, str) or found == local
    kinds = {row["kind"] or "model" for row in rows}
    if numbers == "in order" and len(kinds) == 1:
        assert isinstance(found, Counts)
        assert not together.suspects()


def test_settled_with_a_sample_in_two_files_is_an_error(tmp_path: Path) -> None:
    rows = [{"image": "1", "respondent": "a", "sample": i, "cell": "D5"} for i in range(1, 9)]
    files = [write_jsonl(tmp_path / "one.jsonl", rows[:5]), write_jsonl(tmp_path / "two.jsonl", rows[4:])]
    together = gathered([FilePiece(str(file)) for file in files])
    with raises(InputError, "duplicate:sample:1"):
        together.settled(files, KNOWN, participants=False)


def test_settled_reports_a_file_that_only_the_worker_cannot_read(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "m.jsonl", [{"image": "1", "cell": "D5"}])
    together = Gathered(6, 10)
    together.add(Counted(str(file), None, None, "m.jsonl: file: found no such file"))
    with raises(SpotballError, "worker-failed"):
        together.settled([file], KNOWN, participants=False)


def test_gathered_counts_of_pieces_merged_in_several_steps_equal_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MERGED_TOGETHER", 3)
    path = write_jsonl(tmp_path / "m.jsonl", [{"image": "1", "cell": "D5"}] * 10)
    assert gathered([FilePiece(str(path), i, 1) for i in range(10)]).counts() == read_counts(path, KNOWN)


def test_suspects_of_gathered_pieces_are_files_with_errors_or_with_conflicting_kinds(tmp_path: Path) -> None:
    row = {"image": "1", "respondent": "a", "cell": "D5"}
    changes = {"good": {"respondent": "b"}, "model": {}, "human": {"kind": "human"}, "unknown": {"image": "9"}}
    paths = {name: write_jsonl(tmp_path / f"{name}.jsonl", [row | change]) for name, change in changes.items()}
    together = gathered([FilePiece(str(path)) for path in paths.values()])
    assert together.suspects() == {str(paths[name]) for name in ("model", "human", "unknown")}
    (error,) = together.errors.values()
    assert error.startswith(f"{paths['unknown']}:1: image: ")
    assert "'9'" in error


def test_settled_finds_a_repeated_model_sample_if_only_people_have_participants(tmp_path: Path) -> None:
    model = {"image": "1", "respondent": "m", "cell": "D5", "sample": 1}
    person = {"image": "2", "respondent": "human", "cell": "D5", "sample": 1}
    rows = {n: [model, {**person, "participant": f"p{n}"}] for n in (1, 2)}
    paths = [write_jsonl(tmp_path / f"part-{number}.jsonl", some) for number, some in rows.items()]
    together = gathered([FilePiece(str(path)) for path in paths], participants=True)
    assert together.suspects(pool=True) == set(map(str, paths))
    with raises(InputError, "duplicate:sample:1"):
        together.settled(paths, KNOWN, participants=True, pool=True)


class TestParquet:
    @pytest.fixture(autouse=True)
    def _arrow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("pyarrow", reason='needs the "ray" extra')
        monkeypatch.setattr(pieces, "PIECE_ROWS", 25)

    @pytest.mark.parametrize(
        ("n", "size", "expected"),
        [
            (25, 10, [(None, None)]),
            (30, 10, [(0, 20), (20, 10)]),
            (100, 10, [(0, 20), (20, 20), (40, 20), (60, 20), (80, 20)]),
            (90, 30, [(0, 30), (30, 30), (60, 30)]),
            (0, 10, [(None, None)]),
        ],
    )
    def test_pieces_of_parquet_combine_whole_row_groups(
        self, tmp_path: Path, n: int, size: int, expected: list[tuple[int | None, int | None]]
    ) -> None:
        path = tmp_path / "m.parquet"
        cells = [["D5", "E6", None, "C2"][i % 4] for i in range(n)]
        pl.DataFrame({"image": ["1"] * n, "cell": cells}).write_parquet(path, row_group_size=size)
        made = list(pieces.pieces_of([path]))
        assert [(piece.start, piece.length) for piece in made] == expected
        if n:
            assert gathered(made).counts() == read_counts(path, KNOWN)

    def test_pieces_of_csv_files_and_of_missing_or_broken_parquet_files_are_whole_files(self, tmp_path: Path) -> None:
        broken = tmp_path / "x.parquet"
        broken.write_bytes(b"PAR1 nonsense")
        files = [broken, tmp_path / "missing.parquet", tmp_path / "m.csv"]
        assert list(pieces.pieces_of(files)) == [FilePiece(str(file)) for file in files]
        assert gathered([FilePiece(str(broken))]).suspects() == {str(broken)}
