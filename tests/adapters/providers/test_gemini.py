"""Test features that only the provider `gemini` has; `conformance` tests those of all providers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from spotball_adapters.providers.gemini import Gemini
from spotball_adapters.providers.gemini_sdk import KEY, SDKS
from spotball_adapters.providers.protocol import Message, Settings, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults, google_sdks
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import reply, status
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


def run(program: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program in a separate process, and return its exit status and output."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_request_uses_the_setting_names_of_the_gemini_api_and_omits_settings_that_are_not_set(
    server: LoopbackServer,
) -> None:
    settings = {"temperature": 0.6, "top_p": 0.5, "max_output_tokens": 300}
    ask(gemini(server), request(**settings), request(turns=(Message("user", "Where?", picture=True),)))
    assert server.asked[0].settings == {"temperature": 0.6, "topP": 0.5, "maxOutputTokens": 300}
    assert server.seen[1].json.get("generationConfig", {}) == {}
    assert "systemInstruction" not in server.seen[1].json


def test_blocked_prompt_returns_filtered_replies_for_all_samples(server: LoopbackServer) -> None:
    server.script(reply("blocked"))
    found = answer(gemini(server), request(1, 2))
    assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "filtered", "SAFETY")] * 2


def test_retry_after_of_an_error_is_read_from_the_body_or_the_header_of_the_response(server: LoopbackServer) -> None:
    server.script(status(429), status(429, retry_after="3"), status(503))
    found = ask(gemini(server), *[request()] * 3)
    assert [one.retry_after for one in found if isinstance(one, TransientError)] == [34.0, 3.0, None]


@pytest.mark.slow
def test_program_that_cancels_a_request_ends_without_waiting_for_the_response(server: LoopbackServer, sdk: str) -> None:
    server.always(faults.HANG)
    program = f"""
import asyncio
from spotball_adapters.providers import gemini_sdk
from spotball_adapters.providers.gemini import Gemini
from tests.adapters.asking import access, request

gemini_sdk.SDKS = {{{sdk!r}: gemini_sdk.SDKS[{sdk!r}]}}

async def main():
    task = asyncio.create_task(Gemini(access({server.url!r}, timeout=600.0)).ask(request()))
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

asyncio.run(main())
print("ended")
"""
    assert run(program) == (0, "ended\n", "")


def test_check_accepts_the_maximum_settings_and_accepts_a_seed_only_with_google_genai(
    server: LoopbackServer, sdk: str
) -> None:
    provider = gemini(server)
    provider.check(Settings(temperature=2, top_p=1, max_output_tokens=1))
    with raises(OptionError, "invalid-option:--temperature"):
        provider.check(Settings(temperature=2.1))
    if sdk == google_sdks.OF_THE_PAPER:
        with raises(OptionError, "unsupported-option:--seed"):
            provider.check(Settings(seed=0))
    else:
        provider.check(Settings(seed=0))
        answer(provider, request(seed=0))
        assert server.asked[0].settings == {"seed": 0}


def test_provider_reports_name_model_versions_and_image_tokens_and_prefers_google_genai(sdk: str) -> None:
    provider = Gemini(access(model=MODEL))
    assert (provider.name, provider.model, provider.max_samples) == ("gemini", MODEL, 8)
    assert provider.versions()[PACKAGES[sdk]] == version(PACKAGES[sdk])
    assert provider.image_tokens(300, 200) == 258
    assert next(iter(SDKS)) == google_sdks.SUPPORTED


@pytest.mark.slow
def test_sdk_is_imported_at_the_first_request_and_prints_nothing(server: LoopbackServer, sdk: str) -> None:
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
    assert run(program, server.url, sdk) == (0, "", "")
