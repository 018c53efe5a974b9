"""Cache of embedding vectors: an SQLite file that many runs and processes can share.

The key of a vector consists of the SHA-256 of its text, the embedder, the model and the settings that affect vectors.
The file contains neither the texts nor any API key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder
from spotball_core.service.sqlite_file import DamagedStoreError, Schema, StoreError, Table, sqlite_errors
from spotball_core.service.sqlite_store import SqliteStore
from spotball_core.typing import BoolArray

CACHE = "reasoning.sqlite"
"""The name of the cache file in a dataset's folder."""


class Models:
    """Embedders and models with cached vectors.

    Attributes:
        model: number of the model.
        embedder: the embedder's name.
        name: the model's name.
        identity: other settings that affect its vectors, as JSON.
        dimension: length of its vectors.
    """

    model: int
    embedder: str
    name: str
    identity: str
    dimension: int


class Vectors:
    """Vectors of texts.

    Attributes:
        model: number of the model.
        text: SHA-256 of the text.
        vector: 32-bit floats, little-endian.
        cut: 1 if the model read only the start of the text.
    """

    model: Annotated[int, "REFERENCES models"]
    text: bytes
    vector: bytes
    cut: int


SCHEMA = Schema(
    version=1,
    tables=(
        Table(Models, ("model",), unique=("embedder", "name", "identity")),
        Table(Vectors, ("model", "text")),
    ),
    start_over="use another file with --cache. If this file is a cache, you can delete it instead; its texts are then "
    "embedded again",
    application=0x53504231,
    wal=False,
)

_NUMBERS = np.dtype("<f4")


class Cache(SqliteStore):
    """Read and store the vectors of one embedder. As a context manager, it closes the file at exit.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a cache.
        StoreError: if the file cannot be opened or created, or if a later version of this package wrote it.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(path, SCHEMA)
        self._model_key = _model_key(embedder)

    def get(self, keys: Sequence[bytes]) -> tuple[BoolArray, Batch]:
        """Return which texts are cached, and their vectors.

        Args:
            keys: the SHA-256 of each of n texts.

        Returns:
            Whether each text is cached, shape (n,), and a batch: the vectors, shape (n, d), with NaN for missing
                vectors, and whether each text was cut. d is 0 while the cache has no vectors of this model.

        Raises:
            StoreError: if a vector is damaged.
        """
        return _get(self, self._model_key, keys)

    def put(self, keys: Sequence[bytes], batch: Batch) -> None:
        """Store the vectors of texts, all or none. Vectors that are already stored are not replaced.

        Raises:
            StoreError: if the vectors cannot be stored, or if earlier vectors of the model have another length.
        """
        dimension = batch.vectors.shape[1]
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO models (embedder, name, identity, dimension) VALUES (?, ?, ?, ?)",
                (*self._model_key, dimension),
            )
            model, stored_dimension = _model(self, self._model_key) or (0, 0)
            if stored_dimension != dimension:
                raise StoreError(
                    f"the stored vectors of {self._model_key[1]} have {stored_dimension} numbers, but the "
                    f"new vectors have {dimension}, so the model has changed. Use another file with --cache",
                    file=self.path,
                )
            vectors = batch.vectors.astype(_NUMBERS)
            rows = zip(keys, vectors, batch.cut, strict=True)
            connection.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)",
                [(model, key, vector.tobytes(), int(cut)) for key, vector, cut in rows],
            )


def peek(path: Path, embedder: Embedder, keys: Sequence[bytes]) -> BoolArray:
    """Return whether each text is cached, without creating the file.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a cache.
        StoreError: if the file cannot be read.
    """
    if not path.exists():
        return np.zeros(len(keys), dtype=bool)
    with SqliteStore(path, SCHEMA, read=True) as store:
        return _get(store, _model_key(embedder), keys)[0]


def _model_key(embedder: Embedder) -> tuple[str, str, str]:
    return embedder.name, embedder.model, json.dumps(dict(embedder.identity), sort_keys=True)


def _model(store: SqliteStore, model_key: tuple[str, str, str]) -> tuple[int, int] | None:
    """Return a model's ID in the cache and the length of its vectors, or None if the cache does not have the model."""
    rows = store.rows(
        "SELECT model, dimension FROM models WHERE embedder = ? AND name = ? AND identity = ?", *model_key
    )
    return rows[0] if rows else None


def _get(store: SqliteStore, model_key: tuple[str, str, str], keys: Sequence[bytes]) -> tuple[BoolArray, Batch]:
    model, dimension = _model(store, model_key) or (0, 0)
    cached, cut = np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
    vectors = np.full((len(keys), dimension), np.nan, dtype=np.float32)
    with sqlite_errors(store.path), store.connection as connection:
        connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (place INTEGER PRIMARY KEY, text BLOB NOT NULL)")
        connection.execute("DELETE FROM wanted")
        connection.executemany("INSERT INTO wanted VALUES (?, ?)", enumerate(keys))
    query = "SELECT place, vector, vectors.cut FROM wanted CROSS JOIN vectors USING (text) WHERE model = ?"
    for place, vector, was_cut in store.stream(query, model):
        if len(vector) != dimension * _NUMBERS.itemsize:
            raise _damaged(store.path)
        cached[place], cut[place], vectors[place] = True, bool(was_cut), np.frombuffer(vector, dtype=_NUMBERS)
    if not np.isfinite(vectors[cached]).all():
        raise _damaged(store.path)
    return cached, Batch(vectors, cut)


def _damaged(path: Path) -> StoreError:
    return DamagedStoreError(
        "the file contains a damaged vector. Delete the file; its texts are then embedded again", file=path
    )
