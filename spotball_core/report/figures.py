"""The pictures: where guesses fall, and how accurate they are.

Figures are made with matplotlib's objects, never with pyplot, so that making one touches no global state and opens no
window. Drawing needs the extra `report`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.grid import FloatArray, Grid, row_name
from spotball_core.io.files import replacing
from spotball_core.metrics.inputs import checked_mass
from spotball_core.metrics.strategy import PAPER_WINDOW
from spotball_core.schema.response import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

    from spotball_core.counts import Counts
    from spotball_core.schema.report import GroupScore, ScoreReport
    from spotball_core.schema.scene import Scene

FORMATS = (".png", ".svg")
DPI = 160

# In inches.
_WIDTH = 10.0
_MARGIN, _HEADER = 0.1, 0.42
_ABOVE, _BELOW = 0.42, 0.32
_HEADING, _MAPS_LEFT, _MAPS_RIGHT, _MAP_GAP = 0.14, 0.28, 0.85, 0.12
_CHART_ROW, _CHART_GAP = 0.27, 0.2
_NAME_WIDTH, _SMALL_WIDTH = 0.068, 0.059  # of a character of text of these sizes, on the safe side
_FOOT_CHARACTERS = 195
_TITLE, _NAME, _SMALL, _FOOT = 12, 9, 7.5, 7  # points; 7 are 10 pixels on a picture shown 1000 pixels wide
_INK, _FAINT = "#222222", "#6b6b6b"
_MAPS_ACROSS, _CHARTS_ACROSS = 6, 3

_LOOKS = {"human": ("#D55E00", "D"), "model": ("#0072B2", "o"), "baseline": ("#5f5f5f", "s"), None: ("#0072B2", "o")}
"""Color (of the Okabe-Ito palette, or gray) and marker of each kind of respondent: told apart by either alone."""


def guesses_by_respondent(counts: Counts, scenes: Iterable[Scene]) -> dict[str, dict[str, FloatArray]]:
    """How often each respondent named each cell, sport by sport, as `guess_maps` takes it.

    Args:
        counts: of responses to these scenes, on their grid; counts of other images are left out.
        scenes: their controls are left out.

    Returns:
        By sport and respondent, shape (n_images, n_cells), for those who answered; people first, then models, then
        baselines. A respondent who was asked with several prompts has one entry each, called by both.
    """
    import polars as pl

    from spotball_core.counts import dense

    images: dict[str, dict[str, int]] = {}
    for scene in scenes:
        if not scene.control:
            of_sport = images.setdefault(scene.sport, {})
            of_sport[scene.image] = len(of_sport)
    kind = pl.col("kind").replace_strict({kind: place for place, kind in enumerate(get_args(Kind))})
    asked = counts.table.select("respondent", "prompt", kind).unique().sort("kind", "respondent", "prompt")
    several = set(asked.filter(pl.col("respondent").is_duplicated())["respondent"])
    out: dict[str, dict[str, FloatArray]] = {}
    for sport, of_sport in images.items():
        for respondent, prompt, _ in asked.iter_rows():
            rows = counts.table.filter(sport=sport, respondent=respondent, prompt=prompt)
            if not rows.is_empty():
                places = rows["image"].replace_strict(of_sport, default=None, return_dtype=pl.Int64)
                label = f"{respondent}, {prompt}" if respondent in several else respondent
                out.setdefault(sport, {})[label] = dense(rows, places, len(of_sport), counts.n_cells)[0]
    return out


def truth_by_sport(scenes: Iterable[Scene]) -> dict[str, FloatArray]:
    """Where the ball is, sport by sport, as `guess_maps` takes it: 1 in its cells, shape (n_images, n_cells).

    Controls are left out.
    """
    masks: dict[str, list[FloatArray]] = {}
    for scene in scenes:
        if not scene.control:
            mask = scene.layout.mask(scene.ball_cells or ())
            masks.setdefault(scene.sport, []).append(mask.astype(float))
    return {sport: np.stack(rows) for sport, rows in masks.items()}


def guess_maps(
    guesses: Mapping[str, Mapping[str, ArrayLike]],
    truth: Mapping[str, ArrayLike],
    grid: Grid,
    *,
    note: str = "",
) -> Figure:
    """Where each respondent's guesses fall, pooled over images: a row of heat maps for each sport, the ball's first.

    All maps share one color scale, in percent of a map's guesses (the ball's: of the ball's cells). The paper's center
    window is outlined on a 6 x 10 grid.

    Args:
        guesses: by sport and respondent, how often each cell was named, shape (n_images, n_cells).
        truth: by sport, 1 where the ball is, shape (n_images, n_cells).
        grid: the grid; its size in pixels gives the maps their shape.
        note: a line for the figure's foot.

    Raises:
        MissingExtraError: without matplotlib.
        OptionError: if there is nothing to draw, or a sport without truth.
        DistributionError: for counts that are negative, not finite or of the wrong length.

    Examples:
        >>> grid = Grid.standard()
        >>> figure = guess_maps({"soccer": {"me": [grid.mask(["D5", "D6"])]}}, {"soccer": [grid.mask(["D5"])]}, grid)
        >>> [axes.get_title("left") for axes in figure.axes[:2]]
        ['the ball', 'me']
    """
    if not guesses:
        raise OptionError("there are no guesses to draw")
    if missing := [sport for sport in guesses if sport not in truth]:
        raise OptionError(f"there is no truth for {', '.join(missing)}")
    maps = {
        sport: [_Map.of("the ball", truth[sport], "cell", grid)]
        + [_Map.of(name, counts, "guess", grid) for name, counts in respondents.items()]
        for sport, respondents in guesses.items()
    }
    top = max(float(one.shares.max()) for row in maps.values() for one in row) or 1.0
    foot = "Guesses pooled over images; one color scale for all maps; white: never named."
    if _has_window(grid):
        (first_row, last_row), (first_col, last_col) = PAPER_WINDOW
        rows, cols = f"{row_name(first_row)}–{row_name(last_row)}", f"{first_col}–{last_col}"
        foot += f" Outline: the paper's center window (rows {rows}, columns {cols})."
    feet = _wrapped([foot, note])

    # Laid out by hand, in inches from the top left: maps of one size, whatever the length of the texts above them.
    across = _maps_across(maps.values())
    step = (_WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / across
    wide = step - _MAP_GAP
    high = wide * grid.height / grid.width
    n_lines = sum(math.ceil(len(row) / across) for row in maps.values())
    body = len(maps) * _HEADING + n_lines * (_ABOVE + high + _BELOW)
    figure = _new_figure(height=_HEADER + body + _foot_height(feet))
    y = _HEADER
    for sport, row in maps.items():
        figure.text(*_at(figure, _MAPS_LEFT, y), sport, va="top", fontsize=_NAME, fontweight="bold", color=_INK)
        y += _HEADING
        for start in range(0, len(row), across):
            y += _ABOVE
            for place, one in enumerate(row[start : start + across]):
                axes = _axes_at(figure, _MAPS_LEFT + place * step, y, wide, high)
                shown = _draw_map(axes, one, grid, top)
                axes.tick_params(labelleft=place == 0)
            y += high + _BELOW
    bar_height = min(body - _HEADING - _ABOVE - _BELOW, 2.5)
    bar = _axes_at(figure, _WIDTH - _MAPS_RIGHT + 0.18, _HEADER + (body - bar_height) / 2, 0.11, bar_height)
    figure.colorbar(shown, cax=bar, format=_percent).outline.set_visible(False)
    bar.set_ylabel("share of the guesses in a map", fontsize=_SMALL, color=_INK)
    bar.tick_params(labelsize=_SMALL, colors=_INK, length=2)
    _frame(figure, "Where the guesses fall", feet)
    return figure


def accuracy_chart(report: ScoreReport) -> Figure:
    """Accuracy with its 95% interval by respondent, a panel for each sport, the best on average on top.

    The baseline `oracle`, which is always right, is left out and said to be: it would squash the others.

    Raises:
        MissingExtraError: without matplotlib.
        OptionError: if no group of the report has an accuracy.
    """
    drawn = [group for group in report.groups if not _is_oracle(group)]
    values = [v for group in drawn if (v := group.metrics["accuracy"].value) is not None]
    if not values:
        raise OptionError("there is no accuracy to draw")
    # Room on the right for the value's label.
    end = 1.3 * max(values + [ci[1] for group in drawn if (ci := group.metrics["accuracy"].ci95)]) or 1.0
    by_label: dict[str, dict[str | None, GroupScore]] = {}
    for label, group in zip(_labels(drawn), drawn, strict=True):
        by_label.setdefault(label, {})[group.sport] = group
    labels = sorted(by_label, key=lambda label: _mean_accuracy(by_label[label].values()))
    sports = list(dict.fromkeys(group.sport for group in drawn))
    feet = _wrapped([_reading(report), report.signature])

    across = min(_CHARTS_ACROSS, len(sports))
    left = _MARGIN + _NAME_WIDTH * max(map(len, labels)) + 0.1
    step = (_WIDTH - left - _MARGIN + _CHART_GAP) / across
    wide, high = step - _CHART_GAP, _CHART_ROW * len(labels)
    line = _ABOVE + high + _BELOW
    figure = _new_figure(height=_HEADER + math.ceil(len(sports) / across) * line + _foot_height(feet))
    for place, sport in enumerate(sports):
        down, right = divmod(place, across)
        axes = _axes_at(figure, left + right * step, _HEADER + down * line + _ABOVE, wide, high)
        _draw_accuracies(axes, [by_label[label].get(sport) for label in labels], sport, end)
        axes.set_yticks(range(len(labels)), labels if right == 0 else [])
    _frame(figure, "Accuracy", feet, legend=_legend(drawn))
    return figure


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG (160 dots per inch) or SVG, by the file's ending; the same figure gives the same bytes.

    The file is whole or not there.

    Raises:
        OptionError: for another ending.
    """
    import matplotlib

    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: pictures are written as one of {', '.join(FORMATS)}")
    metadata = {"Software": None} if path.suffix == ".png" else {"Date": None, "Creator": None}
    # Without a salt of its own an SVG's ids are random.
    with replacing(path) as beside, matplotlib.rc_context({"svg.hashsalt": "spotball"}):
        figure.savefig(beside, dpi=DPI, metadata=metadata)


