"""Test panels that are cut out of an SVG figure for a page: colors, unique ids, and texts."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spotball_core.plots.canvas import FigureFrame, PanelBox, mark, panels, plain_style
from spotball_core.plots.inline import Inline, inline_panels, mark_texts
from spotball_core.plots.theme import THEME, save_figure

BOX = PanelBox(2.0, 1.5, 0.5, 0.25, 0.25, 0.25)


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> list[Inline]:
    return drawn(tmp_path_factory.mktemp("inline"))


def drawn(folder: Path, name: str = "one") -> list[Inline]:
    """Return two inline panels with the same markers; the second one has a color bar."""
    with plain_style():
        figure, both = panels(2, BOX, FigureFrame("title of the file", ("note of the file",), width=6))
        for place, axes in enumerate(both):
            axes.plot([1, 2], [1, 2], "o", color=THEME["people"][0])
            mark(axes, f"point of panel {place}")
            axes.axvspan(1, 1.5, color=THEME["model-1"][0], alpha=0.2)
            axes.plot([1, 2], [2, 1], color="#123456")
            axes.set_title(f"a < b & {place}", color=THEME["ink"][0])
        picture = both[1].imshow([[0.0, 1.0]], extent=(1, 2, 1, 2))
        figure.colorbar(picture, cax=figure.add_axes((0.96, 0.3, 0.01, 0.3)))
        save_figure(figure, folder / "figure.svg")
        svg = (folder / "figure.svg").read_text(encoding="utf-8")
        return inline_panels(svg, mark_texts(figure), name, ['it says "a < b"', "second"])


def texts(panel: Inline) -> list[str | None]:
    return [element.text for element in ElementTree.fromstring(panel.svg).iter("text")]


def test_inline_panels_are_labeled_svg_images_of_the_panel_size_with_adjacent_view_boxes(inline: list[Inline]) -> None:
    roots = [ElementTree.fromstring(panel.svg) for panel in inline]
    assert [panel.width for panel in inline] == [264, 264]  # 2.75 inches
    assert [root.tag for root in roots] == ["svg", "svg"]
    assert (roots[0].attrib["role"], roots[0].attrib["aria-label"]) == ("img", 'it says "a < b"')
    assert {(root.attrib["width"], root.attrib["height"]) for root in roots} == {("264", "192")}
    first, second = ([float(number) for number in root.attrib["viewBox"].split()] for root in roots)
    assert first[2:] == second[2:] == [198, 144]
    # The view boxes are next to each other.
    assert first[1] == second[1]
    assert second[0] > first[0] + first[2]


def test_inline_panel_shows_only_one_panel_of_the_figure_without_title_and_notes(inline: list[Inline]) -> None:
    assert "a < b & 0" in texts(inline[0])
    assert "a < b & 1" in texts(inline[1])
    assert "a < b & 1" not in texts(inline[0])
    assert not {"title of the file", "note of the file"} & {*texts(inline[0]), *texts(inline[1])}
    # The image and the color bar are in the second panel.
    assert [panel.svg.count("data:image/png;base64,") > 0 for panel in inline] == [False, True]
    assert len(texts(inline[1])) > len(texts(inline[0]))


def test_inline_panel_describes_markers_uses_css_variables_and_has_no_url_style_sheet_or_metadata(
    inline: list[Inline],
) -> None:
    for place, panel in enumerate(inline):
        assert re.findall('data-mark="([^"]*)"', panel.svg) == [f"point of panel {place}"]
        # Colors of the theme become CSS variables; other colors are unchanged.
        for color in ("var(--people)", "var(--model-1)", "var(--ink)", "#123456"):
            assert color in panel.svg
        for text in (*(light for light, _ in THEME.values()), "http", "<style", "metadata"):
            assert text not in panel.svg


def test_svg_ids_are_unique_across_panels_and_references_resolve(tmp_path: Path) -> None:
    every = [*drawn(tmp_path), *drawn(tmp_path, "other")]
    ids = [re.findall(r'\bid="([^"]+)"', panel.svg) for panel in every]
    assert all(ids)
    assert len({name for names in ids for name in names}) == sum(map(len, ids))
    for panel, names in zip(every, ids, strict=True):
        used = {*re.findall(r"url\(#([^)]+)\)", panel.svg), *re.findall(r'href="#([^"]+)"', panel.svg)}
        assert used == set(names)


def test_inline_panels_of_the_same_figure_are_identical(inline: list[Inline], tmp_path: Path) -> None:
    assert drawn(tmp_path) == inline
