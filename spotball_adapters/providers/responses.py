"""What a response over HTTP means: a JSON object, or an error of the protocol. All providers with servers read so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spotball_adapters.providers.keys import hidden
from spotball_adapters.providers.protocol import PermanentError, RefusedError, TransientError
from spotball_adapters.providers.server_messages import about_one_request, error_of, retry_after, retry_delay, shortened
from spotball_core.service.json_file import parse_json

ENCODINGS = ("gzip", "deflate")
"""Compression that a response may have. Each chunk of at most 64 KB expands to about 68 MB, at most."""

_MOST_OF_ERROR = 100_000
"""Bytes of a response with an error that are read."""

_PASSING = frozenset({408, 409, 425, 429})
# Codes of errors that come with a status of passing ones, and do not pass: no money is left.
_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


class RejectedError(PermanentError):
    """A request that the server does not take.

    Attributes:
        status: the HTTP status.
        code: the server's word for what is wrong, empty where it has none.
        field: the part of the request that is wrong, empty where the server does not say.
    """

    def __init__(self, message: str, *, status: int, code: str = "", field: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field

    @property
    def is_about_samples(self) -> bool:
        """Whether the request may have been rejected because it asked for several samples."""
        return self.status in (400, 422) and (self.field == "n" or "candidate" in str(self).lower())


class RefusedRequestError(RejectedError, RefusedError):
    """A request that the server does not take, though it may take others."""


@dataclass(frozen=True, slots=True)
class Responses:
    """Reads the responses of one server.

    Attributes:
        name: how errors name the server.
        key: the secret that no error may hold; None if there is none.
        max_response: bytes that a response may have.
    """

    name: str
    key: str | None = field(repr=False)
    max_response: int

    def start(self, status: int, headers: Mapping[str, str]) -> HttpResponse:
        """A response whose status and headers have come.

        Raises:
            TransientError: for a content encoding that was not accepted.
        """
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", *ENCODINGS):
            raise self.malformed(f"its content encoding is {encoding}, expected {' or '.join(ENCODINGS)}")
        return HttpResponse(self, status, headers)

    def malformed(self, detail: str) -> TransientError:
        """The error for a body that is not as the protocol says."""
        return TransientError(self.clean(f"{self.name}: the answer is malformed: {detail}"))

    def out_of_time(self, seconds: float) -> TransientError:
        """The error for a response that took too long."""
        return TransientError(f"{self.name}: no answer within {seconds:g} s")

    def clean(self, text: str) -> str:
        """The text as an error may show it: short, printable, and without the key."""
        return shortened(hidden(text, self.key))


class HttpResponse:
    """One response: its body is added part by part, then read."""

    def __init__(self, responses: Responses, status: int, headers: Mapping[str, str]) -> None:
        self._responses = responses
        self._status = status
        self._headers = headers
        self._is_success = 200 <= status < 300
        most = responses.max_response
        self._most = most if self._is_success else min(_MOST_OF_ERROR, most)
        # One array: where memory runs out, its growth is what fails, and the rest of the program has some left.
        self._content = bytearray()

    def add(self, part: bytes) -> bool:
        """Add a decompressed part of the body. Return whether more of it is needed: of an error, only the beginning is.

        Raises:
            RefusedRequestError: if the body is larger than the limit.
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
        """The object in the body.

        Raises:
            TransientError: for a status that may pass, or a body that is not a JSON object.
            RefusedRequestError: for a status that refuses this request alone.
            RejectedError: for any other status that is not a success.
        """
        content = bytes(self._content)
        try:
            body, fault = parse_json(content, finite=False), "no JSON object"
        except ValueError as invalid:
            body, fault = None, f"no JSON object ({invalid})"
        if not self._is_success:
            # Whatever charset the headers name: JSON is UTF-8, and some names stand for no charset at all.
            raise self._failure(self._status, body, content[:_MOST_OF_ERROR].decode("utf-8", "replace"))
        if not isinstance(body, dict):
            raise self._responses.malformed(fault)
        if body.get("error"):
            # Some servers find the fault when the status is sent already.
            error = body["error"]
            code = error.get("code") if isinstance(error, dict) else None
            raise self._failure(code if isinstance(code, int) and 400 <= code < 600 else 500, body, "")
        return body

    def _failure(self, status: int, body: Any, text: str) -> TransientError | RejectedError:
        message, code, field = error_of(body)
        if 300 <= status < 400:
            address = self._headers.get("location", "nowhere")
            message = f"it redirects to {address}; give the address itself with --base-url"
        detail = message or text or "nothing said"
        cleaned = self._responses.clean(f"{self._responses.name}: HTTP {status}: {detail}")
        if (status in _PASSING or status >= 500) and code not in _FOR_GOOD:
            wait = retry_after(self._headers)
            return TransientError(cleaned, status=status, retry_after=retry_delay(body) if wait is None else wait)
        kind = RefusedRequestError if about_one_request(status, message, field) else RejectedError
        return kind(cleaned, status=status, code=code, field=field)
