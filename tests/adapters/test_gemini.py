"""The provider `gemini`, its SDK and all, against a server that speaks its protocol."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from spotball_adapters.providers.gemini import Gemini
from spotball_adapters.providers.gemini_sdk import KEY
from spotball_adapters.providers.protocol import Message, PermanentError, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.asking import SENT, access, answer, ask, request
from tests.adapters.faults import Fault, TokenBucket, body, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, text_of

MODEL = "gemini-2.0-flash-001"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "right-key")


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(GeminiProtocol(keys={"right-key"}), base_path="") as server:
        yield server


def gemini(server: LoopbackServer, **options: float) -> Gemini:
    return Gemini(access(server.url, model=MODEL, **options))


class TestWhatIsSent:
    def test_picture_text_and_settings(self, server: LoopbackServer) -> None:
        turns = (
            Message("system", "You see a match."),
            Message("user", "Look.", picture=True),
            Message("assistant", "I look."),
            Message("user", "Cell: ü?"),
        )
        answer(gemini(server), request(1, 2, 3, turns=turns, temperature=0.6, top_p=0.5, max_output_tokens=300))
        (asked,) = server.asked
        assert asked.model == MODEL
        assert asked.turns == tuple((turn.role, turn.text) for turn in turns)
        assert asked.pictures == (("image/png", SENT),)
        assert asked.settings == {"temperature": 0.6, "topP": 0.5, "maxOutputTokens": 300}
        assert asked.n == 3

    def test_the_picture_comes_before_its_text(self, server: LoopbackServer) -> None:
        answer(gemini(server), request())
        parts = server.seen[0].json["contents"][0]["parts"]
        assert [next(iter(part)) for part in parts] == ["inlineData", "text"]

    def test_what_is_not_given_is_not_sent(self, server: LoopbackServer) -> None:
        answer(gemini(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.get("generationConfig", {}) == {}
        assert "systemInstruction" not in sent

    def test_as_many_connections_as_requests_at_a_time(self) -> None:
        with serve(GeminiProtocol(), base_path="", delay=0.2) as slow:
            provider = Gemini(access(slow.url, model=MODEL, concurrency=12))

            async def run() -> None:
                for _ in range(2):
                    await asyncio.gather(*(provider.ask(request()) for _ in range(12)))
                await provider.close()

            asyncio.run(run())
            # More than the ten that the SDK would keep.
            assert slow.most_at_once == slow.connections == 12


class TestWhatComesBack:
    def test_each_sample_has_its_reply(self, server: LoopbackServer) -> None:
        found = answer(gemini(server), request(4, 5, 6))
        question = server.asked[0].question
        assert [one.text for one in found.replies] == [text_of(question, i) for i in range(3)]
        assert {(one.finish, one.finish_said) for one in found.replies} == {("stop", "STOP")}
        assert found.model == f"{MODEL}-exact"
        assert (found.input_tokens, found.output_tokens) == (INPUT_TOKENS, 3 * OUTPUT_TOKENS)

    @pytest.mark.parametrize(
        ("style", "finish", "said", "text"),
        [
            ("blocked", "filtered", "SAFETY", ""),
            ("filtered", "filtered", "SAFETY", ""),
            ("refusal", "filtered", "RECITATION", ""),
            ("empty", "stop", "STOP", ""),
            ("cut-off", "length", "MAX_TOKENS", "Reasoning:"),
            ("strange", "other", "99", None),
        ],
    )
    def test_why_a_reply_ended(
        self, server: LoopbackServer, style: str, finish: str, said: str, text: str | None
    ) -> None:
        server.script(reply(style))
        found = answer(gemini(server), request(1, 2))
        assert len(found.replies) == 2
        for one in found.replies:
            assert (one.finish, one.finish_said) == (finish, said)
            if text is not None:
                assert one.text == text

    def test_usage_and_model_may_be_missing(self, server: LoopbackServer) -> None:
        server.script(body('{"candidates": [{"content": {"parts": [{"text": "Cell: A1"}]}}]}'))
        found = answer(gemini(server), request())
        assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)
        assert (found.replies[0].text, found.replies[0].finish, found.replies[0].finish_said) == (
            "Cell: A1",
            "other",
            "",
        )


class TestCandidates:
    def test_a_model_that_gives_one_only_is_asked_again(self) -> None:
        with serve(GeminiProtocol(most=1), base_path="") as one_only:
            provider = gemini(one_only)
            assert provider.max_samples == 8
            found = answer(provider, request(1, 2))
            assert [one.text for one in found.replies] == [text_of(one_only.asked[0].question, 0)]
            assert provider.max_samples == 1
            assert [seen.status for seen in one_only.seen] == [400, 200]

    def test_fewer_candidates_are_kept_and_remembered(self) -> None:
        with serve(GeminiProtocol(give=2), base_path="") as two:
            provider = gemini(two)
            assert len(answer(provider, request(1, 2, 3, 4)).replies) == 2
            assert provider.max_samples == 2

    def test_no_candidates_at_all_is_a_fault(self, server: LoopbackServer) -> None:
        server.script(body("{}"))
        with pytest.raises(TransientError, match="0 candidates where 1"):
            answer(gemini(server), request())


class TestFaults:
    @pytest.mark.parametrize("number", [408, 409, 429, 500, 502, 503, 504])
    def test_statuses_that_pass_are_met_once(self, server: LoopbackServer, number: int) -> None:
        server.script(status(number, "Resource has been exhausted", retry_after="3"))
        first, second = ask(gemini(server), request(), request())
        assert isinstance(first, TransientError)
        assert str(first) == f"gemini: HTTP {number}: Resource has been exhausted"
        assert (first.status, first.retry_after) == (number, 3.0)
        assert not isinstance(second, BaseException)
        # The SDK itself asked no second time.
        assert [seen.status for seen in server.seen] == [number, 200]

    @pytest.mark.parametrize("number", [400, 401, 403, 404])
    def test_statuses_that_stay(self, server: LoopbackServer, number: int) -> None:
        server.script(status(number, "models/x is not found"))
        with pytest.raises(PermanentError, match=rf"^gemini: HTTP {number}: models/x is not found$"):
            answer(gemini(server), request(1, 2))
        assert len(server.seen) == 1

    def test_when_to_come_back_stands_in_the_body_too(self) -> None:
        with serve(GeminiProtocol(), base_path="") as busy:
            busy.script(status(429), status(503))
            first, second = ask(gemini(busy), request(), request())
            assert isinstance(first, TransientError)
            assert first.retry_after == 34.0
            assert isinstance(second, TransientError)
            assert second.retry_after is None

    def test_a_rate_limit(self) -> None:
        with serve(GeminiProtocol(), base_path="", limit=TokenBucket(rate=0.1, burst=1)) as limited:
            first, second = ask(gemini(limited), request(), request())
            assert not isinstance(first, BaseException)
            assert isinstance(second, TransientError)
            assert second.retry_after is not None
            assert 0 < second.retry_after <= 10

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
            body('{"candidates": "none"}'),
            Fault("body", text="{}", headers={"content-encoding": "gzip"}),
            Fault("body", status=502, text="<html>Bad gateway</html>"),
        ],
        ids=lambda fault: f"{fault.kind} {fault.text[:40]}",
    )
    def test_broken_connections_and_bodies_pass(self, server: LoopbackServer, fault: Fault) -> None:
        server.script(fault)
        first, second = ask(gemini(server), request(), request())
        assert isinstance(first, TransientError), first
        assert not isinstance(second, BaseException)

    def test_no_answer_in_time(self, server: LoopbackServer) -> None:
        server.script(faults.HANG)
        with pytest.raises(TransientError, match=r"no answer within 0\.3 s"):
            answer(gemini(server, timeout=0.3), request())

    def test_a_redirect_is_not_followed(self, server: LoopbackServer) -> None:
        with serve(GeminiProtocol(), base_path="") as elsewhere:
            server.script(Fault("redirect", text=elsewhere.url))
            (found,) = ask(gemini(server), request())
            assert isinstance(found, TransientError | PermanentError)
            assert elsewhere.seen == []

    def test_a_program_that_is_stopped_does_not_wait_for_an_answer(self) -> None:
        with serve(GeminiProtocol(), base_path="") as hanging:
            hanging.always(faults.HANG)
            program = f"""
