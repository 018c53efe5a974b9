"""Check that built pages of the documentation load nothing from a network, and that external links are valid.

`make docs` fails if a page would load anything from another host, or if an external link is malformed.
`site/external-links.txt` then lists each address with its pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

LIST = "external-links.txt"

_LOADED = {
    ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("audio", "src"),
    ("embed", "src"), ("object", "data"), ("input", "src"), ("use", "href"), ("image", "href"),
}  # fmt: skip
"""Elements and attributes whose address a browser loads automatically."""

_LINK_KINDS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
"""Kinds of `<link>` that a browser follows automatically."""


_FROM_CSS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")


class Page(HTMLParser):
    """External addresses in a page.

    Attributes:
        loads: addresses that a browser loads automatically.
        links: addresses that a reader may follow.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of an element."""
        given = {name.removeprefix("xlink:"): value for name, value in attrs if value}
        followed = tag == "link" and _LINK_KINDS & set(given.get("rel", "").split())
        for name, value in given.items():
            if not _leads_out(value):
                continue
            if (tag, name) in _LOADED or (followed and name == "href"):
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def check_site(site: Path) -> list[str]:
    """Return the problems of a built site, and write the list of external links."""
    wrong: list[str] = []
    pages: dict[str, set[str]] = {}
    for file in sorted(site.rglob("*.html")):
        name = file.relative_to(site).as_posix()
        page = Page(file.read_text(encoding="utf-8"))
        wrong += [f"{name} loads {address}" for address in page.loads]
        for address in page.links:
            pages.setdefault(address, set()).add(name)
    for file in sorted(site.rglob("*.css")):
        text = file.read_text(encoding="utf-8")
        wrong += [f"{file.relative_to(site).as_posix()} loads {address}" for address in _FROM_CSS.findall(text)]
    wrong += [f"{_first(pages[address])} links to {address}, which is no address" for address in malformed(pages)]
    lines = [f"{address}  {' '.join(sorted(names))}\n" for address, names in sorted(pages.items())]
    (site / LIST).write_text("".join(lines), encoding="utf-8")
    return wrong


def malformed(addresses: Iterable[str]) -> list[str]:
    """Return the addresses that are not valid or that end with punctuation of the sentence.

    Examples:
        >>> malformed(["https://docs.ray.io", "https://arxiv.org/abs/2511.00261.", "http://example", "https:///x"])
        ['https://arxiv.org/abs/2511.00261.', 'http://example', 'https:///x']
    """
    return [address for address in addresses if not _is_address(address)]


def _is_address(address: str) -> bool:
    if any(character.isspace() for character in address) or address[-1] in ".,;:)'\"":
        return False
    try:
        parts = urlsplit("https:" + address if address.startswith("//") else address)
        host, _ = parts.hostname or "", parts.port  # an invalid port raises ValueError
    except ValueError:
        return False
    return "." in host.strip(".") and host == host.strip(".")


def _leads_out(address: str) -> bool:
    return address.startswith(("http:", "https:", "//"))


def _first(names: set[str]) -> str:
    return sorted(names)[0]
