"""Removing one person from a study for good: the rows, and the bytes that they were."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.study.databases import PostgresStore, Store
from spotball_adapters.study.store import StudyStore, has_data
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import StoreError
from spotball_core.service.sqlite_store import SqliteStore

PATIENCE = 10.0
"""Seconds that other programs get to close a file that is to be written anew."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What went.

    Attributes:
        participant: the label that exports made earlier still have.
        events: how many were stored.
        identities: how many platform IDs were: one, or none.
    """

    participant: str
    events: int
    identities: int


def delete(folder: Path, *, participant: str | None = None, prolific: str | None = None) -> Deleted:
    """Remove one person from both files of a study.

    What is deleted is overwritten (secure_delete), the files are written anew without it (VACUUM), and the write-ahead
    logs are emptied: the bytes are in none of the study's files then. Copies made elsewhere, and blocks that a disk has
    put aside, are out of reach; so are the log and the backups of a PostgreSQL database.

    Args:
        folder: the study's.
        participant: their label; or
        prolific: their Prolific ID.

    Raises:
        OptionError: if there is nobody of that name, nothing stored at all, or a server has the study.
        StoreError: if another program keeps the files from being written anew.
    """
    if not has_data(folder):
        raise OptionError(f"{folder}: no answers are stored, so there is nothing to delete")
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
            events = len(store.events(row.id)) if row else 0
            # The answers first: were this to end between the two, the ID still finds what is left.
            for file, table in ((store.study, "participants"), (store.identities_file, "identities")):
                if isinstance(file, SqliteStore):
                    file.rows("PRAGMA secure_delete = ON")
                with file.transaction() as connection:
                    connection.execute(f"DELETE FROM {table} WHERE participant = ?", labels)
            deleted = Deleted(labels[0], events, sum(identity.participant == labels[0] for identity in identities))
        # Also where there is nobody: an earlier deletion may have ended before this.
        for file in (store.identities_file, store.study):
            _scrub(file)
        if deleted is None:
            raise OptionError(
                f"{folder}: no participant is called {participant or prolific}. Check the label or the Prolific ID"
            )
        return deleted


def _scrub(file: Store) -> None:
    """Write a file anew with nothing but what is in it, and empty its log; or the tables of a database."""
    if isinstance(file, PostgresStore):
        file.scrub()
    if not isinstance(file, SqliteStore):
        return
    file.rows(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
    file.rows("VACUUM")
    ((busy, *_),) = file.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    if busy:
        raise StoreError(
            f"{file.path}: another program has it open, so deleted data remains in {file.path.name}-wal. "
            "Close that program and run the same command again"
        )
