"""Test features that only the provider `openai` has; `conformance` tests those of all providers."""

from __future__ import annotations

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
from tests.failures import raises


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol()) as server:
        yield server


class TestWhatIsSent:
    def test_request_names_the_settings_as_chat_completions(self, server: LoopbackServer) -> None:
        settings = {"temperature": 0.6, "top_p": 0.9, "max_output_tokens": 300, "seed": 4}
        answer(OpenAI(access(server.url)), request(1, 2, 3, **settings))
        assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300, "seed": 4}

    def test_request_contains_reasoning_effort_and_extra_body(self, server: LoopbackServer) -> None:
        settings = {"reasoning_effort": "low", "extra_body": {"top_k": 20, "max_completion_tokens": 9}}
        answer(OpenAI(access(server.url)), request(1, 2, **settings))
        sent = server.seen[0].json
        further = {"reasoning_effort": "low", "top_k": 20, "max_completion_tokens": 9}
        assert {**sent, "messages": []} == {"model": "gpt-4.1-mini", "messages": [], "n": 2, **further}

    def test_request_seed_is_offset_by_the_first_sample(self, server: LoopbackServer) -> None:
        ask(OpenAI(access(server.url)), request(1, 2, seed=7), request(3, 4, seed=7), request(5, seed=7))
        assert [asked.settings["seed"] for asked in server.asked] == [7, 9, 11]

    def test_openai_server_gets_max_completion_tokens_and_others_get_max_tokens(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(KEY, "sk-test")
        given = request(1, max_output_tokens=9)
        assert OpenAI(access())._body(given, 1)["max_completion_tokens"] == 9
        assert OpenAI(access("http://localhost:1/v1"))._body(given, 1)["max_tokens"] == 9

    def test_request_to_openrouter_sets_require_parameters(self) -> None:
        body = OpenAI(access("https://openrouter.ai/api/v1"))._body(request(1, temperature=0.6), 1)
        assert body["provider"] == {"require_parameters": True}

    def test_request_to_openrouter_keeps_the_routing_of_extra_body(self) -> None:
        provider = OpenAI(access("https://openrouter.ai/api/v1"))
        routed = request(1, extra_body={"provider": {"order": ["deepinfra"]}})
        provider.check(routed.settings)
        assert provider._body(routed, 1)["provider"] == {"require_parameters": True, "order": ["deepinfra"]}
        with raises(OptionError, "invalid-option:--extra-body"):
            provider.check(Settings(extra_body={"provider": "deepinfra"}))

    def test_request_to_a_custom_server_without_a_key_has_no_authorization_header(self, server: LoopbackServer) -> None:
        answer(OpenAI(access(server.url)), request())
        assert "authorization" not in server.seen[0].headers

    def test_default_address_is_the_openai_api(self) -> None:
        assert HOME == "https://api.openai.com/v1"


class TestWhatComesBack:
    @pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
    def test_request_rejected_by_a_content_filter_returns_filtered_replies(
        self, server: LoopbackServer, code: str
    ) -> None:
        server.script(status(400, "Your request was rejected by our safety system", code=code))
        found = answer(OpenAI(access(server.url)), request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", code)] * 2
        assert found.input_tokens is None

    def test_max_samples_of_the_gemini_server_is_8(self) -> None:
        url = "https://generativelanguage.googleapis.com/v1beta/openai"
        assert OpenAI(access(url)).max_samples == 8

    def test_refusal_of_multiple_candidates_is_repeated_with_one_sample(self, server: LoopbackServer) -> None:
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
    def test_refusal_of_several_samples_in_any_words_is_repeated_with_one_sample(
        self, server: LoopbackServer, fault: Fault
    ) -> None:
        server.script(fault)
        provider = OpenAI(access(server.url))
        assert len(answer(provider, request(1, 2)).replies) == 1
        assert provider.max_samples == 1
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1]

    def test_two_status_500_for_several_samples_lower_max_samples_to_1(self, server: LoopbackServer) -> None:
        """Check that the second failure lowers max_samples, because the first may have another cause."""
        fault = status(500, "n_cmpl is greater than the number of slots")
        server.script(fault, None, fault, None)
        provider = OpenAI(access(server.url))
        ask(provider, request(1, 2), request(2, 3), request(3))
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1, 2, 1, 1]
        assert provider.max_samples == 1

    def test_one_status_500_for_several_samples_does_not_lower_max_samples(self, server: LoopbackServer) -> None:
        server.script(status(500, "busy"))
        provider = OpenAI(access(server.url))
        answers = [found for found in ask(provider, request(1, 2), request(2, 3)) if isinstance(found, Answer)]
        assert [len(found.replies) for found in answers] == [1, 2]

    def test_status_500_for_one_sample_too_does_not_lower_max_samples(self, server: LoopbackServer) -> None:
        server.script(*[status(500, "down")] * 4)
        provider = OpenAI(access(server.url))
        ask(provider, request(1, 2), request(1, 2), request(1, 2))
        assert [seen.json.get("n", 1) for seen in server.seen] == [2, 1, 2, 2]

    @pytest.mark.parametrize("number", [400, 500])
    def test_error_after_a_success_with_several_samples_does_not_lower_max_samples(
        self, server: LoopbackServer, number: int
    ) -> None:
        provider = OpenAI(access(server.url))
        server.script(None, status(number, "no"))
        first, found = ask(provider, request(1, 2), request(3, 4))
        assert isinstance(first, Answer)
        assert isinstance(found, RefusedError if number == 400 else TransientError)
        assert provider.max_samples > 1

    def test_status_400_for_one_sample_too_raises_refused_error_and_keeps_max_samples(
        self, server: LoopbackServer
    ) -> None:
        server.script(status(400, "no"), status(400, "The image is too large"))
        provider = OpenAI(access(server.url))
        with raises(RefusedError, "request-rejected"):
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
    def test_reply_text_is_read_from_content_parts_refusal_or_reasoning(
        self, server: LoopbackServer, message: str, text: str
    ) -> None:
        server.script(body(f'{{"choices": [{{"message": {message}, "finish_reason": "stop"}}]}}'))
        assert answer(OpenAI(access(server.url)), request()).replies[0].text == text

    def test_reasoning_that_was_cut_off_gives_an_empty_reply(self, server: LoopbackServer) -> None:
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
    def test_broken_choices_raise_transient_error(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        (found,) = ask(OpenAI(access(server.url)), request())
        assert isinstance(found, TransientError), found

    def test_insufficient_quota_raises_permanent_error(self, server: LoopbackServer) -> None:
        server.script(status(429, "no", code="insufficient_quota"))
        with raises(PermanentError, "request-rejected"):
            answer(OpenAI(access(server.url)), request())

    def test_unsupported_value_raises_permanent_error_for_all_requests(self, server: LoopbackServer) -> None:
        text = '{"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}'
        server.script(Fault("body", status=400, text=text))
        with pytest.raises(PermanentError) as raised:
            answer(OpenAI(access(server.url)), request())
        assert not isinstance(raised.value, RefusedError)


class TestSettings:
    def test_check_accepts_temperature_2_and_rejects_more(self) -> None:
        provider = OpenAI(access("http://localhost:1/v1"))
        provider.check(Settings(temperature=2, top_p=1, max_output_tokens=1, seed=0))
        with raises(OptionError, "invalid-option:--temperature"):
            provider.check(Settings(temperature=2.1))

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"extra_body": {"model": "other"}}, "conflicting-options:--extra-body"),
            ({"extra_body": {"messages": []}}, "conflicting-options:--extra-body"),
            ({"extra_body": {"top_k": 20, "n": 2}}, "conflicting-options:--extra-body"),
            ({"extra_body": {"temperature": 0.6}}, "conflicting-options:--extra-body"),
            ({"extra_body": {"stream": True}}, "conflicting-options:--extra-body"),
            (
                {"extra_body": {"max_tokens": 9}, "max_output_tokens": 9},
                "conflicting-options:--extra-body",
            ),
            ({"reasoning_effort": " "}, "invalid-option:--reasoning-effort"),
        ],
    )
    def test_check_of_extra_body_fields_with_their_own_option_is_an_error(
        self, settings: dict[str, Any], message: str
    ) -> None:
        with raises(OptionError, message):
            OpenAI(access("http://localhost:1/v1")).check(Settings(**settings))

    def test_versions_contain_httpx(self) -> None:
        assert OpenAI(access("http://localhost:1/v1")).versions() == {"httpx": httpx.__version__}
