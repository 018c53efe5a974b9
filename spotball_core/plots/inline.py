"""Convert a figure to SVG for a web page: with the page's colors, unique ids, and no machine-specific data."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from spotball_core.plots.theme import THEME

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = {f"{_SVG}metadata", f"{_SVG}style"}
_FONT = re.compile(r"font-family: [^;]*")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_USED = re.compile(r"url\(#([^)]+)\)")
_VARIABLES = {light: f"var(--{name})" for name, (light, _) in THEME.items()}
_POINT = 96 / 72
"""CSS pixels per point."""


@dataclass(frozen=True, slots=True)
class Inline:
    """An `<svg>` element, and its width in CSS pixels."""

    svg: str
    width: int


def inline_svg(figure: Figure, name: str, alt: str) -> Inline:
    """Convert a figure to an `<svg>` element, with text as text and theme colors as CSS variables.

    Args:
        figure: a figure in the theme's light colors.
        name: a name that is unique on the page; ids start with it.
        alt: a description of the figure for readers who cannot see it.
    """
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "spotball", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(out.getvalue())
    _clean(root)
    used = {match for element in root.iter() for value in element.attrib.values() for match in _USED.findall(value)}
    used |= {element.attrib[_HREF].removeprefix("#") for element in root.iter() if _HREF in element.attrib}
    marks = {line.get_gid(): str(line.get_label()) for axes in figure.axes for line in axes.lines if line.get_gid()}
    for element in [*root.iter()]:
        if (text := marks.get(element.attrib.get("id"))) is not None:
            element.set("data-mark", text)
            title = ElementTree.Element("title")
            title.text = text
            element.insert(0, title)
        element.tag = element.tag.removeprefix(_SVG)
        element.attrib = {key.removeprefix("{http://www.w3.org/1999/xlink}"): v for key, v in element.attrib.items()}
        if (own := element.attrib.pop("id", None)) in used:
            element.set("id", f"{name}-{own}")
        for key, value in element.attrib.items():
            if key == "href" and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif key == "style":
                element.set(key, _restyled(value))
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
            elif key == "d":
                element.set(key, " ".join(value.split()))
    wide, high = (float(root.attrib[side].removesuffix("pt")) * _POINT for side in ("width", "height"))
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib |= {"viewBox": view, "width": f"{wide:.0f}", "height": f"{high:.0f}", "role": "img", "aria-label": alt}
    return Inline(ElementTree.tostring(root, encoding="unicode"), round(wide))


def _clean(element: ElementTree.Element) -> None:
    """Remove elements that a page does not need, and whitespace between elements."""
    for child in list(element):
        if child.tag in _LEFT_OUT:
            element.remove(child)
        else:
            _clean(child)
    if element.tag != f"{_SVG}text":
        element.text = None
        for child in element:
            child.tail = None


def _restyled(style: str) -> str:
    style = _FONT.sub("font-family: inherit", style)
    return _COLOR.sub(lambda match: _VARIABLES.get(match[0], match[0]), style)
