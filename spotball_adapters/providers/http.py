"""Asking over HTTP: one pool of connections to one server, and what its failures mean.

No error raised here holds the key, whatever the server or a library under us says.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from spotball_adapters.providers.protocol import Access, PermanentError, TransientError
from spotball_core.errors import MissingExtraError, OptionError

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("Asking a model over HTTP", "adapters") from error

SAID = 300
"""Characters of a server's message that an error repeats."""

HIDDEN = "[key]"
"""What stands in an error where the key stood."""

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


def key_from(variable: str) -> str | None:
    """A key from the environment; None where it is not set or empty.

    Raises:
        PermanentError: for one that cannot stand in a header.
    """
    key = os.environ.get(variable, "").strip()
    # A library that finds such a header out would repeat it in its error.
    if not all("!" <= character <= "~" for character in key):
        raise PermanentError(f"{variable} holds a character that no key has")
    return key or None


def needed_key(variable: str, provider: str) -> str:
    """A key from the environment.

    Raises:
        PermanentError: for none, or one that cannot stand in a header.
    """
    key = key_from(variable)
    if key is None:
        raise PermanentError(f"{provider} needs a key: set the environment variable {variable}")
    return key


def hidden(text: str, key: str | None) -> str:
    """The text with the key taken out.

    Examples:
        >>> hidden("no such key: sk-123", "sk-123")
        'no such key: [key]'
    """
    return text.replace(key, HIDDEN) if key else text


def shortened(text: str, most: int = SAID) -> str:
    """One line of printable characters, cut off at a length.

    Examples:
        >>> shortened("too  many\\n\\x1b[31mrequests", 12)
        'too many [31...'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def writable(text: str) -> str:
    """The text with halves of characters replaced: JSON can say them, no file can hold them.

    Examples:
        >>> writable("Cell: D4 \\ud83d") == "Cell: D4 \\ufffd"
        True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(value: object) -> int | None:
    """A number of tokens, as usage gives it; None for anything else.

    Examples:
        >>> count(7), count(None), count("7")
        (7, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def said_by(error: Exception) -> str:
    """An error's kind and what it says, if anything."""
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def error_of(body: Any) -> tuple[str, str, str]:
    """Message, code and field of a server's error, each empty where it is not there.

    Servers that speak one protocol do not agree on their errors: an object, its text alone, a list of one, or `detail`.

    Examples:
        >>> error_of({"error": {"message": "No such model", "code": "model_not_found", "param": None}})
        ('No such model', 'model_not_found', '')
        >>> error_of({"error": "No such model"})
        ('No such model', '', '')
    """
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return "", "", ""
    error = body.get("error", body)
    if isinstance(error, str):
        return error, "", ""
    if not isinstance(error, dict):
        return "", "", ""
    message = error.get("message") or error.get("detail") or ""
    code = next((error[name] for name in ("code", "type", "status") if isinstance(error.get(name), str)), "")
    field = error.get("param")
    return str(message), code, field if isinstance(field, str) else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or `retry-after` in seconds or as a date; None where neither can be read.

    Examples:
        >>> retry_after({"retry-after": "7"}), retry_after({"retry-after-ms": "250"}), retry_after({})
        (7.0, 0.25, None)
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        # By the server's own clock, where it tells the time: ours may be off.
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max((until - now).total_seconds(), 0.0)
    except (KeyError, ValueError, TypeError):
        return None
