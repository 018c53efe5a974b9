"""The words that tell a reader which cell a reply answers with, by their role; `vocabulary.toml` lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import MappingProxyType

UNSPACED_SCRIPTS = r"\u0e00-\u0e7f\u2e80-\u2fff\u3040-\ud7af\uf900-\ufaff"
"""Ranges of characters of scripts that put no blanks between words, for character classes."""

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
"""Letters of the role of each phrase in scripts that put blanks between words."""

STEMS = _first((p[:-1], r) for p, r in _ALL if p.endswith("*"))
"""Letters of the role of every word that begins with a stem."""

UNSPACED = _first((p, r) for p, r in _ALL if _UNSPACED.search(p))
"""Letters of the role of each phrase in scripts without blanks, in which phrases are found anywhere."""
