"""Asking over HTTP: one pool of connections to one server, and what its failures mean.

No error raised here holds the key, whatever the server or a library under us says.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.keys import hidden
from spotball_adapters.providers.protocol import Access, PermanentError, TransientError
from spotball_adapters.providers.said import error_of, retry_after, said_by, shortened
from spotball_core.errors import MissingExtraError, OptionError

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("Asking a model over HTTP", "adapters") from error

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
        # As many connections as requests at a time, all kept: a new one costs several round trips. A redirect would
        # take the key elsewhere. The time is kept below, over the whole request.
        limits = httpx.Limits(max_connections=access.concurrency, max_keepalive_connections=access.concurrency)
        self._client = httpx.AsyncClient(headers=headers, limits=limits, timeout=None, follow_redirects=False)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to `body`, an object.

        Raises:
            TransientError: no connection, no answer in time, a status that may pass, a body that is no JSON object.
            RejectedError: any other status that is no success.
        """
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(str(self.url).rstrip("/") + path, json=body)
        except TimeoutError:
            raise TransientError(f"{self.host}: no answer within {self._timeout:g} s") from None
        except httpx.RequestError as error:
            # Without its cause: that holds the request, and the request the key.
            raise TransientError(self._clean(f"{self.host}: {said_by(error)}")) from None
        return self._read(response)

    def versions(self) -> dict[str, str]:
        """The HTTP client's version."""
        return {"httpx": httpx.__version__}

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def malformed(self, what: str) -> TransientError:
        """The error for a body that is not as the protocol says."""
        return TransientError(self._clean(f"{self.host}: the answer is malformed: {what}"))

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            body = None
        if not response.is_success:
            raise self._failure(response.status_code, body, response.headers, response.text)
        if not isinstance(body, dict):
            raise self.malformed("no JSON object")
        if body.get("error"):
            # Some servers find the fault when the status is sent already.
            error = body["error"]
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and code >= 400 else 500
            raise self._failure(status, body, response.headers, "")
        return body

    def _failure(self, status: int, body: Any, headers: httpx.Headers, text: str) -> TransientError | RejectedError:
        message, code, field = error_of(body)
        if 300 <= status < 400:
            message = f"it redirects to {headers.get('location', 'nowhere')}; give the address itself with --base-url"
        shown = self._clean(f"{self.host}: HTTP {status}: {message or text or 'nothing said'}")
        if (status in _PASSING or status >= 500) and code not in _FOR_GOOD:
            return TransientError(shown, status=status, retry_after=retry_after(headers))
        return RejectedError(shown, status=status, code=code, field=field)

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
