"""Test the figures for print and slides: sizes, font sizes, file formats, and that texts do not overlap."""

from __future__ import annotations

import re
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from spotball_core import Grid, OptionError
from spotball_core.plots import presets
from spotball_core.plots.canvas import FigureFrame
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.heat_maps import HeatMap, HeatMapChart, SportMaps
from spotball_core.plots.presets import PRESETS, Chart, draw_preset
from tests.failures import raises
from tests.plots.drawn import touching

PAPER = PRESETS["paper"]


def dots(*sports: str) -> DotChart:
    """Return a dot chart with 16 rows per panel."""
    rows = tuple(
        Dot(f"a-model-2025-{i:02d}", prompt, "#0077bb", "o", 0.01 * (i + 1), (0.005, 0.02 * (i + 1)))
        for i in range(8)
        for prompt in ("base", "cot")
    )
    lines = (ReferenceLine(0.03, "uniform guessing"), ReferenceLine(0.12, "human", "#d55e00", (0.1, 0.14)))
    return DotChart(tuple(DotPanel(sport, "50 images", rows, lines) for sport in sports), "accuracy", "share")


def maps(*sports: str, n: int = 13) -> HeatMapChart:
    shares = np.arange(60) / np.arange(60).sum()
    some = tuple(HeatMap(f"a-model-2025-{i:02d}, cot", "7,500 guesses, 50 images", shares) for i in range(n))
    return HeatMapChart(tuple(SportMaps(sport, some) for sport in sports), Grid.standard(), ((2, 4), (3, 7)))


def drawn(chart: Chart, preset: str, monkeypatch: pytest.MonkeyPatch, **frame: object) -> dict[str, Figure]:
    """Return the figures of a preset, by the name of their PDF file."""
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path, *, dpi: int) -> None:
        if path.suffix == ".pdf":
            figures[f"{path.parent.name}/{path.name}"] = figure

    with monkeypatch.context() as context, tempfile.TemporaryDirectory() as folder:
        context.setattr(presets, "save_figure", keep)
        draw_preset(chart, PRESETS[preset], FigureFrame(**frame), Path(folder), "accuracy")  # type: ignore[arg-type]
    return figures


@pytest.mark.parametrize("frame", [{}, {"title": "Accuracy", "notes": ("Dots: accuracy. " * 9, "spotball|v:1" * 9)}])
def test_paper_preset_has_column_widths_and_text_of_at_least_7_points(
    frame: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = drawn(dots("soccer", "beach volleyball"), "paper", monkeypatch, **frame)
    widths = {name: round(float(figure.get_figwidth()), 6) for name, figure in figures.items()}
    assert widths == {
        "single-column/accuracy-soccer.pdf": 3.35,
        "single-column/accuracy-beach-volleyball.pdf": 3.35,
        "double-column/accuracy.pdf": 7.0,
    }
    for figure in figures.values():
        sizes = [float(text.get_fontsize()) for text in figure.findobj(Text) if text.get_text()]
        assert 7.0 <= min(sizes) < 7.1
        assert touching(figure) == []


def test_paper_preset_of_a_wide_chart_or_of_one_panel_writes_one_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(drawn(maps("soccer", "tennis"), "paper", monkeypatch)) == {"double-column/accuracy.pdf"}
    assert set(drawn(dots("soccer"), "paper", monkeypatch)) == {"single-column/accuracy.pdf"}


@pytest.mark.slow
@pytest.mark.parametrize("chart", [dots("soccer", "tennis"), maps("soccer", "tennis"), maps("soccer", "tennis", n=2)])
def test_slides_preset_writes_one_figure_per_sport_that_fits_on_a_slide(
    chart: Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = drawn(chart, "slides", monkeypatch, title="A title")
    assert set(figures) == {"slides/accuracy-soccer.pdf", "slides/accuracy-tennis.pdf"}
    for figure in figures.values():
        wide, high = figure.get_size_inches()
        assert wide <= 12.4 + 1e-9
        assert high <= 6.6 + 1e-9
        assert touching(figure) == []


@pytest.mark.slow
def test_draw_preset_writes_reproducible_pdf_png_and_svg_files(tmp_path: Path) -> None:
    files = draw_preset(dots("soccer"), PAPER, FigureFrame(), tmp_path, "accuracy")
    assert [path.suffix for path in files] == [".pdf", ".png", ".svg"]
    pdf, png, svg = (path.read_bytes() for path in files)
    (box,) = re.findall(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    assert float(box[0]) == pytest.approx(3.35 * 72, abs=0.01)
    assert b"/Subtype /Type3" not in pdf  # Journals do not accept Type 3 fonts.
    assert b"CreationDate" not in pdf
    wide, high = struct.unpack(">II", png[16:24])
    assert wide == int(3.35 * 300)
    assert high > 0
    place = png.index(b"pHYs") + 4
    assert struct.unpack(">II", png[place : place + 8]) == (11811, 11811)  # dots per meter: 300 per inch
    assert all(part in svg for part in (b">human<", b"<text"))
    again = draw_preset(dots("soccer"), PAPER, FigureFrame(), tmp_path / "again", "accuracy")
    assert [path.read_bytes() for path in again] == [pdf, png, svg]


def test_draw_preset_with_two_panels_of_the_same_file_name_raises_option_error(tmp_path: Path) -> None:
    with raises(OptionError, "duplicate"):
        draw_preset(dots("soccer", "soccer!"), PAPER, FigureFrame(), tmp_path, "accuracy")
