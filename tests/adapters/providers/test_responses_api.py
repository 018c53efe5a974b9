"""Test when the provider `openai` uses the Responses API; `conformance` tests its requests and responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from spotball_adapters.providers.openai import KEY, OpenAI
from spotball_adapters.providers.protocol import Answer, PermanentError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.run_process import check_error, dataset, good, here
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speaks_responses import ResponsesProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest
from tests.failures import raises

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


def test_provider_switches_permanently_to_the_responses_api_if_the_model_requires_it(server: LoopbackServer) -> None:
    provider = OpenAI(access(server.url))
    first, second = ask(provider, request(1, 2, 3), request(2))
    assert isinstance(first, Answer), first
    assert isinstance(second, Answer), second
    assert paths(server) == ["chat/completions", "responses", "responses"]
    assert provider.max_samples == len(first.replies) == 1
    assert (first.requests, second.requests) == (2, 1)


@pytest.mark.parametrize(
    ("speaks", "options", "settings", "requested"),
    [
        (BothProtocols((404, "The model `x` does not exist")), {}, {}, ["chat/completions"]),
        (BothProtocols((403, REQUIRED)), {}, {}, ["chat/completions"]),
        (BothProtocols((400, "Unsupported value")), {}, {}, ["chat/completions"]),
        (BothProtocols((404, REQUIRED)), {"api": "chat"}, {}, ["chat/completions"]),
        # The Responses API does not support a seed.
        (BothProtocols((404, REQUIRED)), {}, {"seed": 1}, ["chat/completions"]),
        (OpenAIProtocol(), {"api": "responses"}, {}, ["responses"]),
    ],
)
def test_provider_that_cannot_switch_the_api_raises_permanent_error_after_one_request(
    speaks: OpenAIProtocol, options: dict[str, Any], settings: dict[str, Any], requested: list[str]
) -> None:
    with serve(speaks) as server:
        with raises(PermanentError, "request-rejected") as raised:
            answer(OpenAI(access(server.url, **options)), request(**settings))
        assert (paths(server), raised.value.requests) == (requested, 1)


def test_run_uses_the_responses_api_if_the_api_option_or_the_model_requires_it(
    server: LoopbackServer, tmp_path: Path
) -> None:
    data = dataset(tmp_path / "data", images=2)
    line = ("run", data, "--model", "m", "--prompt", "base", "--samples", "2", "--base-url", server.url)
    good(*line, "--provider", "openai", "--api", "responses", "--out", tmp_path / "chosen", env={})
    assert set(paths(server)) == {"responses"}
    server.forget()
    found = good(*line, "--provider", "openai", "--concurrency", "1", "--out", tmp_path / "found", env={})
    assert paths(server) == ["chat/completions", *["responses"] * 4]
    assert "sent 5 requests, of which 1 failed" in found.stderr
    refused = here(*line, "--provider", "anthropic", "--api", "chat", "--out", tmp_path / "no", env={})
    check_error(refused, "unsupported-option", "--api: ", "anthropic")
