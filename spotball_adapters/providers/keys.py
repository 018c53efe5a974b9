"""Read API keys from environment variables, and remove them from messages."""

from __future__ import annotations

import os

from spotball_adapters.providers.protocol import PermanentError

HIDDEN = "[key]"
"""The text that replaces a key in messages."""


def key_from(variable: str) -> str | None:
    """Return the API key in an environment variable, or None if the variable is empty or not set.

    Raises:
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """
    key = os.environ.get(variable, "").strip()
    # A library that rejects such a header would repeat the key in its error.
    if not all("!" <= character <= "~" for character in key):
        raise PermanentError(
            f"{variable} contains a character that is not allowed in keys. Check the key", code="invalid-key"
        )
    return key or None


def missing(variable: str, provider: str) -> PermanentError:
    """Return the error for a key that is not set. Providers raise it before the first request, not in a dry run."""
    return PermanentError(f"{provider} needs a key. Set the environment variable {variable}", code="missing-key")


def hidden(text: str, key: str | None) -> str:
    """Return the text with each occurrence of the key replaced by `HIDDEN`.

    Examples:
        >>> hidden("no such key: sk-123", "sk-123")
        'no such key: [key]'
    """
    return text.replace(key, HIDDEN) if key else text
