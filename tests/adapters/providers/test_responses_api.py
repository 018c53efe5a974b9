"""When the provider `openai` uses the Responses API; `conformance` has what it does with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from spotball_adapters.providers.openai import KEY, OpenAI
from spotball_adapters.providers.protocol import Answer, PermanentError, Settings
from spotball_core.errors import OptionError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.run_process import dataset, here
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speaks_responses import ResponsesProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest

REQUIRED = "This model is only supported in v1/responses and not in v1/chat/completions."


class BothProtocols(OpenAIProtocol):
    """A server with both APIs.

    Args:
        refusal: status and message with which it refuses chat completions; None if it takes them.
    """

    def __init__(self, refusal: tuple[int, str] | None) -> None:
        super().__init__()
        self.refusal = refusal
        self.responses = ResponsesProtocol()
        self._path = ""

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        self._path = path
        if path == "/v1/responses":
            return self.responses.read(method, path, headers, body)
        if self.refusal:
            status, message = self.refusal
            raise BadRequest(message, status=status, field="model")
        return super().read(method, path, headers, body)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        speaks = self.responses if self._path == "/v1/responses" else super()
        return speaks.write(asked, texts, style)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serve(BothProtocols((404, REQUIRED))) as started:
        yield started


def paths(server: LoopbackServer) -> list[str]:
    return [seen.path.removeprefix("/v1/") for seen in server.seen]


def test_a_model_that_requires_it_is_reached_by_it_from_then_on(server: LoopbackServer) -> None:
    provider = OpenAI(access(server.url))
    first, second = ask(provider, request(1, 2, 3), request(2))
    assert isinstance(first, Answer), first
    assert isinstance(second, Answer), second
    assert paths(server) == ["chat/completions", "responses", "responses"]
    assert provider.max_samples == len(first.replies) == 1
    assert (first.requests, second.requests) == (2, 1)


def test_it_is_used_at_once_if_it_is_named(server: LoopbackServer) -> None:
    provider = OpenAI(access(server.url, api="responses"))
    assert provider.max_samples == 1
    assert answer(provider, request()).requests == 1
    assert paths(server) == ["responses"]


def test_it_is_not_used_if_chat_completions_are_named(server: LoopbackServer) -> None:
    with pytest.raises(PermanentError, match="HTTP 404: This model is only supported in v1/responses") as raised:
        answer(OpenAI(access(server.url, api="chat")), request())
    assert paths(server) == ["chat/completions"]
    assert raised.value.requests == 1


@pytest.mark.parametrize(
    ("status", "message"), [(404, "The model `x` does not exist"), (403, REQUIRED), (400, "Unsupported value")]
)
def test_it_is_not_used_for_other_refusals(status: int, message: str) -> None:
    with serve(BothProtocols((status, message))) as server:
        with pytest.raises(PermanentError, match=re.escape(f"HTTP {status}: {message}")):
            answer(OpenAI(access(server.url)), request())
        assert set(paths(server)) == {"chat/completions"}


def test_a_server_without_it_is_asked_once_more_only(server: LoopbackServer) -> None:
    with serve(OpenAIProtocol()) as chat_only:
        with pytest.raises(PermanentError, match="HTTP 404: unknown path /v1/responses") as raised:
            answer(OpenAI(access(chat_only.url, api="responses")), request())
        assert raised.value.requests == 1


def test_a_seed_is_refused_before_the_first_request_or_at_the_switch(server: LoopbackServer) -> None:
    with pytest.raises(OptionError, match=r"the Responses API does not support a seed\. Remove --seed"):
        OpenAI(access(server.url, api="responses")).check(Settings(seed=1))
    said = f"127.0.0.1: gpt-4.1-mini requires the Responses API: {'the Responses API does not support a seed'}"
    with pytest.raises(PermanentError, match=said):
        answer(OpenAI(access(server.url)), request(seed=1))
    assert paths(server) == ["chat/completions"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"extra_body": {"input": []}}, "must not set 'input'. Use --prompt instead"),
        ({"extra_body": {"max_output_tokens": 9}}, "Use --max-output-tokens instead"),
        ({"extra_body": {"background": True}}, "must not set 'background'"),
        ({"extra_body": {"reasoning": {}}, "reasoning_effort": "low"}, "sets 'reasoning' and --reasoning-effort"),
        ({"reasoning_effort": " "}, "--reasoning-effort is empty"),
    ],
)
def test_fields_that_are_set_in_another_way(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        OpenAI(access("http://127.0.0.1:1/v1", api="responses")).check(Settings(**settings))


def test_a_run_by_name_and_without(server: LoopbackServer, tmp_path: Any) -> None:
    data = dataset(tmp_path / "data", images=2)
    line = ("run", str(data), "--model", "m", "--prompt", "base", "--samples", "2", "--base-url", server.url)
    chosen = here(*line, "--provider", "openai", "--api", "responses", "--out", str(tmp_path / "chosen"), env={})
    assert chosen.returncode == 0, chosen.stderr
    assert set(paths(server)) == {"responses"}
    server.forget()
    found = here(*line, "--provider", "openai", "--concurrency", "1", "--out", str(tmp_path / "found"), env={})
    assert found.returncode == 0, found.stderr
    assert paths(server) == ["chat/completions", *["responses"] * 4]
    assert "sent 5 requests, of which 1 failed" in found.stderr
    refused = here(*line, "--provider", "anthropic", "--api", "chat", "--out", str(tmp_path / "no"), env={})
    assert refused.returncode == 2
    assert "--api: the provider anthropic has only one API. Remove --api" in refused.stderr
