"""API keys: read them from the environment, and remove them from all messages."""

from __future__ import annotations

import os

from spotball_adapters.providers.protocol import PermanentError

HIDDEN = "[key]"
"""The text that replaces a key."""


def key_from(variable: str) -> str | None:
    """Return a key from the environment, or None if it is empty or not set.

    Raises:
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """
    key = os.environ.get(variable, "").strip()
    # A library that rejects such a header would repeat the key in its error.
    if not all("!" <= character <= "~" for character in key):
        raise PermanentError(f"{variable} contains a character that is not allowed in keys. Check the key")
    return key or None


def missing(variable: str, provider: str) -> PermanentError:
    """Return the error for a key that is not set. It is raised at the first request, so a dry run needs no key."""
    return PermanentError(f"{provider} needs a key. Set the environment variable {variable}")


def hidden(text: str, key: str | None) -> str:
    """Return the text with the key replaced.

    Examples:
        >>> hidden("no such key: sk-123", "sk-123")
        'no such key: [key]'
    """
    return text.replace(key, HIDDEN) if key else text
