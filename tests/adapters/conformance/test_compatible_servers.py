"""Test the provider `openai` with OpenAI-compatible servers such as vLLM, SGLang, Ollama and llama.cpp.

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
from tests.adapters.asking import access, answer, request
from tests.adapters.conformance.cases import SECRET
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import ReceivedRequest, need, text_of


@dataclass(frozen=True)
class Compatible:
    """The differences between a server and OpenAI."""

    base_path: str = "/v1"  # the base path of its API
    query: str = ""  # the query string of its addresses
    keyed: bool = False  # whether it requires a key
    key_header: str = ""  # the header that contains the key without `Bearer`; empty for the header of the protocol
    several: tuple[int, str] | None = None  # status and message of its error for several samples, if it has one
    gives: int = 128  # the maximum number of replies per request
    reasons: bool = False  # whether the message of a reply also contains its reasoning
    choice: Mapping[str, Any] = field(default_factory=dict)  # extra fields of a choice
    extra: Mapping[str, Any] | None = None  # a value of `--extra-body` that its users set


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
        "/openai/deployments/gpt-4", query="?api-version=2024-10-21", keyed=True, key_header="api-key", choice=FILTERS
    ),
}


class CompatibleProtocol(OpenAIProtocol):
    """Chat completions as implemented by one of these servers."""

    def __init__(self, server: Compatible) -> None:
        super().__init__(keys={SECRET} if server.keyed else None, give=server.gives)
        self.server = server

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        known_path = path.startswith(f"{self.server.base_path}/") and path.endswith(self.server.query)
        need(known_path, f"unknown path {path}", status=404)
        if self.server.key_header:
            need("authorization" not in headers, "Access denied due to an invalid token", status=401)
            headers = {**headers, "authorization": f"Bearer {headers.get(self.server.key_header, '')}"}
        own_path = path.removeprefix(self.server.base_path).removesuffix(self.server.query)
        asked = super().read(method, "/v1" + own_path, headers, body)
        if self.server.several:
            status, message = self.server.several
            need(asked.n == 1, message, status=status)
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
    monkeypatch.setenv(KEY, SECRET if compatible.keyed else "")
    with serve(CompatibleProtocol(compatible), base_path=compatible.base_path) as started:
        yield started


def test_provider_returns_one_reply_per_sample_or_stops_requesting_several_samples_after_a_refusal(
    compatible: Compatible, server: LoopbackServer
) -> None:
    async def four_requests() -> tuple[Answer, int]:
        provider = OpenAI(access(server.url + compatible.query))
        first = await provider.ask(request(1, 2, 3))
        most = provider.max_samples
        for _ in range(3):
            await provider.ask(request(*(3, 4)[: provider.max_samples]))
        await provider.close()
        return first, most

    first, most = asyncio.run(four_requests())
    alone = compatible.several is not None or compatible.gives == 1
    assert len(first.replies) == (1 if alone else 3)
    # A single status 500 may have another cause, so it does not lower max_samples.
    certain = compatible.several is None or compatible.several[0] < 500
    assert (most == 1) is (alone and certain)
    (question,) = server.given
    # The text is the reply, without the reasoning before it.
    assert [reply.text for reply in first.replies] == [text_of(question, n) for n in range(len(first.replies))]
    assert {reply.finish for reply in first.replies} == {"stop"}
    refusals = 0 if compatible.several is None else 1 if certain else 2
    assert sum(seen.status != 200 for seen in server.seen) == refusals


def test_provider_sends_reasoning_effort_and_extra_body_and_the_key_if_one_is_set(
    compatible: Compatible, server: LoopbackServer
) -> None:
    settings = {"reasoning_effort": "low", "extra_body": compatible.extra}
    provider = OpenAI(access(server.url + compatible.query))
    provider.check(request(**settings).settings)
    assert answer(provider, request(**settings)).replies
    assert server.asked[0].settings == {"reasoning_effort": "low", **(compatible.extra or {})}
    assert server.asked[0].key == (SECRET if compatible.keyed else None)
