"""Test features that only the provider `anthropic` has; `conformance` tests those of all providers."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from spotball_adapters.providers.anthropic import HOME, KEY, MAX_OUTPUT_TOKENS, Anthropic
from spotball_adapters.providers.protocol import Message, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import Fault, body
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


class TestWhatIsSent:
    def test_request_names_the_settings_as_the_messages_api(self, server: LoopbackServer) -> None:
        answer(claude(server), request(3, temperature=0.6, top_p=0.9, max_output_tokens=300))
        assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300}

    def test_request_without_max_output_tokens_sends_the_default(self, server: LoopbackServer) -> None:
        answer(claude(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.keys() == {"model", "messages", "max_tokens"}
        assert sent["max_tokens"] == MAX_OUTPUT_TOKENS == 4096


class TestWhatComesBack:
    @pytest.mark.parametrize("reason", ["stop_sequence", "model_context_window_exceeded"])
    def test_stop_sequence_is_a_stop_and_full_context_is_a_length_finish(
        self, server: LoopbackServer, reason: str
    ) -> None:
        server.script(body(f'{{"content": [{{"type": "text", "text": "A1"}}], "stop_reason": "{reason}"}}'))
        found = answer(claude(server), request())
        assert found.replies[0].finish == {"stop_sequence": "stop"}.get(reason, "length")
        assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)

    @pytest.mark.parametrize(
        "fault",
        [
            body('{"content": null}'),
            body('{"content": [{"type": "text"}]}'),
            body('{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'),
        ],
        ids=lambda fault: fault.text[:40],
    )
    def test_broken_content_raises_transient_error(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        (found,) = ask(claude(server), request())
        assert isinstance(found, TransientError), found


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"seed": 0}, "unsupported-option:--seed"),
            ({"temperature": 1.1}, "invalid-option:--temperature"),
        ],
    )
    def test_check_of_unsupported_settings_is_an_error(self, settings: dict[str, float], message: str) -> None:
        with raises(OptionError, message):
            Anthropic(access()).check(Settings(**settings))  # type: ignore[arg-type]

    def test_check_accepts_the_maximum_settings(self) -> None:
        Anthropic(access()).check(Settings(temperature=1, top_p=1, max_output_tokens=1))

    def test_provider_reports_name_model_versions_and_image_tokens(self) -> None:
        provider = Anthropic(access(model="claude-sonnet-4"))
        assert (provider.name, provider.model, provider.max_samples) == ("anthropic", "claude-sonnet-4", 1)
        assert provider.versions() == {"httpx": httpx.__version__, "anthropic-version": "2023-06-01"}
        assert provider.image_tokens(640, 360) == 308
        assert HOME == "https://api.anthropic.com"
