"""Test features that only the provider `gemini` has; `conformance` tests those of all providers."""

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
from tests.failures import raises

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
    def test_request_names_the_settings_as_the_gemini_api(self, server: LoopbackServer) -> None:
        answer(gemini(server), request(temperature=0.6, top_p=0.5, max_output_tokens=300))
        assert server.asked[0].settings == {"temperature": 0.6, "topP": 0.5, "maxOutputTokens": 300}

    def test_request_omits_settings_and_system_instruction_that_are_not_set(self, server: LoopbackServer) -> None:
        answer(gemini(server), request(turns=(Message("user", "Where?", picture=True),)))
        sent = server.seen[0].json
        assert sent.get("generationConfig", {}) == {}
        assert "systemInstruction" not in sent


class TestWhatComesBack:
    def test_blocked_prompt_returns_filtered_replies_for_all_samples(self, server: LoopbackServer) -> None:
        server.script(reply("blocked"))
        found = answer(gemini(server), request(1, 2))
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", "SAFETY")] * 2

    def test_response_without_candidates_raises_transient_error(self, server: LoopbackServer) -> None:
        server.script(body("{}"))
        with raises(TransientError, "provider-failed"):
            answer(gemini(server), request())

    def test_retry_pause_is_read_from_the_body_and_the_header(self, server: LoopbackServer) -> None:
        server.script(status(429), status(429, retry_after="3"), status(503))
        found = ask(gemini(server), *[request()] * 3)
        assert [one.retry_after for one in found if isinstance(one, TransientError)] == [34.0, 3.0, None]

    def test_response_with_invalid_candidates_raises_transient_error(self, server: LoopbackServer, sdk: str) -> None:
        server.script(body('{"candidates": 7}'))
        first, second = ask(gemini(server), request(), request())
        assert isinstance(first, TransientError)
        said = {google_sdks.SUPPORTED: "TypeError: 'int' object", google_sdks.OF_THE_PAPER: "candidates field"}
        assert first.code == "provider-failed"
        assert said[sdk] in str(first)
        assert isinstance(second, Answer)

    @pytest.mark.slow
    def test_cancelled_program_ends_without_waiting_for_the_response(self, sdk: str) -> None:
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
    def test_check_of_a_temperature_out_of_range_is_an_error(self) -> None:
        with raises(OptionError, "invalid-option:--temperature"):
            Gemini(access(model=MODEL)).check(Settings(temperature=2.1))

    def test_seed_is_supported_only_by_google_genai(self, server: LoopbackServer, sdk: str) -> None:
        if sdk == google_sdks.OF_THE_PAPER:
            with raises(OptionError, "unsupported-option:--seed"):
                gemini(server).check(Settings(seed=0))
        else:
            gemini(server).check(Settings(seed=0))
            answer(gemini(server), request(seed=0))
            assert server.asked[0].settings == {"seed": 0}

    def test_check_accepts_the_maximum_settings(self) -> None:
        Gemini(access(model=MODEL)).check(Settings(temperature=2, top_p=1, max_output_tokens=1))

    def test_provider_reports_name_model_versions_and_image_tokens(self, sdk: str) -> None:
        provider = Gemini(access(model=MODEL))
        assert (provider.name, provider.model, provider.max_samples) == ("gemini", MODEL, 8)
        assert provider.versions()[PACKAGES[sdk]] == version(PACKAGES[sdk])
        assert provider.image_tokens(300, 200) == 258


@pytest.mark.slow
def test_sdk_is_imported_at_the_first_request_and_prints_nothing(sdk: str) -> None:
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


def test_google_genai_is_the_preferred_sdk() -> None:
    assert next(iter(SDKS)) == google_sdks.SUPPORTED
