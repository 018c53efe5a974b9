"""One person removed for good: looked for in the bytes of every file of the study."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from spotball_adapters.study.results import deletion
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import StudyStore, insert_identity, reading
from spotball_adapters.study.tables import IDENTITIES, STUDY
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study import made
from tests.adapters.study.people import command
from tests.adapters.study.stored import simulate
from tests.cli.process import spotball


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = made.study(tmp_path)
    simulate(folder, 6, population=Population(unfinished=0.3))
    return folder


def traces(study: Path, label: str) -> list[bytes]:
    """What only this person's rows hold: their label, platform IDs, and the browser's ids of their events."""
    with closing(sqlite3.connect(study / STUDY)) as connection:
        rows = connection.execute(
            "SELECT event, received_at FROM events JOIN participants ON participant_id = id WHERE participant = ?",
            [label],
        ).fetchall()
    with closing(sqlite3.connect(study / IDENTITIES)) as connection:
        found = connection.execute("SELECT person, session FROM identities WHERE participant = ?", [label]).fetchall()
    assert rows
    assert found
    return [label.encode(), *(part.encode() for row in found for part in row), *(row[0].encode() for row in rows)]


def held(study: Path, texts: list[bytes]) -> set[str]:
    """The study's files that hold any of the texts."""
    return {path.name for path in study.iterdir() if any(text in path.read_bytes() for text in texts)}


def contents(study: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row by whose it is."""
    found: dict[str, list[tuple[object, ...]]] = {}
    with closing(sqlite3.connect(study / STUDY)) as connection:
        queries = (
            "SELECT participant, * FROM participants",
            "SELECT participant, events.* FROM events JOIN participants ON participant_id = id ORDER BY id, seq",
        )
        for query in queries:
            for label, *row in connection.execute(query):
                found.setdefault(label, []).append(tuple(row))
    with closing(sqlite3.connect(study / IDENTITIES)) as connection:
        for label, *row in connection.execute("SELECT participant, * FROM identities"):
            found.setdefault(label, []).append(tuple(row))
    return found


@pytest.mark.parametrize("how", ["label", "prolific"])
def test_the_bytes_are_gone_and_nobody_else_is_touched(study: Path, how: str) -> None:
    label = "synthetic-0-3"
    theirs, before = traces(study, label), contents(study)
    assert held(study, theirs) == {STUDY, IDENTITIES}
    with reading(study) as reader:
        (person,) = [one.person for one in reader.identities() if one.participant == label]
        n = len(reader.events(next(one.id for one in reader.participants() if one.participant == label)))
    said = command("delete", study, *(["--participant", label] if how == "label" else ["--prolific", person]))
    assert f"deleted {label}: {n} events, and their platform ID" in said
    assert held(study, theirs) == set()
    assert contents(study) == {who: rows for who, rows in before.items() if who != label}


def test_what_was_deleted_before_by_other_means_goes_too(study: Path) -> None:
    theirs = traces(study, "synthetic-0-2")
    # As a program does that knows nothing of secure deletion.
    with closing(sqlite3.connect(study / STUDY)) as connection, connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM events WHERE participant_id = 2")
        connection.execute("DELETE FROM participants WHERE id = 2")
    assert held(study, theirs) == {STUDY, IDENTITIES}
    assert deletion.delete(study, participant="synthetic-0-2") == deletion.Deleted("synthetic-0-2", 0, 1)
    assert held(study, theirs) == set()


def test_who_has_an_id_and_nothing_else_can_go(study: Path) -> None:
    with StudyStore(study) as store, store.identities_file.transaction() as identities:
        (one, *_) = store.identities()
        insert_identity(identities, type(one)("synthetic-ghost", "prolific", "synthetic-pid", "s", "t"))
    gone = deletion.delete(study, prolific="synthetic-pid")
    assert gone == deletion.Deleted("synthetic-ghost", 0, 1)
    assert held(study, [b"synthetic-ghost", b"synthetic-pid"]) == set()


@pytest.mark.parametrize("option", ["--participant", "--prolific"])
def test_nobody_of_that_name(study: Path, option: str) -> None:
    before = contents(study)
    with pytest.raises(OptionError, match="there is no participant nobody"):
        command("delete", study, option, "nobody")
    assert contents(study) == before


def test_one_of_two_ways_to_say_who(study: Path) -> None:
    for who in ([], ["--participant", "a", "--prolific", "b"]):
        with pytest.raises(OptionError, match="--participant and --prolific"):
            command("delete", study, *who)


def test_a_folder_without_a_study_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no answers are stored"):
        deletion.delete(tmp_path, participant="a")
    assert list(tmp_path.iterdir()) == []


def test_refused_in_one_line_while_the_server_runs(study: Path) -> None:
    before = contents(study)
    with made.serving(study):
        done = spotball("study", "delete", study, "--participant", "synthetic-0-1")
        assert done.returncode == 2
        assert "is in use by another process" in done.stderr
        assert done.stderr.count("\n") == 1
    assert contents(study) == before


def test_a_reader_that_keeps_traces_is_told_of(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = traces(study, "synthetic-0-1")
    monkeypatch.setattr(deletion, "PATIENCE", 0.1)
    holding = (
        "import sqlite3, sys\n"
        f"connection = sqlite3.connect({str(study / STUDY)!r}, isolation_level=None)\n"
        "connection.execute('BEGIN')\n"
        "connection.execute('SELECT count(*) FROM events').fetchone()\n"
        "print('reading', flush=True)\n"
        "sys.stdin.read()\n"
    )
    line = [sys.executable, "-c", holding]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        with pytest.raises(StoreError, match="another program has this file open"):
            deletion.delete(study, participant="synthetic-0-1")
        reader.communicate()
    # The rows are gone; the same again takes the traces, too.
    with pytest.raises(OptionError, match="there is no participant synthetic-0-1"):
        deletion.delete(study, participant="synthetic-0-1")
    assert held(study, theirs) == set()
