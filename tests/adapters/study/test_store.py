"""Test the two files of a study: locking, content, and the writer thread; and the settings of a database."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path

import pytest

from spotball_adapters.study.databases import DatabaseConfig, database_of
from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.server.writer import AT_ONCE, EventWriter
from spotball_adapters.study.setup.check import check
from spotball_adapters.study.store import (
    Identity,
    Participant,
    StudyStore,
    insert_events,
    insert_identity,
    insert_participant,
    reading,
)
from spotball_adapters.study.tables import IDENTITIES, STUDY
from spotball_core.errors import InputError, MissingExtraError, OptionError, SpotballError
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study.made import stored, study
from tests.adapters.study.postgres import use_postgres
from tests.failures import raises

URL = "postgresql://study@db.example.org/studies"
AT = "2030-01-01T00:00:00.000+00:00"
TRIALS = (StudyTrial(-1, "soccer", "9"), StudyTrial(0, "gaze", "1", explain=True, options=("cup", "vase")))


def somebody(label: str, number: int = 0) -> Participant:
    return Participant(number, label, "soccer", 2**63 - 1, TRIALS, AT, AT, None, "1.0")


def begin(connection: sqlite3.Connection, label: str, token: bytes = b"") -> int:
    return insert_participant(connection, somebody(label), token or label.encode())


class TestStore:
    def test_participants_events_and_identities_are_read_back_unchanged(self, tmp_path: Path) -> None:
        explained = stored(3, "explanation", 0, 1.5, text="ä\0")
        events = [stored(1, "stage", stage="consent"), stored(2, "shown", -1), explained]
        identity = Identity("k7m2q9xd", "prolific", "p", "s", "v")
        with StudyStore(tmp_path) as store:
            with store.study.transaction() as connection:
                number = begin(connection, "k7m2q9xd", b"token")
                insert_events(connection, number, events)
            with store.identities_file.transaction() as connection:
                insert_identity(connection, identity)
            assert store.id_of(b"token") == number
            assert store.id_of(b"other") is None
        with reading(tmp_path) as reader:
            (found,) = reader.participants()
            assert found == reader.by_label("k7m2q9xd") == somebody("k7m2q9xd", number)
            assert reader.by_label("x") is None
            assert reader.events(number) == events
            assert reader.identities() == [identity]

    def test_store_files_are_safe_from_crashes_and_readable_only_by_their_owner(self, tmp_path: Path) -> None:
        with StudyStore(tmp_path) as store:
            store.secret()
            for file in (store.study, store.identities_file):
                assert file.rows("PRAGMA journal_mode") == [("wal",)]
                assert file.rows("PRAGMA synchronous") == [(2,)]
                assert file.rows("PRAGMA foreign_keys") == [(1,)]
            files = [path for path in tmp_path.iterdir() if ".sqlite" in path.name]
            assert {STUDY, f"{STUDY}-wal", IDENTITIES} <= {path.name for path in files}
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}

    def test_duplicate_event_violates_a_database_constraint(self, tmp_path: Path) -> None:
        first = stored(1, "shown", 0)
        with StudyStore(tmp_path) as store, store.study.transaction() as connection:
            number = begin(connection, "a")
            insert_events(connection, number, [first])
            moved = type(first)(2, first.event, "shown", 0, {}, 0.0, first.viewport, AT)
            for participant, again in (
                (number, first),
                (number, stored(1, "undo", 0)),
                (number, moved),
                (number + 1, stored(1, "shown", 0)),
            ):
                with pytest.raises(sqlite3.IntegrityError):
                    insert_events(connection, participant, [again])

    def test_secret_is_generated_once_and_kept(self, tmp_path: Path) -> None:
        with StudyStore(tmp_path) as store:
            secret = store.secret()
        with StudyStore(tmp_path) as store:
            assert store.secret() == secret
        assert len(secret) == 32

    def test_store_of_a_later_version_is_an_error(self, tmp_path: Path) -> None:
        for name in (STUDY, IDENTITIES):
            with StudyStore(tmp_path):
                pass
            with closing(sqlite3.connect(tmp_path / name)) as connection:
                connection.execute("PRAGMA user_version = 99")
            with raises(StoreError, "newer-version"):
                StudyStore(tmp_path)
            with raises(StoreError, "newer-version"), reading(tmp_path):
                pass
            (tmp_path / name).unlink()

    def test_reading_an_empty_folder_or_opening_a_store_in_a_missing_folder_is_an_error(self, tmp_path: Path) -> None:
        with raises(OptionError, "wrong-folder"), reading(tmp_path):
            pass
        with raises(OptionError, "wrong-folder"):
            StudyStore(tmp_path / "missing")

    def test_store_in_use_by_another_process_can_be_read_but_not_opened_for_writing(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from spotball_adapters.study.store import StudyStore\n"
            "with StudyStore(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
        )
        line = [sys.executable, "-c", code, str(tmp_path)]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            with raises(OptionError, "in-use"):
                StudyStore(tmp_path)
            with reading(tmp_path) as reader:
                assert reader.participants() == []
            child.kill()
        with StudyStore(tmp_path):
            pass


class TestClaim:
    def test_claim_may_change_all_parts_before_the_first_participant(self, tmp_path: Path) -> None:
        for parts in ({"seed": 1}, {"seed": 2, "task": "clicks"}):
            with StudyStore(tmp_path) as store:
                store.claim(parts)
                assert store.changed(parts) == []

    def test_claim_after_the_first_participant_is_an_error_that_lists_changes(self, tmp_path: Path) -> None:
        parts = {"seed": 1, "lists": [{"name": "a"}], "example": None}
        with StudyStore(tmp_path) as store:
            store.claim(parts)
            with store.study.transaction() as connection:
                begin(connection, "a")
            for changed, names in (
                ({**parts, "seed": 2}, ["seed"]),
                ({**parts, "lists": [{"name": "b"}], "example": []}, ["lists", "example"]),
                ({"seed": 1, "example": None}, ["lists"]),
                ({**parts, "new": 1}, ["new"]),
            ):
                assert store.changed(changed) == names
                with raises(OptionError, "different-settings"):
                    store.claim(changed)
            store.claim(parts)


class TestWriter:
    def test_failing_write_does_not_affect_other_writes_in_the_transaction(self, tmp_path: Path) -> None:
        with StudyStore(tmp_path) as store, closing(EventWriter(store.study)) as writer:
            gate = threading.Event()
            # Block the writer, so that all following writes share one transaction.
            first = writer.do(lambda connection: gate.wait(10))
            labels = ["a", "b", "a", "c"]
            futures = [writer.do(lambda connection, label=label: begin(connection, label)) for label in labels]
            futures.append(writer.do(lambda connection: 1 // 0))  # type: ignore[arg-type, return-value]
            futures.append(writer.do(lambda connection: begin(connection, "d")))
            gate.set()
            wait([first, *futures], timeout=10)
            errors, none = [type(future.exception()) for future in futures], type(None)
            assert errors == [none, none, sqlite3.IntegrityError, none, ZeroDivisionError, none]
            assert [one.participant for one in store.participants()] == ["a", "b", "c", "d"]

    def test_write_is_confirmed_only_after_the_commit(self, tmp_path: Path) -> None:
        with StudyStore(tmp_path) as store, reading(tmp_path) as other, closing(EventWriter(store.study)) as writer:
            told: list[bool] = []
            futures = []
            for number in range(3 * AT_ONCE):
                label = str(number)
                future = writer.do(lambda connection, label=label: begin(connection, label))
                future.add_done_callback(lambda _, label=label: told.append(other.by_label(label) is not None))
                futures.append(future)
            wait(futures, timeout=60)
            writer.do(lambda connection: None).result(10)
            assert told == [True] * 3 * AT_ONCE

    def test_failed_commit_fails_all_its_writes_and_later_writes_succeed(self, tmp_path: Path) -> None:
        with StudyStore(tmp_path) as store, closing(EventWriter(store.study)) as writer:
            pages = store.study.rows("PRAGMA page_count")[0][0]
            writer.do(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()).result(10)
            gate = threading.Event()
            first = writer.do(lambda connection: gate.wait(10))
            big = [stored(seq, "explanation", 0, text="x" * 2000) for seq in range(1, 50)]

            def much(connection: sqlite3.Connection) -> None:
                insert_events(connection, begin(connection, "a"), big)

            futures = [writer.do(much), writer.do(much)]
            gate.set()
            wait([first, *futures], timeout=10)
            for future in futures:
                assert "full" in str(future.exception())
            writer.do(lambda connection: connection.execute("PRAGMA max_page_count = 100000").fetchone()).result(10)
            writer.do(much).result(10)
            assert [one.participant for one in store.participants()] == ["a"]
            assert len(store.events(1)) == 49


def test_database_of_a_study_without_a_database_table_is_none_and_a_pilot_has_a_separate_schema(tmp_path: Path) -> None:
    assert database_of(tmp_path) is None
    folder = study(tmp_path, images=2)
    assert database_of(folder) is None
    use_postgres(folder, URL, "mine")
    (folder / "pilot-2").mkdir()
    found = [database_of(one) for one in (folder, folder / "pilot-2")]
    assert [config and config.schema_name for config in found] == ["mine", "mine_pilot_2"]


@pytest.mark.parametrize(
    ("url", "has_password"),
    [
        (URL, False),
        ("postgresql://study:secret@db/studies", True),
        ("postgresql://db/studies?password=secret", True),
        ("postgresql://study@db:5432/studies", False),
    ],
)
def test_password_in_a_database_url_is_hidden_and_reported(tmp_path: Path, url: str, has_password: bool) -> None:
    config = DatabaseConfig(url=url)
    assert config.has_password is has_password
    assert "secret" not in config.place
    found = "\n".join(check(use_postgres(study(tmp_path, images=2), url, "mine")))
    assert ("database.url: the address contains a password" in found) is has_password


@pytest.mark.parametrize("schema", ["Mine", "a b", "1a", "a;drop", "x" * 42, ""])
def test_invalid_schema_name_is_an_error(tmp_path: Path, schema: str) -> None:
    folder = use_postgres(study(tmp_path, images=2), URL, schema)
    with raises(InputError, "invalid-value:database.schema_name"):
        StudyStore(folder)


def test_unreachable_database_is_an_error_that_hides_the_password(tmp_path: Path) -> None:
    folder = use_postgres(study(tmp_path, images=2), f"postgresql://study:secret@/x?host={tmp_path}", "mine")
    for open_it in (lambda: StudyStore(folder), lambda: reading(folder).__enter__()):
        with pytest.raises(SpotballError) as caught:
            open_it()
        assert "secret" not in str(caught.value)
        if not isinstance(caught.value, MissingExtraError):
            assert caught.value.code == "unusable-store"
