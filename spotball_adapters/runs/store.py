"""A run on disk: every reply as it came, in RUN/run.sqlite, which is the truth from which all else is made.

A reply is there once its transaction is, which outlives a kill and a power cut (write-ahead log, synchronous=FULL).
The key (sport, image, prompt, step, sample) makes a second one impossible. One process at a time has a run, by a lock
that the system lets go of when the process ends, however it ends.
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
"""(sport, image, prompt)."""

_REFUSED_SINCE = 2
"""The first version of the schema that has the table `refused`."""

Settled = tuple[str, str, str, int]
"""(sport, image, prompt, sample)."""


_KIND = RunKind(
    name="run",
    work="running",
    extra="adapters",
    content="replies",
    detail="options",
    grows=True,
    defaults=LATER_SETTINGS,
    conflict="--out: {folder} contains replies to requests with other settings:\n  {differences}\n"
    "Name another folder, or use the same settings",
)


class ReplyStore(RunStore):
    """A run's store, held by this process; a context manager that lets go of it.

    Raises:
        OptionError: if the folder holds something else, or another process has the run.
        DamagedStoreError: if the store is empty or damaged.
        StoreError: if the store cannot be opened or is of a later version.
    """

    def __init__(self, folder: Path) -> None:
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, folder / STORE, SCHEMA, _KIND)

    def done(self) -> dict[tuple[str, str, str, int], int]:
        """What is stored, as `plan.Done` has it."""
        return _done(self)

    def refused(self) -> dict[Question, str]:
        """The provider's message for each image that it refused to process with a prompt."""
        return _refused(self)

    def refuse(self, refused: Mapping[Question, str]) -> None:
        """Note the provider's message for each image that it refused to process with a prompt."""
        rows = [(*question, self.session, now(), storable(message)) for question, message in refused.items()]
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?, ?)", rows)

    def texts(self, sport: str, image: str, prompt: str, samples: Iterable[int]) -> dict[tuple[int, int], str]:
        """What was replied to a prompt about an image, by (step, sample)."""
        numbers = list(samples)
        marks = ", ".join("?" * len(numbers))
        query = (
            "SELECT step, sample, text FROM replies "
            f"WHERE sport = ? AND image = ? AND prompt = ? AND sample IN ({marks})"
        )
        return {(step, sample): text for step, sample, text in self.rows(query, sport, image, prompt, *numbers)}

    def finals(self, prompt: str, step: int) -> Iterator[tuple[str, str, int, str, Finish]]:
        """Replies to a step of a prompt: sport, image, sample, text, finish; in the order of images' names."""
        query = (
            "SELECT sport, image, sample, text, finish FROM replies WHERE prompt = ? AND step = ? "
            "ORDER BY sport, image, sample"
        )
        return self.stream(query, prompt, step)

    def parsed(self) -> dict[Settled, tuple[str | None, str | None]]:
        """The cell and the problem that were last read from each sample's reply."""
        query = "SELECT sport, image, prompt, sample, cell, problem FROM parsed"
        return {row[:4]: row[4:] for row in self.stream(query)}

    def keep_parsed(self, readings: Mapping[Settled, tuple[str | None, str | None]]) -> None:
        """Keep what was read from replies in place of what was."""
        rows = [(*key, *read) for key, read in readings.items()]
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", rows)

    def pictures(self) -> dict[tuple[str, str], set[str]]:
        """The digests of the pictures that were shown of each image."""
        query = (
            "SELECT DISTINCT sport, image, picture FROM requests JOIN replies USING (request) WHERE picture NOT NULL"
        )
        digests: dict[tuple[str, str], set[str]] = {}
        for sport, image, digest in self.stream(query):
            digests.setdefault((sport, image), set()).add(digest)
        return digests

    def tokens(self) -> tuple[int, int, int]:
        """Requests answered, and the input and output tokens they took, of all sessions."""
        query = "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM requests"
        (row,) = self.rows(query)
        requests, input_tokens, output_tokens = row
        return requests, input_tokens, output_tokens


def peek(folder: Path) -> tuple[dict[tuple[str, str, str, int], int], dict[Question, str]]:
    """Return `ReplyStore.done()` and `ReplyStore.refused()` of a run without taking it; both empty if there is none."""
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
        raise OptionError(f"--out: {folder} is a file. Name a folder")
    if not folder.is_dir() or (folder / STORE).exists():
        return
    # A kill may leave a store that was not yet given its name.
    names = {path.name for path in folder.iterdir() if not path.name.startswith(f".{STORE}.")}
    if names - {LOCK, SCENES}:
        raise OptionError(f"--out: {folder} is not empty and is not a run. Name another folder")
