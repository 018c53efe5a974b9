"""Test the provider `openai` with servers that differ from OpenAI like vLLM, SGLang, Ollama, llama.cpp and others.

The real servers do not run here. The tests simulate their addresses, messages and extra fields.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from spotball_adapters.providers.openai import KEY, OpenAI
from spotball_adapters.providers.protocol import Answer
from spotball_adapters.providers.responses import RejectedError
from tests.adapters.asking import access, ask, request
from tests.adapters.conformance.cases import SECRET
from tests.adapters.faults import status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest, text_of


@dataclass(frozen=True)
class Compatible:
    """The differences between a server and OpenAI.

    Attributes:
        base_path: The base path of its API.
        query: The query string of its addresses.
        keyed: Whether it requires a key.
        key_header: The header that contains the key without `Bearer`; empty for the header of the protocol.
        several: The status and message of its error for several samples; None if it supports several.
        gives: The maximum number of replies per request.
        reasons: Whether the message of a reply also contains its reasoning.
        choice: Extra fields of a choice.
        extra: The `--extra-body` of its users.
    """

    base_path: str = "/v1"
    query: str = ""
    keyed: bool = False
    key_header: str = ""
    several: tuple[int, str] | None = None
    gives: int = 128
    reasons: bool = False
    choice: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] | None = None


FILTERS = {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}

SERVERS = {
    "vLLM": Compatible(reasons=True, extra={"top_k": 20}),
    "SGLang": Compatible(reasons=True, choice={"matched_stop": 151645}, extra={"top_k": 20}),
    "Ollama": Compatible(gives=1),
    "llama.cpp, older": Compatible(several=(400, "Only one completion choice is allowed")),
    "llama.cpp, newer": Compatible(several=(500, "n_cmpl cannot be greater than the number of slots")),
    "Groq": Compatible("/openai/v1", keyed=True, several=(400, "'n' : number must be at most 1")),
    "OpenRouter": Compatible("/api/v1", keyed=True, gives=1, choice={"native_finish_reason": "STOP"}),
    "Azure": Compatible("/openai/v1", keyed=True, choice=FILTERS),
    "Azure, deployment": Compatible(
        "/openai/deployments/gpt-4.1-mini",
        query="?api-version=2024-10-21",
        keyed=True,
        key_header="api-key",
        choice=FILTERS,
    ),
}


class CompatibleProtocol(OpenAIProtocol):
    """Chat completions as implemented by one of these servers."""

    def __init__(self, server: Compatible) -> None:
        super().__init__(keys={SECRET} if server.keyed else None, give=server.gives)
        self.server = server

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        base_path = self.server.base_path
        if not path.startswith(f"{base_path}/"):
            raise BadRequest(f"unknown path {path}", status=404)
        if not path.endswith(self.server.query):
            raise BadRequest("no api-version", status=404)
        if self.server.key_header:
            if "authorization" in headers:
                raise BadRequest("Access denied due to an invalid token", status=401)
            headers = {**headers, "authorization": f"Bearer {headers.get(self.server.key_header, '')}"}
        own_path = path.removeprefix(base_path).removesuffix(self.server.query)
        asked = super().read(method, "/v1" + own_path, headers, body)
        if self.server.several and asked.n > 1:
            status, message = self.server.several
            raise BadRequest(message, status=status)
        return asked

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        body = super().write(asked, texts, style)
        for choice in body["choices"]:
            choice.update(self.server.choice)
            if self.server.reasons:
                choice["message"]["reasoning_content"] = "The player may look at A1.\nCell: A1"
        return body


@pytest.fixture(params=SERVERS)
def compatible(request: pytest.FixtureRequest) -> Compatible:
    return SERVERS[request.param]


@pytest.fixture
def server(compatible: Compatible, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    if compatible.keyed:
        monkeypatch.setenv(KEY, SECRET)
    else:
        monkeypatch.delenv(KEY, raising=False)
    with serve(CompatibleProtocol(compatible), base_path=compatible.base_path) as started:
        yield started


class TestCompatibleServers:
    def test_provider_returns_one_reply_per_sample_or_falls_back_to_one_sample(
        self, compatible: Compatible, server: LoopbackServer
    ) -> None:
        provider = OpenAI(access(server.url + compatible.query))
        (first,) = ask(provider, request(1, 2, 3))
        assert isinstance(first, Answer), first
        alone = compatible.several is not None or compatible.gives == 1
        assert len(first.replies) == (1 if alone else 3)
        # A single status 500 may have another cause, so it does not lower max_samples.
        certain = compatible.several is None or compatible.several[0] < 500
        assert (provider.max_samples == 1) is (alone and certain)
        (question,) = server.given
        # The text is the reply, without the reasoning before it.
        assert [reply.text for reply in first.replies] == [text_of(question, n) for n in range(len(first.replies))]
        assert {reply.finish for reply in first.replies} == {"stop"}

    def test_provider_stops_requesting_several_samples_after_a_refusal(
        self, compatible: Compatible, server: LoopbackServer
    ) -> None:
        async def four_requests() -> None:
            provider = OpenAI(access(server.url + compatible.query))
            for _ in range(4):
                await provider.ask(request(*(3, 4)[: provider.max_samples]))
            await provider.close()

        asyncio.run(four_requests())
        refusals = 0 if compatible.several is None else 1 if compatible.several[0] < 500 else 2
        assert sum(seen.status != 200 for seen in server.seen) == refusals

    def test_provider_sends_reasoning_effort_and_extra_body(
        self, compatible: Compatible, server: LoopbackServer
    ) -> None:
        settings = {"reasoning_effort": "low", "extra_body": compatible.extra}
        provider = OpenAI(access(server.url + compatible.query))
        provider.check(request(**settings).settings)
        (found,) = ask(provider, request(**settings))
        assert isinstance(found, Answer), found
        assert server.asked[0].settings == {"reasoning_effort": "low", **(compatible.extra or {})}

    def test_provider_sends_the_key_only_if_one_is_set(self, compatible: Compatible, server: LoopbackServer) -> None:
        ask(OpenAI(access(server.url + compatible.query)), request())
        assert server.asked[0].key == (SECRET if compatible.keyed else None)


@pytest.mark.parametrize(
    "message",
    [
        "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
        "this model is missing data required for image input",
    ],
)
def test_status_500_about_missing_image_support_is_not_retried(message: str) -> None:
    with serve(OpenAIProtocol()) as server:
        server.always(status(500, message))
        (error,) = ask(OpenAI(access(server.url)), request(1, 2, 3))
        assert len(server.seen) == 1
    assert type(error) is RejectedError
    assert error.code == "request-rejected"
    assert "127.0.0.1: HTTP 500: " in str(error)
    assert message in str(error).lower()
