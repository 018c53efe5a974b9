"""Load the page's texts in the study's language from gettext catalogs, whose keys are the English texts."""

from __future__ import annotations

import gettext
import json
import struct
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError

RIGHT_TO_LEFT = ("ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi")
"""Codes of languages that are written from right to left."""

_NUMBERS = 200
"""The page receives the plural form of each integer below this number. For larger integers, the forms repeat every 100.
"""


def direction(language: str) -> str:
    """Return the writing direction of a language: rtl or ltr.

    Examples:
        >>> direction("he-IL"), direction("de")
        ('rtl', 'ltr')
    """
    return "rtl" if language.lower().split("-")[0] in RIGHT_TO_LEFT else "ltr"


def catalog(language: str, file: Path | None = None) -> gettext.NullTranslations:
    """Return the translations of the page's texts into a language. For English, they are empty unless `file` is given.

    Args:
        language: a language code such as de or de-AT.
        file: the researcher's compiled catalog (.mo), or None to use the catalogs of this package.

    Raises:
        InputError: if this package has no catalog for the language, or if `file` is not a gettext catalog.
    """
    name = language.lower().split("-")[0]
    try:
        if file is not None:
            with file.open("rb") as stream:
                return gettext.GNUTranslations(stream)
        if name == "en":
            return gettext.NullTranslations()
        with files("spotball_adapters.study.server").joinpath(f"locale/{name}.mo").open("rb") as stream:
            return gettext.GNUTranslations(stream)
    except FileNotFoundError as error:
        fix = 'For another language, translate the texts of the page and add `messages = "FILE.mo"`'
        raise InputError.of("invalid-value", "study.toml", "language", language, "en or de", fix=fix) from error
    except (OSError, ValueError, LookupError, struct.error) as error:
        raise InputError.of("unreadable-file", str(file), "messages", str(error), "a gettext catalog (.mo)") from error


def script(translations: gettext.NullTranslations) -> bytes:
    """Return the page's JavaScript module messages.js.

    It contains each translated text by its English text, the plural forms by the English singular, and the index of the
    plural form for each number.
    """
    # gettext has no public method to list a catalog.
    entries: Mapping[Any, str] = getattr(translations, "_catalog", {})
    texts = {key: text for key, text in entries.items() if isinstance(key, str) and key and text}
    plurals: dict[str, list[str]] = {}
    for key, text in sorted((item for item in entries.items() if isinstance(item[0], tuple)), key=lambda item: item[0]):
        plurals.setdefault(key[0], []).append(text)
    plural_of = getattr(translations, "plural", lambda n: int(n != 1))
    content = {"texts": texts, "plurals": plurals, "forms": [plural_of(n) for n in range(_NUMBERS)] if plurals else []}
    return f"export const messages = {json.dumps(content, ensure_ascii=True, separators=(',', ':'))};\n".encode()
