"""Test the content of figures, read from the figure's objects, and the files they are saved to."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from fontTools.subset import Options
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from spotball_core import Counts, Grid
from spotball_core.errors import DistributionError, MissingExtraError, OptionError, SpotballError
from spotball_core.plots.accuracy_chart import accuracy_chart
from spotball_core.plots.guess_maps import guess_maps, guesses_by_respondent, truth_by_sport
from spotball_core.plots.theme import save_figure
from spotball_core.schema import GroupScore, Kind, MetricValue, ScorePolicy, ScoreReport, Signature
from spotball_core.typing import FloatArray
from tests.builders import scene
from tests.failures import raises
from tests.plots.drawn import texts, touching

GRID = Grid.standard()
PNG = b"\x89PNG\r\n\x1a\n"


def counts(*images: dict[str, float]) -> FloatArray:
    """Return one row per image, with the number of times each cell was named."""
    table = np.zeros((len(images), 60))
    for row, image in zip(table, images, strict=True):
        for label, n in image.items():
            row[GRID.index(label)] = n
    return table


# Maps ---------------------------------------------------------------------------------------------------------

GUESSES = {
    "soccer": {"human": counts({"D5": 3, "A1": 1}, {"D5": 4}), "gemini, cot": counts({"F10": 2}, {})},
    "volleyball": {"human": counts({"B2": 5}), "gemini, cot": counts({"B3": 1})},
}
TRUTH = {"soccer": counts({"D5": 1, "D6": 1}, {"E1": 1}), "volleyball": counts({"A1": 1})}


def maps_of(figure: Figure) -> list[Axes]:
    # The last axes are the color scale.
    return figure.axes[:-1]


@pytest.mark.slow
def test_guess_maps_show_pooled_shares_and_numbers_of_guesses_and_images() -> None:
    figure = guess_maps(GUESSES, TRUTH, GRID, note="the signature")
    maps = maps_of(figure)
    assert [texts(axes)[0] for axes in maps] == ["the ball", "human", "gemini, cot"] * 2
    sizes = [next(text for text in texts(axes) if "image" in text) for axes in maps]
    assert sizes == [
        *("3 cells, 2 images", "8 guesses, 2 images", "2 guesses, 1 image"),
        *("1 cell, 1 image", "5 guesses, 1 image", "1 guess, 1 image"),
    ]
    shown = [np.ma.filled(axes.images[0].get_array(), 0) for axes in maps]
    assert (shown[1][3, 4], shown[1][0, 0]) == pytest.approx((7 / 8, 1 / 8))  # D5 and A1
    assert shown[0][3, 4] == shown[0][3, 5] == shown[0][4, 0] == pytest.approx(1 / 3)
    assert shown[2][5, 9] == 1  # F10
    assert all(table.sum() == pytest.approx(1) for table in shown)
    said = texts(figure)
    assert {"soccer", "volleyball"} <= set(said)
    assert any("the signature" in text and "rows B–D, columns 3–7" in text for text in said)
    assert touching(figure) == []


def test_guess_maps_have_the_aspect_ratio_and_labels_of_the_grid_and_one_color_scale() -> None:
    figure = guess_maps({"soccer": {"human": counts({"A1": 3, "A2": 1})}}, {"soccer": counts({"A1": 1, "A2": 1})}, GRID)
    assert {axes.images[0].get_clim() for axes in maps_of(figure)} == {(0.0, 0.75)}
    assert touching(figure) == []
    assert "share of the guesses in a map, 0 to 75.0%" in texts(figure.axes[-1])
    axes = maps_of(figure)[0]
    box = axes.get_position()
    wide, high = figure.get_size_inches()
    assert box.width * wide / (box.height * high) == pytest.approx(640 / 360)
    labels = [(text.get_text(), *text.get_position()) for text in axes.texts]
    assert [(label, y) for label, _, y in labels if label in "ABCDEF"] == [*zip("ABCDEF", range(1, 7), strict=True)]
    assert [(label, x) for label, x, _ in labels if label.isdigit()] == [(str(col), col) for col in range(1, 11)]
    assert axes.get_xlim() == (0.5, 10.5)
    assert axes.get_ylim() == (6.5, 0.5)  # row A on top


def test_guess_maps_draw_the_center_window_only_on_the_standard_grid() -> None:
    figure = guess_maps({"soccer": {"human": counts({"A1": 1})}}, {"soccer": counts({"A1": 1})}, GRID)
    axes = maps_of(figure)[1]
    (window,) = axes.patches
    assert all(window.get_zorder() > lines.get_zorder() for lines in axes.collections)  # above the grid lines
    # Cells are 1 wide and centered on their numbers: rows 2-4, columns 3-7.
    assert (window.get_x(), window.get_y(), window.get_width(), window.get_height()) == (2.5, 1.5, 5, 3)
    other = guess_maps({"soccer": {"human": np.ones((1, 4))}}, {"soccer": np.ones((1, 4))}, Grid(2, 2, 20, 20))
    assert not any(axes.patches for axes in maps_of(other))
    assert not any("window" in text for text in texts(other))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 5, 6, 13])
def test_guess_maps_with_many_respondents_have_no_overlapping_texts(n: int) -> None:
    guesses = {f"a-vision-language-model-2025-{i:02d}, cot": counts({"D5": 7500}, {"D6": 1}) for i in range(n)}
    figure = guess_maps({"soccer": guesses, "volleyball": guesses}, {"soccer": TRUTH["soccer"]} | TRUTH, GRID)
    assert len(maps_of(figure)) == 2 * (n + 1)
    assert touching(figure) == []


def test_guess_maps_of_a_respondent_without_guesses_show_an_empty_map() -> None:
    figure = guess_maps({"soccer": {"human": counts({}, {})}}, {"soccer": counts({"A1": 1}, {})}, GRID)
    empty = maps_of(figure)[1]
    assert "0 guesses, 0 images" in texts(empty)
    assert not np.asarray(empty.images[0].get_array()).any()


@pytest.mark.parametrize(
    ("guesses", "truth", "kind", "where"),
    [
        ({}, {}, OptionError, "no-data:guesses"),
        ({"tennis": {"human": counts({"A1": 1})}}, TRUTH, OptionError, "no-data:truth"),
        ({"soccer": {"human": counts({"A1": -1})}}, TRUTH, DistributionError, "invalid-distribution:guesses"),
    ],
)
def test_guess_maps_with_unusable_guesses_or_truth_raises_an_error(
    guesses: Any, truth: Any, kind: type[SpotballError], where: str
) -> None:
    with raises(kind, where):
        guess_maps(guesses, truth, GRID)


def test_guesses_by_respondent_and_truth_by_sport_exclude_controls_and_unparsed_answers() -> None:
    scenes = [
        scene("1", ball_cells=["D5", "D6"]),
        scene("2", ball_cells=None),
        scene("3", ball_cells=["A1"], control=True),
        scene("1", "volleyball", ball_cells=["B2"]),
        scene("1", "tennis", ball_cells=["B2"]),
    ]
    rows = [
        ("soccer", "1", "uniform", "baseline", "base", 34, 1.0),
        ("soccer", "2", "zoe", "human", "base", 34, 2.0),
        ("soccer", "2", "zoe", "human", "base", None, 5.0),
        ("soccer", "3", "zoe", "human", "base", 1, 9.0),
        ("soccer", "2", "gpt", "model", "cue", 7, 1.0),
        ("soccer", "2", "gpt", "model", "base", 8, 1.5),
        ("volleyball", "1", "zoe", "human", "base", 59, 3.0),
        ("volleyball", "77", "zoe", "human", "base", 59, 3.0),
    ]
    columns = ["sport", "image", "respondent", "kind", "prompt", "cell", "n"]
    table = pl.DataFrame(rows, schema=columns, orient="row")
    arrays = guesses_by_respondent(Counts.of(table, rows=6, cols=10), scenes)
    assert {sport: list(of_sport) for sport, of_sport in arrays.items()} == {
        "soccer": ["zoe", "gpt, base", "gpt, cue", "uniform"],
        "volleyball": ["zoe"],
    }
    for found, expected in (
        (arrays["soccer"]["zoe"], counts({}, {"D5": 2})),
        (arrays["soccer"]["gpt, base"], counts({}, {"A9": 1.5})),
        (arrays["soccer"]["uniform"], counts({"D5": 1}, {})),
        (arrays["volleyball"]["zoe"], counts({"F10": 3})),
        (truth_by_sport(scenes)["soccer"], counts({"D5": 1, "D6": 1}, {})),
    ):
        np.testing.assert_array_equal(found, expected)


# Accuracy -----------------------------------------------------------------------------------------------------


def group(
    sport: str | None,
    respondent: str | None,
    kind: Kind | None,
    value: float | None,
    ci: tuple[float, float] | None = (0.0, 0.5),
    **fields: Any,
) -> GroupScore:
    accuracy = MetricValue(value=value, ci95=ci) if value is not None else MetricValue(value=None, reason="no truth")
    name = {"sport": sport, "respondent": respondent, "kind": kind, "prompt": "base"}
    sizes = {"n_images": 50, "n_responses": 1000, "n_unparsed": 0}
    return GroupScore.model_validate({**name, **sizes, "metrics": {"accuracy": accuracy}, **fields})


def report_of(*groups: GroupScore, bootstrap: int = 1000) -> ScoreReport:
    policy = ScorePolicy.standard(reference="human", bootstrap=bootstrap)
    provenance = Signature(version="1", data="ab" * 32, grid="6x10@640x360", policy=policy, n_images=100, dropped={})
    return ScoreReport(signature=str(provenance), provenance=provenance, policy=policy, groups=groups)


GROUPS = (
    group("soccer", "human", "human", 0.192, ci=(0.15, 0.24), n_responses=7500),
    group("soccer", "gemini", "model", 0.081, prompt="cot", ci=(0.05, 0.12)),
    group("soccer", "gemini", "model", 0.07, prompt="base", ci=(0.04, 0.11), n_images=48),
    group("soccer", "uniform", "baseline", 0.03, ci=(0.02, 0.04)),
    group("soccer", "oracle", "baseline", 1.0, ci=(1.0, 1.0)),
    group("volleyball", "human", "human", 0.3, ci=(0.25, 0.35)),
    group("volleyball", "gemini", "model", 0.01, prompt="cot", ci=(0.0, 0.02)),
    group("volleyball", "uniform", "baseline", None),
    group("volleyball", "oracle", "baseline", 1.0, ci=(1.0, 1.0)),
)


def rows(axes: Axes) -> list[tuple[float, str, str]]:
    """Return the value, color and marker of each row with a value, from top to bottom."""
    dots = [line for line in axes.lines if line.get_marker() not in ("", "None", None)]
    dots.sort(key=lambda line: float(np.asarray(line.get_ydata())[0]))
    return [(float(np.asarray(d.get_xdata())[0]), str(d.get_color()), str(d.get_marker())) for d in dots]


def test_accuracy_chart_shows_values_intervals_kinds_and_signature() -> None:
    report = report_of(*GROUPS)
    figure = accuracy_chart(report)
    soccer, volleyball = figure.axes
    # Rows are sorted by the mean over sports and prompts: human 24.6% (at the top), gemini 5.4%, uniform 3%.
    assert [value for value, _, _ in rows(soccer)] == [0.192, 0.081, 0.07, 0.03]
    lines = [segment for c in soccer.collections if isinstance(c, LineCollection) for segment in c.get_segments()]
    intervals = [line[:, 0].tolist() for line in lines]
    assert intervals == [[0.15, 0.24], [0.05, 0.12], [0.04, 0.11], [0.02, 0.04]]
    assert {"19.2%", "8.1%", "7.0%", "3.0%", "human", "gemini", "cot", "base", "soccer"} <= set(texts(soccer))
    assert "48–50 images, 1,000–7,500 responses each" in texts(soccer)
    assert "no value" in texts(volleyball)
    assert "50 images, 1,000 responses each" in texts(volleyball)
    foot = " ".join(texts(figure)[-1].split())
    assert "95% bootstrap intervals over images" in foot
    assert "The baseline oracle knows the ball's cells and is not shown" in foot
    assert report.signature in foot
    assert soccer.get_xlim() == volleyball.get_xlim()
    assert 0.35 < soccer.get_xlim()[1] < 0.6  # The oracle's 100% must not compress the scale.
    assert touching(figure) == []
    # Respondents of different kinds differ in color, and each row has its own marker.
    human, cot, base, uniform = rows(soccer)
    assert len({color for _, color, _ in (human, cot, uniform)}) == 3
    assert len({marker for _, _, marker in (human, cot, base, uniform)}) == 4
    assert cot[1] == base[1]  # gemini with either prompt


def test_accuracy_chart_of_an_ungrouped_report_or_without_bootstrap_has_one_panel_and_no_intervals() -> None:
    (axes,) = accuracy_chart(report_of(group(None, None, None, 0.5, prompt=None))).axes
    assert {"all sports", "all respondents"} <= set(texts(axes))
    figure = accuracy_chart(report_of(group("soccer", "me", "model", 0.2, ci=None), bootstrap=0))
    (axes,) = figure.axes
    assert not [c for c in axes.collections if isinstance(c, LineCollection)]
    assert "20.0%" in texts(axes)
    assert not any("interval" in text for text in texts(figure))


@pytest.mark.parametrize("n_sports", [1, 3, 7])
def test_accuracy_chart_with_many_sports_and_respondents_has_no_overlapping_texts(n_sports: int) -> None:
    groups = [
        group(f"sport-{sport}", f"a-vision-language-model-2025-{i:02d}", "model", 0.01 * i, ci=(0.009 * i, 0.013 * i))
        for sport in range(n_sports)
        for i in range(9)
    ]
    assert touching(accuracy_chart(report_of(*groups))) == []


def test_accuracy_chart_without_any_accuracy_to_show_raises_option_error() -> None:
    for one in (group("soccer", "oracle", "baseline", 1.0), group("soccer", "me", "model", None)):
        with raises(OptionError, "no-data"):
            accuracy_chart(report_of(one))


# Files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "start"), [(".png", PNG), (".svg", b"<?xml"), (".pdf", b"%PDF-")])
def test_save_figure_twice_writes_identical_bytes_without_a_date(tmp_path: Path, ending: str, start: bytes) -> None:
    for name in ("a", "b"):
        figure = accuracy_chart(report_of(*GROUPS))
        save_figure(figure, tmp_path / "new" / f"{name}{ending}")
    a, b = ((tmp_path / "new" / f"{name}{ending}").read_bytes() for name in ("a", "b"))
    assert a == b
    assert a.startswith(start)
    assert b"date" not in a.lower()
    assert len(list((tmp_path / "new").iterdir())) == 2
    if ending == ".png":
        assert b"matplotlib" not in a.lower()  # The version of matplotlib would change the bytes.
        wide, high = int.from_bytes(a[16:20], "big"), int.from_bytes(a[20:24], "big")
        assert (wide, high) == tuple(int(160 * inches) for inches in figure.get_size_inches())


def test_save_figure_embeds_fonts_without_layout_tables_in_pdf_files_and_restores_the_default(tmp_path: Path) -> None:
    before = list(Options()._drop_tables_default)
    save_figure(accuracy_chart(report_of(*GROUPS)), tmp_path / "a.pdf")
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "a.pdf").read_bytes(), re.DOTALL)
    contents = [zlib.decompress(stream) for stream in streams if stream.startswith(b"x")]
    (font, *_) = (content for content in contents if content.startswith(b"\0\1\0\0"))
    assert b"glyf" in font[:400]
    assert not [table for table in (b"GPOS", b"GSUB", b"GDEF") if table in font[:400]]
    assert Options()._drop_tables_default == before


def test_save_figure_with_unknown_file_ending_raises_option_error(tmp_path: Path) -> None:
    with raises(OptionError, "unsupported-format"):
        save_figure(accuracy_chart(report_of(*GROUPS)), tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_accuracy_chart_without_matplotlib_names_the_report_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with raises(MissingExtraError, "missing-extra"):
        accuracy_chart(report_of(*GROUPS))


@pytest.mark.slow
def test_guess_maps_do_not_import_pyplot_and_importing_chart_modules_does_not_import_matplotlib() -> None:
    code = (
        "import sys, spotball_core.plots.accuracy_chart, spotball_core.plots.guess_maps as f\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
        "from spotball_core import Grid\n"
        "g = Grid.standard(); m = [g.mask(['D5'])]\n"
        "f.guess_maps({'soccer': {'me': m}}, {'soccer': m}, g)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
