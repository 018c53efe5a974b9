"""The provider `anthropic` against a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from spotball_adapters.providers.anthropic import HOME, KEY, MAX_OUTPUT_TOKENS, Anthropic
from spotball_adapters.providers.protocol import Message, PermanentError, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.asking import SENT, access, answer, ask, request
from tests.adapters.faults import Fault, body, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, text_of


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-ant-right")


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(AnthropicProtocol(keys={"sk-ant-right"}), base_path="") as server:
        yield server


def claude(server: LoopbackServer, **options: float) -> Anthropic:
    return Anthropic(access(server.url, model="claude-sonnet-4", **options))


class TestWhatIsSent:
    def test_picture_text_and_settings(self, server: LoopbackServer) -> None:
        turns = (
            Message("system", "You see a match."),
            Message("user", "Look.", picture=True),
            Message("assistant", "I look."),
            Message("user", "Cell?"),
        )
        answer(claude(server), request(3, turns=turns, temperature=0.6, top_p=0.9, max_output_tokens=300))
        (asked,) = server.asked
        assert asked.model == "claude-sonnet-4"
        assert asked.turns == tuple((turn.role, turn.text) for turn in turns)
        assert asked.pictures == (("image/png", SENT),)
        assert asked.settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300}

    def test_the_picture_comes_before_its_text(self, server: LoopbackServer) -> None:
        answer(claude(server), request())
        content = server.seen[0].json["messages"][0]["content"]
        assert [part["type"] for part in content] == ["image", "text"]

    def test_the_length_is_sent_where_none_is_given(self, server: LoopbackServer) -> None:
        answer(claude(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.keys() == {"model", "messages", "max_tokens"}
        assert sent["max_tokens"] == MAX_OUTPUT_TOKENS == 4096


class TestWhatComesBack:
    def test_a_reply(self, server: LoopbackServer) -> None:
        found = answer(claude(server), request())
        (one,) = found.replies
        assert one.text == text_of(server.asked[0].question, 0)
        assert (one.finish, one.finish_said) == ("stop", "end_turn")
        assert found.model == "claude-sonnet-4-20250514"
        assert (found.input_tokens, found.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)

    @pytest.mark.parametrize(
        ("style", "finish", "said", "text"),
        [
            ("refusal", "refused", "refusal", ""),
            ("empty", "stop", "end_turn", ""),
            ("cut-off", "length", "max_tokens", "Reasoning:"),
            ("strange", "other", "pause_turn", None),
        ],
    )
    def test_why_a_reply_ended(
        self, server: LoopbackServer, style: str, finish: str, said: str, text: str | None
    ) -> None:
        server.script(reply(style))
        (one,) = answer(claude(server), request()).replies
        assert (one.finish, one.finish_said) == (finish, said)
        if text is not None:
            assert one.text == text

    @pytest.mark.parametrize("reason", ["stop_sequence", "model_context_window_exceeded"])
    def test_other_reasons(self, server: LoopbackServer, reason: str) -> None:
        server.script(body(f'{{"content": [{{"type": "text", "text": "A1"}}], "stop_reason": "{reason}"}}'))
        found = answer(claude(server), request())
        assert found.replies[0].finish == {"stop_sequence": "stop"}.get(reason, "length")
        assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)


class TestFaults:
    @pytest.mark.parametrize("number", [408, 409, 429, 500, 504, 529])
    def test_statuses_that_pass(self, server: LoopbackServer, number: int) -> None:
        server.script(status(number, "Overloaded", retry_after="3"))
        first, second = ask(claude(server), request(), request())
        assert isinstance(first, TransientError)
        assert (first.status, first.retry_after) == (number, 3.0)
        assert not isinstance(second, BaseException)

    @pytest.mark.parametrize("number", [400, 401, 403, 404, 413])
    def test_statuses_that_stay(self, server: LoopbackServer, number: int) -> None:
        server.script(status(number, "model: no such model"))
        with pytest.raises(PermanentError, match=rf"^127\.0\.0\.1: HTTP {number}: model: no such model$"):
            answer(claude(server), request())

    @pytest.mark.parametrize(
        "fault",
        [
            faults.DROP,
            faults.RESET,
            faults.DROP_AFTER_HEADERS,
            faults.TRUNCATED,
            faults.HTML,
            body("{}"),
            body('{"content": null}'),
            body('{"content": [{"type": "text"}]}'),
            body('{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'),
        ],
        ids=lambda fault: f"{fault.kind} {fault.text[:40]}",
    )
    def test_broken_connections_and_bodies_pass(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        first, second = ask(claude(server), request(), request())
        assert isinstance(first, TransientError), first
        assert not isinstance(second, BaseException)


class TestKeysAndSettings:
    def test_a_wrong_key_stops(self, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "sk-ant-wrong")
        with pytest.raises(PermanentError, match=r"HTTP 401: invalid x-api-key: \[key\]"):
            answer(claude(server), request())

    @pytest.mark.parametrize("url", [None, "http://localhost:1"])
    def test_a_key_is_needed(self, monkeypatch: pytest.MonkeyPatch, url: str | None) -> None:
        monkeypatch.delenv(KEY)
        with pytest.raises(PermanentError, match="anthropic needs a key: set the environment variable ANTHROPIC_API_K"):
            answer(Anthropic(access(url)), request())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"seed": 0}, "the Messages API of anthropic has no seed: leave seed out"),
            ({"temperature": 1.1}, "no temperature of 1.1, expected 0 to 1"),
            ({"max_output_tokens": 0}, "no max_output_tokens of 0"),
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
