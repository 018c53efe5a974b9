"""Test the content of charts, read from the figure's objects, and that their texts do not overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.lines import Line2D

from spotball_core.plots.canvas import FigureFrame, stacked
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.report.charts.proximity import ProximityChart, ProximityPanel, ProximityPoint, Strip, StripChart
from spotball_core.report.charts.thresholds import SurfaceChart
from spotball_core.report.numbers.records import ThresholdFit
from spotball_core.report.sections.people import Mix, MixPanel, MixtureChart
from tests.plots.drawn import covered, texts, touching

FRAME = FigureFrame("A title", ("A note " * 40, "spotball|v:0|" + "x" * 90))
PROMPTS = {"base": "o", "cue": "^", "cot": "s"}
RESPONDENTS = {"gemini": "#0077bb", "gpt-4o-mini": "#00694a", "llama": "#b8458f", "qwen": "#4f4218"}
LOOKS = [(name, prompt, color, marker) for name, color in RESPONDENTS.items() for prompt, marker in PROMPTS.items()]


def places(lines: Iterable[Line2D]) -> list[tuple[float, float]]:
    """Return the first point of each line."""
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines]  # type: ignore[arg-type,index]


# Dots --------------------------------------------------------------------------------------------------------


def dots(seed: int) -> tuple[Dot, ...]:
    """Return dots of people, and of four models with three prompts each."""
    rng = np.random.default_rng(seed)
    out = [Dot("human", "", "#d55e00", "D", 0.19, (0.15, 0.24))]
    for look in LOOKS:
        value = float(rng.uniform(0.02, 0.2)) * (1 + seed)
        out.append(Dot(*look, value, (0.8 * value, 1.3 * value), tick=0.5 * value))
    return tuple(out)


def dot_chart() -> DotChart:
    rules = (ReferenceLine(0.19, "human", "#d55e00", (0.15, 0.24)), ReferenceLine(0.037, "guessing every cell alike"))
    names = ("soccer", "basketball", "volleyball")
    panels = tuple(DotPanel(name, "50 images, 7,500 responses each", dots(i), rules) for i, name in enumerate(names))
    return DotChart(panels, "accuracy", "share")


def test_dot_chart_draws_and_labels_each_value() -> None:
    chart = dot_chart()
    (axes,) = chart.draw([1]).axes
    drawn = [line for line in axes.lines if line.get_marker() in ("o", "^", "s", "D")]
    assert [x for x, _ in places(drawn)] == [dot.value for dot in dots(1)]
    assert [line.get_color() for line in drawn] == [dot.color for dot in dots(1)]
    segments = [s for c in axes.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    level = [tuple(s[:, 0]) for s in segments if s[0, 1] == s[1, 1]]
    assert level == [dot.ends for dot in dots(1)]
    upright = [s[0, 0] for s in segments if s[0, 0] == s[1, 0]]
    assert upright == [dot.tick for dot in dots(1) if dot.tick is not None]
    said = texts(axes)
    assert all(f"{dot.value:.1%}" in said for dot in dots(1))
    assert [said.count(name) for name in ("gemini", "base", "cot")] == [1, 4, 4]
    # Rows are in order from top to bottom, with larger gaps between respondents.
    rows = [y for _, y in places(drawn)]
    assert rows == sorted(rows)
    assert np.diff(rows)[0] > np.diff(rows)[1]


def test_dot_chart_panels_share_a_scale_for_any_selection_of_panels() -> None:
    chart = dot_chart()
    limits = {axes.get_xlim() for place in range(3) for axes in chart.draw([place]).axes}
    limits |= {axes.get_xlim() for axes in chart.draw(range(3), FRAME).axes}
    assert len(limits) == 1
    low, high = limits.pop()
    assert low == 0
    assert high > max(dot.ends[1] for panel in chart.panels for dot in panel.dots if dot.ends)


def test_dot_chart_texts_do_not_overlap_and_include_title_and_notes_only_with_a_frame() -> None:
    bare, framed = dot_chart().draw([0]), dot_chart().draw(range(3), FRAME)
    assert touching(bare) == touching(framed) == []
    assert list(bare.texts) == []
    assert framed.texts[0].get_text() == "A title"
    assert re.sub(r"\s+", " ", framed.texts[1].get_text()).startswith("A note A note")


@pytest.mark.parametrize(("a", "b"), [(0.19, 0.2), (0.0, 0.01), (0.1, 0.24)])
def test_dot_chart_labels_of_two_reference_lines_do_not_overlap(a: float, b: float) -> None:
    rules = (ReferenceLine(a, "guessing every cell alike"), ReferenceLine(b, "two halves of human"))
    panel = replace(dot_chart().panels[0], rules=rules)
    assert touching(DotChart((panel,), "accuracy", "share").draw([0])) == []


@pytest.mark.parametrize("axis", ["Wasserstein distance, matched to human (px)", "the distance from " + 9 * "people "])
@pytest.mark.parametrize("high", [0.3, 0.05, 300.0])
def test_dot_chart_with_long_names_has_no_overlapping_texts(axis: str, high: float) -> None:
    """Check that texts do not overlap when long names leave little room for the axis, its ticks and its label."""
    some = (
        Dot("Qwen/Qwen4-…by-someone", "a-long-promp", "#0077bb", "o", 0.6 * high, (0.5 * high, high), note="134.7 px"),
        Dot("human", "", "#d55e00", "D", 0.8 * high),
    )
    panel = DotPanel("soccer", "50 images, 7,500 responses each", some)
    for start in (0.0, None):
        figure = DotChart((panel,), axis, "share", start).draw([0])
        assert touching(figure) == []
        assert len(figure.axes[0].get_xticks()) > 1


def test_dot_chart_shows_only_the_note_of_a_dot_without_a_value() -> None:
    some = (Dot("me", "", "#0077bb", "o", 0.2), Dot("oracle", "", "#858585", "p", None, note="100% →"))
    (axes,) = DotChart((DotPanel("soccer", "", some),), "accuracy", "share").draw([0]).axes
    assert axes.get_xlim()[1] < 0.3
    assert "100% →" in texts(axes)


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 4)).map(lambda t: (t[0], t[0] + t[1])), max_size=8))
def test_stacked_places_overlapping_spans_on_different_lines(spans: list[tuple[float, float]]) -> None:
    lines = stacked(spans, gap=0.5)
    for i, (low, high) in enumerate(spans):
        for j in range(i):
            if lines[i] == lines[j]:
                assert low - 0.5 >= spans[j][1] or high + 0.5 <= spans[j][0]


# Players -----------------------------------------------------------------------------------------------------


def test_proximity_chart_draws_points_at_their_rates_and_names_all_respondents() -> None:
    rng = np.random.default_rng(4)
    points = [ProximityPoint("human", "", "#d55e00", "D", 0.83, 0.63, (0.8, 0.86), (0.6, 0.66))]
    for look in LOOKS:
        near, overlap = rng.uniform(0.5, 0.95, 2).tolist()
        points.append(ProximityPoint(*look, near, overlap, None, None))
    chart = ProximityChart((ProximityPanel("soccer", "50 images", tuple(points), (0.52, 0.21)),))
    (axes,) = chart.draw([0]).axes
    drawn = places([line for line in axes.lines if len(line.get_xdata()) == 1])  # type: ignore[arg-type]
    assert set(drawn) >= {(p.near, p.overlap) for p in points} | {(0.52, 0.21)}
    assert set(texts(axes)) >= {*RESPONDENTS, "human", "the ball", *PROMPTS}
    assert touching(chart.draw([0])) == []
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert low < 0.52 < 0.86 < high
    assert bottom < 0.21 < 0.66 < top


@pytest.mark.parametrize("seed", range(6))
def test_proximity_chart_labels_do_not_overlap_intervals_or_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = []
    for look in [*LOOKS, *(("human", prompt, "#d55e00", marker) for prompt, marker in PROMPTS.items())]:
        near, overlap = rng.uniform(0.6, 0.9), rng.uniform(0.3, 0.7)
        ends = (near - 0.03, near + 0.04), (overlap - 0.05, overlap + 0.04)
        points.append(ProximityPoint(*look, near, overlap, *ends))
    figure = ProximityChart((ProximityPanel("soccer", "50 images", tuple(points), (0.6, 0.3)),)).draw([0])
    assert covered(figure) == []
    assert touching(figure) == []


def test_strip_chart_shows_every_image_and_the_mean() -> None:
    values = (2.0, 3.0, 7.0)
    chart = StripChart((("Players per image", (Strip("soccer", values, 4.0, (2.5, 6.0)),), False),))
    (axes,) = chart.draw([0]).axes
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines[:2]] == [list(values), [4.0]]
    assert {"soccer", "mean 4.00", "Players per image"} <= set(texts(axes))
    assert touching(chart.draw([0], FRAME)) == []


# Thresholds and mixtures -------------------------------------------------------------------------------------


def surface() -> ThresholdFit:
    taus, thetas = np.array([0.04, 0.05, 0.06]), np.array([0.01, 0.02])
    near, overlap = np.array([0.5, 0.6, 0.9]), np.array([0.6, 0.4])
    objective = (near[:, None] + overlap) / 2
    plateau = objective >= 0.99 * objective.max()
    tables = {"taus": taus, "thetas": thetas, "objective": objective.tolist(), "near_largest": plateau.tolist()}
    best = {"best": (0.06, 0.01), "largest": objective.max(), "at_policy": 0.5}
    return ThresholdFit.model_validate({**tables, **best, "n_near_largest": 1, "n_pairs": 6, "n_responses": 1200})


def test_surface_chart_shows_the_objective_and_outlines_the_plateau() -> None:
    axes, _ = SurfaceChart(surface(), (0.05, 0.02)).draw([0]).axes
    (mesh,) = (c for c in axes.collections if isinstance(c, QuadMesh))
    assert np.asarray(mesh.get_array()).reshape(2, 3).T.tolist() == [list(row) for row in surface().objective]
    (outline,) = (c for c in axes.collections if isinstance(c, LineCollection))
    # The plateau is one cell, at tau 0.06 and theta 0.01, so its outline has four sides.
    sides = sorted(tuple(np.round(s.mean(axis=0), 4)) for s in outline.get_segments())
    assert sides == [(0.055, 0.01), (0.06, 0.005), (0.06, 0.015), (0.065, 0.01)]
    assert places(axes.lines) == [(0.06, 0.01), (0.05, 0.02)]
    assert "1,200 responses" in texts(axes)
    assert touching(SurfaceChart(surface(), (0.05, 0.02)).draw([0], FRAME)) == []


def test_mixture_chart_draws_each_weight_in_its_column() -> None:
    parts = ("uniform", "center", "nearest-player")
    mixes = (
        Mix("human", "", "#d55e00", "D", {"uniform": (0.25, (0.2, 0.3)), "nearest-player": (0.75, None)}),
        Mix("gpt", "cot", "#0077bb", "s", {"uniform": (0.0, None), "center": (1.0, None)}),
    )
    chart = MixtureChart((MixPanel("soccer", "50 images each", mixes),), parts)
    (axes,) = chart.draw([0]).axes
    ticks = dict(zip((text.get_text() for text in axes.get_xticklabels()), axes.get_xticks(), strict=True))
    assert ticks.keys() == {"0", "", "100%"}
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]  # type: ignore[arg-type]
    starts = sorted(axes.get_xticks())[::3]
    width = sorted(axes.get_xticks())[2] - starts[0]
    expected = [(starts[0] + 0.25 * width, 0), (starts[2] + 0.75 * width, 0), (starts[0], 1), (starts[1] + width, 1)]
    assert np.allclose(places(marks), expected)
    assert touching(chart.draw([0], FRAME)) == []
