"""The provider `openai` against a server that speaks its protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from spotball_adapters.providers.http import RejectedError
from spotball_adapters.providers.openai import HOME, KEY, OpenAI
from spotball_adapters.providers.protocol import Message, PermanentError, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.asking import SENT, access, answer, ask, request
from tests.adapters.faults import Fault, TokenBucket, body, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, text_of


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol()) as server:
        yield server


class TestWhatIsSent:
    def test_picture_text_and_settings(self, server: LoopbackServer) -> None:
        settings = {"temperature": 0.6, "top_p": 0.9, "max_output_tokens": 300, "seed": 4}
        turns = (
            Message("system", "You see a match."),
            Message("user", "Look.", picture=True),
            Message("assistant", "I look."),
            Message("user", "Cell: ü?"),
        )
        answer(OpenAI(access(server.url)), request(1, 2, 3, turns=turns, **settings))
        (asked,) = server.asked
        assert asked.model == "gpt-4.1-mini"
        assert asked.turns == tuple((turn.role, turn.text) for turn in turns)
        assert asked.pictures == (("image/png", SENT),)
        assert asked.settings == {"temperature": 0.6, "top_p": 0.9, "max_tokens": 300, "seed": 4}
        assert asked.n == 3

    def test_the_picture_comes_before_its_text(self, server: LoopbackServer) -> None:
        answer(OpenAI(access(server.url)), request())
        content = server.seen[0].json["messages"][1]["content"]
        assert [part["type"] for part in content] == ["image_url", "text"]

    def test_what_is_not_given_is_not_sent(self, server: LoopbackServer) -> None:
        answer(OpenAI(access(server.url)), request())
        assert server.seen[0].json.keys() == {"model", "messages"}

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

    @pytest.mark.parametrize("slash", ["", "/"])
    def test_the_base_url_ends_as_it_likes(self, server: LoopbackServer, slash: str) -> None:
        answer(OpenAI(access(server.url + slash)), request())
        assert server.seen[0].path == "/v1/chat/completions"

    def test_one_connection_serves_many_requests(self, server: LoopbackServer) -> None:
        before = server.connections
        ask(OpenAI(access(server.url)), *[request()] * 5)
        assert server.connections == before + 1

    def test_as_many_connections_as_requests_at_a_time(self) -> None:
        with serve(OpenAIProtocol(), delay=0.1) as slow:
            provider = OpenAI(access(slow.url, concurrency=6))

            async def run() -> None:
                await asyncio.gather(*(provider.ask(request()) for _ in range(18)))
                await provider.close()

            asyncio.run(run())
            assert slow.most_at_once == slow.connections == 6


class TestWhatComesBack:
    def test_each_sample_has_its_reply(self, server: LoopbackServer) -> None:
        found = answer(OpenAI(access(server.url)), request(4, 5, 6, temperature=0.6))
        question = server.asked[0].question
        # The server sends them in another order, with their numbers.
        assert [one.text for one in found.replies] == [text_of(question, i) for i in range(3)]
        assert {one.finish for one in found.replies} == {"stop"}
        assert found.model == "gpt-4.1-mini-2025-04-14"
        assert (found.input_tokens, found.output_tokens) == (INPUT_TOKENS, 3 * OUTPUT_TOKENS)

    @pytest.mark.parametrize(
        ("style", "finish", "said", "text"),
        [
            ("refusal", "refused", "stop", "I can't help with that."),
            ("filtered", "filtered", "content_filter", ""),
            ("empty", "stop", "stop", ""),
            ("cut-off", "length", "length", "Reasoning:"),
            ("strange", "other", "tool_calls", None),
        ],
    )
    def test_why_a_reply_ended(
        self, server: LoopbackServer, style: str, finish: str, said: str, text: str | None
    ) -> None:
        server.script(reply(style))
        found = answer(OpenAI(access(server.url)), request(1, 2))
        for one in found.replies:
            assert (one.finish, one.finish_said) == (finish, said)
            if text is not None:
                assert one.text == text

    @pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
    def test_a_question_withheld_by_a_filter_is_answered_by_nothing(self, server: LoopbackServer, code: str) -> None:
        server.script(status(400, "Your request was rejected by our safety system", code=code))
        found = answer(OpenAI(access(server.url)), request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", code)] * 2
        assert found.input_tokens is None

    def test_usage_and_model_may_be_missing(self, server: LoopbackServer) -> None:
        server.script(body('{"choices": [{"message": {"content": "Cell: A1"}}], "usage": null}'))
        found = answer(OpenAI(access(server.url)), request())
        assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)
        assert (found.replies[0].text, found.replies[0].finish, found.replies[0].finish_said) == (
            "Cell: A1",
            "other",
            "",
        )

    def test_half_a_character_can_be_written(self, server: LoopbackServer) -> None:
        server.script(body(r'{"choices": [{"message": {"content": "Cell: A1 \ud83d"}, "finish_reason": "stop"}]}'))
        (one,) = answer(OpenAI(access(server.url)), request()).replies
        assert one.text.encode() == "Cell: A1 \ufffd".encode()


class TestServersThatKnowNoN:
    def test_fewer_replies_than_asked_for_are_kept_and_remembered(self) -> None:
        with serve(OpenAIProtocol(ignore_n=True)) as ollama:
            provider = OpenAI(access(ollama.url))
            assert provider.max_samples == 128
            found = answer(provider, request(1, 2, 3))
            assert [one.text for one in found.replies] == [text_of(ollama.asked[0].question, 0)]
            assert provider.max_samples == 1

    def test_some_of_them_are_remembered_as_the_most(self, server: LoopbackServer) -> None:
        two = '{"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}'
        server.script(body(two))
        provider = OpenAI(access(server.url))
        assert [one.text for one in answer(provider, request(1, 2, 3, 4)).replies] == ["a", "b"]
        assert provider.max_samples == 2

    @pytest.mark.parametrize(
        "fault", [None, status(400, "Multiple candidates is not enabled for this model", code="INVALID_ARGUMENT")]
    )
    def test_a_refusal_of_n_is_remembered_and_asked_again(self, fault: Fault | None) -> None:
        with serve(OpenAIProtocol(most=1)) as one_only:
            # The server's own refusal names the field, the scripted one does not.
            one_only.script(fault)
            provider = OpenAI(access(one_only.url))
            found = answer(provider, request(1, 2))
            assert [one.text for one in found.replies] == [text_of(one_only.asked[0].question, 0)]
            assert provider.max_samples == 1
            assert [seen.status for seen in one_only.seen] == [400, 200]

    def test_more_replies_than_asked_for_are_a_fault(self, server: LoopbackServer) -> None:
        server.script(body('{"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}'))
        with pytest.raises(TransientError, match="2 choices where 1"):
            answer(OpenAI(access(server.url)), request())

    def test_gemini_gives_eight(self) -> None:
        url = "https://generativelanguage.googleapis.com/v1beta/openai"
        assert OpenAI(access(url)).max_samples == 8


class TestFaults:
    @pytest.mark.parametrize("number", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
    def test_statuses_that_pass(self, server: LoopbackServer, number: int) -> None:
        server.script(status(number, "come back later"))
        first, second = ask(OpenAI(access(server.url)), request(), request())
        assert isinstance(first, TransientError)
        assert first.status == number
        assert str(first) == f"127.0.0.1: HTTP {number}: come back later"
        assert not isinstance(second, BaseException)

    @pytest.mark.parametrize(
        ("number", "code"),
        [
            (400, None),
            (401, "invalid_api_key"),
            (402, None),
            (403, None),
            (404, "model_not_found"),
            (413, None),
            (422, None),
            (429, "insufficient_quota"),
        ],
    )
    def test_statuses_that_stay(self, server: LoopbackServer, number: int, code: str | None) -> None:
        server.script(status(number, "no", code=code))
        with pytest.raises(PermanentError, match=f"127.0.0.1: HTTP {number}: no"):
            answer(OpenAI(access(server.url)), request(1, 2))

    @pytest.mark.parametrize(
        "fault",
        [
            faults.DROP,
            faults.RESET,
            faults.DROP_AFTER_HEADERS,
            faults.TRUNCATED,
            faults.BROKEN_JSON,
            faults.HTML,
            body(""),
            body("[]"),
            body("null"),
            body("[" * 100_000),
            body("{}"),
            body('{"choices": []}'),
            body('{"choices": null}'),
            body('{"choices": ["A1"]}'),
            body('{"choices": [{}]}'),
            body('{"choices": [{"message": {"content": 7}}]}'),
            body('{"choices": [{"message": {"content": null}, "finish_reason": "error"}]}'),
            Fault("body", text="{}", headers={"content-encoding": "gzip"}),
        ],
        ids=lambda fault: f"{fault.kind} {fault.text[:40]}",
    )
    def test_broken_connections_and_bodies_pass(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        first, second = ask(OpenAI(access(server.url)), request(), request())
        assert isinstance(first, TransientError), first
        assert first.status is None
        assert not isinstance(second, BaseException)

    def test_faults_that_come_with_a_good_status(self, server: LoopbackServer) -> None:
        server.script(
            body('{"error": {"code": 429, "message": "slow down"}}'),
            body('{"error": {"code": 404, "message": "no such model"}}'),
            body('{"error": "something"}'),
        )
        first, second, third = ask(OpenAI(access(server.url)), *[request()] * 3)
        assert isinstance(first, TransientError)
        assert first.status == 429
        assert isinstance(second, PermanentError)
        assert isinstance(third, TransientError)

    def test_no_answer_in_time(self, server: LoopbackServer) -> None:
        server.script(faults.HANG)
        with pytest.raises(TransientError, match=r"no answer within 0\.2 s"):
            answer(OpenAI(access(server.url, timeout=0.2)), request())

    def test_an_answer_that_never_ends(self, server: LoopbackServer) -> None:
        server.script(faults.slow(3600))
        with pytest.raises(TransientError, match="no answer within"):
            answer(OpenAI(access(server.url, timeout=0.2)), request())

    def test_nobody_there(self) -> None:
        with serve(OpenAIProtocol()) as gone:
            url = gone.url
        with pytest.raises(TransientError, match=r"127\.0\.0\.1: ConnectError"):
            answer(OpenAI(access(url)), request())

    def test_a_rate_limit_says_when(self) -> None:
        with serve(OpenAIProtocol(), limit=TokenBucket(rate=0.5, burst=2)) as limited:
            found = ask(OpenAI(access(limited.url)), *[request()] * 3)
            assert [isinstance(one, TransientError) for one in found] == [False, False, True]
            last = found[2]
            assert isinstance(last, TransientError)
            assert last.status == 429
            assert last.retry_after is not None
            assert 0 < last.retry_after <= 2

    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({"retry_after": "7"}, 7.0),
            ({"retry_after": "0.5"}, 0.5),
            ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5),
            ({"retry_after": "-3"}, 0.0),
            ({"retry_after": "nan"}, None),
            ({"retry_after": "inf"}, None),
            ({"retry_after": "soon"}, None),
            ({}, None),
        ],
    )
    def test_when_to_come_back(self, server: LoopbackServer, headers: dict[str, str], seconds: float | None) -> None:
        server.script(status(429, **headers))
        (found,) = ask(OpenAI(access(server.url)), request())
        assert isinstance(found, TransientError)
        assert found.retry_after == seconds

    def test_when_to_come_back_as_a_date(self, server: LoopbackServer) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        then = format_datetime(now + timedelta(seconds=90), usegmt=True)
        # An hour off from our clock: only the server's own counts.
        theirs = now - timedelta(hours=1)
        server.script(
            status(503, retry_after=then),
            status(
                503,
                retry_after=format_datetime(theirs + timedelta(seconds=30), usegmt=True),
                date=format_datetime(theirs, usegmt=True),
            ),
            status(503, retry_after=format_datetime(now - timedelta(days=1), usegmt=True)),
        )
        found = [one.retry_after for one in ask(OpenAI(access(server.url)), *[request()] * 3)]  # type: ignore[union-attr]
        assert found[0] is not None
        assert 0 < found[0] <= 90
        assert found[1:] == [30.0, 0.0]

    def test_a_redirect_is_not_followed(self, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "sk-test")
        with serve(OpenAIProtocol()) as elsewhere:
            server.script(Fault("redirect", text=elsewhere.url))
            with pytest.raises(PermanentError, match=r"redirects to http://127.*--base-url"):
                answer(OpenAI(access(server.url)), request())
            assert elsewhere.seen == []

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ('{"error": "plain"}', "plain"),
            ('[{"error": {"message": "in a list", "status": "NOT_FOUND"}}]', "in a list"),
            ('{"detail": "detailed"}', "detailed"),
            ('{"object": "error", "message": "flat"}', "flat"),
            ("<h1>no\n page</h1>", "<h1>no page</h1>"),
            ('{"error": {"message": "\\u001b[31mred\\u0007"}}', "[31mred"),
            ("x" * 5000, f"{'x' * 270}"),
            ("", "nothing said"),
        ],
    )
    def test_what_the_server_says_is_shown_on_one_line(self, server: LoopbackServer, text: str, shown: str) -> None:
        server.script(Fault("body", status=404, text=text))
        with pytest.raises(RejectedError) as caught:
            answer(OpenAI(access(server.url)), request())
        said = str(caught.value)
        assert said.startswith("127.0.0.1: HTTP 404: " + shown)
        assert said.isprintable()
        assert len(said) < 350


class TestKeysAndAddresses:
    def test_the_key_goes_to_the_server(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, " sk-right\n")
        with serve(OpenAIProtocol(keys={"sk-right"})) as server:
            answer(OpenAI(access(server.url)), request())
            assert server.asked[0].key == "sk-right"

    def test_a_wrong_key_stops(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "sk-wrong")
        with (
            serve(OpenAIProtocol(keys={"sk-right"})) as server,
            pytest.raises(PermanentError, match=r"HTTP 401: Incorrect API key provided: \[key\]"),
        ):
            answer(OpenAI(access(server.url)), request())

    def test_a_server_of_ones_own_needs_no_key(self, server: LoopbackServer) -> None:
        answer(OpenAI(access(server.url)), request())
        assert "authorization" not in server.seen[0].headers

    def test_openai_itself_does(self) -> None:
        with pytest.raises(PermanentError, match="openai needs a key: set the environment variable OPENAI_API_KEY"):
            answer(OpenAI(access()), request())

    def test_a_key_that_no_header_holds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "sk-a\nb")
        with pytest.raises(PermanentError, match="OPENAI_API_KEY holds a character that no key has"):
            OpenAI(access())

    @pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://a/v1", "http://", "http://a:b/v1", "here"])
    def test_no_address(self, url: str) -> None:
        with pytest.raises(OptionError, match=r"the base URL .* is no address such as http://localhost:8000/v1"):
            OpenAI(access(url))

    @pytest.mark.parametrize("url", ["http://me:sk-secret@a/v1", "http://a/v1?key=sk-secret", "http://a/v1#sk-secret"])
    def test_an_address_with_a_secret_in_it_is_not_repeated(self, url: str) -> None:
        with pytest.raises(OptionError, match="keys come from the environment") as caught:
            OpenAI(access(url))
        assert "secret" not in str(caught.value)

    def test_its_own_address(self) -> None:
        assert HOME == "https://api.openai.com/v1"


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"temperature": 2.1}, "no temperature of 2.1, expected 0 to 2"),
            ({"temperature": -0.1}, "no temperature of -0.1"),
            ({"temperature": float("nan")}, "no temperature of nan"),
            ({"top_p": 0}, "no top_p of 0"),
            ({"top_p": 1.01}, "no top_p of 1.01"),
            ({"max_output_tokens": 0}, "no max_output_tokens of 0"),
            ({"seed": -1}, "no seed of -1"),
        ],
    )
    def test_out_of_range(self, settings: dict[str, float], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            OpenAI(access("http://localhost:1/v1")).check(Settings(**settings))  # type: ignore[arg-type]

    def test_in_range(self) -> None:
        provider = OpenAI(access("http://localhost:1/v1"))
        provider.check(Settings())
        provider.check(Settings(temperature=0, top_p=1, max_output_tokens=1, seed=0))
        provider.check(Settings(temperature=2, top_p=0.1))

    def test_versions(self) -> None:
        assert OpenAI(access("http://localhost:1/v1")).versions() == {"httpx": httpx.__version__}
