"""Asking over HTTP: one pool of connections to one server, and what its failures mean.

No error raised here holds the key, whatever the server or a library under us says.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.protocol import Access, PermanentError, TransientError
from spotball_adapters.providers.responses import ENCODINGS, HttpResponse, Responses
from spotball_adapters.providers.server_messages import describe_error
from spotball_core.errors import MissingExtraError, OptionError

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("Asking a model over HTTP", "adapters") from error


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
        self.url = checked_url(access.base_url or home, versioned=True)
        self.host = self.url.host
        self._responses = Responses(self.host, key, access.max_response)
        self._timeout = access.timeout
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
        address = str(self.url.copy_with(query=None)).rstrip("/") + path
        if self.url.query:
            address += f"?{self.url.query.decode()}"
        try:
            async with asyncio.timeout(self._timeout), self._client.stream("POST", address, json=body) as response:
                answer = await received(response, self._responses)
        except TimeoutError:
            raise self._responses.out_of_time(self._timeout) from None
        except httpx.RequestError as error:
            # Without its cause: that holds the request, and the request the key.
            if advice := tls_advice(error, "SSL_CERT_FILE"):
                raise PermanentError(self._responses.clean(f"{self.host}: {advice}")) from None
            raise TransientError(self._responses.clean(f"{self.host}: {describe_error(error)}")) from None
        return answer.read()

    def versions(self) -> dict[str, str]:
        """The HTTP client's version."""
        return {"httpx": httpx.__version__}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def malformed(self, detail: str) -> TransientError:
        """The error for a body that is not as the protocol says."""
        return self._responses.malformed(detail)


async def received(response: httpx.Response, responses: Responses) -> HttpResponse:
    """Return a response with as much of its body as is needed, which is read here.

    Raises:
        TransientError: for a content encoding that was not accepted.
        RefusedRequestError: if the body is larger than the limit.
    """
    http_response = responses.start(response.status_code, response.headers)
    async for part in response.aiter_bytes():
        if not http_response.add(part):
            break
    return http_response


API_VERSION = "api-version"
"""The parameter with which addresses of Azure name the version of its API."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,31}")


def checked_url(url: str, *, versioned: bool = False) -> httpx.URL:
    """Return a server's address, for sure without a secret in it.

    Args:
        versioned: whether its query may hold `api-version`, and nothing else.

    Raises:
        OptionError: for one that is no http or https address, or holds a user, a query or a fragment.

    Examples:
        >>> checked_url("https://me.openai.azure.com/openai?api-version=preview", versioned=True).host
        'me.openai.azure.com'
    """
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise OptionError(f"--base-url: found {url!r}, expected an address such as http://localhost:8000/v1")
    version = parsed.params.get(API_VERSION, "")
    is_version = versioned and len(parsed.params.multi_items()) == 1 and _VERSION.fullmatch(version)
    if parsed.userinfo or parsed.fragment or (parsed.query and not is_version):
        # Without repeating it: what is there may be a secret.
        allowed = f" other than {API_VERSION}" if versioned else ""
        raise OptionError(
            f"--base-url must not contain a user, a query{allowed} or a fragment. "
            "Remove it, and set keys in the environment"
        )
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
