"""What is particular to the provider `openai`; `conformance` has what all providers do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spotball_adapters.providers.openai import HOME, KEY, OpenAI
from spotball_adapters.providers.protocol import Answer, PermanentError, RefusedError, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import Fault, body, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol()) as server:
        yield server


class TestWhatIsSent:
    def test_settings_by_their_names(self, server: LoopbackServer) -> None:
        settings = {"temperature": 0.6, "top_p": 0.9, "max_output_tokens": 300, "seed": 4}
        answer(OpenAI(access(server.url)), request(1, 2, 3, **settings))
        assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300, "seed": 4}

    def test_further_fields_of_the_body(self, server: LoopbackServer) -> None:
        settings = {"reasoning_effort": "low", "extra_body": {"top_k": 20, "max_completion_tokens": 9}}
        answer(OpenAI(access(server.url)), request(1, 2, **settings))
        sent = server.seen[0].json
        further = {"reasoning_effort": "low", "top_k": 20, "max_completion_tokens": 9}
        assert {**sent, "messages": []} == {"model": "gpt-4.1-mini", "messages": [], "n": 2, **further}

    def test_requests_for_other_samples_have_other_seeds(self, server: LoopbackServer) -> None:
        ask(OpenAI(access(server.url)), request(1, 2, seed=7), request(3, 4, seed=7), request(5, seed=7))
        assert [asked.settings["seed"] for asked in server.asked] == [7, 9, 11]

    def test_openai_itself_gets_the_newer_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "sk-test")
        given = request(1, max_output_tokens=9)
        assert OpenAI(access())._body(given, 1)["max_completion_tokens"] == 9
        assert OpenAI(access("http://localhost:1/v1"))._body(given, 1)["max_tokens"] == 9

    def test_openrouter_must_not_drop_settings(self) -> None:
        body = OpenAI(access("https://openrouter.ai/api/v1"))._body(request(1, temperature=0.6), 1)
        assert body["provider"] == {"require_parameters": True}

    def test_the_routing_of_openrouter_is_kept(self) -> None:
        provider = OpenAI(access("https://openrouter.ai/api/v1"))
        routed = request(1, extra_body={"provider": {"order": ["deepinfra"]}})
        provider.check(routed.settings)
        assert provider._body(routed, 1)["provider"] == {"require_parameters": True, "order": ["deepinfra"]}
        with pytest.raises(OptionError, match="'provider': found 'deepinfra', expected a JSON object"):
            provider.check(Settings(extra_body={"provider": "deepinfra"}))

    def test_a_server_of_ones_own_needs_no_key(self, server: LoopbackServer) -> None:
        answer(OpenAI(access(server.url)), request())
        assert "authorization" not in server.seen[0].headers

    def test_its_own_address(self) -> None:
        assert HOME == "https://api.openai.com/v1"


class TestWhatComesBack:
    @pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
    def test_a_question_withheld_by_a_filter_is_answered_by_nothing(self, server: LoopbackServer, code: str) -> None:
        server.script(status(400, "Your request was rejected by our safety system", code=code))
        found = answer(OpenAI(access(server.url)), request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", code)] * 2
        assert found.input_tokens is None

    def test_gemini_gives_eight(self) -> None:
        url = "https://generativelanguage.googleapis.com/v1beta/openai"
        assert OpenAI(access(url)).max_samples == 8

    def test_a_refusal_of_n_that_names_no_field_is_asked_again(self, server: LoopbackServer) -> None:
        server.script(status(400, "Multiple candidates is not enabled for this model", code="INVALID_ARGUMENT"))
        provider = OpenAI(access(server.url))
        assert len(answer(provider, request(1, 2)).replies) == 1
        assert provider.max_samples == 1

    @pytest.mark.parametrize(
        "fault",
        [
            status(400, "'n' : number must be at most 1"),
            status(400, "Only one completion choice is allowed"),
            status(422, "unprocessable"),
        ],
        ids=lambda fault: fault.text[:20],
    )
    def test_several_samples_refused_in_any_words_are_requested_one_by_one(
        self, server: LoopbackServer, fault: Fault
    ) -> None:
        server.script(fault)
        provider = OpenAI(access(server.url))
        assert len(answer(provider, request(1, 2)).replies) == 1
        assert provider.max_samples == 1
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1]

    def test_a_server_that_fails_twice_with_several_samples_is_asked_for_one(self, server: LoopbackServer) -> None:
        """Once may have had another reason."""
        fault = status(500, "n_cmpl is greater than the number of slots")
        server.script(fault, None, fault, None)
        provider = OpenAI(access(server.url))
        ask(provider, request(1, 2), request(2, 3), request(3))
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1, 2, 1, 1]
        assert provider.max_samples == 1

    def test_a_server_that_failed_once_may_give_several_samples(self, server: LoopbackServer) -> None:
        server.script(status(500, "busy"))
        provider = OpenAI(access(server.url))
        answers = [found for found in ask(provider, request(1, 2), request(2, 3)) if isinstance(found, Answer)]
        assert [len(found.replies) for found in answers] == [1, 2]

    def test_a_server_that_fails_with_one_sample_too_is_asked_for_several_again(self, server: LoopbackServer) -> None:
        server.script(*[status(500, "down")] * 4)
        provider = OpenAI(access(server.url))
        ask(provider, request(1, 2), request(1, 2), request(1, 2))
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1, 2, 2]

    @pytest.mark.parametrize("number", [400, 500])
    def test_a_server_that_gave_several_samples_is_believed(self, server: LoopbackServer, number: int) -> None:
        provider = OpenAI(access(server.url))
        server.script(None, status(number, "no"))
        first, found = ask(provider, request(1, 2), request(3, 4))
        assert isinstance(first, Answer)
        assert isinstance(found, RefusedError if number == 400 else TransientError)
        assert provider.max_samples > 1

    def test_a_request_that_fails_alone_too_is_not_about_samples(self, server: LoopbackServer) -> None:
        server.script(status(400, "no"), status(400, "The image is too large"))
        provider = OpenAI(access(server.url))
        with pytest.raises(RefusedError, match="The image is too large"):
            answer(provider, request(1, 2))
        assert provider.max_samples > 1

    @pytest.mark.parametrize(
        ("message", "text"),
        [
            ('{"content": [{"type": "text", "text": "Cell: "}, {"type": "text", "text": "D5"}]}', "Cell: D5"),
            ('{"content": [{"type": "image_url"}, {"type": "text", "text": "D5"}]}', "D5"),
            ('{"content": null, "reasoning_content": "So it is. Cell: D5"}', "So it is. Cell: D5"),
            ('{"content": "", "reasoning": "Cell: D5"}', "Cell: D5"),
            ('{"content": "Cell: D5", "reasoning_content": "Cell: A1?"}', "Cell: D5"),
            ('{"content": null, "refusal": "No.", "reasoning_content": "Cell: A1?"}', "No."),
        ],
    )
    def test_content_in_parts_and_in_the_reasoning(self, server: LoopbackServer, message: str, text: str) -> None:
        server.script(body(f'{{"choices": [{{"message": {message}, "finish_reason": "stop"}}]}}'))
        assert answer(OpenAI(access(server.url)), request()).replies[0].text == text

    def test_reasoning_that_was_cut_off_is_no_reply(self, server: LoopbackServer) -> None:
        message = '{"content": null, "reasoning_content": "Cell: A1?"}'
        server.script(body(f'{{"choices": [{{"message": {message}, "finish_reason": "length"}}]}}'))
        (reply,) = answer(OpenAI(access(server.url)), request()).replies
        assert (reply.text, reply.finish) == ("", "length")

    @pytest.mark.parametrize(
        "fault",
        [
            body('{"choices": []}'),
            body('{"choices": null}'),
            body('{"choices": ["A1"]}'),
            body('{"choices": [{}]}'),
            body('{"choices": [{"message": {"content": 7}}]}'),
            body('{"choices": [{"message": {"content": null}, "finish_reason": "error"}]}'),
        ],
        ids=lambda fault: fault.text[:40],
    )
    def test_broken_choices_pass(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        (found,) = ask(OpenAI(access(server.url)), request())
        assert isinstance(found, TransientError), found

    def test_an_account_without_money_stops(self, server: LoopbackServer) -> None:
        server.script(status(429, "no", code="insufficient_quota"))
        with pytest.raises(PermanentError, match=r"127\.0\.0\.1: HTTP 429: no"):
            answer(OpenAI(access(server.url)), request())

    def test_a_setting_that_is_not_taken_concerns_all(self, server: LoopbackServer) -> None:
        text = '{"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}'
        server.script(Fault("body", status=400, text=text))
        with pytest.raises(PermanentError) as raised:
            answer(OpenAI(access(server.url)), request())
        assert not isinstance(raised.value, RefusedError)


class TestSettings:
    def test_the_warmest(self) -> None:
        provider = OpenAI(access("http://localhost:1/v1"))
        provider.check(Settings(temperature=2, top_p=1, max_output_tokens=1, seed=0))
        with pytest.raises(OptionError, match=r"--temperature: found 2\.1, expected 0 to 2 for openai"):
            provider.check(Settings(temperature=2.1))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"extra_body": {"model": "other"}}, "must not set 'model'. Use --model instead"),
            ({"extra_body": {"messages": []}}, "must not set 'messages'"),
            ({"extra_body": {"top_k": 20, "n": 2}}, "must not set 'n'. Use --samples and --samples-per-request"),
            ({"extra_body": {"temperature": 0.6}}, "Use --temperature instead"),
            ({"extra_body": {"stream": True}}, "must not set 'stream'"),
            (
                {"extra_body": {"max_tokens": 9}, "max_output_tokens": 9},
                "'max_tokens' and --max-output-tokens is",
            ),
            ({"reasoning_effort": " "}, "--reasoning-effort is empty"),
        ],
    )
    def test_fields_that_are_set_elsewhere(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(OptionError, match=re.escape(message)):
            OpenAI(access("http://localhost:1/v1")).check(Settings(**settings))

    def test_versions(self) -> None:
        assert OpenAI(access("http://localhost:1/v1")).versions() == {"httpx": httpx.__version__}
