"""The options of a question: which object has which letter, drawn anew for each trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from string import ascii_uppercase

ORDER_VERSION = 1
"""Of how orders come from the seed: under another one, stored replies would be read against other letters."""


def letters(options: Sequence[str]) -> str:
    """The letters of options, from A.

    Examples:
        >>> letters(("keys", "remote control"))
        'AB'
    """
    return ascii_uppercase[: len(options)]


def shuffled(objects: Sequence[str], *, seed: int, stimulus_id: str, prompt: str, sample: int) -> tuple[str, ...]:
    """The order in which objects are offered in a trial: each is equally likely, whatever it is in other trials.

    Objects are sorted by a hash of the seed, the trial and their name, which no library's version changes.

    Args:
        objects: each there once; their own order plays no part.
        seed: of all orders of a run.
        stimulus_id: the photo.
        prompt: the prompt's name.
        sample: from 1.

    Examples:
        >>> shuffled(("keys", "bottle", "umbrella"), seed=0, stimulus_id="1", prompt="main-1", sample=1)
        ('bottle', 'umbrella', 'keys')
    """

    def place(name: str) -> bytes:
        return hashlib.sha256(json.dumps([seed, stimulus_id, prompt, sample, name]).encode()).digest()

    return tuple(sorted(objects, key=place))


def lines(options: Sequence[str]) -> str:
    """Options as they are shown, a line each.

    Examples:
        >>> print(lines(("keys", "bottle")))
        A. keys
        B. bottle
    """
    return "\n".join(f"{letter}. {option}" for letter, option in zip(letters(options), options, strict=True))
