"""Detect explanations of low quality: too short, random, copied from the question, or duplicated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher

FEWEST_LETTERS = 10
FEWEST_DISTINCT = 4
"""Minimum number of different letters in an explanation. For example, "asasasasas" has only two different letters."""

ALIKE = 0.9
"""Two texts whose similarity (the ratio of `difflib`, 0 to 1) is at least this number count as the same."""

LONG = 20
"""If two participants wrote the same text, it counts as a duplicate only if it has at least this number of characters.
Shorter texts may be equal by chance."""

_VOWELS = frozenset("aeiouy")
_FEWEST_VOWELS = 0.2
"""Minimum share of vowels among an explanation's letters, from 0 to 1. In English, the share is about 0.4."""


def normalized(text: str) -> str:
    """Return a text's words in lowercase, without punctuation.

    Examples:
        >>> normalized("They look  LEFT, all of them!")
        'they look left all of them'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def is_low_quality(text: str, question: str = "") -> bool:
    """Return whether a text is too short, random or repetitive to be a meaningful explanation.

    A text is of low quality if it has fewer than ten letters or fewer than four different letters, repeats a few words,
    or repeats the question. A text in unaccented Latin letters is also of low quality if it is a single word or has
    almost no vowels.

    Args:
        text: the explanation.
        question: the question that was asked.

    Examples:
        >>> is_low_quality("The players all look at the left corner.")
        False
        >>> [is_low_quality(text) for text in ("aaaaaaaaaaaa", "good good good good", "sdfg hjkl sdfgh jkl")]
        [True, True, True]
    """
    plain = normalized(text)
    letters = [letter for letter in plain if letter.isalnum()]
    words = plain.split()
    if len(letters) < FEWEST_LETTERS or len(set(letters)) < FEWEST_DISTINCT:
        return True
    if len(words) >= 4 and len(set(words)) <= len(words) / 2:
        return True
    if question and _alike(plain, normalized(question)):
        return True
    if not plain.isascii():
        return False
    return len(words) == 1 or sum(letter in _VOWELS for letter in letters) < _FEWEST_VOWELS * len(letters)


def duplicated(texts: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of duplicates among each participant's explanations.

    An explanation is a duplicate if the same participant wrote a nearly identical one, or if another participant wrote
    the same text and it has at least twenty characters.

    Args:
        texts: the explanations of each participant, by participant label.

    Examples:
        >>> duplicated({"a": ["They look left, I think.", "they look left i think", "Her arm is up."], "b": ["Yes."]})
        {'a': 2, 'b': 0}
    """
    plain = {person: [normalized(text) for text in of_person] for person, of_person in texts.items()}
    authors = Counter(text for of_person in plain.values() for text in set(of_person) if len(text) >= LONG)
    return {
        person: sum(
            authors[text] > 1 or _has_like(text, (*of_person[:at], *of_person[at + 1 :]))
            for at, text in enumerate(of_person)
        )
        for person, of_person in plain.items()
    }


def _has_like(text: str, others: Iterable[str]) -> bool:
    return any(_alike(text, other) for other in others)


def _alike(first: str, second: str) -> bool:
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE
