"""What is particular to the provider `anthropic`; `conformance` has what all providers do."""

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
    def test_settings_by_their_names(self, server: LoopbackServer) -> None:
        answer(claude(server), request(3, temperature=0.6, top_p=0.9, max_output_tokens=300))
        assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300}

    def test_the_length_is_sent_where_none_is_given(self, server: LoopbackServer) -> None:
        answer(claude(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.keys() == {"model", "messages", "max_tokens"}
        assert sent["max_tokens"] == MAX_OUTPUT_TOKENS == 4096


class TestWhatComesBack:
    @pytest.mark.parametrize("reason", ["stop_sequence", "model_context_window_exceeded"])
    def test_other_reasons(self, server: LoopbackServer, reason: str) -> None:
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
    def test_broken_content_passes(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        (found,) = ask(claude(server), request())
        assert isinstance(found, TransientError), found


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"seed": 0}, "Anthropic's Messages API does not support a seed. Remove --seed"),
            ({"temperature": 1.1}, "--temperature: found 1.1, expected 0 to 1"),
        ],
    )
    def test_settings_that_it_does_not_take(self, settings: dict[str, float], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            Anthropic(access()).check(Settings(**settings))  # type: ignore[arg-type]

    def test_settings_that_it_takes(self) -> None:
        Anthropic(access()).check(Settings(temperature=1, top_p=1, max_output_tokens=1))

    def test_what_it_is(self) -> None:
        provider = Anthropic(access(model="claude-sonnet-4"))
        assert (provider.name, provider.model, provider.max_samples) == ("anthropic", "claude-sonnet-4", 1)
        assert provider.versions() == {"httpx": httpx.__version__, "anthropic-version": "2023-06-01"}
        assert provider.image_tokens(640, 360) == 308
        assert HOME == "https://api.anthropic.com"
