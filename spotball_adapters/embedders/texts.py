"""Prepare texts for sending, and compute the keys of their vectors."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from spotball_adapters.runs.writer import storable

LONGEST = 8000
"""The default maximum length of a text in bytes: about 1,300 English words.

A byte-level tokenizer splits 8,000 bytes into at most 8,000 tokens. OpenAI's models read up to 8,192 tokens.
"""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in the form in which it is sent to the embedder.

    Attributes:
        text: the text without surrounding blanks; empty if nothing is left to send.
        cut: whether the original text was too long, so that `text` contains only its first part.
    """

    text: str
    cut: bool

    @property
    def key(self) -> bytes:
        """Return the SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).digest()


def as_sent(text: str, longest: int = LONGEST) -> PreparedText:
    """Return a text in the form that is sent: with invalid characters replaced, and cut off if it is too long.

    Lone surrogates become U+FFFD, and NUL becomes a blank. Long texts are cut off after a whole word, or after a whole
    character if the first word is too long.

    Args:
        longest: maximum length in bytes of UTF-8; at least 4, the length of the longest character.

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
