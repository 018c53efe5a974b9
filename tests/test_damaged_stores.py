"""Test that opening a damaged SQLite file of this project raises an error and does not create a new file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from spotball_adapters.embedders.cache import CACHE, Cache, peek as peek_cache
from spotball_adapters.runs.store import STORE, ReplyStore, peek as peek_run
from spotball_adapters.study.store import StudyStore, reading
from spotball_adapters.study.tables import IDENTITIES, STUDY
from spotball_core.service.sqlite_file import DamagedStoreError
from spotball_gen.pipeline.folder import LEDGER, WORK, read_only
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.review.store import REVIEW, ReviewStore
from tests.adapters.embedding import Tiny
from tests.damage import DAMAGES
from tests.failures import raises

Use = Callable[[Path], Any]
"""A function that opens the store in a folder and returns a context manager."""


def _peeked(folder: Path) -> Any:
    peek_run(folder)
    return nullcontext()


def _peeked_cache(folder: Path) -> Any:
    peek_cache(folder / CACHE, Tiny(), [b"key"])
    return nullcontext()


STORES: Mapping[str, tuple[str, Use, Use]] = {
    "run": (STORE, ReplyStore, _peeked),
    "study": (STUDY, StudyStore, reading),
    "identities": (IDENTITIES, StudyStore, reading),
    "ledger": (f"{WORK}/{LEDGER}", Ledger, read_only),
    "review": (REVIEW, ReviewStore, ReviewStore),
    "cache": (CACHE, lambda folder: Cache(folder / CACHE, Tiny()), _peeked_cache),
}
"""The path of each store in its folder, and the functions that open it for writing and for reading, by name."""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("store", STORES)
def test_opening_a_damaged_store_raises_damaged_store_error_and_leaves_the_file_unchanged(
    tmp_path: Path, store: str, damage: str
) -> None:
    name, write, look = STORES[store]
    path = tmp_path / name
    for use in (write, look):
        with use(tmp_path):
            pass
    DAMAGES[damage](path)
    before = path.read_bytes()
    for use in (write, look, write):
        with raises(DamagedStoreError, "damaged-store") as error, use(tmp_path):
            pass
        assert error.value.file == str(path)
    assert path.read_bytes() == before
