"""The options of a question: the letter of each object, in a random order per trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from string import ascii_uppercase

ORDER_VERSION = 1
"""Version of the method that derives orders from the seed. Stored replies need the same version to map their letters.
"""


def letters(options: Sequence[str]) -> str:
    """Return the letters of options, from A.

    Examples:
        >>> letters(("keys", "remote control"))
        'AB'
    """
    return ascii_uppercase[: len(options)]


def shuffled(objects: Sequence[str], *, seed: int, stimulus_id: str, prompt: str, sample: int) -> tuple[str, ...]:
    """Return the order in which a trial lists the objects. Orders are equally likely and independent between trials.

    Objects are sorted by a hash of the seed, the trial and their name, which does not depend on any library's version.

    Args:
        objects: different objects. Their order has no effect.
        seed: seed of all orders of a run.
        stimulus_id: the photo.
        prompt: the prompt's name.
        sample: the sample's number, from 1.

    Examples:
        >>> shuffled(("keys", "bottle", "umbrella"), seed=0, stimulus_id="1", prompt="main-1", sample=1)
        ('bottle', 'umbrella', 'keys')
    """

    def place(name: str) -> bytes:
        return hashlib.sha256(json.dumps([seed, stimulus_id, prompt, sample, name]).encode()).digest()

    return tuple(sorted(objects, key=place))


def lines(options: Sequence[str]) -> str:
    """Return the options as text, one per line.

    Examples:
        >>> print(lines(("keys", "bottle")))
        A. keys
        B. bottle
    """
    return "\n".join(f"{letter}. {option}" for letter, option in zip(letters(options), options, strict=True))