@dataclass(frozen=True, slots=True)
class _Map:
    """One heat map: the share of guesses each cell got, shape (n_cells,), whose they are, and how many."""

    shares: FloatArray
    name: str
    size: str

    @classmethod
    def of(cls, name: str, counts: ArrayLike, what: str, grid: Grid) -> _Map:
        mass = np.atleast_2d(checked_mass(counts, grid))
        total = float(mass.sum())
        size = f"{_plural(total, what)}, {_plural(int(mass.any(axis=-1).sum()), 'image')}"
        return cls(mass.sum(axis=0) / (total or 1.0), name, size)


def _draw_map(axes: Axes, one: _Map, grid: Grid, top: float) -> AxesImage:
    from matplotlib.patches import Rectangle

    image = axes.imshow(
        np.ma.masked_equal(one.shares, 0).reshape(grid.rows, grid.cols),
        cmap="magma_r",
        vmin=0,
        vmax=top,
        extent=(0.5, grid.cols + 0.5, grid.rows + 0.5, 0.5),
        aspect=grid.cell_height / grid.cell_width,
        interpolation="nearest",
    )
    if _has_window(grid):
        (first_row, last_row), (first_col, last_col) = PAPER_WINDOW
        corner, wide, high = (first_col - 0.5, first_row - 0.5), last_col - first_col + 1, last_row - first_row + 1
        axes.add_patch(Rectangle(corner, wide, high, fill=False, edgecolor="#2a9d8f", linewidth=1.0))
    axes.set_title(one.name, fontsize=_NAME, color=_INK, loc="left", pad=15)
    _above(axes, one.size, 5, fontsize=_SMALL, color=_FAINT)
    axes.set_xticks(range(1, grid.cols + 1))
    axes.set_yticks(range(1, grid.rows + 1), [row_name(row) for row in range(1, grid.rows + 1)])
    axes.tick_params(labelsize=_FOOT, length=0, pad=2, colors=_FAINT)
    axes.spines[:].set_color("#c9c9c9")
    return image


