"""Test `spotball study serve` as a process: killed, started twice, stopped, and with a full disk."""

from __future__ import annotations

import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from spotball_adapters.study.progress import replay
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import reading
from spotball_core.service.web import listening
from tests.adapters.study.made import Person, address_of, choices, middle, sent, serving, study
from tests.failures import codes


class Clicking(threading.Thread):
    """A participant who clicks and undoes as fast as the server answers, and records acknowledged events.

    Like the queue of a browser, it sends each event until an answer arrives, even if the server was killed.
    """

    def __init__(self, number: int) -> None:
        super().__init__(daemon=True)
        self.prolific = {"pid": f"p{number}", "study": "s", "session": f"v{number}"}
        self.url = ""
        self.stopping = False
        self.acknowledged: list[str] = []
        self.label = ""
        self.failure: BaseException | None = None
        self._client = httpx.Client()

    def run(self) -> None:
        try:
            self._send("/api/start", {"consent": True, "prolific": self.prolific, "viewport": [1, 1, 1]})
            self._event("stage", None, stage="instructions")
            self._event("shown", -1)
            while not self.stopping:
                for _ in range(3):
                    self._event("click", -1, **middle(1, 1))
                for _ in range(3):
                    self._event("undo", -1)
            self._client.close()
        except BaseException as error:
            self.failure = error

    def _event(self, kind: str, trial: int | None, **value: object) -> None:
        event = sent(len(self.acknowledged) + 2, kind, trial, **value)
        told = self._send("/api/events", {"events": [event]})
        assert told["seq"] == event["seq"]
        self.acknowledged.append(event["event"])

    def _send(self, path: str, content: object) -> dict[str, object]:
        while True:
            try:
                answer = self._client.post(f"{self.url}{path}", json=content)
            except httpx.TransportError:
                time.sleep(0.01)
                continue
            assert answer.status_code == 200, answer.text
            told: dict[str, object] = answer.json()
            self.label = str(told.get("participant", self.label))
            return told


def check_stored(folder: Path, people: list[Clicking], *, running: bool) -> int:
    """Check that acknowledged events are stored once, in order and validly; return the number of events."""
    design, total = load(folder), 0
    acknowledged = {person.label: list(person.acknowledged) for person in people}
    with reading(folder) as reader:
        participants = reader.participants()
        assert Counter(one.participant for one in participants) == Counter(label for label in acknowledged if label)
        for one in participants:
            events = reader.events(one.id)
            replay(one.trials, events, design.item_type)
            ids = [event.event for event in events]
            assert len(set(ids)) == len(ids)
            mine = acknowledged[one.participant]
            assert ids[1 : 1 + len(mine)] == mine
            # At most one event may be stored but not yet acknowledged.
            assert len(ids) - 1 - len(mine) <= (1 if running else 0)
            total += len(ids)
    return total


def kill_and_go_on(folder: Path, *, people: int, kills: int, rng: random.Random) -> None:
    clicking = [Clicking(number) for number in range(people)]
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]
    before = 0
    for number in range(kills + 1):
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
            try:
                url = address_of(child)
                for person in clicking:
                    person.url = url
                if not number:
                    for person in clicking:
                        person.start()
                enough = sum(len(person.acknowledged) for person in clicking) + rng.randrange(5, 80)
                deadline = time.monotonic() + 60
                while sum(len(person.acknowledged) for person in clicking) < enough:
                    assert time.monotonic() < deadline, [person.failure for person in clicking]
                    time.sleep(0.001)
                if number == kills:
                    for person in clicking:
                        person.stopping = True
                    for person in clicking:
                        person.join(60)
            finally:
                child.kill()
                _, stderr = child.communicate(timeout=60)
            assert "Traceback" not in stderr
        total = check_stored(folder, clicking, running=number < kills)
        assert total >= before
        before = total
    assert [person.failure for person in clicking] == [None] * people


@pytest.mark.slow
def test_kill_under_load_neither_loses_nor_doubles_acknowledged_events(tmp_path: Path) -> None:
    kill_and_go_on(study(tmp_path, images=2), people=8, kills=3, rng=random.Random(1))


@pytest.mark.slow
def test_repeated_kills_under_load_neither_lose_nor_double_events(tmp_path: Path) -> None:
    kill_and_go_on(study(tmp_path, images=2), people=20, kills=8, rng=random.Random(2))


@pytest.mark.slow
def test_second_server_of_the_same_study_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path)
    with serving(folder) as (url, _):
        line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]
        second = subprocess.run(line, capture_output=True, text=True, check=False)
        assert second.returncode == 2
        assert "is in use by another process" in second.stderr
        assert "Traceback" not in second.stderr
        assert httpx.get(f"{url}/api/study").status_code == 200


