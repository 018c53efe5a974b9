"""Convert the licenses of videos to identifiers of the Hugging Face Hub and URLs for Croissant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

_CREATIVE_COMMONS: Final = "https://creativecommons.org"

_KNOWN: Final = {
    "cc0": "cc0-1.0",
    "cc0 1.0": "cc0-1.0",
    "mit": "mit",
    "apache 2.0": "apache-2.0",
    "odbl": "odbl",
}
"""The Hub's license identifiers, by license name in lowercase with spaces instead of hyphens."""

_ATTRIBUTION = re.compile(r"cc (by(?: (?:nc sa|nc nd|nc|sa|nd))?) (\d\.\d)")


def hub_license(name: str) -> str | None:
    """Return the Hugging Face Hub's identifier of a license, or None if the name is unknown.

    Examples:
        >>> [hub_license(name) for name in ("CC BY 4.0", "CC0", "CC-BY-NC-SA-3.0", "CC BY", "ask the club", "")]
        ['cc-by-4.0', 'cc0-1.0', 'cc-by-nc-sa-3.0', None, None, None]
    """
    plain = " ".join(name.lower().replace("-", " ").split())
    if match := _ATTRIBUTION.fullmatch(plain):
        return f"cc-{match[1].replace(' ', '-')}-{match[2]}"
    return _KNOWN.get(plain)


def license_metadata(names: Iterable[str]) -> dict[str, Any]:
    """Return the fields `license`, `license_name` and `license_details` for the metadata of a Hugging Face card.

    Args:
        names: names of the licenses, as written by the videos' owners; an empty name if a license is unknown.

    Examples:
        >>> license_metadata(["CC0"])
        {'license': 'cc0-1.0'}
        >>> license_metadata(["CC0", "ask the club"])
        {'license': 'other', 'license_name': 'mixed', 'license_details': 'CC0; ask the club'}
    """
    known = list(dict.fromkeys(names))
    if not any(known):
        return {"license": "unknown"}
    identifiers = [hub_license(name) for name in known]
    first = identifiers[0]
    if first is not None and set(identifiers) == {first}:
        return {"license": first}
    details = "; ".join(name or "not known" for name in known)
    return {"license": "other", "license_name": "mixed" if len(known) > 1 else "own", "license_details": details}


def license_urls(names: Iterable[str]) -> list[str]:
    """Return the URL of each different license, for Croissant. If the URL is unknown, the name is used.

    Examples:
        >>> license_urls(["CC BY 4.0", "ask the club", ""])
        ['https://creativecommons.org/licenses/by/4.0/', 'ask the club', 'not known']
    """
    return list(dict.fromkeys(map(_url, names)))


def _url(name: str) -> str:
    identifier = hub_license(name)
    if identifier == "cc0-1.0":
        return f"{_CREATIVE_COMMONS}/publicdomain/zero/1.0/"
    if identifier and identifier.startswith("cc-"):
        kind, version = identifier.removeprefix("cc-").rsplit("-", 1)
        return f"{_CREATIVE_COMMONS}/licenses/{kind}/{version}/"
    if identifier:
        return f"https://choosealicense.com/licenses/{identifier}/"
    return name or "not known"
