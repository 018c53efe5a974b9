"""Test features that only the provider `anthropic` has; `conformance` tests those of all providers."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from spotball_adapters.providers.anthropic import HOME, KEY, MAX_OUTPUT_TOKENS, Anthropic
from spotball_adapters.providers.protocol import Message, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import body
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.failures import raises


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-ant-right")


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(AnthropicProtocol(), base_path="") as server:
        yield server


def claude(server: LoopbackServer) -> Anthropic:
    return Anthropic(access(server.url, model="claude-sonnet-4"))


def test_request_uses_the_setting_names_of_the_messages_api_and_always_contains_max_tokens(
    server: LoopbackServer,
) -> None:
    settings = {"temperature": 0.6, "top_p": 0.9, "max_output_tokens": 300}
    ask(claude(server), request(3, **settings), request(turns=(Message("user", "Where?", picture=True),)))
    assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300}
    sent = server.seen[1].json
    assert sent.keys() == {"model", "messages", "max_tokens"}
    assert sent["max_tokens"] == MAX_OUTPUT_TOKENS == 4096


@pytest.mark.parametrize(("reason", "finish"), [("stop_sequence", "stop"), ("model_context_window_exceeded", "length")])
def test_finish_is_stop_after_a_stop_sequence_and_length_after_a_full_context_window(
    server: LoopbackServer, reason: str, finish: str
) -> None:
    server.script(body(f'{{"content": [{{"type": "text", "text": "A1"}}], "stop_reason": "{reason}"}}'))
    found = answer(claude(server), request())
    assert found.replies[0].finish == finish
    assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)


@pytest.mark.parametrize("text", ['{"content": null}', '{"content": [{"type": "text"}]}'])
def test_response_with_malformed_content_raises_transient_error(server: LoopbackServer, text: str) -> None:
    server.script(body(text))
    (found,) = ask(claude(server), request())
    assert isinstance(found, TransientError), found


def test_check_accepts_the_maximum_settings_and_rejects_a_seed_and_a_temperature_above_1() -> None:
    provider = Anthropic(access())
    provider.check(Settings(temperature=1, top_p=1, max_output_tokens=1))
    with raises(OptionError, "unsupported-option:--seed"):
        provider.check(Settings(seed=0))
    with raises(OptionError, "invalid-option:--temperature"):
        provider.check(Settings(temperature=1.1))


def test_provider_reports_name_model_versions_and_image_tokens() -> None:
    provider = Anthropic(access(model="claude-sonnet-4"))
    assert (provider.name, provider.model, provider.max_samples) == ("anthropic", "claude-sonnet-4", 1)
    assert provider.versions() == {"httpx": httpx.__version__, "anthropic-version": "2023-06-01"}
    assert provider.image_tokens(640, 360) == 308
    assert HOME == "https://api.anthropic.com"
