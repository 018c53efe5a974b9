"""Test that the loopback servers accept only what the protocols allow and produce the configured faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.adapters.server import PROTOCOLS, serve

PNG = "aW1n"


def body_of(protocol: str, **more: Any) -> dict[str, Any]:
    """Return the body of a valid request about an image, with more fields."""
    text = {"type": "text", "text": "Where?"}
    if protocol == "openai":
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
        return {"model": "m", "messages": [{"role": "user", "content": [image, text]}], **more}
    if protocol == "anthropic":
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        content = [{"type": "image", "source": source}, text]
        return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}], **more}
    parts = [{"inlineData": {"mimeType": "image/png", "data": PNG}}, {"text": "Where?"}]
    return {"contents": [{"role": "user", "parts": parts}], **more}


PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent?$alt=json;enum-encoding=int",
}
HEADERS: dict[str, dict[str, str]] = {
    "openai": {},
    "anthropic": {"anthropic-version": "2023-06-01", "x-api-key": "k"},
    "gemini": {"x-goog-api-key": "k"},
}


@pytest.fixture(scope="module", params=PATHS)
def post(request: pytest.FixtureRequest) -> Iterator[Callable[..., int]]:
    """Yield a function that posts a valid request, with optional changes, and returns the status of the answer."""
    name = request.param
    with serve(PROTOCOLS[name](), base_path="") as server, httpx.Client() as client:

        def post(path: str = PATHS[name], headers: dict[str, str] = HEADERS[name], **more: Any) -> int:
            return client.post(server.url + path, json=body_of(name, **more), headers=headers).status_code

        yield post


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
def test_server_rejects_an_invalid_request_body_with_status_400(post: Callable[..., int], more: dict[str, Any]) -> None:
    assert post() == 200
    assert post(**more) == 400


def test_server_rejects_an_unknown_path_and_a_missing_key_or_version_header(
    post: Callable[..., int], request: pytest.FixtureRequest
) -> None:
    assert post(path="/v2/other") == 404
    headers = HEADERS[request.node.callspec.params["post"]]
    for header in headers:
        assert post(headers={key: value for key, value in headers.items() if key != header}) in (400, 401)


@pytest.mark.parametrize("protocol", PATHS)
def test_server_process_prints_its_address_simulates_the_fault_option_and_returns_request_counts_at_log(
    protocol: str,
) -> None:
    command = [sys.executable, "-m", "tests.adapters.server", "--protocol", protocol, "--fault", "500", "--every", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        root = url.removesuffix("/v1")
        assert url == root + ("/v1" if protocol == "openai" else "")
        body, headers = body_of(protocol), HEADERS[protocol]
        statuses = [httpx.post(root + PATHS[protocol], json=body, headers=headers).status_code for _ in range(4)]
        assert statuses == [200, 500, 200, 500]
        log = httpx.get(f"{root}/log").json()
        process.terminate()
    assert log["requests"] == 4
    assert list(log["given"].values()) == [2]
