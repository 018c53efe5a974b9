"""Test `spotball study serve` as a process: killed, started twice, stopped, and with a full disk."""

from __future__ import annotations

import random
import resource
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from spotball_adapters.study.progress import replay
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import reading
from tests.adapters.study.made import START, Person, middle, sent, serve_line, serving, study
from tests.cli.process import spotball
from tests.failures import codes
from tests.waiting import until

pytestmark = pytest.mark.slow


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
            self._send("/api/start", {**START, "prolific": self.prolific})
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


def test_repeated_kills_under_load_neither_lose_nor_duplicate_acknowledged_events(tmp_path: Path) -> None:
    folder, rng, kills = study(tmp_path, images=2), random.Random(2), 5
    clicking = [Clicking(number) for number in range(20)]

    def acknowledged() -> int:
        return sum(len(person.acknowledged) for person in clicking)

    before = 0
    for number in range(kills + 1):
        with serving(folder) as (url, child):
            for person in clicking:
                person.url = url
            if not number:
                for person in clicking:
                    person.start()
            enough = acknowledged() + rng.randrange(5, 80)
            until(lambda enough=enough: acknowledged() >= enough)
            if number == kills:
                for person in clicking:
                    person.stopping = True
                for person in clicking:
                    person.join(60)
            child.kill()
            _, stderr = child.communicate(timeout=60)
        assert "Traceback" not in stderr
        total = check_stored(folder, clicking, running=number < kills)
        assert total >= before
        before = total
    assert [person.failure for person in clicking] == [None] * len(clicking)


def test_second_server_of_the_same_study_or_at_the_same_port_is_an_error(tmp_path: Path) -> None:
    folder, other = study(tmp_path / "a"), study(tmp_path / "b")
    with serving(folder) as (url, _):
        port = url.rpartition(":")[2]
        second = spotball("study", "serve", folder, "--port", "0")
        assert (second.returncode, codes(second.stderr)) == (2, ["in-use"])
        at_port = spotball("study", "serve", other, "--port", port)
        assert at_port.returncode == 2
        assert at_port.stderr.startswith(f"error: --host 127.0.0.1 --port {port}: ")
        assert httpx.get(f"{url}/api/study").status_code == 200


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_address_and_problems_and_exits_0_on_a_signal(tmp_path: Path, ending: signal.Signals) -> None:
    folder = study(tmp_path)
    with subprocess.Popen(serve_line(folder), stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        first, second, third = (child.stderr.readline() for _ in range(3))
        with httpx.Client(base_url=first.split()[-1]) as client:
            Person(client).start()
        child.send_signal(ending)
        _, stderr = child.communicate(timeout=30)
    assert first.startswith("Spot the Ball: http://127.0.0.1:")
    turn_on = "To turn it on, set the environment variable SPOTBALL_STUDY_PASSWORD and restart"
    assert second == f"the admin page is off. {turn_on}\n"
    assert third.startswith("the study is not ready (5 problems)")
    assert child.returncode == 0, stderr
    assert stderr.splitlines()[-1] == "the server has stopped; all answers are stored"
    with reading(folder) as reader:
        assert len(reader.participants()) == 1


def test_serve_demo_shows_all_images_and_reads_the_admin_password_from_the_environment() -> None:
    with serving("--demo", env={"SPOTBALL_STUDY_PASSWORD": "pässwörd"}) as (url, child):
        with httpx.Client(base_url=url) as client:
            state = Person(client).start().json()
            assert {client.get(item["image"]).status_code for item in state["trials"]} == {200}
            assert client.get("/admin", auth=("admin", "pässwörd")).status_code == 200
            assert client.get("/admin", auth=("admin", "passwort")).status_code == 401
        child.terminate()
        _, stderr = child.communicate(timeout=60)
    assert child.returncode == 0
    assert "Traceback" not in stderr


def test_full_disk_is_answered_with_503_and_no_acknowledged_event_is_lost(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    with serving(folder, preexec_fn=limit) as (url, child), httpx.Client(base_url=url) as client:
        person = Person(client)
        person.start()
        person.do("stage", stage="instructions")
        person.do("shown", -1)
        kept = 3
        for number in range(1000):
            kind, value = ("click", middle(1, 1)) if number % 2 == 0 else ("undo", {})
            event = sent(kept + 1, kind, -1, **value)
            answer = person.post(event)
            if answer.status_code != 200:
                break
            kept = answer.json()["seq"]
        assert answer.status_code == 503
        assert answer.json() == {"error": "the data could not be stored. Try again"}
        assert answer.headers["retry-after"] == "5"
        assert person.post(event).status_code == 503
        assert person.reload()["seq"] == kept
        child.kill()
        _, stderr = child.communicate(timeout=60)
    assert "Traceback" not in stderr
    assert "study.sqlite: " in stderr
    with serving(folder) as (url, _), httpx.Client(base_url=url, cookies=client.cookies) as again:
        person.client = again
        assert person.reload()["seq"] == kept
        assert person.post(event).status_code == 200
