"""Figures for print and slides: sizes, type, formats, and that nothing touches at any size."""

from __future__ import annotations

import re
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.plots import presets
from spotball_core.plots.canvas import FigureFrame
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.heat_maps import HeatMap, HeatMapChart, SportMaps
from spotball_core.plots.presets import PRESETS, Chart, draw_preset
from tests.plots.drawn import touching

PAPER, SLIDES = PRESETS["paper"], PRESETS["slides"]


def dots(*sports: str) -> DotChart:
    """Sixteen rows per panel."""
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
    """The figures of a preset by the name of their PDF file."""
    figures: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path, *, dpi: int) -> None:
        if path.suffix == ".pdf":
            figures[f"{path.parent.name}/{path.name}"] = figure

    with monkeypatch.context() as context, tempfile.TemporaryDirectory() as folder:
        context.setattr(presets, "save_figure", keep)
        draw_preset(chart, PRESETS[preset], FigureFrame(**frame), Path(folder), "accuracy")  # type: ignore[arg-type]
    return figures


@pytest.mark.parametrize("frame", [{}, {"title": "Accuracy", "notes": ("Dots: accuracy. " * 9, "spotball|v:1" * 9)}])
def test_print_has_the_widths_of_columns_and_legible_type(
    frame: dict[str, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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


def test_what_takes_two_columns_has_no_file_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(drawn(maps("soccer", "tennis"), "paper", monkeypatch)) == {"double-column/accuracy.pdf"}


def test_one_panel_is_not_put_into_half_of_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(drawn(dots("soccer"), "paper", monkeypatch)) == {"single-column/accuracy.pdf"}


@pytest.mark.slow
@pytest.mark.parametrize("chart", [dots("soccer", "tennis"), maps("soccer", "tennis"), maps("soccer", "tennis", n=2)])
def test_a_slides_figure_fits_a_slide(chart: Chart, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn(chart, "slides", monkeypatch, title="A title")
    assert set(figures) == {"slides/accuracy-soccer.pdf", "slides/accuracy-tennis.pdf"}
    for figure in figures.values():
        wide, high = figure.get_size_inches()
        assert wide <= 12.4 + 1e-9
        assert high <= 6.6 + 1e-9
        assert touching(figure) == []


@pytest.mark.slow
def test_formats(tmp_path: Path) -> None:
    files = draw_preset(dots("soccer"), PAPER, FigureFrame(), tmp_path, "accuracy")
    assert [path.suffix for path in files] == [".pdf", ".png", ".svg"]
    pdf, png, svg = (path.read_bytes() for path in files)
    (box,) = re.findall(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    assert float(box[0]) == pytest.approx(3.35 * 72, abs=0.01)
    assert b"/Subtype /Type3" not in pdf  # journals refuse these fonts
    assert b"CreationDate" not in pdf
    wide, high = struct.unpack(">II", png[16:24])
    assert wide == int(3.35 * 300)
    place = png.index(b"pHYs") + 4
    assert struct.unpack(">II", png[place : place + 8]) == (11811, 11811)  # dots per meter: 300 per inch
    assert b">human<" in svg
    assert b"<text" in svg
    again = draw_preset(dots("soccer"), PAPER, FigureFrame(), tmp_path / "again", "accuracy")
    assert [path.read_bytes() for path in again] == [pdf, png, svg]
    assert high > 0


def test_two_panels_with_one_file_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="two panels of accuracy have the same file name: accuracy-soccer"):
        draw_preset(dots("soccer", "soccer!"), PAPER, FigureFrame(), tmp_path, "accuracy")
