"""Test the cache of vectors on disk: stored values, concurrent use, and damaged files."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from spotball_adapters.embedders.cache import CACHE, Cache, peek
from spotball_adapters.embedders.embed import as_sent
from spotball_adapters.embedders.protocol import Batch
from spotball_adapters.runs.store import ReplyStore
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.embedding import Tiny, embed
from tests.conftest import ROOT
from tests.failures import raises

TEXTS = ["He looks up.", "Her arm is raised.", "⚽"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / CACHE


def keys(*texts: str) -> list[bytes]:
    return [as_sent(text).key for text in texts]


def execute(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, values)


@given(
    vectors=arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
    cut=arrays(np.bool_, 3),
)
def test_cache_returns_stored_vectors_bit_for_bit(
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


def test_cache_distinguishes_embedders_with_different_task_types(path: Path) -> None:
    embed(TEXTS, Tiny(), path)
    other = Tiny(task_type="clustering", dimension=5)
    assert embed(TEXTS, other, path).vectors.shape == (3, 5)
    assert peek(path, Tiny(), keys(*TEXTS)).all()
    assert not peek(path, Tiny(task_type="classification"), keys(*TEXTS)).any()


def test_peek_creates_no_cache_file_and_embed_creates_one_that_does_not_contain_the_texts(path: Path) -> None:
    assert not peek(path, Tiny(), keys(*TEXTS)).any()
    assert not path.exists()
    embed(TEXTS, Tiny(), path)
    content = path.read_bytes()
    assert b"He looks" not in content
    assert b"arm is" not in content


def test_embed_with_vectors_of_another_length_than_the_stored_ones_is_an_error_and_stores_nothing(path: Path) -> None:
    embed(TEXTS[:1], Tiny(), path)
    with raises(StoreError, "unusable-store"):
        embed(TEXTS, Tiny(dimension=5), path)
    assert peek(path, Tiny(), keys(*TEXTS)).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "vector", [b"", bytes(7 * 4), np.full(8, np.nan, "<f4").tobytes()], ids=["empty", "short", "nan"]
)
def test_embed_with_a_damaged_vector_in_the_cache_is_an_error(path: Path, vector: bytes) -> None:
    embed(TEXTS, Tiny(), path)
    execute(path, "UPDATE vectors SET vector = ? WHERE text = ?", vector, keys(TEXTS[1])[0])
    with raises(StoreError, "damaged-store"):
        embed(TEXTS, Tiny(), path)
    assert embed([TEXTS[0], TEXTS[2]], Tiny(), path).n_new == 0


def test_cache_path_that_is_a_run_store_a_folder_or_a_cache_of_a_later_version_raises_store_error(path: Path) -> None:
    with ReplyStore(path.parent / "run") as store:
        pass
    embed(TEXTS, Tiny(), path)
    execute(path, "PRAGMA user_version = 2")
    for place, code in ((store.path, "damaged-store"), (path.parent, "unusable-store"), (path, "newer-version")):
        with raises(StoreError, code):
            embed(TEXTS, Tiny(), place)


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
def test_two_processes_can_write_to_one_cache(path: Path) -> None:
    line = [sys.executable, "-c", PROGRAM]
    # The two processes share half of their texts, so both store some of the same texts.
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
