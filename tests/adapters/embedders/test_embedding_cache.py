"""The vectors on disk: what is put comes back, whoever else has the file, and what is broken is said."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from spotball_adapters.embedders.cache import CACHE, Cache, peek
from spotball_adapters.embedders.protocol import Batch
from spotball_adapters.embedders.texts import as_sent
from spotball_adapters.runs.store import ReplyStore
from spotball_core.service.sqlite_file import DamagedStoreError, StoreError
from tests.adapters.embedding import Tiny, embed
from tests.conftest import ROOT

TEXTS = ["He looks up.", "Her arm is raised.", "⚽"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / CACHE


def keys(*texts: str) -> list[bytes]:
    return [as_sent(text).key for text in texts]


@given(
    vectors=arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
    cut=arrays(np.bool_, 3),
)
def test_what_is_put_comes_back_to_the_bit(
    vectors: np.ndarray, cut: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cache") / CACHE
    with Cache(path, Tiny()) as cache:
        cache.put(keys(*TEXTS), Batch(vectors, cut))
    with Cache(path, Tiny()) as cache:
        there, found = cache.get(keys(TEXTS[2], "unknown", TEXTS[0]))
    assert there.tolist() == [True, False, True]
    assert found.vectors[[0, 2]].tobytes() == vectors[[2, 0]].tobytes()
    assert np.isnan(found.vectors[1]).all()
    assert found.cut.tolist() == [cut[2], False, cut[0]]


def test_models_and_what_else_vectors_depend_on_are_told_apart(path: Path) -> None:
    embed(TEXTS, Tiny(), path)
    other = Tiny(task_type="clustering", dimension=5)
    assert embed(TEXTS, other, path).vectors.shape == (3, 5)
    assert peek(path, Tiny(), keys(*TEXTS)).all()
    assert not peek(path, Tiny(task_type="classification"), keys(*TEXTS)).any()


def test_looking_makes_no_file(path: Path) -> None:
    assert not peek(path, Tiny(), keys(*TEXTS)).any()
    assert not path.exists()


def test_vectors_of_another_length_are_refused_and_none_is_kept(path: Path) -> None:
    embed(TEXTS[:1], Tiny(), path)
    with pytest.raises(StoreError, match=r"vectors of tiny-1 have 8 numbers, but the new vectors have 5, .* --cache$"):
        embed(TEXTS, Tiny(dimension=5), path)
    assert peek(path, Tiny(), keys(*TEXTS)).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "vector", [b"", bytes(7 * 4), np.full(8, np.nan, "<f4").tobytes()], ids=["empty", "short", "nan"]
)
def test_a_damaged_vector_is_refused(path: Path, vector: bytes) -> None:
    embed(TEXTS, Tiny(), path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE vectors SET vector = ? WHERE text = ?", (vector, keys(TEXTS[1])[0]))
    connection.close()
    with pytest.raises(StoreError, match=re.escape(f"{path}: the file contains a damaged vector. Delete the file")):
        embed(TEXTS, Tiny(), path)
    assert embed([TEXTS[0], TEXTS[2]], Tiny(), path).n_new == 0


def _text(path: Path) -> None:
    path.write_text("not a database, and long enough to be looked at " * 20)


def _other(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()


@pytest.mark.parametrize("make", [_text, _other])
def test_another_file_is_refused_and_left_as_it_is(path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    before = path.read_bytes()
    for use in (lambda: embed(TEXTS, Tiny(), path), lambda: peek(path, Tiny(), keys("a"))):
        with pytest.raises(DamagedStoreError, match="or name another file with --cache"):
            use()
    assert path.read_bytes() == before


def test_the_store_of_a_run_is_refused(tmp_path: Path) -> None:
    with ReplyStore(tmp_path / "run") as store:
        path = store.path
    with pytest.raises(DamagedStoreError, match="written by another program, or by spotball-core for another purpose"):
        embed(TEXTS, Tiny(), path)


def test_a_later_version_is_refused(path: Path) -> None:
    embed(TEXTS, Tiny(), path)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(
        StoreError, match=r"a later version of spotball-core wrote this file \(schema 2, expected at most 1\)"
    ):
        embed(TEXTS, Tiny(), path)


def test_a_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a regular file"):
        embed(TEXTS, Tiny(), tmp_path)


def test_neither_texts_nor_what_else_is_secret_are_in_the_file(path: Path) -> None:
    embed(TEXTS, Tiny(), path)
    content = path.read_bytes()
    assert b"He looks" not in content
    assert b"arm is" not in content


PROGRAM = """
import sys
from pathlib import Path
from tests.adapters.embedding import Tiny, embed

first, path = int(sys.argv[1]), Path(sys.argv[2])
for start in range(first, first + 100, 5):
    found = embed([f"text {number}" for number in range(start, start + 5)], Tiny(), path)
print(found.vectors.shape)
"""


@pytest.mark.slow
def test_two_processes_at_once(path: Path) -> None:
    line = [sys.executable, "-c", PROGRAM]
    # They overlap by half: some texts are kept by both.
    both = [
        subprocess.Popen([*line, first, str(path)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for first in ("0", "50")
    ]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) == (0, "(5, 8)\n", "")
    idle = Tiny()
    texts = [f"text {number}" for number in range(150)]
    found = embed(texts, idle, path)
    assert not idle.batches
    np.testing.assert_array_equal(found.vectors, embed(texts, Tiny(), path.with_name("alone.sqlite")).vectors)
