"""Test a study in a real PostgreSQL database, also with several servers at once."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from spotball_adapters.study.results.deletion import delete
from spotball_adapters.study.setup.pilot import delete_pilots
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import StoreError
from tests.adapters.study.asked import QUESTIONNAIRES, QUIZ, add
from tests.adapters.study.made import Json, Person, change, middle, people, running, sent, study
from tests.adapters.study.postgres import postgres_server, use_postgres
from tests.adapters.study.stored import command, simulate
from tests.failures import raises

pytestmark = pytest.mark.slow

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres_server() as url:
        yield url


def in_postgres(folder: Path, server: str) -> Path:
    return use_postgres(folder, server, f"test_{next(NUMBERS)}")


def test_exports_from_postgres_and_files_are_identical(tmp_path: Path, server: str) -> None:
    exports, states = [], []
    for name in ("files", "database"):
        folder = study(tmp_path / name, images=6, changes={"explanations = 6": "explanations = 2"})
        add(folder, QUESTIONNAIRES, QUIZ)
        if name == "database":
            in_postgres(folder, server)
        simulate(folder, 12, seed=3)
        out = tmp_path / name / "out"
        command("export", folder, "--out", out, "--keep-all", "--unfinished")
        command("export", folder, "--out", out / "kept")
        command("bonus", folder, "--out", out / "bonus.csv")
        exports.append({str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()})
        with reading(folder) as reader:
            states.append([(one, reader.events(one.id)) for one in reader.participants()])
            assert reader.shared is (name == "database")
    assert exports[0].keys() >= {"participants.csv", "questionnaires.csv", "quiz.csv", "clicks.csv", "bonus.csv"}
    assert exports[0] == exports[1]
    assert states[0] == states[1]
    assert not (tmp_path / "database/study/study.sqlite").exists()


def test_three_servers_at_once_keep_the_quota_and_store_clicks_sent_twice_only_once(
    tmp_path: Path, server: str
) -> None:
    folder = in_postgres(study(tmp_path, sports=("soccer", "tennis"), images=2, checks=1), server)
    change(folder, {"per_list = 0": "per_list = 6"})
    acknowledged: dict[str, list[str]] = {}
    full = []
    lock = threading.Lock()
    with ExitStack() as stack:
        urls = [stack.enter_context(running(folder)) for _ in range(3)]

        def take_part(number: int) -> None:
            with httpx.Client(timeout=60) as client:
                person, turn = Person(client), itertools.count(number)

                def event(kind: str, trial: int | None = None, **value: object) -> None:
                    sending = sent(person.state["seq"] + 1, kind, trial, 5.0, **value)
                    # Act like a proxy that sends each request to the next server, and send each click to two servers.
                    for _ in range(2 if kind == "click" else 1):
                        client.base_url = httpx.URL(urls[next(turn) % 3])
                        answer = person.post(sending)
                        assert (answer.status_code, answer.json()["seq"]) == (200, sending["seq"])
                    acknowledged[person.state["participant"]].append(sending["event"])

                client.base_url = httpx.URL(urls[number % 3])
                if person.start().status_code == 410:
                    full.append(number)
                    return
                with lock:
                    acknowledged[person.state["participant"]] = []
                event("stage", stage="instructions")
                for item in person.state["practice"] + person.state["trials"]:
                    if item["trial"] == 0:
                        event("stage", stage="practice")
                    event("shown", item["trial"])
                    for _ in range(3):
                        event("click", item["trial"], **middle(3, 2))
                    event("answer", item["trial"], cells=[[3, 2]] * 3)
                    if item["explain"]:
                        event("explanation", item["trial"], text="They all look there.")

        with ThreadPoolExecutor(15) as pool:
            list(pool.map(take_part, range(15)))
    # The quota of 6 participants for each of the two lists applies across all servers, so 3 of 15 are rejected.
    assert len(full) == 3
    with reading(folder) as reader:
        participants = reader.participants()
        assert sorted(one.list for one in participants) == ["soccer"] * 6 + ["tennis"] * 6
        for one in participants:
            events = reader.events(one.id)
            assert [event.event for event in events[1:]] == acknowledged[one.participant]
            assert one.finished_at is not None


def test_same_event_at_two_servers_at_the_same_time_is_stored_once_without_an_error(
    tmp_path: Path, server: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = in_postgres(study(tmp_path, images=2, checks=1), server)
    gate = threading.Barrier(2)

    def post(url: str, cookies: httpx.Cookies, event: Json) -> tuple[int, Json]:
        with httpx.Client(base_url=url, cookies=cookies) as client:
            gate.wait(60)
            answer = client.post("/api/events", json={"events": [event]})
            return answer.status_code, answer.json()

    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        urls = [stack.enter_context(running(folder)) for _ in range(2)]
        person = Person(stack.enter_context(httpx.Client(base_url=urls[0])))
        person.start()
        person.do("stage", stage="instructions")
        person.do("shown", -1)
        for number in range(40):
            event = sent(4 + number, "undo" if number % 2 else "click", -1, **({} if number % 2 else middle(1, 1)))
            told = list(pool.map(post, urls, [person.client.cookies] * 2, [event] * 2))
            assert told == [(200, {"seq": 4 + number, "stage": "practice"})] * 2
    assert capfd.readouterr().err == ""


def test_pilot_in_postgres_is_separate_and_can_be_deleted(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=2, checks=1), server)
    with people(folder, None, pilot=True) as (person,):
        person.whole()
    with raises(OptionError, "wrong-folder"):
        command("status", folder)
    assert "1 participant took part" in command("export", folder, "--pilot", "--keep-all", "--out", tmp_path / "out")
    assert delete_pilots(folder) == 1
    assert not (folder / "pilot-1").exists()


def test_delete_in_postgres_removes_only_the_named_participant(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=3), server)
    labels = simulate(folder, 3, seed=1)
    assert delete(folder, participant=labels[1]).identities == 1
    with reading(folder) as reader:
        assert [one.participant for one in reader.participants()] == [labels[0], labels[2]]
        assert len(reader.identities()) == 2
    with raises(OptionError, "unknown-name"):
        delete(folder, participant=labels[1])


def test_server_stores_again_after_a_lost_database_connection(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=2, checks=1), server)
    import psycopg

    with people(folder, None) as (person,):
        person.start()
        with psycopg.connect(server, autocommit=True) as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        event = sent(2, "stage", stage="instructions")
        statuses = [person.post(event).status_code for _ in range(4)]
        assert statuses[-1] == 200
        assert set(statuses) <= {200, 503}
    with reading(folder) as reader:
        assert [event.kind for event in reader.events(1)] == ["stage", "stage"]


def test_postgres_tables_of_a_later_version_are_an_error(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=2), server)
    with StudyStore(folder) as store, store.study.transaction() as connection:
        connection.execute("UPDATE store_version SET version = 99")
    with raises(StoreError, "newer-version"):
        StudyStore(folder)


def test_change_of_study_toml_after_the_first_participant_is_an_error(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=3), server)
    simulate(folder, 1)
    change(folder, {"seed = 0": "seed = 1"})
    with raises(OptionError, "different-settings"), running(folder):
        pass


def test_times_in_postgres_are_compared_by_code_point(tmp_path: Path, server: str) -> None:
    folder = in_postgres(study(tmp_path, images=2), server)
    with StudyStore(folder) as store:
        ((collation,),) = store.study.rows(
            "SELECT collation_name FROM information_schema.columns WHERE column_name = 'seen_at' AND table_schema = ?",
            re.sub(r".*schema ", "", str(store.path)),
        )
    assert collation == "C"
