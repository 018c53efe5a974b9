"""Delete one person from a study permanently, including the bytes on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.study.databases import PostgresStore, Store
from spotball_adapters.study.store import StudyStore, deletion_mark, has_data
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import StoreError
from spotball_core.service.sqlite_store import SqliteStore

PATIENCE = 10.0
"""Seconds to wait for other programs to close a file before it is rewritten."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a deletion.

    Attributes:
        participant: the participant's label, which earlier exports may still contain.
        events: number of deleted events.
        identities: number of deleted rows with platform IDs: 0 or 1.
    """

    participant: str
    events: int
    identities: int


def delete(
    folder: Path, *, participant: str | None = None, prolific: str | None = None, remember: bool = False
) -> Deleted:
    """Delete one person's answers and platform IDs from a study permanently.

    Deleted data is overwritten (secure_delete), the files are rewritten without it (VACUUM), and the write-ahead logs
    are emptied. Afterwards, none of the study's files contains the deleted bytes. This function cannot delete exported
    files and other copies, disk blocks that a drive has retired, or the log and backups of a PostgreSQL database.

    Args:
        folder: the study's folder.
        participant: the participant's label. Give either `participant` or `prolific`.
        prolific: the participant's Prolific ID.
        remember: whether to keep keyed hashes of the Prolific ID and of the browser's token, by which the server
            recognizes the person; see `ServeConfig.refuse_deleted`.

    Raises:
        OptionError: if the participant is unknown, if no answers are stored, or if a server uses the study.
        StoreError: if another program has a file open, so that the file cannot be rewritten.
    """
    if not has_data(folder):
        raise OptionError("no answers are stored, so there is nothing to delete", code="wrong-folder", file=folder)
    with StudyStore(folder) as store:
        identities = store.identities()
        if prolific is not None:
            labels = [
                identity.participant
                for identity in identities
                if (identity.platform, identity.person) == ("prolific", prolific)
            ]
        else:
            all_labels = [entry.participant for entry in identities] + [
                entry.participant for entry in store.participants()
            ]
            labels = [label for label in all_labels if label == participant][:1]
        deleted = None
        if labels:
            row = store.by_label(labels[0])
            marks = _marks(store, labels[0]) if remember else []
            events = len(store.events(row.id)) if row else 0
            with store.study.transaction() as connection:
                connection.executemany("INSERT INTO meta VALUES (?, '') ON CONFLICT DO NOTHING", marks)
            # Delete the answers first. If the process ends in between, the ID still identifies what is left.
            for file, table in ((store.study, "participants"), (store.identities_file, "identities")):
                if isinstance(file, SqliteStore):
                    file.rows("PRAGMA secure_delete = ON")
                with file.transaction() as connection:
                    connection.execute(f"DELETE FROM {table} WHERE participant = ?", labels)
            deleted = Deleted(labels[0], events, sum(identity.participant == labels[0] for identity in identities))
        # Also if the participant is unknown: an earlier deletion may have been interrupted before this step.
        for file in (store.identities_file, store.study):
            _scrub(file)
        if deleted is None:
            raise OptionError(
                f"there is no participant {participant or prolific}. Check the label or the Prolific ID",
                code="unknown-name",
                file=folder,
            )
        return deleted


def _marks(store: StudyStore, label: str) -> list[tuple[str]]:
    """Return the keys in `meta` by which the server recognizes a deleted participant."""
    tokens = [
        token for (token,) in store.study.rows("SELECT token_hash FROM participants WHERE participant = ?", label)
    ]
    persons = [identity.person.encode() for identity in store.identities() if identity.participant == label]
    return [(deletion_mark(store.secret(), value),) for value in (*tokens, *persons)]


def _scrub(file: Store) -> None:
    """Rewrite an SQLite file without deleted data and empty its log, or rewrite the tables of a PostgreSQL database."""
    if isinstance(file, PostgresStore):
        file.scrub()
    if not isinstance(file, SqliteStore):
        return
    file.rows(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
    file.rows("VACUUM")
    ((busy, *_),) = file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    if busy:
        raise StoreError(
            f"another program has this file open, so deleted data remains in {file.path.name}-wal. "
            "Close that program and run the same command again",
            file=file.path,
        )
