"""Asking over HTTP: one pool of connections to one server, and what its failures mean.

No error raised here holds the key, whatever the server or a library under us says.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.keys import hidden
from spotball_adapters.providers.protocol import Access, PermanentError, RefusedError, TransientError
from spotball_adapters.providers.said import about_one_request, error_of, retry_after, said_by, shortened
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.json_file import parse_json

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("Asking a model over HTTP", "adapters") from error

_PASSING = frozenset({408, 409, 425, 429})
# Codes of errors that come with a status of passing ones, and do not pass: no money is left.
_FOR_GOOD = frozenset({"insufficient_quota", "billing_hard_limit_reached"})

ENCODINGS = ("gzip", "deflate")
"""Compression that a response may have. Each chunk of at most 64 KB expands to about 68 MB, at most."""

_MOST_OF_ERROR = 100_000
"""Bytes of a response with an error that are read."""


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


class RefusedRequestError(RejectedError, RefusedError):
    """A request that the server does not take, though it may take others."""


class Server:
    """A server that takes JSON and answers JSON.

    Args:
        access: its address, which takes the place of `home`, and how patient to be.
        home: where the provider's own server is.
        key: the secret that no error may hold; None where there is none.
        headers: sent with each request, the key among them.

    Raises:
        OptionError: for an address that cannot be used.
    """

    def __init__(self, access: Access, *, home: str, key: str | None, headers: Mapping[str, str]) -> None:
        self.url = checked_url(access.base_url or home)
        self.host = self.url.host
        self._key = key
        self._timeout = access.timeout
        self._max_response = access.max_response
        # As many connections as requests at a time, all kept: a new one costs several round trips. A redirect would
        # take the key elsewhere. The time is kept below, over the whole request.
        limits = httpx.Limits(max_connections=access.concurrency, max_keepalive_connections=access.concurrency)
        # Other encodings expand a few bytes to any number at once, before their number could be limited.
        accepted = {**headers, "accept-encoding": ", ".join(ENCODINGS)}
        self._client = httpx.AsyncClient(headers=accepted, limits=limits, timeout=None, follow_redirects=False)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to `body`, an object.

        Raises:
            TransientError: no connection, no answer in time, a status that may pass, a body that is no JSON object.
            RefusedRequestError: a status that refuses this request alone, or an answer that is too large.
            RejectedError: any other status that is no success.
            PermanentError: if TLS fails, such as for a certificate that is not trusted.
        """
        address = str(self.url).rstrip("/") + path
        try:
            async with asyncio.timeout(self._timeout), self._client.stream("POST", address, json=body) as response:
                content = await self._content(response)
        except TimeoutError:
            raise TransientError(f"{self.host}: no answer within {self._timeout:g} s") from None
        except httpx.RequestError as error:
            # Without its cause: that holds the request, and the request the key.
            if advice := tls_advice(error, "SSL_CERT_FILE"):
                raise PermanentError(self._clean(f"{self.host}: {advice}")) from None
            raise TransientError(self._clean(f"{self.host}: {said_by(error)}")) from None
        return self._read(response, content)

    def versions(self) -> dict[str, str]:
        """The HTTP client's version."""
        return {"httpx": httpx.__version__}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def malformed(self, what: str) -> TransientError:
        """The error for a body that is not as the protocol says."""
        return TransientError(self._clean(f"{self.host}: the answer is malformed: {what}"))

    async def _content(self, response: httpx.Response) -> bytes:
        """The body; of an error, no more than its beginning."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", *ENCODINGS):
            raise self.malformed(f"its content encoding is {encoding}, expected {' or '.join(ENCODINGS)}")
        most = self._max_response if response.is_success else min(_MOST_OF_ERROR, self._max_response)
        # One array: where memory runs out, its growth is what fails, and the rest of the program has some left.
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) <= most:
                continue
            if not response.is_success:
                break
            raise RefusedRequestError(
                f"{self.host}: the response is larger than the limit of {most / 1e6:g} MB", status=response.status_code
            )
        return bytes(content)

    def _read(self, response: httpx.Response, content: bytes) -> dict[str, Any]:
        try:
            body, fault = parse_json(content, finite=False), "no JSON object"
        except ValueError as invalid:
            body, fault = None, f"no JSON object ({invalid})"
        if not response.is_success:
            # Whatever charset the headers name: JSON is UTF-8, and some names stand for no charset at all.
            text = content[:_MOST_OF_ERROR].decode("utf-8", "replace")
            raise self._failure(response.status_code, body, response.headers, text)
        if not isinstance(body, dict):
            raise self.malformed(fault)
        if body.get("error"):
            # Some servers find the fault when the status is sent already.
            error = body["error"]
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise self._failure(status, body, response.headers, "")
        return body

    def _failure(self, status: int, body: Any, headers: httpx.Headers, text: str) -> TransientError | RejectedError:
        message, code, field = error_of(body)
        if 300 <= status < 400:
            message = f"it redirects to {headers.get('location', 'nowhere')}; give the address itself with --base-url"
        shown = self._clean(f"{self.host}: HTTP {status}: {message or text or 'nothing said'}")
        if (status in _PASSING or status >= 500) and code not in _FOR_GOOD:
            return TransientError(shown, status=status, retry_after=retry_after(headers))
        kind = RefusedRequestError if about_one_request(status, message, field) else RejectedError
        return kind(shown, status=status, code=code, field=field)

    def _clean(self, text: str) -> str:
        return shortened(hidden(text, self._key))


def checked_url(url: str) -> httpx.URL:
    """A server's address, for sure without a secret in it.

    Raises:
        OptionError: for one that is no http or https address, or holds a user, a query or a fragment.
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise OptionError(f"the base URL {url!r} is no address such as http://localhost:8000/v1")
    if parsed.userinfo or parsed.query or parsed.fragment:
        # Without repeating it: what is there may be a secret.
        raise OptionError("the base URL holds a user, a query or a fragment; keys come from the environment alone")
    return parsed


def tls_advice(error: Exception, variable: str) -> str | None:
    """Return what to do about a failure of TLS that would happen again; None for any other failure.

    Args:
        error: of a library; the error of TLS is among what caused it.
        variable: the environment variable that names a file of trusted certificates.
    """
    fault = _tls_fault(error)
    if fault is None or isinstance(fault, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        # The last three are connections that were closed.
        return None
    if isinstance(fault, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate is not trusted ({fault.verify_message.rstrip('.')}). Check the address; for a "
            f"server with a certificate of your own, set {variable} to the file of the certificate that signed it"
        )
    return f"TLS failed ({fault.reason or fault}). Check whether the address begins with http or https as it should"


def _tls_fault(error: object) -> ssl.SSLError | None:
    """The error of TLS among an error's causes, which some libraries keep in its arguments."""
    if not isinstance(error, Exception) or isinstance(error, ssl.SSLError):
        return error if isinstance(error, ssl.SSLError) else None
    causes = (error.__cause__, error.__context__, *error.args)
    return next((fault for cause in causes if (fault := _tls_fault(cause)) is not None), None)
