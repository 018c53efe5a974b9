"""Test when the provider `openai` uses the Responses API; `conformance` tests how it uses it."""

from __future__ import annotations

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
from tests.failures import codes, raises

REQUIRED = "This model is only supported in v1/responses and not in v1/chat/completions."


class BothProtocols(OpenAIProtocol):
    """A server with both APIs.

    Args:
        refusal: The status and message of its error for chat completions; None if it supports them.
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


def test_model_that_requires_the_responses_api_switches_to_it_permanently(server: LoopbackServer) -> None:
    provider = OpenAI(access(server.url))
    first, second = ask(provider, request(1, 2, 3), request(2))
    assert isinstance(first, Answer), first
    assert isinstance(second, Answer), second
    assert paths(server) == ["chat/completions", "responses", "responses"]
    assert provider.max_samples == len(first.replies) == 1
    assert (first.requests, second.requests) == (2, 1)


def test_api_responses_uses_the_responses_api_from_the_first_request(server: LoopbackServer) -> None:
    provider = OpenAI(access(server.url, api="responses"))
    assert provider.max_samples == 1
    assert answer(provider, request()).requests == 1
    assert paths(server) == ["responses"]


def test_api_chat_does_not_switch_to_the_responses_api(server: LoopbackServer) -> None:
    with raises(PermanentError, "request-rejected") as raised:
        answer(OpenAI(access(server.url, api="chat")), request())
    assert paths(server) == ["chat/completions"]
    assert raised.value.requests == 1


@pytest.mark.parametrize(
    ("status", "message"), [(404, "The model `x` does not exist"), (403, REQUIRED), (400, "Unsupported value")]
)
def test_other_refusals_do_not_switch_to_the_responses_api(status: int, message: str) -> None:
    with serve(BothProtocols((status, message))) as server:
        with raises(PermanentError, "request-rejected"):
            answer(OpenAI(access(server.url)), request())
        assert set(paths(server)) == {"chat/completions"}


def test_api_responses_on_a_server_without_it_raises_permanent_error_after_one_request(server: LoopbackServer) -> None:
    with serve(OpenAIProtocol()) as chat_only:
        with raises(PermanentError, "request-rejected") as raised:
            answer(OpenAI(access(chat_only.url, api="responses")), request())
        assert raised.value.requests == 1


def test_seed_with_the_responses_api_is_an_error_in_check_and_at_the_switch(server: LoopbackServer) -> None:
    with raises(OptionError, "unsupported-option:--seed"):
        OpenAI(access(server.url, api="responses")).check(Settings(seed=1))
    with raises(PermanentError, "request-rejected"):
        answer(OpenAI(access(server.url)), request(seed=1))
    assert paths(server) == ["chat/completions"]


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"extra_body": {"input": []}}, "conflicting-options:--extra-body"),
        ({"extra_body": {"max_output_tokens": 9}}, "conflicting-options:--extra-body"),
        ({"extra_body": {"background": True}}, "conflicting-options:--extra-body"),
        ({"extra_body": {"reasoning": {}}, "reasoning_effort": "low"}, "conflicting-options:--extra-body"),
        ({"reasoning_effort": " "}, "invalid-option:--reasoning-effort"),
    ],
)
def test_check_of_extra_body_fields_with_their_own_option_is_an_error(settings: dict[str, Any], where: str) -> None:
    with raises(OptionError, where):
        OpenAI(access("http://127.0.0.1:1/v1", api="responses")).check(Settings(**settings))


def test_run_uses_the_responses_api_by_option_or_by_switching(server: LoopbackServer, tmp_path: Any) -> None:
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
    assert (refused.returncode, codes(refused.stderr)) == (2, ["unsupported-option"])
    assert "--api: " in refused.stderr
    assert "anthropic" in refused.stderr
