"""Texts as they are sent, and the key under which their vectors are kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from spotball_adapters.runs.writer import storable

LONGEST = 8000
"""Bytes of a text that are sent unless said otherwise: some 1,300 English words.

No tokenizer of bytes makes more tokens of it than the 8,192 that OpenAI's models read.
"""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text as it is sent.

    Attributes:
        text: without blanks at its ends; empty where there is nothing to send.
        cut: whether it is the beginning of a longer one.
    """

    text: str
    cut: bool

    @property
    def key(self) -> bytes:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).digest()


def as_sent(text: str, longest: int = LONGEST) -> PreparedText:
    """A text as it is sent: what no server takes is replaced, and what is too long ends after a whole word.

    Halves of characters become U+FFFD and NUL a blank. A single word that is too long ends after a whole character.

    Args:
        longest: bytes of UTF-8 that may be sent, at least 4, which is one character.

    Examples:
        >>> as_sent(" He looks up.\\x00")
        PreparedText(text='He looks up.', cut=False)
        >>> as_sent("He looks up.", longest=9)
        PreparedText(text='He looks', cut=True)
        >>> as_sent("⚽⚽⚽", longest=7)
        PreparedText(text='⚽⚽', cut=True)
    """
    cleaned = storable(text).replace("\x00", " ").strip()
    encoded = cleaned.encode()
    if len(encoded) <= longest:
        return PreparedText(cleaned, False)
    start = encoded[:longest].decode(errors="ignore")
    if not (start[-1].isspace() or cleaned[len(start)].isspace()):
        words = start.rsplit(maxsplit=1)
        start = words[0] if len(words) > 1 else start
    return PreparedText(start.rstrip(), True)
