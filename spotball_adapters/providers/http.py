"""HTTP client of the providers: one connection pool per server, and the conversion of failures to provider errors.

No error raised here contains the key, even if the message of a server or a library does.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from spotball_adapters.providers.protocol import Access, PermanentError, TransientError
from spotball_adapters.providers.responses import ENCODINGS, HttpResponse, Responses
from spotball_adapters.providers.server_messages import describe_error
from spotball_core.errors import MissingExtraError, OptionError

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("Sending requests over HTTP", "adapters") from error


class Server:
    """A server that accepts and returns JSON.

    Args:
        access: address and limits. Its `base_url` replaces `home`.
        home: the provider's default address.
        key: the secret that must not appear in errors, or None.
        headers: headers of each request, including the key.

    Raises:
        OptionError: if the address is invalid.
    """

    def __init__(self, access: Access, *, home: str, key: str | None, headers: Mapping[str, str]) -> None:
        self.url = checked_url(access.base_url or home, versioned=True)
        self.host = self.url.host
        self._responses = Responses(self.host, key, access.max_response)
        self._timeout = access.timeout
        # One kept connection per simultaneous request, because a new connection costs several round trips. Redirects
        # are not followed: they would send the key to another server. `post` limits the time of the whole request.
        limits = httpx.Limits(max_connections=access.concurrency, max_keepalive_connections=access.concurrency)
        # Other encodings can expand a few bytes to any size at once, before the size can be limited.
        accepted = {**headers, "accept-encoding": ", ".join(ENCODINGS)}
        self._client = httpx.AsyncClient(headers=accepted, limits=limits, timeout=None, follow_redirects=False)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send `body` and return the server's answer, a JSON object.

        Raises:
            TransientError: if the connection fails, the answer is late, the status is a temporary failure such as 429,
                or the body is not a JSON object.
            RefusedRequestError: if the server rejects only this request, or if the answer is too large.
            RejectedError: if the server answers with any other error, or with a redirect.
            PermanentError: if TLS fails, for example because the certificate is not trusted.
        """
        address = str(self.url.copy_with(query=None)).rstrip("/") + path
        if self.url.query:
            address += f"?{self.url.query.decode()}"
        try:
            async with asyncio.timeout(self._timeout), self._client.stream("POST", address, json=body) as response:
                answer = await received(response, self._responses)
        except TimeoutError:
            raise self._responses.out_of_time(self._timeout) from None
        except httpx.RequestError as error:
            # The cause is dropped, because it holds the request and the request holds the key.
            if advice := tls_advice(error, "SSL_CERT_FILE"):
                raise PermanentError(self._responses.clean(f"{self.host}: {advice}")) from None
            raise TransientError(self._responses.clean(f"{self.host}: {describe_error(error)}")) from None
        return answer.read()

    def versions(self) -> dict[str, str]:
        """Return the version of the HTTP client."""
        return {"httpx": httpx.__version__}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def malformed(self, detail: str) -> TransientError:
        """Return the error for a response body that does not follow the protocol."""
        return self._responses.malformed(detail)


async def received(response: httpx.Response, responses: Responses) -> HttpResponse:
    """Read the body of a response, and return the response. Only the start of an error response is read.

    Raises:
        TransientError: if the response has a content encoding that the client does not accept.
        RefusedRequestError: if the body of a successful response is larger than the limit.
    """
    http_response = responses.start(response.status_code, response.headers)
    unpack = _Unpacking(response.headers.get("content-encoding", "identity"))
    try:
        async for packed in response.aiter_raw():
            for part in unpack(packed):
                if not http_response.add(part):
                    return http_response
    except zlib.error as error:
        raise responses.malformed(f"the body cannot be unpacked ({error})") from None
    return http_response


_PART = 1 << 16
"""Maximum number of bytes that are unpacked at a time."""


class _Unpacking:
    """Unpack a body in small parts, while the HTTP client unpacks each packet at once, to a thousand times its size."""

    def __init__(self, encoding: str) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding.strip().lower() in ENCODINGS else None
        self._raw = encoding.strip().lower() == "deflate"

    def __call__(self, packed: bytes) -> Iterator[bytes]:
        """Yield the unpacked parts of the next bytes of the body."""
        if self._stream is None:
            yield packed
            return
        while packed:
            try:
                part = self._stream.decompress(packed, _PART)
            except zlib.error:
                if not self._raw:
                    raise
                # Some servers send deflate without a header.
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
                part = self._stream.decompress(packed, _PART)
            self._raw = False
            packed = self._stream.unconsumed_tail
            if part:
                yield part


API_VERSION = "api-version"
"""The query parameter that holds the API version in Azure addresses."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,31}")


def checked_url(url: str, *, versioned: bool = False) -> httpx.URL:
    """Return a server's address after checking that it contains no secret.

    Args:
        versioned: whether the query may contain the parameter `api-version`. Other parameters are never allowed.

    Raises:
        OptionError: if the address does not start with http or https, or if it contains a user name, a fragment, or a
            query that is not allowed.

    Examples:
        >>> checked_url("https://me.openai.azure.com/openai?api-version=preview", versioned=True).host
        'me.openai.azure.com'
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise OptionError(f"found {url!r}, expected an address such as http://localhost:8000/v1", field="--base-url")
    version = parsed.params.get(API_VERSION, "")
    is_version = versioned and len(parsed.params.multi_items()) == 1 and _VERSION.fullmatch(version)
    if parsed.userinfo or parsed.fragment or (parsed.query and not is_version):
        # The message does not repeat the address, because it may contain a secret.
        allowed = f" (except {API_VERSION})" if versioned else ""
        raise OptionError(
            f"must not contain a user name, a query{allowed} or a fragment. "
            "Remove it, and set keys as environment variables",
            field="--base-url",
        )
    return parsed


def tls_advice(error: Exception, variable: str) -> str | None:
    """Return advice for a permanent TLS failure, or None for any other failure.

    Args:
        error: an error that an HTTP library raised. Its causes are searched for a TLS error.
        variable: the environment variable that names a file of trusted certificates.
    """
    fault = _tls_fault(error)
    if fault is None or isinstance(fault, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError):
        # These three mean that the connection was closed.
        return None
    if isinstance(fault, ssl.SSLCertVerificationError):
        return (
            f"the server's certificate is not trusted ({fault.verify_message.rstrip('.')}). Check the address. If "
            f"you made the certificate yourself, set the environment variable {variable} to the file of the "
            "certificate that signed it"
        )
    return f"TLS failed ({fault.reason or fault}). Check whether the address should begin with http or https"


def _tls_fault(error: object) -> ssl.SSLError | None:
    """Return the TLS error among an error's causes, or None. Some libraries store causes in an error's arguments."""
    if not isinstance(error, Exception) or isinstance(error, ssl.SSLError):
        return error if isinstance(error, ssl.SSLError) else None
    causes = (error.__cause__, error.__context__, *error.args)
    return next((fault for cause in causes if (fault := _tls_fault(cause)) is not None), None)
