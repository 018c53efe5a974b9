"""Test the reply store: the identity of a run, locking, and the stored replies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spotball_adapters.providers.protocol import Answer, Reply
from spotball_adapters.runs.plan import Ask
from spotball_adapters.runs.store import ReplyStore, peek
from spotball_adapters.runs.store_schema import SCHEMA
from spotball_adapters.runs.writer import AnswerRecord, ReplyWriter
from spotball_core.errors import OptionError
from spotball_core.schema.published import attributes
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.run_process import query
from tests.adapters.tiny import CHAIN
from tests.builders import scene
from tests.failures import raises

IDENTITY = {"provider": "tiny", "temperature": 0.6, "base_url": None, "prompt base": {"version": "1", "digest": "ab"}}


def write(store: ReplyStore, *records: AnswerRecord) -> list[BaseException | None]:
    """Store records and return the failure, or None, of each batch."""
    told: list[BaseException | None] = []
    writer = ReplyWriter(store.path, store.start_session({}, {}), lambda batch, failure: told.append(failure))
    for record in records:
        writer.put(record)
    writer.close()
    return told


def record(*texts: str, samples: tuple[int, ...] = (1, 2, 3), step: int = 0) -> AnswerRecord:
    ask = Ask(scene("1"), CHAIN, step, samples)
    replies = tuple(Reply(text, "stop", "end_turn") for text in texts)
    return AnswerRecord(ask, Answer(replies, "tiny-1", 100, 7), "2030-01-01T00:00:00.000+00:00", 0.25, 2, "abcd")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    with ReplyStore(tmp_path) as opened:
        yield opened


class TestIdentity:
    def test_claim_replaces_the_identity_before_the_first_reply_and_accepts_an_added_prompt_after_it(
        self, tmp_path: Path
    ) -> None:
        for identity in ({"provider": "another"}, IDENTITY, IDENTITY):
            with ReplyStore(tmp_path / "run") as store:
                store.claim(identity)
                assert store.identity() == identity
        with ReplyStore(tmp_path / "run") as store:
            write(store, record("D5"))
            store.claim({**IDENTITY, "prompt cue": {"version": "1", "digest": "ef"}})
            assert set(store.identity()) == {*IDENTITY, "prompt cue"}

    def test_claim_with_another_identity_lists_the_differences_and_changes_nothing(self, store: ReplyStore) -> None:
        store.claim(IDENTITY)
        write(store, record("D5"))
        other = {**IDENTITY, "temperature": 0.8, "base_url": "http://x/v1", "new": 1}
        other["prompt base"] = {"version": "2", "digest": "cd"}
        with raises(OptionError, "different-settings") as error:
            store.claim(other)
        assert store.identity() == IDENTITY
        said = str(error.value)
        for part in ("temperature: 0.6 -> 0.8", "base_url: ", "-> http://x/v1", "prompt base: ", "ab -> ", "cd"):
            assert part in said
        assert "provider" not in said

    @pytest.mark.parametrize("of", [ReplyStore, peek])
    def test_reply_store_and_peek_of_a_folder_with_other_files_raise_option_error(
        self, tmp_path: Path, of: Callable[[Path], object]
    ) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        for path in (tmp_path, tmp_path / "notes.txt"):
            with raises(OptionError, "output-exists:--out"):
                of(path)
        assert {path.name for path in tmp_path.iterdir()} == {"notes.txt"}


class TestLock:
    def test_store_in_use_by_another_process_is_an_error(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path; from spotball_adapters.runs.store import ReplyStore\n"
            "with ReplyStore(Path(sys.argv[1])) as store:\n"
            "    store.start_session({}, {}); print('open', flush=True); sys.stdin.read()"
        )
        command = [sys.executable, "-c", code, str(tmp_path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "open\n"
            with raises(OptionError, "in-use"):
                ReplyStore(tmp_path)
            child.kill()
        # The operating system releases the lock of a killed process.
        with ReplyStore(tmp_path):
            pass

    def test_store_of_a_later_version_is_an_error_and_releases_its_lock(self, tmp_path: Path) -> None:
        query(tmp_path, "PRAGMA user_version = 99")
        for _ in range(2):
            with raises(StoreError, "newer-version"):
                ReplyStore(tmp_path)


class TestReplies:
    def test_stored_replies_are_read_back_unchanged(self, store: ReplyStore) -> None:
        texts = ("D5\x00\nwith a NUL", "", "D5 \U0001f44d 'quoted' \u2028")
        assert write(store, record(*texts), record("D5", "D6", samples=(4, 9), step=2)) == [None]
        first = {(0, sample): text for sample, text in enumerate(texts, start=1)}
        assert store.texts("soccer", "1", "chain", range(1, 9)) == {**first, (2, 4): "D5"}
        assert list(store.finals("chain", 2)) == [("soccer", "1", 4, "D5", "stop"), ("soccer", "1", 9, "D6", "stop")]
        assert store.done() == {("soccer", "1", "chain", 0): 0b1110, ("soccer", "1", "chain", 2): 1 << 4 | 1 << 9}
        assert store.tokens() == (2, 200, 14)
        assert peek(store.path.parent) == (store.done(), {})

    def test_writer_stores_too_few_replies_for_the_first_samples_and_replaces_or_joins_surrogates(
        self, store: ReplyStore
    ) -> None:
        assert write(store, record("D5 \ud800", "\ud83d\udc4d", samples=(2, 3, 4))) == [None]
        assert store.texts("soccer", "1", "chain", range(9)) == {(0, 2): "D5 \ufffd", (0, 3): "\U0001f44d"}
        assert store.done() == {("soccer", "1", "chain", 0): 0b1100}

    def test_duplicate_reply_is_an_error_and_later_replies_are_not_stored(self, store: ReplyStore) -> None:
        write(store, record("first", samples=(1,)))
        told = write(store, record("new", "again", samples=(7, 1)), record("later", samples=(8,)))
        assert all("UNIQUE" in str(failure) for failure in told)
        assert store.texts("soccer", "1", "chain", [1, 7, 8]) == {(0, 1): "first"}
        assert store.tokens()[0] == 1

    def test_peek_of_a_missing_folder_creates_nothing(self, tmp_path: Path) -> None:
        assert peek(tmp_path / "run") == ({}, {})
        assert not (tmp_path / "run").exists()


def test_sessions_are_stored_with_options_packages_and_outcome(tmp_path: Path) -> None:
    with ReplyStore(tmp_path) as store:
        first = store.start_session({"concurrency": 8}, {"httpx": "1.0"})
        store.end_session("finished")
        assert store.start_session({}, {}) == first + 1
    rows = query(tmp_path, "SELECT session, outcome, options, packages, ended > started FROM sessions")
    assert rows[0] == (1, "finished", '{"concurrency": 8}', '{"httpx": "1.0"}', rows[0][4])
    assert rows[1][1:] == (None, "{}", "{}", None)


def test_keep_parsed_replaces_earlier_results(store: ReplyStore) -> None:
    key = ("soccer", "1", "base", 1)
    store.keep_parsed({key: (None, "no cell"), ("soccer", "1", "base", 2): ("D5", None)})
    store.keep_parsed({key: ("D6", None)})
    assert store.parsed() == {key: ("D6", None), ("soccer", "1", "base", 2): ("D5", None)}


def test_schema_describes_every_column_of_the_created_tables(store: ReplyStore) -> None:
    for table in SCHEMA.tables:
        made = query(store.path.parent, f"PRAGMA table_info({table.name})")
        assert [column[1] for column in made] == list(table.columns())
        assert {column[1] for column in made if column[5]} == {*table.key}
        assert attributes(table.record).keys() == table.columns().keys()
