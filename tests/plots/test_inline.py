"""Figures inside a page: the page's colors, ids of their own, texts as text, nothing of where they were made."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from spotball_core.plots.inline import inline_svg
from spotball_core.plots.theme import THEME


def figure() -> Figure:
    drawn = Figure(figsize=(3, 2))
    axes = drawn.add_axes((0.2, 0.2, 0.7, 0.7))
    axes.plot([1, 2], [1, 2], "o", color=THEME["people"][0])
    axes.axvspan(1, 1.5, color=THEME["model-1"][0], alpha=0.2)
    axes.imshow([[0.0, 1.0]], extent=(1, 2, 1, 2))
    axes.plot([1, 2], [2, 1], color="#123456")
    axes.set_title("a < b & c", color=THEME["ink"][0])
    return drawn


def test_it_is_one_named_image_of_the_figures_size() -> None:
    made = inline_svg(figure(), "one", 'it says "a < b"')
    root = ElementTree.fromstring(made.svg)
    assert root.tag == "svg"
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == 'it says "a < b"'
    assert made.width == 288  # 3 inches
    assert root.attrib["width"] == "288"
    assert "a < b & c" in [element.text for element in root.iter("text")]


def test_colors_of_the_theme_are_variables_and_others_stay() -> None:
    svg = inline_svg(figure(), "one", "").svg
    assert "var(--people)" in svg
    assert "var(--model-1)" in svg
    assert "var(--ink)" in svg
    assert "#123456" in svg
    assert not any(light in svg for light, _ in THEME.values())


def test_ids_are_the_figures_own_and_lead_somewhere() -> None:
    one, other = (inline_svg(figure(), name, "").svg for name in ("one", "other"))
    ids = [re.findall(r'\bid="([^"]+)"', svg) for svg in (one, other)]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    for svg, names in zip((one, other), ids, strict=True):
        assert len(set(names)) == len(names)
        used = {*re.findall(r"url\(#([^)]+)\)", svg), *re.findall(r'href="#([^"]+)"', svg)}
        assert used == set(names)


def test_it_holds_no_address_no_style_sheet_and_no_date() -> None:
    svg = inline_svg(figure(), "one", "").svg
    assert "http" not in svg
    assert "<style" not in svg
    assert "metadata" not in svg
    assert "data:image/png;base64," in svg  # the raster, as it is


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert inline_svg(figure(), "one", "x") == inline_svg(figure(), "one", "x")
