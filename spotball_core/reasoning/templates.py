"""Load templates: versioned sets of sentences that rationales are compared with, one set per category."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from spotball_core.errors import Fault, InputError, OptionError, unknown_name
from spotball_core.service.toml_file import read_toml

BUILT_IN = ("pose-gaze",)
"""Names of the built-in templates."""

_FIELDS = ("name", "version", "categories", "keywords", "neutral")


@dataclass(frozen=True)
class Templates:
    """Sentences that each mention one category, with keywords and neutral sentences.

    Attributes:
        name: the name that reports show.
        version: version of the sentences and keywords.
        categories: the sentences of each category, for at least two categories, in display order.
        keywords: regular expressions for whole words of each category; empty for no keyword rule.
        neutral: sentences that mention no category; empty for none.

    Raises:
        OptionError: for fewer than two categories, a category without sentences, an empty text, a repeated sentence, or
            keywords that do not cover exactly the categories or are not valid regular expressions.

    Examples:
        >>> mine = Templates("mine", "1", {"near": ("The ball is close.",), "far": ("The ball is distant.",)})
        >>> mine.texts, mine.sizes
        (('The ball is close.', 'The ball is distant.'), (1, 1))
    """

    name: str
    version: str
    categories: Mapping[str, tuple[str, ...]]
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    neutral: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = (self.name, self.version, self.categories, self.keywords, self.neutral)
        if faults := list(_faults(*values)):
            raise OptionError(f"templates {self.name!r}: {'; '.join(map(str, faults))}", code=faults[0].code)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all texts in hexadecimal digits, independent of the order and of `name` and `version`."""
        content = {
            "categories": {name: sorted(texts) for name, texts in self.categories.items()},
            "keywords": {name: sorted(words) for name, words in self.keywords.items()},
            "neutral": sorted(self.neutral),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(self.categories)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of sentences of each category."""
        return tuple(map(len, self.categories.values()))

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts to embed, each once: the sentences by category, then the neutral ones."""
        return (*(text for texts in self.categories.values() for text in texts), *self.neutral)


def load_templates(name_or_path: str | Path = BUILT_IN[0]) -> Templates:
    """Load built-in templates by name, or your own templates from a TOML file.

    A file has `name`, `version` and a table `categories` with a list of sentences for each category. A list of
    `neutral` sentences and a table `keywords` with a list of regular expressions for each category are optional. The
    `name` must differ from the names of built-in templates.

    Raises:
        OptionError: if the argument is neither the name of built-in templates nor a file.
        InputError: if the file does not contain valid templates; the error lists all problems.

    Examples:
        >>> load_templates("pose-gaze").sizes
        (12, 12)
    """
    if name_or_path in BUILT_IN:
        file = files("spotball_core.reasoning").joinpath(f"{name_or_path}.toml")
        return Templates(*_values(tomllib.loads(file.read_text(encoding="utf-8"))))
    path = Path(name_or_path)
    if not path.is_file():
        raise OptionError(
            f"{unknown_name('templates', str(path), BUILT_IN)}, or the path of a templates file", code="unknown-name"
        )
    fields = read_toml(path, "templates")
    faults = list(_wrong_types(fields)) or list(_faults(*_values(fields)))
    if not faults and fields["name"] in BUILT_IN:
        faults = [Fault("name", repr(fields["name"]), "another name, because built-in templates have this name")]
    if faults:
        raise InputError(fault.in_file(path) for fault in faults)
    return Templates(*_values(fields))


_Sets = Mapping[str, tuple[str, ...]]


def _values(fields: Mapping[str, Any]) -> tuple[str, str, _Sets, _Sets, tuple[str, ...]]:
    """Convert a file's fields to the fields of `Templates`."""
    categories, keywords = (
        {key: tuple(texts) for key, texts in fields.get(name, {}).items()} for name in ("categories", "keywords")
    )
    return fields["name"], fields["version"], categories, keywords, tuple(fields.get("neutral", ()))


def _wrong_types(fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield problems with the names and types of a file's fields."""
    for name in fields:
        if name not in _FIELDS:
            yield Fault(name, "an unknown field", f"only the fields {', '.join(_FIELDS)}", "unknown-key")
    for name in ("name", "version"):
        if name not in fields:
            yield Fault(name, "nothing", "a text in quotes", "missing-value")
        elif not isinstance(fields[name], str):
            yield Fault(name, repr(fields[name]), "a text in quotes")
    if "neutral" in fields and not _is_texts(fields["neutral"]):
        yield Fault("neutral", repr(fields["neutral"]), "a list of texts in quotes")
    for name in ("categories", "keywords"):
        table = fields.get(name, {} if name == "keywords" else None)
        if not isinstance(table, dict):
            expected = "a table with one list per category"
            yield (
                Fault(name, repr(table), expected)
                if name in fields
                else Fault(name, "nothing", expected, "missing-value")
            )
            continue
        for key, texts in table.items():
            if not _is_texts(texts):
                yield Fault(f"{name}.{key}", repr(texts), "a list of texts in quotes")


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _faults(name: str, version: str, categories: _Sets, keywords: _Sets, neutral: tuple[str, ...]) -> Iterator[Fault]:
    """Yield problems with the content of templates."""
    for where, text in (("name", name), ("version", version)):
        if not text.strip():
            yield Fault(where, "an empty text", "at least one character")
    if len(categories) < 2:
        yield Fault("categories", str(len(categories)), "at least 2")
    if any(not category.strip() for category in categories):
        yield Fault("categories", "a category without a name", "a name")
    for where, texts in (*((f"categories.{key}", texts) for key, texts in categories.items()), ("neutral", neutral)):
        if not texts and where != "neutral":
            yield Fault(where, "no sentence", "at least one")
        if any(not text.strip() for text in texts):
            yield Fault(where, "an empty text", "a sentence")
    every = [text.strip() for texts in (*categories.values(), neutral) for text in texts if text.strip()]
    for text in dict.fromkeys(text for text in every if every.count(text) > 1):
        yield Fault("categories", f"{text!r} {every.count(text)} times", "each sentence once", "duplicate")
    if keywords and set(keywords) != set(categories):
        yield Fault("keywords", ", ".join(keywords), f"lists for {', '.join(categories)}")
    for key, words in keywords.items():
        yield from _wrong_words(f"keywords.{key}", words)


def _wrong_words(where: str, words: Sequence[str]) -> Iterator[Fault]:
    import polars as pl

    if not words:
        yield Fault(where, "no word", "at least one")
    for word in words:
        try:
            if pl.Series([""]).str.count_matches(word)[0]:
                yield Fault(where, repr(word), "a regular expression that does not match an empty text")
        except pl.exceptions.PolarsError as error:
            reason = " ".join(str(error).split())
            yield Fault(where, f"{word!r} ({reason})", "a valid regular expression without look-around")
