"""Test features that only the provider `openai` has; `conformance` tests those of all providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spotball_adapters.providers.openai import HOME, KEY, OpenAI
from spotball_adapters.providers.protocol import Answer, Settings, TransientError
from spotball_adapters.providers.responses import RefusedRequestError, RejectedError
from spotball_core.errors import OptionError
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import Fault, body, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.failures import raises

LOCAL = "http://localhost:1/v1"
CONFLICT = "conflicting-options:--extra-body"
REFUSAL, FAILURE = status(400, "no"), status(500, "n_cmpl is greater than the number of slots")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol()) as server:
        yield server


@pytest.fixture
def provider(server: LoopbackServer) -> OpenAI:
    return OpenAI(access(server.url))


class TestSentRequests:
    def test_request_uses_the_setting_names_of_chat_completions_and_omits_the_key_if_none_is_set(
        self, server: LoopbackServer, provider: OpenAI
    ) -> None:
        answer(provider, request(1, 2, 3, temperature=0.6, top_p=0.9, max_output_tokens=300, seed=4))
        assert server.asked[0].settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300, "seed": 4}
        assert "authorization" not in server.seen[0].headers

    def test_request_contains_reasoning_effort_and_extra_body(self, server: LoopbackServer, provider: OpenAI) -> None:
        extra_body = {"top_k": 20, "max_completion_tokens": 9}
        answer(provider, request(1, 2, reasoning_effort="low", extra_body=extra_body))
        expected = {"model": "gpt-4.1-mini", "messages": [], "n": 2, "reasoning_effort": "low", **extra_body}
        assert {**server.seen[0].json, "messages": []} == expected

    def test_request_seed_is_offset_by_the_first_sample(self, server: LoopbackServer, provider: OpenAI) -> None:
        ask(provider, request(1, 2, seed=7), request(3, 4, seed=7), request(5, seed=7))
        assert [asked.settings["seed"] for asked in server.asked] == [7, 9, 11]

    def test_request_contains_max_completion_tokens_for_openai_and_max_tokens_for_other_servers(self) -> None:
        given = request(1, max_output_tokens=9)
        assert OpenAI(access())._body(given, 1)["max_completion_tokens"] == 9
        assert OpenAI(access(LOCAL))._body(given, 1)["max_tokens"] == 9

    def test_request_to_openrouter_sets_require_parameters_and_keeps_the_routing_of_extra_body(self) -> None:
        provider = OpenAI(access("https://openrouter.ai/api/v1"))
        assert provider._body(request(1, temperature=0.6), 1)["provider"] == {"require_parameters": True}
        routed = request(1, extra_body={"provider": {"order": ["deepinfra"]}})
        provider.check(routed.settings)
        assert provider._body(routed, 1)["provider"] == {"require_parameters": True, "order": ["deepinfra"]}
        with raises(OptionError, "invalid-option:--extra-body"):
            provider.check(Settings(extra_body={"provider": "deepinfra"}))


class TestResponses:
    @pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
    def test_request_rejected_by_a_content_filter_returns_filtered_replies(
        self, server: LoopbackServer, provider: OpenAI, code: str
    ) -> None:
        server.script(status(400, "Your request was rejected by our safety system", code=code))
        found = answer(provider, request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", code)] * 2
        assert found.input_tokens is None

    @pytest.mark.parametrize(
        ("script", "samples", "requested", "results", "lowers"),
        [
            # Servers reject requests for several samples with different messages and statuses.
            ([status(400, "Multiple candidates is not enabled", code="INVALID_ARGUMENT")], [2], [2, 1], [1], True),
            ([status(400, "'n' : number must be at most 1")], [2], [2, 1], [1], True),
            ([status(422, "unprocessable")], [2], [2, 1], [1], True),
            # The first status 500 may have another cause, so only the second one lowers max_samples.
            ([FAILURE], [2, 2], [2, 1, 2], [1, 2], False),
            ([FAILURE, None, FAILURE], [2, 2, 1], [2, 1, 2, 1, 1], [1, 1, 1], True),
            # The number of samples is not the cause: the model cannot read images.
            ([status(500, "image input is not supported")], [2], [2], [RejectedError], False),
            # The server also fails for one sample, or it has returned several samples before.
            ([FAILURE] * 4, [2, 2, 2], [2, 1, 2, 2], [TransientError] * 3, False),
            ([REFUSAL, status(400, "The image is too large")], [2], [2, 1], [RefusedRequestError], False),
            ([None, REFUSAL], [2, 2], [2, 2], [2, RefusedRequestError], False),
            ([None, FAILURE], [2, 2], [2, 2], [2, TransientError], False),
        ],
    )
    def test_failed_request_for_many_samples_is_retried_with_one_and_lowers_max_samples_if_their_number_is_the_cause(
        self,
        server: LoopbackServer,
        provider: OpenAI,
        script: list[Fault | None],
        samples: list[int],
        requested: list[int],
        results: list[int | type],
        lowers: bool,
    ) -> None:
        server.script(*script)
        found = ask(provider, *(request(*range(1, number + 1)) for number in samples))
        assert [len(one.replies) if isinstance(one, Answer) else type(one) for one in found] == results
        assert [seen.json.get("n", 1) for seen in server.seen] == requested
        assert (provider.max_samples == 1) is lowers

    @pytest.mark.parametrize(
        ("message", "reason", "expected"),
        [
            ('{"content": [{"type": "text", "text": "D"}, {"type": "text", "text": "5"}]}', "stop", ("D5", "stop")),
            ('{"content": [{"type": "image_url"}, {"type": "text", "text": "D5"}]}', "stop", ("D5", "stop")),
            ('{"content": null, "reasoning_content": "So it is. Cell: D5"}', "stop", ("So it is. Cell: D5", "stop")),
            ('{"content": "", "reasoning": "Cell: D5"}', "stop", ("Cell: D5", "stop")),
            ('{"content": "Cell: D5", "reasoning_content": "Cell: A1?"}', "stop", ("Cell: D5", "stop")),
            ('{"content": null, "refusal": "No.", "reasoning_content": "Cell: A1?"}', "stop", ("No.", "refused")),
            # The reasoning was cut off.
            ('{"content": null, "reasoning_content": "Cell: A1?"}', "length", ("", "length")),
        ],
    )
    def test_reply_text_is_read_from_content_parts_refusal_or_complete_reasoning(
        self, server: LoopbackServer, provider: OpenAI, message: str, reason: str, expected: tuple[str, str]
    ) -> None:
        server.script(body(f'{{"choices": [{{"message": {message}, "finish_reason": "{reason}"}}]}}'))
        (reply,) = answer(provider, request()).replies
        assert (reply.text, reply.finish) == expected

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            (body('{"choices": []}'), TransientError),
            (body('{"choices": null}'), TransientError),
            (body('{"choices": ["A1"]}'), TransientError),
            (body('{"choices": [{}]}'), TransientError),
            (body('{"choices": [{"message": {"content": 7}}]}'), TransientError),
            (body('{"choices": [{"message": {"content": null}, "finish_reason": "error"}]}'), TransientError),
            (status(429, "no", code="insufficient_quota"), RejectedError),
            # The error is about a setting, so it affects all requests.
            (Fault("body", 400, '{"error": {"message": "Unsupported", "param": "temperature"}}'), RejectedError),
        ],
        ids=lambda value: value.text[:40] if isinstance(value, Fault) else None,
    )
    def test_malformed_choices_raise_transient_error_and_quota_or_setting_errors_raise_permanent_error(
        self, server: LoopbackServer, provider: OpenAI, fault: Fault, kind: type
    ) -> None:
        server.script(fault)
        (found,) = ask(provider, request())
        assert type(found) is kind, found


class TestSettings:
    @pytest.mark.parametrize(
        ("api", "settings", "where"),
        [
            ("chat", {"temperature": 2.1}, "invalid-option:--temperature"),
            ("chat", {"extra_body": {"model": "other"}}, CONFLICT),
            ("chat", {"extra_body": {"messages": []}}, CONFLICT),
            ("chat", {"extra_body": {"top_k": 20, "n": 2}}, CONFLICT),
            ("chat", {"extra_body": {"temperature": 0.6}}, CONFLICT),
            ("chat", {"extra_body": {"stream": True}}, CONFLICT),
            ("chat", {"extra_body": {"max_tokens": 9}, "max_output_tokens": 9}, CONFLICT),
            ("chat", {"reasoning_effort": " "}, "invalid-option:--reasoning-effort"),
            ("responses", {"seed": 1}, "unsupported-option:--seed"),
            ("responses", {"extra_body": {"input": []}}, CONFLICT),
            ("responses", {"extra_body": {"max_output_tokens": 9}}, CONFLICT),
            ("responses", {"extra_body": {"background": True}}, CONFLICT),
            ("responses", {"extra_body": {"reasoning": {}}, "reasoning_effort": "low"}, CONFLICT),
            ("responses", {"reasoning_effort": " "}, "invalid-option:--reasoning-effort"),
        ],
    )
    def test_check_with_invalid_settings_or_extra_body_fields_that_conflict_with_options_raises_option_error(
        self, api: Any, settings: dict[str, Any], where: str
    ) -> None:
        with raises(OptionError, where):
            OpenAI(access(LOCAL, api=api)).check(Settings(**settings))

    def test_provider_accepts_the_maximum_settings_and_reports_version_address_and_max_samples(self) -> None:
        provider = OpenAI(access(LOCAL))
        provider.check(Settings(temperature=2, top_p=1, max_output_tokens=1, seed=0))
        assert provider.versions() == {"httpx": httpx.__version__}
        assert HOME == "https://api.openai.com/v1"
        assert OpenAI(access("https://generativelanguage.googleapis.com/v1beta/openai")).max_samples == 8
