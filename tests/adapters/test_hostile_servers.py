"""Servers that send what no service should: responses without end, odd charsets, wrong numbers, bad certificates."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spotball_adapters.providers.anthropic import Anthropic
from spotball_adapters.providers.gemini import Gemini
from spotball_adapters.providers.openai import OpenAI
from spotball_adapters.providers.protocol import PermanentError, Provider, RefusedError, TransientError
from spotball_adapters.providers.said import MOST_TOKENS, retry_after
from tests.adapters import faults
from tests.adapters.asking import access, answer, ask, request
from tests.adapters.faults import Fault, content, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import Speaks

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
CHARSETS = (
    *("base64", "hex", "zlib", "rot13", "idna", "undefined", "unicode_escape", "raw_unicode_escape"),
    *("utf-7", "utf-16", "no-such-charset", "\u00fc", ""),
)


@dataclass(frozen=True)
class Service:
    """A provider and the server that it is asked through."""

    provider: Callable[..., Provider]
    speaks: Callable[[], Speaks]
    base_path: str
    name: str

    def at(self, server: LoopbackServer, **options: Any) -> Provider:
        return self.provider(access(server.url, **options))


SERVICES = {
    "openai": Service(OpenAI, OpenAIProtocol, "/v1", "127.0.0.1"),
    "anthropic": Service(Anthropic, AnthropicProtocol, "", "127.0.0.1"),
    "gemini": Service(Gemini, GeminiProtocol, "", "gemini"),
}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.setenv(key, "right-key")


@pytest.fixture(scope="module", params=SERVICES)
def running(request: pytest.FixtureRequest) -> Iterator[tuple[Service, LoopbackServer]]:
    service = SERVICES[request.param]
    with serve(service.speaks(), base_path=service.base_path) as started:
        yield service, started


class TestSize:
    @pytest.mark.parametrize(
        "fault",
        [
            faults.ENDLESS,
            content(b" " * 1_000_001),
            content(gzip.compress(b" " * 200_000_000), content_encoding="gzip"),
        ],
        ids=["endless", "large", "gzip bomb"],
    )
    def test_a_response_over_the_limit_is_refused(self, running: tuple[Service, LoopbackServer], fault: Fault) -> None:
        service, server = running
        server.script(fault)
        first, second = ask(service.at(server, max_response=1_000_000), request(), request())
        assert isinstance(first, RefusedError)
        assert str(first) == f"{service.name}: the response is larger than the limit of 1 MB"
        assert not isinstance(second, BaseException)

    def test_one_at_the_limit_is_taken(self, running: tuple[Service, LoopbackServer]) -> None:
        service, server = running
        found = answer(service.at(server), request())
        text = found.replies[0].text
        server.script(None)
        (seen,) = ask(service.at(server, max_response=100_000), request())
        assert not isinstance(seen, BaseException)
        # Of the size that it has, and one byte less.
        size = len(json.dumps(server.speaks.write(server.asked[-1], [text], "")).encode())
        for most, fits in ((size + 200, True), (size - 200, False)):
            (seen,) = ask(service.at(server, max_response=most), request())
            assert isinstance(seen, RefusedError) is not fits

    def test_twenty_megabytes_unless_told_otherwise(self, running: tuple[Service, LoopbackServer]) -> None:
        service, server = running
        server.script(content(b" " * 20_000_001))
        with pytest.raises(RefusedError, match="larger than the limit of 20 MB"):
            answer(service.at(server), request())

    def test_a_slow_response_without_end_is_out_of_time(self, running: tuple[Service, LoopbackServer]) -> None:
        service, server = running
        server.script(faults.DRIP)
        first, second = ask(service.at(server, timeout=0.5), request(), request())
        assert isinstance(first, TransientError)
        assert "no answer within 0.5 s" in str(first)
        assert not isinstance(second, BaseException)

    def test_only_the_beginning_of_an_error_is_read(self, running: tuple[Service, LoopbackServer]) -> None:
        service, server = running
        server.script(content(b"<html>" + b"x" * 1_000_000, 502))
        (found,) = ask(service.at(server), request())
        assert isinstance(found, TransientError)
        assert f"{service.name}: HTTP 502: " in str(found)

    @pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
    def test_other_encodings_are_malformed(self, running: tuple[Service, LoopbackServer], encoding: str) -> None:
        service, server = running
        server.script(content(b"x", content_encoding=encoding))
        (found,) = ask(service.at(server), request())
        assert isinstance(found, TransientError)
        assert f"content encoding is {encoding}, expected gzip or deflate" in str(found)
        assert server.seen[-1].headers["accept-encoding"] == "gzip, deflate"

    @pytest.mark.parametrize("encoding", ["gzip", "identity"])
    def test_a_compressed_answer_is_read(self, running: tuple[Service, LoopbackServer], encoding: str) -> None:
        service, server = running
        expected = answer(service.at(server), request())
        data = json.dumps(server.speaks.write(server.asked[-1], [expected.replies[0].text], "")).encode()
        data = gzip.compress(data) if encoding == "gzip" else data
        server.script(content(data, content_encoding=encoding))
        assert answer(service.at(server), request()) == expected


@pytest.mark.parametrize("charset", CHARSETS)
class TestCharsets:
    def test_an_error_is_shown(self, running: tuple[Service, LoopbackServer], charset: str) -> None:
        service, server = running
        kind = f"text/html; charset={charset}"
        server.script(content("zu groß \\ \x80".encode("latin-1"), 502, content_type=kind))
        (found,) = ask(service.at(server), request())
        assert isinstance(found, TransientError), found
        assert found.status == 502
        assert "zu gro" in str(found)

    def test_an_answer_is_read_as_json_is(self, running: tuple[Service, LoopbackServer], charset: str) -> None:
        service, server = running
        expected = answer(service.at(server), request())
        data = json.dumps(server.speaks.write(server.asked[-1], [expected.replies[0].text], "")).encode()
        server.script(content(data, content_type=f"application/json; charset={charset}"))
        assert answer(service.at(server), request()) == expected


class TestNumbers:
    @pytest.mark.parametrize("tokens", [10**9 + 1, 2**63, 10**30, 10**4000, -1, 1.5, math.inf, "7", True, [7]])
    @pytest.mark.parametrize("name", ["openai", "anthropic"])
    def test_token_counts_that_cannot_be_are_not_kept(self, name: str, tokens: object) -> None:
        service = SERVICES[name]
        with serve(service.speaks(), base_path=service.base_path) as server:
            answer(service.at(server), request())
            body = server.speaks.write(server.asked[-1], ["Cell: D5"], "")
            body["usage"] = dict.fromkeys(body["usage"], tokens)
            server.script(content(json.dumps(body).encode()))
            found = answer(service.at(server), request())
        assert (found.input_tokens, found.output_tokens) == (None, None)
        assert found.replies[0].text == "Cell: D5"

    def test_the_most_tokens_can_be_stored_and_added(self) -> None:
        assert MOST_TOKENS * 10**9 < 2**63

    @pytest.mark.parametrize("code", [10**30, 10**4000, 99, -400, True, 3.5])
    def test_an_error_code_that_is_no_status(self, code: object) -> None:
        with serve(OpenAIProtocol()) as server:
            server.script(content(json.dumps({"error": {"code": code, "message": "no"}}).encode()))
            (found,) = ask(OpenAI(access(server.url)), request())
        assert isinstance(found, TransientError)
        assert str(found) == "127.0.0.1: HTTP 500: no"

    @pytest.mark.parametrize(
        "value", ["Wed, 21 Oct 99999 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 +999999999999", "1e400", "9" * 5000]
    )
    def test_a_time_to_wait_that_cannot_be(self, value: str) -> None:
        assert retry_after({"retry-after": value}) is None

    def test_words_that_are_no_words(self) -> None:
        deep: Any = "stop"
        for _ in range(500):
            deep = [deep]
        with serve(OpenAIProtocol()) as server:
            body = {"choices": [{"message": {"content": "D5"}, "finish_reason": deep}], "model": deep, "usage": deep}
            server.script(content(json.dumps(body).encode()))
            found = answer(OpenAI(access(server.url)), request())
        assert (found.replies[0].text, found.replies[0].finish, found.replies[0].finish_said) == ("D5", "other", "")


class TestRefusals:
    @pytest.mark.parametrize(
        ("number", "message", "refused"),
        [
            (400, "The image is too large", True),
            (400, "Could not process image", True),
            (413, "Request too large", True),
            (422, "unprocessable image", True),
            (403, "Your input was flagged by moderation", True),
            (400, "API key not valid. Please pass a valid API key.", False),
            (400, "Your credit balance is too low to access the API", False),
            (401, "no such key", False),
            (402, "no money left", False),
            (403, "not allowed in your country", False),
            (404, "no such model", False),
        ],
    )
    def test_of_one_request_or_of_all(
        self, running: tuple[Service, LoopbackServer], number: int, message: str, refused: bool
    ) -> None:
        service, server = running
        server.script(status(number, message))
        with pytest.raises(PermanentError) as error:
            answer(service.at(server), request())
        assert isinstance(error.value, RefusedError) is refused
        assert str(error.value) == f"{service.name}: HTTP {number}: {message}"

    def test_a_setting_that_is_not_taken_concerns_all(self) -> None:
        with serve(OpenAIProtocol()) as server:
            error = {"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}
            server.script(content(json.dumps(error).encode(), 400))
            with pytest.raises(PermanentError) as raised:
                answer(OpenAI(access(server.url)), request())
        assert not isinstance(raised.value, RefusedError)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of its own for 127.0.0.1, with its key in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl in the PATH")
    folder = tmp_path_factory.mktemp("tls")
    new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
    options = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(["openssl", *new.split(), *map(str, options)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module", params=SERVICES)
def encrypted(request: pytest.FixtureRequest, certificate: Path) -> Iterator[tuple[Service, LoopbackServer]]:
    service = SERVICES[request.param]
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with serve(service.speaks(), base_path=service.base_path, tls=tls) as started:
        yield service, started


class TestTLS:
    def test_a_certificate_that_is_not_trusted_is_permanent(self, encrypted: tuple[Service, LoopbackServer]) -> None:
        service, server = encrypted
        (found,) = ask(service.at(server), request())
        assert isinstance(found, PermanentError), found
        assert not isinstance(found, RefusedError)
        said = f"{service.name}: the server's certificate is not trusted (self-signed certificate). Check the address; "
        assert str(found).startswith(said)
        assert server.seen == []

    def test_what_the_advice_names_makes_it_trusted(
        self, encrypted: tuple[Service, LoopbackServer], certificate: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service, server = encrypted
        (found,) = ask(service.at(server), request())
        variable = str(found).split(" set ")[1].split()[0]
        monkeypatch.setenv(variable, str(certificate / "cert.pem"))
        assert answer(service.at(server), request()).replies

    @pytest.mark.parametrize("name", SERVICES)
    def test_a_server_without_tls_is_permanent(self, name: str) -> None:
        # As web servers do that are spoken to in TLS where they expect HTTP.
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def refuse() -> None:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(2**16)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")

            threading.Thread(target=refuse, daemon=True).start()
            url = f"https://127.0.0.1:{listening.getsockname()[1]}"
            (found,) = ask(SERVICES[name].provider(access(url)), request())
        assert isinstance(found, PermanentError), found
        assert "Check whether the address begins with http or https" in str(found)

    def test_a_connection_that_was_closed_may_pass(self, running: tuple[Service, LoopbackServer]) -> None:
        service, server = running
        # The server closes connections on which it is not spoken to in HTTP.
        (found,) = ask(service.provider(access(server.url.replace("http:", "https:"))), request())
        assert isinstance(found, TransientError), found
