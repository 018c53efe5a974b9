"""How accurate respondents are: a dot with its interval for each, a panel for each sport."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from spotball_core.errors import OptionError
from spotball_core.plots.sheet import (
    ABOVE,
    BELOW,
    FAINT,
    HEADER,
    INK,
    MARGIN,
    NAME,
    NAME_WIDTH,
    SMALL,
    WIDTH,
    above_axes,
    axes_at,
    entitle,
    foot_height,
    new_sheet,
    percent,
    wrapped,
)
from spotball_core.schema.response import Kind
from spotball_core.text.numbers import span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from spotball_core.schema.report import GroupScore, ScoreReport

_CHART_ROW, _CHART_GAP = 0.27, 0.2  # inches
_CHARTS_ACROSS = 3

_LOOKS = {"human": ("#D55E00", "D"), "model": ("#0072B2", "o"), "baseline": ("#5f5f5f", "s"), None: ("#0072B2", "o")}
"""Color (of the Okabe-Ito palette, or gray) and marker of each kind of respondent: told apart by either alone."""


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
    feet = wrapped([_reading(report), report.signature])

    across = min(_CHARTS_ACROSS, len(sports))
    left = MARGIN + NAME_WIDTH * max(map(len, labels)) + 0.1
    step = (WIDTH - left - MARGIN + _CHART_GAP) / across
    wide, high = step - _CHART_GAP, _CHART_ROW * len(labels)
    line = ABOVE + high + BELOW
    figure = new_sheet(height=HEADER + math.ceil(len(sports) / across) * line + foot_height(feet))
    for place, sport in enumerate(sports):
        down, right = divmod(place, across)
        axes = axes_at(figure, left + right * step, HEADER + down * line + ABOVE, wide, high)
        _draw_accuracies(axes, [by_label[label].get(sport) for label in labels], sport, end)
        axes.set_yticks(range(len(labels)), labels if right == 0 else [])
    entitle(figure, "Accuracy", feet, legend=_legend(drawn))
    return figure


def _draw_accuracies(axes: Axes, groups: Sequence[GroupScore | None], sport: str | None, end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    there = [group for group in groups if group is not None]
    for place, group in enumerate(groups):
        if group is None:
            continue
        accuracy = group.metrics["accuracy"]
        color, marker = _LOOKS[group.kind]
        if accuracy.value is None:
            axes.annotate("no value", (0, place), (4, 0), textcoords="offset points", va="center", fontsize=SMALL)
            continue
        low, high = accuracy.ci95 or (accuracy.value, accuracy.value)
        axes.hlines(place, low, high, color=color, linewidth=1.6)
        axes.plot([accuracy.value], [place], marker, color=color, markersize=5.5, clip_on=False)
        text = f"{accuracy.value:.1%}"
        axes.annotate(text, (high, place), (6, 0), textcoords="offset points", va="center", fontsize=SMALL, color=INK)
    axes.set_title(sport or "all sports", fontsize=NAME, fontweight="bold", color=INK, loc="left", pad=15)
    n = f"{span([g.n_images for g in there], 'image')}, {span([g.n_responses for g in there], 'response')} each"
    above_axes(axes, n, 5, fontsize=SMALL, color=FAINT)
    axes.set_ylim(-0.6, len(groups) - 0.4)
    axes.set_xlim(0, end)
    # There is room beyond 100%, but no such accuracy.
    axes.set_xticks([tick for tick in MaxNLocator(6).tick_values(0, end) if tick <= min(end, 1)])
    axes.xaxis.set_major_formatter(percent)
    axes.tick_params(labelsize=SMALL, colors=INK, length=0)
    axes.tick_params(axis="y", labelsize=NAME)
    axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color("#b0b0b0")


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
