"""No key is seen anywhere: not in errors, not in what led to them, not in logs, whatever goes wrong."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

import pytest

from spotball_adapters.providers import anthropic, gemini_sdk, openai
from spotball_adapters.providers.find import find
from spotball_adapters.providers.protocol import PermanentError, ProviderError
from spotball_core.errors import OptionError, SpotballError
from tests.adapters import faults
from tests.adapters.asking import access, ask, request
from tests.adapters.faults import Fault, body, status
from tests.adapters.server import serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import Speaks

SECRET = "sk-planted-7f3a9c1e5b"

Case = tuple[str, str, Callable[..., Speaks], str]
CASES: dict[str, Case] = {
    "openai": ("openai", openai.KEY, OpenAIProtocol, "/v1"),
    "anthropic": ("anthropic", anthropic.KEY, AnthropicProtocol, ""),
    "gemini": ("gemini", gemini_sdk.KEY, GeminiProtocol, ""),
}

FAULTS: dict[str, Fault | None] = {
    "none": None,
    **faults.NAMED,
    "echoed": status(500, f"I was given {SECRET}"),
    "echoed for good": status(403, f"not with {SECRET}"),
    "echoed as text": Fault("body", status=502, text=f"<p>{SECRET}</p>"),
    # Of 300 characters shown, some twenty tell where it comes from.
    "echoed where the cut is": status(400, "x" * 262 + SECRET),
    "echoed in no HTTP": Fault("raw", text=f"no protocol of {SECRET}\r\n\r\n"),
    "echoed in a body": body(f'{{"error": {{"code": 500, "message": "{SECRET}"}}}}'),
    "echoed in no JSON": body(f"{SECRET} {{"),
    "echoed in a header": Fault("redirect", text=f"http://127.0.0.1:9/{SECRET}"),
    "echoed as a header that is none": Fault("body", text="{}", headers={"content-encoding": "gzip", "x-key": SECRET}),
}

IN_THE_HEAD = ("echoed in no HTTP", "echoed in a header", "echoed as a header that is none")


def everything(error: BaseException) -> str:
    """All that anybody might print of an error and of what led to it."""
    texts = [*traceback.format_exception(error)]
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), repr(vars(one))]
        # Hidden contexts are not printed; what is not there cannot be.
        todo += [one.__cause__, None if one.__suppress_context__ else one.__context__]
    return "\n".join(texts)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CASES)
def test_no_key_is_seen(
    name: str,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    provider_name, variable, speaks, base_path = CASES[name]
    monkeypatch.setenv(variable, SECRET)
    # At DEBUG, httpcore logs the head of an answer as it comes: a server that writes our key there is beyond us.
    level = logging.INFO if fault in IN_THE_HEAD else logging.DEBUG
    caplog.set_level(level)
    for logger in ("google", "urllib3", "httpx", "httpcore"):
        caplog.set_level(level, logger=logger)
        monkeypatch.setattr(logging.getLogger(logger), "propagate", True)
    with serve(speaks(), base_path=base_path) as server:
        server.script(FAULTS[fault])
        patience = 0.3 if fault == "hang" else 20.0
        provider = find(provider_name, access(server.url, model="gemini-2.0-flash-001", timeout=patience))
        (found,) = ask(provider, request())
        # Or else nothing was at stake.
        assert SECRET in str(server.seen[0].headers)
    texts = [repr(found), repr(provider), repr(vars(provider).get("_server")), caplog.text, *capfd.readouterr()]
    if isinstance(found, BaseException):
        assert isinstance(found, ProviderError)
        texts.append(everything(found))
    for text in texts:
        assert SECRET not in text
        # Not in parts either.
        assert SECRET[:12] not in text
    if fault.startswith("echoed"):
        assert isinstance(found, BaseException)


def test_the_search_sees_what_led_to_an_error() -> None:
    error = OptionError("no more")
    error.__context__ = ValueError(SECRET)
    assert SECRET in everything(error)
    error.__suppress_context__ = True
    assert SECRET not in everything(error)
    error.__cause__ = ValueError(SECRET)
    assert SECRET in everything(error)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("end", ["\nX-Other: 1", "\x7f", "ü"])
def test_a_key_that_no_header_holds_is_not_repeated(name: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider_name, variable, _, _ = CASES[name]
    monkeypatch.setenv(variable, SECRET + end)
    with pytest.raises(PermanentError, match=f"^{variable} holds a character") as caught:
        find(provider_name, access("http://127.0.0.1:9/v1"))
    assert SECRET not in everything(caught.value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("url", [f"http://u:{SECRET}@127.0.0.1:9", f"http://127.0.0.1:9?key={SECRET}"])
def test_an_address_with_a_key_in_it_is_not_repeated(name: str, url: str) -> None:
    with pytest.raises(SpotballError) as caught:
        find(CASES[name][0], access(url))
    assert SECRET not in everything(caught.value)
