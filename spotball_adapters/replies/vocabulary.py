"""Load `vocabulary.toml`: the words that help to find the answer in a reply, with a letter for the role of each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType

UNSPACED_SCRIPTS = r"\u0e00-\u0e7f\u2e80-\u2fff\u3040-\ud7af\uf900-\ufaff"
"""Character ranges of scripts without blanks between words, for use in character classes."""

_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")


def _phrases() -> Iterable[tuple[str, str]]:
    text = files("spotball_adapters.replies").joinpath("vocabulary.toml").read_text(encoding="utf-8")
    for role in tomllib.loads(text).values():
        for phrase in role["words"].split(","):
            yield " ".join(phrase.split()), role["letter"]


def _first(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    letters: dict[str, str] = {}
    for phrase, letter in pairs:
        letters.setdefault(phrase, letter)
    return MappingProxyType(letters)


_ALL = list(_phrases())

PHRASES = _first((p, r) for p, r in _ALL if not p.endswith("*") and not _UNSPACED.search(p))
"""The role letter of each phrase, for scripts with blanks between words."""

STEMS = _first((p[:-1], r) for p, r in _ALL if p.endswith("*"))
"""The role letter for each stem; it applies to all words that begin with the stem."""

UNSPACED = _first((p, r) for p, r in _ALL if _UNSPACED.search(p))
"""The role letter of each phrase, for scripts without blanks, in which phrases can occur anywhere."""
