"""What is particular to the provider `gemini` and its two SDKs; `conformance` has what all providers do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from spotball_adapters.providers.gemini import Gemini
from spotball_adapters.providers.gemini_sdk import KEY, SDKS
from spotball_adapters.providers.protocol import Answer, Message, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults, google_sdks
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import body, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_gemini import GeminiProtocol

MODEL = "gemini-2.0-flash-001"


PACKAGES = {google_sdks.SUPPORTED: "google-genai", google_sdks.OF_THE_PAPER: "google-generativeai"}


@pytest.fixture(autouse=True, params=google_sdks.NAMES)
def sdk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(KEY, "right-key")
    with google_sdks.only(request.param):
        yield request.param


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(GeminiProtocol(), base_path="") as server:
        yield server


def gemini(server: LoopbackServer) -> Gemini:
    return Gemini(access(server.url, model=MODEL))


class TestWhatIsSent:
    def test_settings_by_their_names(self, server: LoopbackServer) -> None:
        answer(gemini(server), request(temperature=0.6, top_p=0.5, max_output_tokens=300))
        assert server.asked[0].settings == {"temperature": 0.6, "topP": 0.5, "maxOutputTokens": 300}

    def test_what_is_not_given_is_not_sent(self, server: LoopbackServer) -> None:
        answer(gemini(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.get("generationConfig", {}) == {}
        assert "systemInstruction" not in sent


class TestWhatComesBack:
    def test_a_prompt_that_is_blocked_withholds_all_replies(self, server: LoopbackServer) -> None:
        server.script(reply("blocked"))
        found = answer(gemini(server), request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", "SAFETY")] * 2

    def test_no_candidates_at_all_is_a_fault(self, server: LoopbackServer) -> None:
        server.script(body("{}"))
        with pytest.raises(TransientError, match="malformed: 0 candidates, but the requested number is 1"):
            answer(gemini(server), request())

    def test_when_to_come_back_stands_in_the_body_too(self, server: LoopbackServer) -> None:
        server.script(status(429), status(429, retry_after="3"), status(503))
        found = ask(gemini(server), *[request()] * 3)
        assert [one.retry_after for one in found if isinstance(one, TransientError)] == [34.0, 3.0, None]

    def test_an_answer_that_is_not_of_the_definition_passes(self, server: LoopbackServer, sdk: str) -> None:
        server.script(body('{"candidates": 7}'))
        first, second = ask(gemini(server), request(), request())
        assert isinstance(first, TransientError)
        said = {
            google_sdks.SUPPORTED: "TypeError: 'int' object is not iterable",
            google_sdks.OF_THE_PAPER: "Failed to parse candidates field",
        }
        assert str(first).startswith(f"gemini: the response is malformed: {said[sdk]}")
        assert isinstance(second, Answer)

    @pytest.mark.slow
    def test_a_program_that_is_stopped_does_not_wait_for_an_answer(self, sdk: str) -> None:
        with serve(GeminiProtocol(), base_path="") as hanging:
            hanging.always(faults.HANG)
            program = f"""
import asyncio
from spotball_adapters.providers import gemini_sdk
from spotball_adapters.providers.gemini import Gemini
from tests.adapters.asking import access, request

gemini_sdk.SDKS = {{{sdk!r}: gemini_sdk.SDKS[{sdk!r}]}}

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


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"temperature": 2.1}, "--temperature: found 2.1, expected 0 to 2"),
        ],
    )
    def test_settings_that_it_does_not_take(self, settings: dict[str, float], message: str) -> None:
        with pytest.raises(OptionError, match=message):
            Gemini(access(model=MODEL)).check(Settings(**settings))  # type: ignore[arg-type]

    def test_a_seed_needs_the_supported_sdk(self, server: LoopbackServer, sdk: str) -> None:
        if sdk == google_sdks.OF_THE_PAPER:
            with pytest.raises(OptionError, match="google-genai does"):
                gemini(server).check(Settings(seed=0))
        else:
            gemini(server).check(Settings(seed=0))
            answer(gemini(server), request(seed=0))
            assert server.asked[0].settings == {"seed": 0}

    def test_settings_that_it_takes(self) -> None:
        Gemini(access(model=MODEL)).check(Settings(temperature=2, top_p=1, max_output_tokens=1))

    def test_what_it_is(self, sdk: str) -> None:
        provider = Gemini(access(model=MODEL))
        assert (provider.name, provider.model, provider.max_samples) == ("gemini", MODEL, 8)
        assert provider.versions()[PACKAGES[sdk]] == version(PACKAGES[sdk])
        assert provider.image_tokens(300, 200) == 258


@pytest.mark.slow
def test_the_sdk_is_loaded_when_it_is_used_and_says_nothing(sdk: str) -> None:
    program = """
import sys
from spotball_adapters.providers import gemini_sdk
from spotball_adapters.providers.gemini import Gemini
from tests.adapters.asking import access, answer, request

sdk = sys.argv[2]
gemini_sdk.SDKS = {sdk: gemini_sdk.SDKS[sdk]}
provider = Gemini(access(sys.argv[1], model="gemini-2.0-flash-001"))
assert not {sdk, "google.api_core", "grpc", "requests", "google.auth"} & sys.modules.keys()
answer(provider, request())
assert sdk in sys.modules
"""
    with serve(GeminiProtocol(), base_path="") as server:
        command = [sys.executable, "-c", program, server.url, sdk]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_supported_sdk_is_preferred() -> None:
    assert next(iter(SDKS)) == google_sdks.SUPPORTED