import asyncio
from spotball_adapters.providers.gemini import Gemini
from tests.adapters.asking import access, request

async def main():
    task = asyncio.create_task(Gemini(access({hanging.url!r}, timeout=600.0)).ask(request()))
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

asyncio.run(main())
print("ended")
"""
            done = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


class TestKeysAndSettings:
    def test_a_wrong_key_stops(self, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(KEY, "wrong-key")
        with pytest.raises(PermanentError, match=r"HTTP 400: API key not valid: \[key\]\. Please pass a valid API key"):
            answer(gemini(server), request())

    def test_a_key_is_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(KEY)
        with pytest.raises(PermanentError, match="gemini needs a key: set the environment variable GEMINI_API_KEY"):
            answer(Gemini(access(model=MODEL)), request())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"seed": 0}, "the SDK of gemini takes no seed: leave seed out"),
            ({"temperature": 2.1}, "no temperature of 2.1, expected 0 to 2"),
            ({"top_p": 0}, "no top_p of 0"),
        ],
    )
    def test_settings_that_it_does_not_take(self, settings: dict[str, float], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            Gemini(access(model=MODEL)).check(Settings(**settings))  # type: ignore[arg-type]

    def test_settings_that_it_takes(self) -> None:
        Gemini(access(model=MODEL)).check(Settings(temperature=2, top_p=1, max_output_tokens=1))

    def test_what_it_is(self) -> None:
        provider = Gemini(access(model=MODEL))
        assert (provider.name, provider.model, provider.max_samples) == ("gemini", MODEL, 8)
        assert provider.versions()["google-generativeai"] == version("google-generativeai")
        assert provider.image_tokens(300, 200) == 258

    def test_no_address(self) -> None:
        with pytest.raises(OptionError, match="the base URL"):
            Gemini(access("localhost", model=MODEL))


def test_the_sdk_is_loaded_when_it_is_used_and_says_nothing() -> None:
    program = """
import sys
from spotball_adapters.providers.gemini import Gemini
from tests.adapters.asking import access, answer, request

provider = Gemini(access(sys.argv[1], model="gemini-2.0-flash-001"))
assert not {"google.generativeai", "google.api_core", "grpc", "requests"} & sys.modules.keys()
answer(provider, request())
assert "google.generativeai" in sys.modules
"""
    with serve(GeminiProtocol(), base_path="") as server:
        command = [sys.executable, "-c", program, server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
