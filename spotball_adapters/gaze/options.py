"""List the objects of a photo as options with letters, in a random order per trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from string import ascii_uppercase

ORDER_VERSION = 1
"""Version of the method that derives the orders of options from the seed. Letters in stored replies can be mapped to
objects only with the version that listed the options.
"""


def letters(options: Sequence[str]) -> str:
    """Return the options' letters from A, as one string.

    Examples:
        >>> letters(("keys", "remote control"))
        'AB'
    """
    return ascii_uppercase[: len(options)]


def shuffled(objects: Sequence[str], *, seed: int, stimulus_id: str, prompt: str, sample: int) -> tuple[str, ...]:
    """Return the objects in the order in which a trial lists them. All orders are equally likely, and the orders of two
    trials are independent.

    Objects are sorted by a hash of the seed, the trial and their name, which does not depend on any library's version.

    Args:
        objects: names of different objects. Their order has no effect.
        seed: seed of all orders of a run.
        stimulus_id: ID of the photo's stimulus.
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
    """Return the options with their letters as text, one per line.

    Examples:
        >>> print(lines(("keys", "bottle")))
        A. keys
        B. bottle
    """
    return "\n".join(f"{letter}. {option}" for letter, option in zip(letters(options), options, strict=True))
