"""Convert HTTP responses to JSON objects or provider errors, in the same way for all servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spotball_adapters.providers.protocol import PermanentError, RefusedError, TransientError, hidden
from spotball_adapters.providers.server_messages import (
    about_one_request,
    cannot_read_images,
    error_of,
    retry_after,
    retry_delay,
    shortened,
)
from spotball_core.service.json_file import parse_json

ENCODINGS = ("gzip", "deflate")
"""Accepted content encodings of responses. With these encodings, a chunk of 64 KB expands to at most about 68 MB."""

_MOST_OF_ERROR = 100_000
"""Maximum number of bytes that are read from an error response."""

_PASSING = frozenset({408, 409, 425, 429})
# Codes of permanent errors that come with a temporary status: the account has no money left.
_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


class RejectedError(PermanentError):
    """The server rejects a request.

    Attributes:
        status: the HTTP status.
        server_code: the server's error code; empty if it sends none.
        server_field: the name of the request field that is invalid; empty if the server does not name it.
    """

    def __init__(self, message: str, *, status: int, server_code: str = "", server_field: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.server_code = server_code
        self.server_field = server_field

    @property
    def is_about_samples(self) -> bool:
        """Return whether the request may have been rejected because it asked for several samples."""
        return self.status in (400, 422) and (self.server_field == "n" or "candidate" in str(self).lower())


class RefusedRequestError(RejectedError, RefusedError):
    """The server rejects this request, but may accept others."""


@dataclass(frozen=True, slots=True)
class Responses:
    """Read the responses of one server, and create errors that do not contain the key.

    Attributes:
        name: the server's name in errors.
        key: the secret that must not appear in errors, or None.
        max_response: maximum size of a response in bytes.
    """

    name: str
    key: str | None = field(repr=False)
    max_response: int

    def start(self, status: int, headers: Mapping[str, str]) -> HttpResponse:
        """Return a response with this status and these headers, and an empty body.

        Raises:
            TransientError: if the headers name a content encoding that is not accepted.
        """
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", *ENCODINGS):
            raise self.malformed(f"the content encoding is {encoding}, expected {' or '.join(ENCODINGS)}")
        return HttpResponse(self, status, headers)

    def malformed(self, detail: str) -> TransientError:
        """Return the error for a response body that does not follow the protocol."""
        return TransientError(self.clean(f"{self.name}: the response is malformed: {detail}"))

    def out_of_time(self, seconds: float) -> TransientError:
        """Return the error for a response that took too long."""
        return TransientError(f"{self.name}: no response within {seconds:g} s")

    def clean(self, text: str) -> str:
        """Return the text in a form that is safe for an error: short, printable, and without the key."""
        return shortened(hidden(text, self.key))


class HttpResponse:
    """One HTTP response. Pass the parts of its body to `add`, then call `read`."""

    def __init__(self, responses: Responses, status: int, headers: Mapping[str, str]) -> None:
        self._responses = responses
        self._status = status
        self._headers = headers
        self._is_success = 200 <= status < 300
        most = responses.max_response
        self._most = most if self._is_success else min(_MOST_OF_ERROR, most)
        # One array: if memory runs out, only its growth fails, and the rest of the program still has memory.
        self._content = bytearray()

    def add(self, part: bytes) -> bool:
        """Add a decompressed part of the body, and return whether further parts are needed.

        Only the start of an error response is needed.

        Raises:
            RefusedRequestError: if the body of a successful response is larger than the limit.
        """
        self._content += part
        if len(self._content) <= self._most:
            return True
        if self._is_success:
            limit = f"{self._most / 1e6:g} MB"
            message = f"{self._responses.name}: the response is larger than the limit of {limit}"
            raise RefusedRequestError(message, status=self._status)
        return False

    def read(self) -> dict[str, Any]:
        """Return the JSON object in the body.

        Raises:
            TransientError: if the status is a temporary failure such as 429, or the body is not a JSON object.
            RefusedRequestError: if the server rejects only this request.
            RejectedError: if the response is any other error, or a redirect.
        """
        content = bytes(self._content)
        try:
            body, fault = parse_json(content, finite=False), "no JSON object"
        except ValueError as invalid:
            body, fault = None, f"no JSON object ({invalid})"
        if not self._is_success:
            # The charset of the headers is ignored: JSON is UTF-8, and some servers name invalid charsets.
            raise self._failure(self._status, body, content[:_MOST_OF_ERROR].decode("utf-8", "replace"))
        if not isinstance(body, dict):
            raise self._responses.malformed(fault)
        if body.get("error"):
            # Some servers detect the error after they have sent the status.
            error = body["error"]
            code = error.get("code") if isinstance(error, dict) else None
            raise self._failure(code if isinstance(code, int) and 400 <= code < 600 else 500, body, "")
        return body

    def _failure(self, status: int, body: Any, text: str) -> TransientError | RejectedError:
        message, code, field = error_of(body)
        if 300 <= status < 400:
            address = self._headers.get("location", "another address")
            message = f"the server redirects to {address}. Set --base-url to the final address"
        detail = message or text or "no error message"
        cleaned = self._responses.clean(f"{self._responses.name}: HTTP {status}: {detail}")
        is_permanent = code in _FOR_GOOD or cannot_read_images(message)
        if (status in _PASSING or status >= 500) and not is_permanent:
            wait = retry_after(self._headers)
            return TransientError(cleaned, status=status, retry_after=retry_delay(body) if wait is None else wait)
        kind = RefusedRequestError if about_one_request(status, message, field) else RejectedError
        return kind(cleaned, status=status, server_code=code, server_field=field)
