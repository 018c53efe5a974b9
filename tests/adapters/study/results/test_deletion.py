"""Test the deletion of a participant by searching the bytes of every file of the study."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from spotball_adapters.cli.study import study as app
from spotball_adapters.study.results import deletion
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import Identity, StudyStore, insert_identity, reading
from spotball_adapters.study.tables import IDENTITIES, STUDY
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study import made
from tests.adapters.study.stored import command, simulate
from tests.cli.process import spotball
from tests.failures import codes, raises


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = made.study(tmp_path)
    simulate(folder, 6, population=Population(unfinished=0.3))
    return folder


def rows_of(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()


def traces(study: Path, label: str) -> list[bytes]:
    """Return what only this participant's rows contain: label, platform IDs, and event ids of the browser."""
    events = "SELECT event FROM events JOIN participants ON participant_id = id WHERE participant = ?"
    ids = rows_of(study / STUDY, events, label)
    found = rows_of(study / IDENTITIES, "SELECT person, session FROM identities WHERE participant = ?", label)
    assert ids
    assert found
    return [label.encode(), *(part.encode() for row in (*found, *ids) for part in row)]


def held(study: Path, texts: list[bytes]) -> set[str]:
    """Return the study's files that contain any of the texts."""
    return {path.name for path in study.iterdir() if any(text in path.read_bytes() for text in texts)}


def contents(study: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows by participant."""
    found: defaultdict[str, list[tuple[object, ...]]] = defaultdict(list)
    for file, query in (
        (STUDY, "SELECT participant, * FROM participants"),
        (STUDY, "SELECT participant, events.* FROM events JOIN participants ON participant_id = id ORDER BY id, seq"),
        (IDENTITIES, "SELECT participant, * FROM identities"),
    ):
        for label, *row in rows_of(study / file, query):
            found[label].append(tuple(row))
    return dict(found)


@pytest.mark.parametrize("how", ["label", "prolific"])
def test_delete_removes_all_bytes_of_one_participant_and_no_other_rows(study: Path, how: str) -> None:
    label = "synthetic-0-3"
    theirs, before = traces(study, label), contents(study)
    assert held(study, theirs) == {STUDY, IDENTITIES}
    with reading(study) as reader:
        (person,) = [one.person for one in reader.identities() if one.participant == label]
        (number,) = [one.id for one in reader.participants() if one.participant == label]
        n = len(reader.events(number))
    said = command("delete", study, "--yes", *([label] if how == "label" else ["--prolific", person]))
    assert f"deleted {label}: {n} events, and their platform ID" in said
    assert held(study, theirs) == set()
    assert contents(study) == {who: rows for who, rows in before.items() if who != label}


def test_delete_removes_bytes_of_rows_deleted_by_another_program(study: Path) -> None:
    theirs = traces(study, "synthetic-0-2")
    # Delete the rows like a program that does not use secure deletion.
    with closing(sqlite3.connect(study / STUDY)) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM events WHERE participant_id = 2")
        connection.execute("DELETE FROM participants WHERE id = 2")
    assert held(study, theirs) == {STUDY, IDENTITIES}
    assert deletion.delete(study, participant="synthetic-0-2") == deletion.Deleted("synthetic-0-2", 0, 1)
    assert held(study, theirs) == set()


def test_delete_removes_a_participant_with_only_a_platform_id(study: Path) -> None:
    with StudyStore(study) as store, store.identities_file.transaction() as identities:
        insert_identity(identities, Identity("synthetic-ghost", "prolific", "synthetic-pid", "s", "t"))
    assert deletion.delete(study, prolific="synthetic-pid") == deletion.Deleted("synthetic-ghost", 0, 1)
    assert held(study, [b"synthetic-ghost", b"synthetic-pid"]) == set()


def test_delete_of_an_unknown_participant_or_without_a_study_is_an_error(study: Path, tmp_path: Path) -> None:
    before = contents(study)
    for named in (["nobody"], ["--prolific", "nobody"]):
        with raises(OptionError, "unknown-name"):
            command("delete", study, *named, "--yes")
    assert contents(study) == before
    (tmp_path / "empty").mkdir()
    with raises(OptionError, "wrong-folder"):
        deletion.delete(tmp_path / "empty", participant="a")
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize(("typed", "status"), [("n\n", 1), ("\n", 1), ("", 2), ("y\n", 0)])
def test_delete_asks_for_confirmation(study: Path, typed: str, status: int) -> None:
    before = contents(study)
    done = CliRunner().invoke(app, ["delete", str(study), "synthetic-0-1"], input=typed)
    if status == 2:
        assert isinstance(done.exception, OptionError)
        assert done.exception.code == "missing-option"
    else:
        assert done.exit_code == status
    assert (contents(study) == before) is (status > 0)


def test_delete_keeps_keyed_hashes_only_if_the_study_refuses_deleted_people(study: Path) -> None:
    def marks() -> list[str]:
        with reading(study) as reader:
            return [key for key in reader.meta() if key.startswith("deleted ")]

    command("delete", study, "synthetic-0-1", "--yes")
    assert marks() == []
    theirs = traces(study, "synthetic-0-2")
    made.change(study, {"refuse_deleted = false": "refuse_deleted = true"})
    command("delete", study, "synthetic-0-2", "--yes")
    # One for the Prolific ID, and one for the browser's token.
    assert len(set(marks())) == 2
    assert held(study, theirs) == set()


def test_delete_while_the_server_runs_is_a_one_line_error(study: Path) -> None:
    before = contents(study)
    with made.serving(study):
        done = spotball("study", "delete", study, "synthetic-0-1", "--yes")
        assert (done.returncode, codes(done.stderr)) == (2, ["in-use"])
        assert done.stderr.count("\n") == 1
    assert contents(study) == before


def test_delete_is_an_error_while_another_program_reads_the_file(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = traces(study, "synthetic-0-1")
    monkeypatch.setattr(deletion, "PATIENCE", 0.1)
    holding = (
        "import sqlite3, sys; connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('BEGIN'); connection.execute('SELECT count(*) FROM events').fetchone()\n"
        "print('reading', flush=True); sys.stdin.read()\n"
    )
    line = [sys.executable, "-c", holding, str(study / STUDY)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        with raises(StoreError, "unusable-store"):
            deletion.delete(study, participant="synthetic-0-1")
        reader.communicate(timeout=60)
    # The rows are gone. A second call also removes the remaining bytes.
    with raises(OptionError, "unknown-name"):
        deletion.delete(study, participant="synthetic-0-1")
    assert held(study, theirs) == set()
