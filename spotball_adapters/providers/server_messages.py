"""Extract error messages, token counts and waiting times from server responses, and clean them up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

MAX_MESSAGE = 300
"""Maximum number of characters that an error message quotes from a server's message."""


def shortened(text: str, most: int = MAX_MESSAGE) -> str:
    """Return the text as one line of printable characters, cut off at `most` characters.

    Examples:
        >>> shortened("too  many\\n\\x1b[31mrequests", 12)
        'too many [31...'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def writable(text: str) -> str:
    """Return the text with lone surrogates replaced. JSON can contain them, but files cannot.

    Examples:
        >>> writable("Cell: D4 \\ud83d") == "Cell: D4 \\ufffd"
        True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


MOST_TOKENS = 10**9
"""The largest accepted token count of one request. Larger counts must be wrong, and may not fit into the database."""


def count(value: object) -> int | None:
    """Return the value if it is a valid token count, otherwise None.

    Examples:
        >>> count(7), count(None), count("7"), count(10**30)
        (7, None, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def word(value: object) -> str:
    """Return the value if it is text, such as a finish reason, otherwise an empty string.

    Examples:
        >>> word("stop"), word(None), word({"type": "stop"})
        ('stop', '', '')
    """
    return writable(value) if isinstance(value, str) else ""


def describe_error(error: Exception) -> str:
    """Return an error's type, and its message if it has one."""
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def error_of(body: Any) -> tuple[str, str, str]:
    """Return the message, the code and the invalid field of a server's error. Missing values are empty strings.

    Servers of the same protocol format errors differently: as an object, as a string, as a list with one object, or
    with the message in the key `detail`.

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


_EVERY_REQUEST = ("api key", "api_key", "credit", "billing", "quota")
"""Words in errors about the account. Such errors affect every request, even if their HTTP status does not show this."""

_SETTINGS = frozenset({"model", "n", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens"})


def about_one_request(status: int, message: str, field: str) -> bool:
    """Return whether an error may concern one request, for example its image, and not all requests.

    Args:
        status: the HTTP status.
        message: the server's message.
        field: the request field that the server names as invalid; empty if it names none.

    Examples:
        >>> about_one_request(400, "The image is too large", ""), about_one_request(401, "Unknown key", "")
        (True, False)
        >>> about_one_request(400, "API key not valid", ""), about_one_request(400, "Unsupported value", "temperature")
        (False, False)
        >>> about_one_request(403, "Your input was flagged by moderation", "")
        True
    """
    lowered = message.lower()
    if field in _SETTINGS or any(word in lowered for word in _EVERY_REQUEST):
        return False
    return status in (400, 413, 415, 422, 451) or (status == 403 and ("flagged" in lowered or "moderation" in lowered))


_NO_IMAGES = ("image input is not supported", "missing data required for image input")
"""Messages with which llama.cpp and Ollama report that a model cannot read images."""


def cannot_read_images(message: str) -> bool:
    """Return whether a server reports that its model cannot read images.

    The HTTP status of such errors suggests a temporary failure, but a retry does not help.

    Examples:
        >>> cannot_read_images("image input is not supported - hint: you may need to provide the mmproj")
        True
    """
    return any(words in message.lower() for words in _NO_IMAGES)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from the header `retry-after-ms` or `retry-after`, or None if neither is valid.

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
        # Use the server's clock if it sends the time, because the local clock may be wrong.
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max((until - now).total_seconds(), 0.0)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def retry_delay(body: Any) -> float | None:
    """Return the seconds to wait, from `retryDelay` in the details of a Google error, or None if there is none.

    Examples:
        >>> retry_delay({"error": {"code": 429, "details": [{"@type": "RetryInfo", "retryDelay": "34s"}]}})
        34.0
    """
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return retry_after({"retry-after": delay[:-1]})
    return None
