"""Test endless and oversized responses, content encodings and charsets."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from spotball_adapters.providers.protocol import Answer, RefusedError, TransientError
from tests.adapters import faults
from tests.adapters.asking import answer, request
from tests.adapters.conformance.cases import Client
from tests.adapters.faults import Fault, content
from tests.adapters.speech import text_of
from tests.failures import raises

CHARSETS = (
    *("base64", "hex", "zlib", "rot13", "idna", "undefined", "unicode_escape", "raw_unicode_escape"),
    *("utf-7", "utf-16", "no-such-charset", "\u00fc", ""),
)


def right(client: Client) -> bytes:
    """Return the body of a valid response to the one request that the server received."""
    (asked,) = client.server.asked
    return json.dumps(client.server.speaks.write(asked, [text_of(asked.question, 0)], "")).encode()


class TestSize:
    @pytest.mark.parametrize(
        "fault",
        [faults.ENDLESS, content(gzip.compress(b" " * 200_000_000), content_encoding="gzip")],
        ids=["endless", "gzip bomb"],
    )
    def test_response_over_the_limit_raises_refused_error(self, client: Client, fault: Fault) -> None:
        client.server.script(fault)
        first, second = client.ask(request(), request())
        assert isinstance(first, RefusedError)
        assert first.code == "request-rejected"
        assert str(first).startswith(f"{client.service.shown}: ")
        assert "1 MB" in str(first)
        assert isinstance(second, Answer)

    def test_response_of_exactly_the_limit_is_accepted_and_the_default_limit_is_20_mb(self, client: Client) -> None:
        client.ask(request())
        data = right(client)
        client.server.script(content(data.ljust(1_000_000)), content(data.ljust(1_000_001)))
        fits, exceeds = client.ask(request(), request())
        assert isinstance(fits, Answer)
        assert isinstance(exceeds, RefusedError)
        client.server.script(content(b" " * 20_000_001))
        with raises(RefusedError, "request-rejected"):
            answer(client.service.at(client.server), request())

    @pytest.mark.parametrize("size", [150_000, 1_000_001, 3_000_000])
    def test_error_response_over_the_limit_still_shows_its_beginning(self, client: Client, size: int) -> None:
        client.server.script(content(b"<html>" + b"x" * size, 502))
        found, second = client.ask(request(), request())
        assert isinstance(found, TransientError), found
        assert f"{client.service.shown}: HTTP 502: <html>xxx" in str(found)
        assert isinstance(second, Answer)


class TestEncodings:
    @pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
    def test_unsupported_content_encoding_raises_transient_error(self, client: Client, encoding: str) -> None:
        client.server.script(content(b"x", content_encoding=encoding))
        (found,) = client.ask(request())
        assert isinstance(found, TransientError)
        assert found.code == "provider-failed"
        assert str(found).startswith(f"{client.service.shown}: ")
        assert f" {encoding}, " in str(found)
        assert client.server.seen[-1].headers["accept-encoding"] == "gzip, deflate"

    @pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate", "identity"])
    def test_responses_in_accepted_encodings_are_read(self, client: Client, encoding: str) -> None:
        (expected,) = client.ask(request())
        data = right(client)
        packed = {"gzip": gzip.compress(data), "deflate": zlib.compress(data), "raw deflate": zlib.compress(data)[2:-4]}
        client.server.script(content(packed.get(encoding, data), content_encoding=encoding.split()[-1]))
        assert client.ask(request()) == [expected]


@pytest.mark.parametrize("charset", CHARSETS)
def test_declared_charset_does_not_affect_responses_and_errors(client: Client, charset: str) -> None:
    (expected,) = client.ask(request())
    page = "zu groß \\ \x80".encode("latin-1")
    client.server.script(
        content(page, 502, content_type=f"text/html; charset={charset}"),
        content(right(client), content_type=f"application/json; charset={charset}"),
    )
    failed, found = client.ask(request(), request())
    assert isinstance(failed, TransientError), failed
    assert failed.status == 502
    assert "zu gro" in str(failed)
    assert found == expected
