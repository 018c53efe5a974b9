"""Draw the accuracy of respondents from a score report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from spotball_core.errors import OptionError
from spotball_core.plots.canvas import FigureFrame, columns, plain_style
from spotball_core.plots.dots import NAME_ROOM, PROMPT_ROOM, Dot, DotChart, DotPanel
from spotball_core.plots.theme import group_marker, look_of, markers
from spotball_core.text.words import shortened, span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spotball_core.schema.report import GroupScore, ScoreReport


def accuracy_chart(report: ScoreReport) -> Figure:
    """Draw accuracy with its 95% interval: one row per respondent and prompt, one panel per sport, the best at the top.

    The baseline `oracle`, which is always right, is excluded, because it would compress the scale of the others.

    Raises:
        MissingExtraError: if matplotlib is not installed.
        OptionError: if no group other than `oracle` has an accuracy.
    """
    drawn = [group for group in report.groups if not _is_oracle(group)]
    means: dict[str, list[float]] = {group.respondent or "": [] for group in drawn}
    for group in drawn:
        if (value := group.metrics["accuracy"].value) is not None:
            means[group.respondent or ""].append(value)
    if not any(means.values()):
        raise OptionError(
            "no respondent other than `oracle` has an accuracy to draw. Add `ball_cells` to the scenes, or responses "
            "of another respondent",
            code="no-data",
        )
    order = sorted(means, key=lambda name: -sum(means[name]) / (len(means[name]) or 1))
    sports = dict.fromkeys(group.sport for group in drawn)
    panels = tuple(
        _panel(sport, sorted((g for g in drawn if g.sport == sport), key=lambda g: order.index(g.respondent or "")))
        for sport in sports
    )
    chart = DotChart(panels, "accuracy", "share")
    with plain_style():
        frame = FigureFrame("Accuracy", (_caption(report), report.signature), columns(min(len(panels), 3)))
        return chart.draw(range(len(panels)), frame)


def _panel(sport: str | None, groups: Sequence[GroupScore]) -> DotPanel:
    several = _asked_several(groups)
    by_prompt = markers(sorted({group.prompt or "" for group in groups}))
    dots = []
    for group in groups:
        accuracy, name = group.metrics["accuracy"], group.respondent or "all respondents"
        prompt = (group.prompt or "") if group.respondent in several else ""
        looks = look_of(name, group.kind).color, group_marker(group.kind, by_prompt[group.prompt or ""])
        labels = shortened(name, NAME_ROOM), shortened(prompt, PROMPT_ROOM)
        note = "no value" if accuracy.value is None else ""
        dots.append(Dot(*labels, *looks, accuracy.value, accuracy.ci95, note=note))
    n = f"{span([g.n_images for g in groups], 'image')}, {span([g.n_responses for g in groups], 'response')} each"
    return DotPanel(sport or "all sports", n, tuple(dots))


def _asked_several(groups: Iterable[GroupScore]) -> set[str | None]:
    """Return the respondents with several prompts."""
    prompts: dict[str | None, set[str | None]] = {}
    for group in groups:
        prompts.setdefault(group.respondent, set()).add(group.prompt)
    return {respondent for respondent, names in prompts.items() if len(names) > 1}


def _caption(report: ScoreReport) -> str:
    """Describe the dots, the lines, and what the chart does not show."""
    text = "Dots show the share of responses that name a cell with the ball. Unparsed responses count as wrong."
    if report.policy.bootstrap:
        text += f" Lines show 95% bootstrap intervals over {report.policy.cluster}s."
    values = [group.metrics["accuracy"].value for group in report.groups if _is_oracle(group)]
    if known := sorted({f"{value:.0%}" for value in values if value is not None}):
        text += f" The baseline oracle knows the ball's cells and is not shown (accuracy {', '.join(known)})."
    return text


def _is_oracle(group: GroupScore) -> bool:
    return group.kind == "baseline" and group.respondent == "oracle"
