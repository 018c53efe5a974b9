"""Test that API keys never appear in errors, their causes, logs, or the files of a run."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from spotball_adapters.providers.protocol import PermanentError, ProviderError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.asking import ask, request
from tests.adapters.conformance.cases import SECRET, Client, Service
from tests.adapters.faults import Fault, body, status
from tests.adapters.run_process import dataset, here
from tests.adapters.server import serve
from tests.failures import raises

FAULTS: dict[str, Fault | None] = {
    "none": None,
    **faults.NAMED,
    "echoed": status(500, f"I was given {SECRET}"),
    "echoed for good": status(403, f"not with {SECRET}"),
    "echoed as text": Fault("body", status=502, text=f"<p>{SECRET}</p>"),
    # Errors show 300 characters, about twenty of which name the server, so the message is cut within the key.
    "echoed where the cut is": status(400, "x" * 262 + SECRET),
    "echoed in no HTTP": Fault("raw", text=f"no protocol of {SECRET}\r\n\r\n"),
    "echoed in a body": body(f'{{"error": {{"code": 500, "message": "{SECRET}"}}}}'),
    "echoed in no JSON": body(f"{SECRET} {{"),
    "echoed in a header": Fault("redirect", text=f"http://127.0.0.1:9/{SECRET}"),
    "echoed as a header that is none": Fault("body", text="{}", headers={"content-encoding": "gzip", "x-key": SECRET}),
}

IN_THE_HEAD = ("echoed in no HTTP", "echoed in a header", "echoed as a header that is none")


def everything(error: BaseException) -> str:
    """Return all texts that a program could print for an error, its causes and its visible contexts."""
    texts = [*traceback.format_exception(error)]
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        texts += [str(one), repr(one), repr(one.args), repr(vars(one))]
        # Suppressed contexts are not printed.
        todo += [one.__cause__, None if one.__suppress_context__ else one.__context__]
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_key_does_not_appear_in_errors_logs_or_output_of_a_request(
    client: Client,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    # At DEBUG, httpcore logs response headers unchanged, and we cannot filter a key that the server puts there.
    level = logging.INFO if fault in IN_THE_HEAD else logging.DEBUG
    caplog.set_level(level)
    for logger in ("google", "urllib3", "httpx", "httpcore"):
        caplog.set_level(level, logger=logger)
        monkeypatch.setattr(logging.getLogger(logger), "propagate", True)
    client.server.script(FAULTS[fault])
    patience = 0.2 if fault == "hang" else 20.0
    provider = client.service.at(client.server, model="gemini-2.0-flash-001", timeout=patience)
    (found,) = ask(provider, request())
    # The test proves nothing if the key was not sent.
    assert SECRET in str(client.server.seen[0].headers)
    inside = [repr(part) for part in vars(provider).values()]
    texts = [repr(found), repr(provider), *inside, str(provider.versions()), caplog.text, *capfd.readouterr()]
    if isinstance(found, BaseException):
        assert isinstance(found, ProviderError)
        texts.append(everything(found))
    for text in texts:
        assert SECRET not in text
        # A part of the key must not appear either.
        assert SECRET[:12] not in text
    if fault.startswith("echoed"):
        assert isinstance(found, BaseException)


def test_key_does_not_appear_in_the_files_and_output_of_a_run(service: Service, tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", images=2)
    with service.chosen(), serve(service.speaks(), base_path=service.base_path) as server:
        options = ["--provider", service.name, "--model", "some-model", "--base-url", server.url, "--prompt", "base"]
        options += ["--api", service.api] if service.api else []
        start = ["run", str(data), *options, "--samples", "2", "--concurrency", "1", "--out", str(tmp_path / "out")]
        server.script(None, status(400, f"no picture with {SECRET}"))
        # Reply texts are stored unchanged, so the model must return replies without the key.
        server.says = lambda asked, number: f"Cell: D{number + 1}"
        done = here(*start, "--attempts", "1", env={})
        server.always(status(500, f"boom {SECRET}"))
        again = here(*start, "--samples", "3", "--attempts", "1", env={})
        assert {seen.status for seen in server.seen} == {200, 400, 500}
        assert any(SECRET in str(seen.headers) for seen in server.seen)
    assert "[key]" in again.stdout + again.stderr
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) > 2
    for content in (*(path.read_bytes() for path in files), done.stdout, done.stderr, again.stdout, again.stderr):
        assert SECRET not in (content if isinstance(content, str) else content.decode("latin-1"))


def test_helper_everything_includes_the_causes_and_visible_contexts_of_an_error() -> None:
    error = OptionError("no more")
    error.__context__ = ValueError(SECRET)
    assert SECRET in everything(error)
    error.__suppress_context__ = True
    assert SECRET not in everything(error)
    error.__cause__ = ValueError(SECRET)
    assert SECRET in everything(error)


@pytest.mark.parametrize("end", ["\nX-Other: 1", "\x7f", "ü"])
def test_key_with_an_invalid_character_is_an_error_that_does_not_show_the_key(
    service: Service, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(service.key, SECRET + end)
    with raises(PermanentError, "invalid-key") as caught:
        service.at("http://127.0.0.1:9/v1")
    assert SECRET not in everything(caught.value)


@pytest.mark.parametrize(
    "url", [f"http://u:{SECRET}@127.0.0.1:9", f"http://127.0.0.1:9?key={SECRET}", f"http://127.0.0.1:9#{SECRET}"]
)
def test_base_url_with_a_key_is_an_error_that_does_not_show_the_key(service: Service, url: str) -> None:
    with raises(OptionError, "invalid-option:--base-url") as caught:
        service.at(url)
    assert SECRET not in everything(caught.value)
