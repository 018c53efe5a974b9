"""Vectors on disk, by what was embedded and by whom: an SQLite file that many runs and processes share.

A vector's place is the SHA-256 of its text, within an embedder, its model and what else its vectors depend on. The
texts themselves are not in the file, and neither is any key.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder, Vectors
from spotball_core.service.sqlite_file import DamagedStoreError, Schema, StoreError, faults_told, open_store, read_only
from spotball_core.typing import BoolArray

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = "reasoning.sqlite"
"""The file in a dataset's folder."""

SCHEMA = Schema(
    version=1,
    tables={
        "models": """
            CREATE TABLE models (
                model INTEGER PRIMARY KEY,
                embedder TEXT NOT NULL,
                name TEXT NOT NULL,
                identity TEXT NOT NULL,
                dimension INTEGER NOT NULL,
                UNIQUE (embedder, name, identity)
            )""",
        "vectors": """
            CREATE TABLE vectors (
                model INTEGER NOT NULL REFERENCES models,
                text BLOB NOT NULL,
                vector BLOB NOT NULL,
                cut INTEGER NOT NULL,
                PRIMARY KEY (model, text)
            )""",
    },
    start_over="name another file with --cache. If this file is a cache, you can also delete it: its texts are then "
    "embedded again",
    application=0x53504231,
    wal=False,
)

_NUMBERS = np.dtype("<f4")


class Cache:
    """The vectors that one embedder made; a context manager that closes the file.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a cache.
        StoreError: if it cannot be opened or made, or is of a later version.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self.path = path
        self._who = (embedder.name, embedder.model, json.dumps(dict(embedder.identity), sort_keys=True))
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = open_store(path, SCHEMA)
        self._connection.isolation_level = None

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.close()

    def get(self, keys: Sequence[bytes]) -> tuple[BoolArray, Batch]:
        """Which texts are there, and their vectors.

        Args:
            keys: of n texts.

        Returns:
            Shape (n,); and shape (n, d) with NaN where there is none, d being 0 while no vector is known at all.

        Raises:
            StoreError: for a vector that is damaged.
        """
        return _get(self._connection, self.path, self._who, keys)

    def put(self, keys: Sequence[bytes], batch: Batch) -> None:
        """Keep vectors, all or none; those that another process has kept meanwhile stay.

        Raises:
            StoreError: if they cannot be kept, or the model gave vectors of another length before.
        """
        dimension = batch.vectors.shape[1]
        with faults_told(self.path), _transaction(self._connection):
            self._connection.execute(
                "INSERT OR IGNORE INTO models (embedder, name, identity, dimension) VALUES (?, ?, ?, ?)",
                (*self._who, dimension),
            )
            model, known = _model(self._connection, self._who) or (0, 0)
            if known != dimension:
                raise StoreError(
                    f"{self.path}: {self._who[1]} gave vectors of {known} numbers before, and now gives {dimension}: "
                    "it is another model by the same name. Take another file with --cache"
                )
            vectors = batch.vectors.astype(_NUMBERS)
            rows = zip(keys, vectors, batch.cut, strict=True)
            self._connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)",
                [(model, key, vector.tobytes(), int(cut)) for key, vector, cut in rows],
            )


def peek(path: Path, embedder: Embedder, keys: Sequence[bytes]) -> BoolArray:
    """Which texts are there, looked at without making the file.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a cache.
        StoreError: if it cannot be read.
    """
    if not path.exists():
        return np.zeros(len(keys), dtype=bool)
    who = (embedder.name, embedder.model, json.dumps(dict(embedder.identity), sort_keys=True))
    with closing(read_only(path, SCHEMA)) as connection:
        connection.isolation_level = None
        return _get(connection, path, who, keys)[0]


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _model(connection: sqlite3.Connection, who: tuple[str, str, str]) -> tuple[int, int] | None:
    """The number of a model, and the length of its vectors."""
    query = "SELECT model, dimension FROM models WHERE embedder = ? AND name = ? AND identity = ?"
    row: tuple[int, int] | None = connection.execute(query, who).fetchone()
    return row


def _get(
    connection: sqlite3.Connection, path: Path, who: tuple[str, str, str], keys: Sequence[bytes]
) -> tuple[BoolArray, Batch]:
    with faults_told(path):
        model, dimension = _model(connection, who) or (0, 0)
        there, cut = np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
        vectors: Vectors = np.full((len(keys), dimension), np.nan, dtype=np.float32)
        connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (place INTEGER PRIMARY KEY, text BLOB NOT NULL)")
        connection.execute("DELETE FROM wanted")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO wanted VALUES (?, ?)", enumerate(keys))
        connection.execute("COMMIT")
        query = "SELECT place, vector, vectors.cut FROM wanted CROSS JOIN vectors USING (text) WHERE model = ?"
        for place, vector, was_cut in connection.execute(query, (model,)):
            if len(vector) != dimension * _NUMBERS.itemsize:
                raise _damaged(path)
            there[place], cut[place], vectors[place] = True, bool(was_cut), np.frombuffer(vector, dtype=_NUMBERS)
        if not np.isfinite(vectors[there]).all():
            raise _damaged(path)
        return there, Batch(vectors, cut)


def _damaged(path: Path) -> StoreError:
    return DamagedStoreError(f"{path}: a vector in it is damaged. Delete the file: its texts are then embedded again")
