"""Test that the loopback servers accept only what the protocols allow and produce the configured faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.adapters.faults import DROP, DROP_AFTER_HEADERS, HTML, RESET, STORM, TRUNCATED, TokenBucket, slow
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import Speaks, cell_of, text_of

PNG = "aW1n"


def openai_body(**more: Any) -> dict[str, Any]:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    content = [image, {"type": "text", "text": "Where?"}]
    return {"model": "m", "messages": [{"role": "user", "content": content}], **more}


def anthropic_body(**more: Any) -> dict[str, Any]:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    content = [image, {"type": "text", "text": "Where?"}]
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}], **more}


def gemini_body(**more: Any) -> dict[str, Any]:
    parts = [{"inlineData": {"mimeType": "image/png", "data": PNG}}, {"text": "Where?"}]
    return {"contents": [{"role": "user", "parts": parts}], **more}


Case = tuple[Callable[..., Speaks], str, dict[str, str], Callable[..., dict[str, Any]]]
CASES: dict[str, Case] = {
    "openai": (OpenAIProtocol, "/v1/chat/completions", {}, openai_body),
    "anthropic": (
        AnthropicProtocol,
        "/v1/messages",
        {"anthropic-version": "2023-06-01", "x-api-key": "k"},
        anthropic_body,
    ),
    "gemini": (
        GeminiProtocol,
        "/v1beta/models/m:generateContent?$alt=json;enum-encoding=int",
        {"x-goog-api-key": "k"},
        gemini_body,
    ),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Iterator[tuple[LoopbackServer, Callable[..., httpx.Response]]]:
    """Yield a server and a function that posts a valid request, with optional changes, to it."""
    speaks, path, headers, make = CASES[request.param]
    with serve(speaks(), base_path="") as server, httpx.Client() as client:

        def post(more: dict[str, Any] | None = None, without: str = "", **changed: Any) -> httpx.Response:
            given = {name: value for name, value in headers.items() if name != without}
            return client.post(server.url + changed.pop("path", path), json=make(**(more or {})), headers=given)

        yield server, post


def test_server_accepts_a_valid_request_and_records_it(case: Any) -> None:
    server, post = case
    server.seen.clear()
    response = post()
    assert response.status_code == 200
    (asked,) = server.asked
    assert asked.model == "m"
    assert asked.turns == (("user", "Where?"),)
    assert asked.pictures == (("image/png", b"img"),)


@pytest.mark.parametrize(
    "more",
    [
        {"unheard_of": 1},
        {"messages": [], "contents": []},
        {"messages": [{"role": "someone", "content": "x"}], "contents": [{"role": "someone", "parts": []}]},
        {"temperature": 3, "generationConfig": {"temperature": 3}},
        {"temperature": "warm", "generationConfig": {"temperature": "warm"}},
        {"seed": "x", "generationConfig": {"seed": 1}},
    ],
)
def test_server_rejects_an_invalid_request_body_with_status_400(case: Any, more: dict[str, Any]) -> None:
    _, post = case
    assert post(more).status_code == 400


def test_server_returns_404_for_an_unknown_path(case: Any) -> None:
    _, post = case
    assert post(path="/v2/other").status_code == 404


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_server_rejects_a_request_without_its_key_or_version_header(name: str) -> None:
    speaks, path, headers, make = CASES[name]
    with serve(speaks(), base_path="") as server:
        for header in headers:
            given = {key: value for key, value in headers.items() if key != header}
            assert httpx.post(server.url + path, json=make(), headers=given).status_code in (400, 401)


def test_server_numbers_the_replies_to_a_question_across_requests() -> None:
    with serve(OpenAIProtocol(), seed=5) as server, httpx.Client() as client:
        said = []
        for n in (2, 1, 3):
            body = openai_body(n=n, seed=n)
            found = client.post(f"{server.url}/chat/completions", json=body).json()["choices"]
            said += [one["message"]["content"] for one in sorted(found, key=lambda one: one["index"])]
        question = server.asked[0].question
        assert said == [text_of(question, i, 5) for i in range(6)]
        assert said[4].endswith(f"Cell: {cell_of(question, 4, 5)}")
        assert server.log()["given"] == {question: 6}
        other = client.post(f"{server.url}/chat/completions", json=openai_body(temperature=1)).text
        assert question not in other


def test_server_gives_scripted_faults_in_order_then_the_permanent_fault() -> None:
    with serve(OpenAIProtocol()) as server:

        def meets() -> object:
            try:
                response = httpx.post(f"{server.url}/chat/completions", json=openai_body())
            except httpx.TransportError as error:
                return type(error)
            return response.status_code if response.status_code != 200 else response.headers["content-type"]

        server.script(STORM, None, DROP, RESET, DROP_AFTER_HEADERS, TRUNCATED)
        server.always(STORM)
        assert [meets() for _ in range(8)] == [
            500,
            "application/json",
            httpx.RemoteProtocolError,
            httpx.ReadError,
            httpx.RemoteProtocolError,
            httpx.RemoteProtocolError,
            500,
            500,
        ]
        server.always(None)
        server.every(3, STORM)
        # Requests 9 and 12 of these four (9 to 12) are multiples of three, so they fail.
        assert [meets() for _ in range(4)] == [500, "application/json", "application/json", 500]
        assert server.log()["statuses"] == {"500": 5, "200": 5, "0": 2}


def test_server_faults_slow_and_html_cause_a_timeout_and_an_html_body() -> None:
    with serve(OpenAIProtocol()) as server:
        server.script(slow(0.3), HTML)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/chat/completions", json=openai_body(), timeout=0.1)
        assert "Bad gateway" in httpx.post(f"{server.url}/chat/completions", json=openai_body()).text


def test_token_bucket_allows_its_burst_then_limits_to_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("tests.adapters.faults.time.monotonic", lambda: now)
    bucket = TokenBucket(rate=2, burst=3)
    assert [bucket.wait() for _ in range(4)] == [0, 0, 0, 0.5]
    now += 0.25
    assert bucket.wait() == 0.25
    now += 0.25
    assert bucket.wait() == 0
    now += 60
    assert [bucket.wait() for _ in range(4)] == [0, 0, 0, 0.5]


@pytest.mark.parametrize("protocol", CASES)
def test_server_process_prints_its_address_and_keeps_a_log(protocol: str) -> None:
    _, path, headers, make = CASES[protocol]
    command = [sys.executable, "-m", "tests.adapters.server", "--protocol", protocol, "--fault", "500", "--every", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        root = url.removesuffix("/v1")
        assert url == root + ("/v1" if protocol == "openai" else "")
        statuses = [httpx.post(root + path, json=make(), headers=headers).status_code for _ in range(4)]
        assert statuses == [200, 500, 200, 500]
        log = httpx.get(f"{root}/log").json()
        process.terminate()
    assert log["requests"] == 4
    assert list(log["given"].values()) == [2]
