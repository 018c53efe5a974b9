"""Convert an SVG figure's panels to SVG for a web page, with the page's colors and with unique ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from spotball_core.plots.canvas import PANEL
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


def mark_texts(figure: Figure) -> dict[str, str]:
    """Return the descriptions of a figure's marks (`canvas.mark`), by id."""
    lines = [line for axes in figure.axes for line in axes.lines]
    return {str(gid): str(line.get_label()) for line in lines if (gid := line.get_gid())}


def inline_panels(svg: str, marks: Mapping[str, str], name: str, alts: Sequence[str]) -> list[Inline]:
    """Cut the panels out of an SVG figure, so that a web page shows the same drawing as the figure's SVG file.

    Args:
        svg: a figure made with `canvas.panels`, in the theme's light colors, with text that is not converted to paths.
        marks: the result of `mark_texts` for the figure.
        name: a name that is unique on the page; all ids start with it.
        alts: a description of each panel for readers who cannot see it.

    Returns:
        One `<svg>` element per panel, with CSS variables instead of the theme's colors.
    """
    root = ElementTree.fromstring(svg)
    _clean(root)
    shared: dict[str, ElementTree.Element] = {}
    for parent in list(root.iter()):
        for defs in parent.findall(f"{_SVG}defs"):
            shared |= {element.attrib["id"]: element for element in defs}
            parent.remove(defs)
    panels: list[ElementTree.Element] = []
    for group in root.iter(f"{_SVG}g"):
        found = group.attrib.get("id", "")
        if found.startswith(PANEL):
            panels.append(_opened(found))
        if panels and found.startswith((PANEL, "axes_")):
            panels[-1].append(group)  # Other axes, such as a color bar, belong to the panel before them.
    return [
        _finished(panel, shared, marks, f"{name}-{place}", alt)
        for place, (panel, alt) in enumerate(zip(panels, alts, strict=True))
    ]


def _opened(panel_id: str) -> ElementTree.Element:
    """Return an empty `<svg>` element with the position and size that the panel's id contains."""
    left, top, wide, high = map(float, panel_id.removeprefix(PANEL).split("_"))
    view = f"{left:g} {top:g} {wide:g} {high:g}"
    size = {"width": f"{wide * _POINT:.0f}", "height": f"{high * _POINT:.0f}"}
    return ElementTree.Element("svg", {"viewBox": view, **size})


def _finished(
    panel: ElementTree.Element,
    shared: Mapping[str, ElementTree.Element],
    marks: Mapping[str, str],
    name: str,
    alt: str,
) -> Inline:
    """Complete a panel: add the shared elements that it uses, and adapt ids, colors and fonts to the page."""
    used = _used_ids(panel)
    defs = ElementTree.Element(f"{_SVG}defs")
    defs.extend(deepcopy(element) for own_id, element in shared.items() if own_id in used)
    if len(defs):
        panel.insert(0, defs)
    for element in [*panel.iter()]:
        if (text := marks.get(element.attrib.get("id", ""))) is not None:
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
    panel.attrib |= {"role": "img", "aria-label": alt}
    return Inline(ElementTree.tostring(panel, encoding="unicode"), int(panel.attrib["width"]))


def _used_ids(root: ElementTree.Element) -> set[str]:
    """Return the ids that elements refer to."""
    used = {match for element in root.iter() for value in element.attrib.values() for match in _USED.findall(value)}
    return used | {element.attrib[_HREF].removeprefix("#") for element in root.iter() if _HREF in element.attrib}


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


def page_color(color: str) -> str:
    """Return the CSS variable of a color of the theme's light pages; other colors are unchanged.

    Examples:
        >>> page_color("#d55e00"), page_color("#123456")
        ('var(--people)', '#123456')
    """
    return _VARIABLES.get(color, color)


def _restyled(style: str) -> str:
    style = _FONT.sub("font-family: inherit", style)
    return _COLOR.sub(lambda match: page_color(match[0]), style)