@pytest.mark.slow
def test_serve_at_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    with serving(study(tmp_path / "a")) as (url, _):
        port = url.rpartition(":")[2]
        line = [sys.executable, "-m", "spotball_core", "study", "serve", str(study(tmp_path / "b")), "--port", port]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --host 127.0.0.1 --port {port}: ")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_stopped_by_a_signal_exits_0_with_a_message(tmp_path: Path, ending: signal.Signals) -> None:
    folder = study(tmp_path)
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        url = address_of(child)
        with httpx.Client(base_url=url) as client:
            Person(client).start()
        child.send_signal(ending)
        _, stderr = child.communicate(timeout=30)
    assert child.returncode == 0, stderr
    assert stderr.splitlines()[-1] == "the server has stopped; all answers are stored"
    with reading(folder) as reader:
        assert len(reader.participants()) == 1


@pytest.mark.slow
def test_serve_prints_address_admin_page_and_open_problems(tmp_path: Path) -> None:
    folder = study(tmp_path)
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = [child.stderr.readline() for _ in range(3)]
        child.terminate()
        child.communicate(timeout=30)
    assert said[0].startswith("Spot the Ball: http://127.0.0.1:")
    assert (
        said[1]
        == "the admin page is off. To turn it on, set the environment variable SPOTBALL_STUDY_PASSWORD and restart\n"
    )
    assert said[2].startswith("the study is not ready (5 problems). List the problems with `spotball study check ")


@pytest.mark.slow
def test_admin_password_is_read_from_the_environment(tmp_path: Path) -> None:
    with serving(study(tmp_path), env={"SPOTBALL_STUDY_PASSWORD": "pässwörd"}) as (url, _):
        assert httpx.get(f"{url}/admin", auth=("admin", "pässwörd")).status_code == 200
        assert httpx.get(f"{url}/admin", auth=("admin", "passwort")).status_code == 401


@pytest.mark.slow
def test_full_disk_is_answered_with_503_and_no_acknowledged_event_is_lost(tmp_path: Path) -> None:
    """Check that no event is acknowledged without being stored, and that the study can be resumed."""
    folder = study(tmp_path, images=2)
    line = [sys.executable, "-m", "spotball_core", "study", "serve", str(folder), "--port", "0"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, preexec_fn=limit) as child:
        try:
            with httpx.Client(base_url=address_of(child)) as client:
                person = Person(client)
                person.start()
                person.do("stage", stage="instructions")
                person.do("shown", -1)
                kept = [3]
                for number in range(1000):
                    kind, value = ("click", middle(1, 1)) if number % 2 == 0 else ("undo", {})
                    event = sent(kept[-1] + 1, kind, -1, **value)
                    answer = person.post(event)
                    if answer.status_code != 200:
                        break
                    kept.append(answer.json()["seq"])
                assert answer.status_code == 503
                assert answer.json() == {"error": "the data could not be stored. Try again"}
                assert answer.headers["retry-after"] == "5"
                assert person.post(event).status_code == 503
                assert person.reload()["seq"] == kept[-1]
                cookies = client.cookies
        finally:
            child.kill()
            _, stderr = child.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert "study.sqlite: " in stderr
    with serving(folder) as (url, _), httpx.Client(base_url=url, cookies=cookies) as client:
        person.client = client
        assert person.reload()["seq"] == kept[-1]
        assert person.post(event).status_code == 200


@pytest.mark.slow
def test_serve_supports_a_choice_study(tmp_path: Path) -> None:
    with serving(choices(tmp_path)) as (url, _):
        assert httpx.get(f"{url}/api/study").json()["task"] == "choice"


@pytest.mark.slow
def test_serve_demo_shows_all_images() -> None:
    line = [sys.executable, "-m", "spotball_core", "study", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        try:
            with httpx.Client(base_url=address_of(child)) as client:
                state = Person(client).start().json()
                assert {client.get(item["image"]).status_code for item in state["trials"]} == {200}
        finally:
            child.terminate()
            _, stderr = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "Traceback" not in stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["--demo", "{}"]])
def test_serve_requires_either_a_folder_or_demo(tmp_path: Path, arguments: list[str]) -> None:
    line = [sys.executable, "-m", "spotball_core", "study", "serve", *(word.format(tmp_path) for word in arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])


def test_listening_socket_is_tcp_so_that_asyncio_sets_tcp_nodelay() -> None:
    # asyncio sets TCP_NODELAY only on sockets marked as TCP, and connections inherit this from the listener.
    with listening("127.0.0.1", 0) as at:
        assert at.proto == socket.IPPROTO_TCP
        assert at.getsockname()[0] == "127.0.0.1"
