"""Keys: from the environment alone, and in no text that anybody sees."""

from __future__ import annotations

import os

from spotball_adapters.providers.protocol import PermanentError

HIDDEN = "[key]"
"""What stands in a text where the key stood."""


def key_from(variable: str) -> str | None:
    """A key from the environment; None where it is not set or empty.

    Raises:
        PermanentError: for one that cannot stand in a header.
    """
    key = os.environ.get(variable, "").strip()
    # A library that finds such a header out would repeat it in its error.
    if not all("!" <= character <= "~" for character in key):
        raise PermanentError(f"{variable} contains a character that keys cannot contain. Check the key")
    return key or None


def missing(variable: str, provider: str) -> PermanentError:
    """The error for a key that is not set. Not for making a provider: a dry run needs no key."""
    return PermanentError(f"{provider} needs a key: set the environment variable {variable}")


def hidden(text: str, key: str | None) -> str:
    """The text with the key taken out.

    Examples:
        >>> hidden("no such key: sk-123", "sk-123")
        'no such key: [key]'
    """
    return text.replace(key, HIDDEN) if key else text
