"""Summarize a participant's device. The summary is stored instead of the browser's detailed User-Agent header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_BROWSERS: Mapping[str, str] = MappingProxyType(
    {
        "Edge": r"\bEdg(?:e|A|iOS)?/(\d+)",
        "Opera": r"\bOPR/(\d+)",
        "Samsung Internet": r"\bSamsungBrowser/(\d+)",
        "Firefox": r"\b(?:Firefox|FxiOS)/(\d+)",
        "Headless Chrome": r"\bHeadlessChrome/(\d+)",
        "Chrome": r"\b(?:Chrome|Chromium|CriOS)/(\d+)",
        "Safari": r"\bVersion/(\d+)\S* .*Safari/",
    }
)
"""A regular expression by browser name, which finds the browser's major version in a User-Agent header. The first match
counts, because the headers of most browsers also name other browsers."""

_SYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "Android": r"Android",
        "iOS": r"iPhone|iPad|iPod",
        "ChromeOS": r"CrOS",
        "Windows": r"Windows",
        "macOS": r"Macintosh|Mac OS X",
        "Linux": r"Linux|X11",
    }
)


def device_of(user_agent: str, *, touch: bool | None = None, language: str | None = None) -> dict[str, str]:
    """Return the type of device, the browser with its version, the system and the language. Unknown values are "other".

    Args:
        user_agent: the browser's User-Agent header.
        touch: whether the device has a touch screen, which distinguishes an iPad from a Mac; None if unknown.
        language: the browser's language, or None if unknown.

    Examples:
        >>> chrome = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/126.0.0.0 Mobile Safari/537.36"
        >>> device_of(chrome, touch=True, language="de-AT")
        {'device': 'phone', 'browser': 'Chrome 126', 'system': 'Android', 'language': 'de-AT'}
        >>> device_of("python-httpx/0.28.1")
        {'device': 'other', 'browser': 'other', 'system': 'other', 'language': 'other'}
    """
    system = next((name for name, pattern in _SYSTEMS.items() if re.search(pattern, user_agent)), "other")
    if system == "macOS" and touch:
        system = "iOS"
        is_tablet = True
    else:
        is_tablet = "iPad" in user_agent or (system == "Android" and "Mobile" not in user_agent)
    versions = ((name, re.search(pattern, user_agent)) for name, pattern in _BROWSERS.items())
    browser = next((f"{name} {version[1]}" for name, version in versions if version), "other")
    if is_tablet:
        device = "tablet"
    elif re.search(r"Mobi|iPhone|iPod", user_agent):
        device = "phone"
    else:
        device = "other" if system == "other" else "computer"
    return {"device": device, "browser": browser, "system": system, "language": language or "other"}
