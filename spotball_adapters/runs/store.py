"""The store of a run: every unchanged reply in RUN/run.sqlite. All other files of the run are derived from it.

A reply is stored once its transaction is committed, which survives a kill and a power failure (write-ahead log,
synchronous=FULL). The key (sport, image, prompt, step, sample) prevents duplicates. Only one process at a time can
use a run; the operating system releases the lock when the process ends for any reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.runs.store_schema import LATER_SETTINGS, SCHEMA
from spotball_adapters.runs.writer import storable
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import now
from spotball_core.service.sqlite_store import LOCK, RunKind, RunStore, SqliteStore

STORE, SCENES = "run.sqlite", "scenes.jsonl"

Question = tuple[str, str, str]
"""Key of all samples of a prompt about an image: (sport, image, prompt)."""

_REFUSED_SINCE = 2
"""The first schema version with the table `refused`."""

Settled = tuple[str, str, str, int]
"""Key of a sample: (sport, image, prompt, sample)."""


_KIND = RunKind(
    name="run",
    work="running",
    extra="adapters",
    content="replies",
    detail="options",
    grows=True,
    defaults=LATER_SETTINGS,
    conflict="--out: {folder} contains replies to requests with other settings:\n  {differences}\n"
    "Use another folder, or use the same settings",
)


class ReplyStore(RunStore):
    """The store of a run, locked by this process. Used as a context manager, it releases the lock at exit.

    Raises:
        OptionError: if `folder` is a file, if it contains other files but no run, or if another process uses the run.
        DamagedStoreError: if the store is empty or damaged.
        StoreError: if the store cannot be opened, or if a later version wrote it.
    """

    def __init__(self, folder: Path) -> None:
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, folder / STORE, SCHEMA, _KIND)

    def done(self) -> dict[tuple[str, str, str, int], int]:
        """Return the stored samples in the form of `plan.Done`."""
        return _done(self)

    def refused(self) -> dict[Question, str]:
        """Return the provider's message for each image and prompt that it refused."""
        return _refused(self)

    def refuse(self, refused: Mapping[Question, str]) -> None:
        """Store the provider's message for each image and prompt that it refused."""
        rows = [(*question, self.session, now(), storable(message)) for question, message in refused.items()]
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?, ?)", rows)

    def texts(self, sport: str, image: str, prompt: str, samples: Iterable[int]) -> dict[tuple[int, int], str]:
        """Return the texts of the replies to a prompt about an image, by (step, sample)."""
        numbers = list(samples)
        marks = ", ".join("?" * len(numbers))
        query = (
            "SELECT step, sample, text FROM replies WHERE sport = ? AND image = ? AND prompt = ? AND sample IN "
            f"({marks})"
        )
        return {(step, sample): text for step, sample, text in self.rows(query, sport, image, prompt, *numbers)}

    def finals(self, prompt: str, step: int) -> Iterator[tuple[str, str, int, str, Finish]]:
        """Yield the replies to a step of a prompt as (sport, image, sample, text, finish), sorted by image."""
        query = (
            "SELECT sport, image, sample, text, finish FROM replies WHERE prompt = ? AND step = ? "
            "ORDER BY sport, image, sample"
        )
        return self.stream(query, prompt, step)

    def parsed(self) -> dict[Settled, tuple[str | None, str | None]]:
        """Return the cell and the problem that were last parsed from each sample's reply."""
        query = "SELECT sport, image, prompt, sample, cell, problem FROM parsed"
        return {row[:4]: row[4:] for row in self.stream(query)}

    def keep_parsed(self, readings: Mapping[Settled, tuple[str | None, str | None]]) -> None:
        """Store parsed cells and problems, and replace earlier ones."""
        rows = [(*key, *read) for key, read in readings.items()]
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", rows)

    def pictures(self) -> dict[tuple[str, str], set[str]]:
        """Return the digests of the image files that were sent for each image."""
        query = (
            "SELECT DISTINCT sport, image, picture FROM requests JOIN replies USING (request) WHERE picture NOT NULL"
        )
        digests: dict[tuple[str, str], set[str]] = {}
        for sport, image, digest in self.stream(query):
            digests.setdefault((sport, image), set()).add(digest)
        return digests

    def tokens(self) -> tuple[int, int, int]:
        """Return the numbers of answered requests, input tokens and output tokens, over all sessions."""
        query = "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM requests"
        (row,) = self.rows(query)
        requests, input_tokens, output_tokens = row
        return requests, input_tokens, output_tokens


def peek(folder: Path) -> tuple[dict[tuple[str, str, str, int], int], dict[Question, str]]:
    """Return `ReplyStore.done()` and `ReplyStore.refused()` without locking the run.

    Both are empty if the folder contains no run.
    """
    path = folder / STORE
    _check_folder(folder)
    if not path.exists():
        return {}, {}
    with SqliteStore(path, SCHEMA, read=True) as store:
        return _done(store), _refused(store)


def _done(store: SqliteStore) -> dict[tuple[str, str, str, int], int]:
    done: dict[tuple[str, str, str, int], int] = {}
    for *place, sample in store.stream("SELECT sport, image, prompt, step, sample FROM replies"):
        key = (place[0], place[1], place[2], place[3])
        done[key] = done.get(key, 0) | 1 << sample
    return done


def _refused(store: SqliteStore) -> dict[Question, str]:
    if store.version < _REFUSED_SINCE:
        return {}
    rows = store.rows("SELECT sport, image, prompt, message FROM refused ORDER BY sport, image, prompt")
    return {row[:3]: row[3] for row in rows}


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder} is a file. Use a folder", code="output-exists", field="--out")
    if not folder.is_dir() or (folder / STORE).exists():
        return
    # A killed process may leave a store under its temporary name.
    names = {path.name for path in folder.iterdir() if not path.name.startswith(f".{STORE}.")}
    if names - {LOCK, SCENES}:
        raise OptionError(
            f"{folder} is not empty and is not a run. Use another folder", code="output-exists", field="--out"
        )