def _draw_accuracies(axes: Axes, groups: Sequence[GroupScore | None], sport: str | None, end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    there = [group for group in groups if group is not None]
    for place, group in enumerate(groups):
        if group is None:
            continue
        accuracy = group.metrics["accuracy"]
        color, marker = _LOOKS[group.kind]
        if accuracy.value is None:
            axes.annotate("no value", (0, place), (4, 0), textcoords="offset points", va="center", fontsize=_SMALL)
            continue
        low, high = accuracy.ci95 or (accuracy.value, accuracy.value)
        axes.hlines(place, low, high, color=color, linewidth=1.6)
        axes.plot([accuracy.value], [place], marker, color=color, markersize=5.5, clip_on=False)
        text = f"{accuracy.value:.1%}"
        axes.annotate(text, (high, place), (6, 0), textcoords="offset points", va="center", fontsize=_SMALL, color=_INK)
    axes.set_title(sport or "all sports", fontsize=_NAME, fontweight="bold", color=_INK, loc="left", pad=15)
    n = f"{_range([g.n_images for g in there], 'image')}, {_range([g.n_responses for g in there], 'response')} each"
    _above(axes, n, 5, fontsize=_SMALL, color=_FAINT)
    axes.set_ylim(-0.6, len(groups) - 0.4)
    axes.set_xlim(0, end)
    # There is room beyond 100%, but no such accuracy.
    axes.set_xticks([tick for tick in MaxNLocator(6).tick_values(0, end) if tick <= min(end, 1)])
    axes.xaxis.set_major_formatter(_percent)
    axes.tick_params(labelsize=_SMALL, colors=_INK, length=0)
    axes.tick_params(axis="y", labelsize=_NAME)
    axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color("#b0b0b0")


def _above(axes: Axes, text: str, points: float, **look: Any) -> None:
    """Text this many points above the axes, flush with their left edge."""
    axes.annotate(text, (0, 1), (0, points), xycoords="axes fraction", textcoords="offset points", **look)


def _reading(report: ScoreReport) -> str:
    """How to read the accuracy chart."""
    text = "Dot: share of responses that name a cell the ball is in; an unparsed response is a wrong one."
    if report.policy.bootstrap:
        text += f" Line: 95% bootstrap interval over {report.policy.cluster}s."
    values = [group.metrics["accuracy"].value for group in report.groups if _is_oracle(group)]
    if known := sorted({f"{value:.0%}" for value in values if value is not None}):
        text += f" Not drawn: oracle, which knows the ball's cells ({', '.join(known)})."
    return text


def _legend(groups: Iterable[GroupScore]) -> list[Line2D]:
    """A handle for each kind of respondent, none if there is but one."""
    from matplotlib.lines import Line2D

    kinds = sorted({group.kind for group in groups if group.kind is not None}, key=get_args(Kind).index)
    looks = [(kind, *_LOOKS[kind]) for kind in kinds] if len(kinds) > 1 else []
    return [Line2D([], [], color=color, marker=marker, markersize=5.5, label=kind) for kind, color, marker in looks]


def _new_figure(*, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("drawing", "report") from error
    return Figure(figsize=(_WIDTH, height), facecolor="white")


def _frame(figure: Figure, title: str, feet: Sequence[str], legend: Sequence[Line2D] = ()) -> None:
    """Title above, small type below, both flush left."""
    x, y = _at(figure, _MARGIN, _MARGIN)
    figure.suptitle(title, x=x, y=y, ha="left", va="top", fontsize=_TITLE, fontweight="bold", color=_INK)
    _, y = _at(figure, 0, figure.get_figheight() - _MARGIN)
    foot = "\n".join(feet)
    figure.supxlabel(foot, x=x, y=y, ha="left", va="bottom", fontsize=_FOOT, color=_FAINT, linespacing=1.5)
    if legend:
        corner = _at(figure, _WIDTH - _MARGIN, _MARGIN / 2)
        looks = {"ncols": len(legend), "fontsize": _SMALL, "frameon": False, "borderpad": 0.3}
        figure.legend(handles=legend, loc="upper right", bbox_to_anchor=corner, **looks)


def _wrapped(feet: Iterable[str]) -> list[str]:
    return [line for foot in feet for line in textwrap.wrap(foot, _FOOT_CHARACTERS, break_on_hyphens=False)]


def _foot_height(feet: Sequence[str]) -> float:
    return 2 * _MARGIN + len(feet) * 1.5 * _FOOT / 72


def _at(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """A point in inches from the top left, as matplotlib wants it: in shares of the figure from the bottom left."""
    return x / _WIDTH, 1 - y / figure.get_figheight()


def _axes_at(figure: Figure, x: float, y: float, wide: float, high: float) -> Axes:
    """Axes whose top left corner is at (x, y), all in inches from the figure's top left."""
    left, bottom = _at(figure, x, y + high)
    return figure.add_axes((left, bottom, wide / _WIDTH, high / figure.get_figheight()))


def _maps_across(rows: Iterable[Sequence[_Map]]) -> int:
    """How many maps stand side by side: few enough for the texts above them, and lines about equally full."""
    rows = list(rows)
    text = max(max(_NAME_WIDTH * len(one.name), _SMALL_WIDTH * len(one.size)) for row in rows for one in row)
    room = int((_WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / text)
    most = max(map(len, rows))
    return math.ceil(most / math.ceil(most / max(1, min(_MAPS_ACROSS, room))))


def _percent(share: float, _position: float = 0) -> str:
    return f"{100 * share:.4g}%"


def _labels(groups: Sequence[GroupScore]) -> list[str]:
    """What each group is called: by its respondent, and by its prompt where the respondent was asked with several."""
    prompts: dict[str | None, set[str | None]] = {}
    for group in groups:
        prompts.setdefault(group.respondent, set()).add(group.prompt)
    return [
        f"{group.respondent or 'all respondents'}" + (f", {group.prompt}" if len(prompts[group.respondent]) > 1 else "")
        for group in groups
    ]


def _mean_accuracy(groups: Iterable[GroupScore]) -> float:
    values = [value for group in groups if (value := group.metrics["accuracy"].value) is not None]
    return sum(values) / len(values) if values else -1.0


def _is_oracle(group: GroupScore) -> bool:
    return group.kind == "baseline" and group.respondent == "oracle"


def _has_window(grid: Grid) -> bool:
    return (grid.rows, grid.cols) == (6, 10)


def _plural(n: float, what: str) -> str:
    return f"{n:,.10g} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"


def _range(values: Sequence[int], what: str) -> str:
    low, high = min(values), max(values)
    return _plural(low, what) if low == high else f"{low:,}–{_plural(high, what)}"
