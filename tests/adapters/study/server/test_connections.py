"""Test clients that hold connections: others are served, connections are closed, and the log stays short."""

from __future__ import annotations

import logging.config
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from spotball_adapters.study.server import connections
from spotball_adapters.study.server.connections import LimitedConnection, file_limit, raise_file_limit
from spotball_adapters.study.server.log import log_config
from spotball_adapters.study.store import reading
from spotball_core.service import web
from tests.adapters.study.made import Person, running, serving, study

FILES = 1024
"""Maximum number of open files of the server, which is the default of systemd."""


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("connections"), images=2, checks=1)


@contextmanager
def connected(url: str, n: int = 1, *, send: bytes = b"", source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Yield open connections from an address, after sending bytes on each."""
    host, port = url.removeprefix("http://").split(":")
    with ExitStack() as stack:
        opened = []
        for _ in range(n):
            opened.append(
                stack.enter_context(socket.create_connection((host, int(port)), 60, source_address=(source, 0)))
            )
            if send:
                opened[-1].sendall(send)
        yield opened


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server closes a connection; return False if it has not done so within a minute."""
    connection.settimeout(60)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def incomplete(person: Person, length: int = 1000) -> bytes:
    """Return a request with events of which only the first byte of the body is sent."""
    (cookie,) = [f"{name}={value}" for name, value in person.client.cookies.items()]
    head = f"POST /api/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nCookie: {cookie}\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n{{".encode()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["body", "head", "nothing"])
def test_1300_incomplete_requests_of_one_address_neither_stop_the_server_nor_fill_the_log(
    folder: Path, kind: str
) -> None:
    raise_file_limit()
    if file_limit() < 2 * FILES:
        pytest.skip("needs more open files")
    with serving(folder, preexec_fn=limit_files) as (url, child):
        with httpx.Client(base_url=url) as client:
            one = Person(client).begin()
            whole = incomplete(one)
            sent = {"body": whole, "head": whole.partition(b"Cookie")[0], "nothing": b""}[kind]
            with connected(url, 1300, send=sent), httpx.Client(base_url=url) as other:
                # Both come from the same address as the incomplete requests.
                Person(other).whole()
                assert other.get("/").status_code == 200
                assert one.client.get("/api/study").status_code == 200
        child.terminate()
        _, stderr = child.communicate(timeout=60)
    assert stderr.count("\n") <= 3
    assert "Traceback" not in stderr
    with reading(folder) as reader:
        assert reader.participants()[-1].finished_at is not None


@pytest.mark.parametrize("seconds", ["HEAD_SECONDS", "REQUEST_SECONDS", "REST_SECONDS"])
def test_incomplete_request_is_closed_after_its_time(
    folder: Path, seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, seconds, 0.2)
    with running(folder) as url, httpx.Client(base_url=url) as client:
        whole = incomplete(Person(client).begin())
        # A request without a cookie is answered without its body.
        sent = {"HEAD_SECONDS": [b"", whole[:20]], "REQUEST_SECONDS": [whole]}
        for content in sent.get(seconds, [whole.replace(b"Cookie", b"X-Cookie")]):
            with connected(url, send=content) as (one,):
                assert is_closed(one)


def test_partial_head_after_a_complete_request_is_closed_after_its_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    with running(folder) as url, connected(url, send=b"GET /api/study HTTP/1.1\r\nHost: x\r\n\r\nGET /") as (one,):
        assert is_closed(one)


def test_response_that_the_client_does_not_receive_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for phase in ("SEND_SECONDS", "REQUEST_SECONDS"):
        monkeypatch.setattr(connections, phase, 0.2)
    lost, original = threading.Event(), LimitedConnection.connection_lost

    def connection_lost(self: LimitedConnection, error: Exception | None) -> None:
        original(self, error)
        lost.set()

    monkeypatch.setattr(LimitedConnection, "connection_lost", connection_lost)
    request = b"GET /static/app.js HTTP/1.1\r\nHost: x\r\n\r\n"
    # The responses are larger than the buffers of the system.
    with running(folder) as url, connected(url, send=request * 1500):
        assert lost.wait(60)


def test_idle_connection_is_closed_for_a_new_one_of_the_same_address(tmp_path: Path) -> None:
    few = study(tmp_path, images=2, changes={"connections_per_address = 512": "connections_per_address = 3"})
    with running(few) as url, connected(url, source="127.0.0.2") as (other,), connected(url, 4) as (first, *more):
        assert is_closed(first)
        for one in (other, *more):
            one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"
    with running(few, proxies=["127.0.0.0/8"]) as url, connected(url, 5) as opened:
        for one in opened:
            one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert one.recv(12) == b"HTTP/1.1 200"


def test_requests_over_a_limit_are_answered_before_their_body_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "BODY_SECONDS", 60)
    limits = {"requests_per_minute = 600": "requests_per_minute = 50", "per_address = 512": "per_address = 60"}
    with running(study(tmp_path, images=2, changes=limits)) as url, httpx.Client(base_url=url) as client:
        whole = incomplete(Person(client).begin())
        with connected(url, 50, send=whole) as opened:
            opened[-1].settimeout(60)
            assert opened[-1].recv(12) == b"HTTP/1.1 429"


def test_connection_that_is_closed_within_a_body_is_not_an_error(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(folder) as url, httpx.Client(base_url=url) as client:
        whole = incomplete(Person(client).begin())
        for _ in range(3):
            with connected(url, send=whole):
                pass
        assert client.get("/api/state").status_code == 200
    assert capfd.readouterr().err == ""


def test_process_raises_its_limit_on_open_files() -> None:
    code = "import resource as r; from spotball_adapters.study.server.connections import raise_file_limit as f; f(); "
    soft = ["bash", "-c", 'ulimit -Sn 256 && exec "$@"', "-"]
    line = [*soft, sys.executable, "-c", f"{code}print(r.getrlimit(r.RLIMIT_NOFILE)[0])"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert int(done.stdout) == min(hard, connections.MOST_FILES)


def test_repeated_errors_are_logged_once_and_system_errors_without_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logging.config.dictConfig(log_config())
    logger = logging.getLogger("asyncio")
    for number in range(3):
        logger.error("socket.accept() failed\nsocket: %d", number, exc_info=OSError(24, "Too many open files"))
    logging.getLogger("uvicorn.error").error("failed\n", exc_info=ValueError("x"))
    logging.getLogger("uvicorn.error").error("failed\n", exc_info=ValueError("x"))
    said = capfd.readouterr().err
    assert said.count("accept") == said.count("Too many open files") == 1
    assert said.count("ValueError: x") == 1
