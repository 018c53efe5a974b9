"""Parse a page with Python's HTML parser into elements with attributes and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "input", "link", "img", "hr", "wbr"}


@dataclass
class Element:
    """An element of an HTML page."""

    tag: str
    attributes: dict[str, str]
    content: list[Element | str] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        """Return the child elements."""
        return [part for part in self.content if isinstance(part, Element)]

    def walk(self) -> Iterator[Element]:
        """Yield this element and all its descendants, in page order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements with a tag and attributes, among this element and its descendants."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            one
            for one in self.walk()
            if one.tag == tag and all(one.attributes.get(name) == value for name, value in wanted.items())
        ]

    @property
    def text(self) -> str:
        """Return all text in the element, with whitespace collapsed."""
        said = (part if isinstance(part, str) else part.text for part in self.content)
        return " ".join(" ".join(said).split()).replace(" ,", ",")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].content.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open[-1].tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def parsed(page: str) -> Element:
    """Return the root element of a page, and check that all elements are closed in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], f"never closed: {[one.tag for one in reader.open[1:]]}"
    return reader.root
