"""The sections on single metrics: accuracy, distances, center and spread, each with its dot chart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.grid import FloatArray, Grid
from spotball_core.metrics.registry import METRICS
from spotball_core.metrics.task import euclidean_error
from spotball_core.report.analysis import Analysis
from spotball_core.report.cases import uniform_distances
from spotball_core.report.charts_dots import Dot, DotChart, Panel, Rule
from spotball_core.report.numbers import number, quantity, span, told, unit_of, within
from spotball_core.report.page_parts import Cell, Picture, Rows, Section, Table
from spotball_core.report.sections_tables import caption, cell, has_values, head, names

if TYPE_CHECKING:
    from spotball_core.groups import Group
    from spotball_core.schema.report import GroupScore

OFF_SCALE = 2.0
"""The oracle's accuracy is written, not drawn, where it is this many times what anybody else reaches."""

UNEVEN = 1.1
"""Entropies do not compare where one respondent answers this many times as often as another."""

NO_REFERENCE = "No respondent was named to compare with; name one, such as `--reference human`."

UNIFORM = "guessing every cell alike"
LIKE_THE_BALL = "like the ball"


def accuracy(analysis: Analysis) -> Section:
    """How often the ball is found (Figure 4)."""

    def guessing(truth: FloatArray, _: Grid) -> FloatArray:
        share: FloatArray = truth.mean(axis=-1)
        return share

    chance = {sport: _mean_over_truth(analysis, sport, guessing) for sport in analysis.sports}
    lead = "How often a response names a cell the ball is in. A response that names no cell is wrong."
    return dots_section(analysis, "accuracy", "accuracy", "Is the ball found?", lead, chance, "highest")


def error(analysis: Analysis) -> Section:
    """How far off the guesses are."""

    def guessing(truth: FloatArray, grid: Grid) -> FloatArray:
        return euclidean_error(np.ones(truth.shape[-1]), truth, grid=grid)

    chance = {sport: _mean_over_truth(analysis, sport, guessing) for sport in analysis.sports}
    lead = (
        "How far a guessed cell's center is from that of the nearest cell with the ball: the mean over an image's "
        "responses, then over images."
    )
    return dots_section(analysis, "euclidean_error", "error", "How far off are the guesses?", lead, chance, "lowest")


def alignment(analysis: Analysis) -> Section:
    """How far a respondent's guesses are from the reference's (Figures 6 and 9)."""
    title = f"How close to {analysis.reference}?" if analysis.reference else "How close to people?"
    if not analysis.reference:
        return Section("alignment", title, missing=NO_REFERENCE)
    if not has_values(analysis, "wasserstein"):
        why = f"Nobody but {analysis.reference} answered images that {analysis.reference} answered too."
        return Section("alignment", title, missing=why)
    lead = (
        f"How far a respondent's guesses of an image have to be moved, on average, to become {analysis.reference}'s: "
        "the Wasserstein distance between the two distributions, mean over images. Lower is closer."
    )
    uniform = uniform_distances(analysis.scoring)
    chance = {sport: _mean_known(uniform[analysis.places_of(sport)]) for sport in analysis.sports}
    color = analysis.looks[analysis.reference].color
    rules = {
        sport: Rule(half.value, f"two halves of {analysis.reference_label}", color, half.ci95)
        for sport, half in ((sport, ceiling.split_half) for sport, ceiling in analysis.ceilings.items())
        if half.value is not None
    }
    section = dots_section(analysis, "wasserstein", "alignment", title, lead, chance, "closest", rules)
    said = (
        "The band is the noise ceiling: the distance between two random halves of the participants of "
        f"{analysis.reference}. The short upright lines are the sampling floor: what a respondent would get that "
        f"draws from {analysis.reference}'s own distribution as often as this one answered."
        if rules
        else f"There is no noise ceiling here: {no_ceiling(analysis)}"
    )
    return Section(section.name, section.title, (*section.lead, said), section.points, pictures=section.pictures)


def no_ceiling(analysis: Analysis) -> str:
    """Why there is no noise ceiling."""
    return f"the answers of {analysis.reference} do not tell two or more participants apart."


def center(analysis: Analysis) -> Section:
    """Where on the image guesses gather, and how widely they spread (Table 3)."""
    lead = (
        "Center ratio: the share of the guesses in the center window over that of the ball's cells; above 1 is a lean "
        "to the center. The window, rows 2–4 and columns 3–7 of the paper's grid, is half a cell left of and above the "
        "middle; the symmetric center bias, the mean distance from the image's center over that of the ball (below 1 "
        "is a lean to the center), is the measure to prefer. Normalized entropy says how widely all guesses spread "
        "over the benchmark, image entropy how unsure a respondent is about one image."
    )
    keys = ("center_ratio", "symmetric_center_bias", "normalized_entropy", "image_entropy")
    one = dict.fromkeys(analysis.sports, 1.0)
    ratio = dots_section(analysis, "center_ratio", "center", "", "", one, "highest", chance_name=LIKE_THE_BALL)
    spread = dots_section(analysis, "normalized_entropy", "entropy", "", "", {}, "most widely spread")
    table = Table(
        "center",
        caption("Center bias and entropy, with the mean over prompts where there are several", analysis),
        ("Respondent", "Prompt", *(head(key, analysis) for key in keys)),
        2,
        tuple(Rows(sport, _with_means(analysis, sport, keys)) for sport in analysis.sports),
        "Center bias and entropy as a table, with the means over prompts",
    )
    title = "Center and spread"
    parts = (("Center ratio", ratio), ("Entropy", spread))
    points = tuple(f"{name}, {point}" for name, part in parts for point in part.points)
    missing = tuple(part.missing for _, part in parts if part.missing)
    uneven = _uneven(analysis)
    pictures = (*ratio.pictures, *spread.pictures)
    return Section("center", title, (lead, *uneven, *missing), points, pictures=pictures, tables=(table,))


def _uneven(analysis: Analysis) -> tuple[str, ...]:
    """Whose entropies do not compare, for want of equal numbers of responses an image."""
    rates = [(score.n_responses - score.n_unparsed) / score.n_images for _, score in analysis.scored]
    if max(rates) <= UNEVEN * min(rates):
        return ()
    said = (
        f"Entropies grow with the number of responses, which is not the same for all ({min(rates):.3g} to "
        f"{max(rates):.3g} an image): differences between those who answered more and less often are in part that."
    )
    return (said,)


def _with_means(analysis: Analysis, sport: str, keys: tuple[str, ...]) -> tuple[tuple[Cell, ...], ...]:
    """A sport's rows, and behind the prompts of a respondent with several their mean, as in the paper's table."""
    rows: list[tuple[Cell, ...]] = []
    by_respondent: dict[str | None, list[tuple[Group, GroupScore]]] = {}
    for group, score in analysis.of_sport(sport):
        by_respondent.setdefault(group.respondent, []).append((group, score))
    for respondent, pairs in by_respondent.items():
        rows += [(*names(group), *(cell(key, score, analysis) for key in keys)) for group, score in pairs]
        if len(pairs) > 1:
            means = []
            for key in keys:
                values = [score.metrics[key].value for _, score in pairs]
                known = [value for value in values if value is not None]
                unit = unit_of(key, analysis.scoring.policy)
                means.append(Cell(number(sum(known) / len(known), unit) if len(known) == len(values) else "–"))
            rows.append((Cell(respondent or ""), Cell("mean"), *means))
    return tuple(rows)


def dots_section(
    analysis: Analysis,
    key: str,
    name: str,
    title: str,
    lead: str,
    chance: dict[str, float],
    best: str,
    rules: dict[str, Rule] | None = None,
    chance_name: str = UNIFORM,
) -> Section:
    """A section that is one metric's dot chart.

    Args:
        analysis: what is shown.
        key: the metric's.
        name: of the section and the chart's files.
        title: its heading.
        lead: what is measured.
        chance: by sport, what guessing every cell alike would get, or another value to read against.
        best: what the respondent with the best value is called.
        rules: by sport, a line and band to draw instead of the reference's own value.
        chance_name: what `chance` is.
    """
    metric, unit = METRICS[key], unit_of(key, analysis.scoring.policy)
    if not has_values(analysis, key):
        why = next((score.metrics[key].reason for _, score in analysis.scored if score.metrics[key].reason), "")
        return Section(name, title, missing=f"{metric.title} has no value here: {why}.")
    panels, alts, points = [], [], []
    for sport in analysis.sports:
        lines = [*([rules[sport]] if rules and sport in rules else _reference_rule(analysis, sport, key))]
        if sport in chance and np.isfinite(chance[sport]):
            lines.append(Rule(chance[sport], chance_name))
        dots = _dots(analysis, sport, key)
        scores = [score for _, score in analysis.of_sport(sport)]
        n_images, n_responses = [s.n_images for s in scores], [s.n_responses for s in scores]
        under = f"{span(n_images, 'image')}, {span(n_responses, 'response')} each"
        panels.append(Panel(sport, under, dots, tuple(lines)))
        said = _finding(analysis, sport, key, best)
        told_already = (analysis.reference_label, LIKE_THE_BALL)
        read = [f"{line.name}: {quantity(line.value, unit)}" for line in lines if line.name not in told_already]
        points.append("; ".join([said, *read]) + ".")
        alts.append(f"{metric.title} of {len(dots)} respondents and prompts. {points[-1]}")
    start = None if key in ("normalized_entropy", "image_entropy") else 0.0
    chart = DotChart(tuple(panels), _axis(key, analysis), lambda v: quantity(v, unit), unit == "share", start)
    parts = [f"Dots: {_axis(key, analysis)} of each respondent and prompt"]
    if analysis.scoring.policy.bootstrap:
        parts.append("lines: 95% bootstrap intervals over images")
    if not rules and analysis.reference and any(_reference_rule(analysis, sport, key) for sport in analysis.sports):
        parts.append(f"band: {analysis.reference}")
    if chance:
        parts.append(f"dashed: {chance_name}")
    if any(dot.note.endswith("→") for panel in panels for dot in panel.dots):
        parts.append("an arrow: off the scale")
    picture = Picture(name, metric.title, "; ".join(parts) + ".", chart, tuple(alts))
    return Section(name, title, (lead,) if lead else (), tuple(points), pictures=(picture,))


def _axis(key: str, analysis: Analysis) -> str:
    """What a metric's scale is; a share's unit is at its ticks."""
    return within(head(key, analysis).removesuffix(" (%)"))


def _dots(analysis: Analysis, sport: str, key: str) -> tuple[Dot, ...]:
    unit = unit_of(key, analysis.scoring.policy)
    pairs = [(g, s) for g, s in analysis.of_sport(sport) if s.metrics[key].value is not None]
    most = max((s.metrics[key].value or 0.0 for g, s in pairs if not _is_oracle(g)), default=0.0)
    floors = analysis.ceilings[sport].sampling_floor if key == "wasserstein" and sport in analysis.ceilings else {}
    dots = []
    for group, score in pairs:
        value, ends = score.metrics[key].value, score.metrics[key].ci95
        note = ""
        if key == "accuracy" and _is_oracle(group) and most and (value or 0.0) > OFF_SCALE * most:
            value, ends, note = None, None, quantity(value or 0.0, unit) + " →"
        looks = (analysis.color(group), analysis.marker(group))
        dots.append(Dot(*analysis.labels(group), *looks, value, ends, floors.get(group.name), note))
    return tuple(dots)


def _is_oracle(group: Group) -> bool:
    return group.kind == "baseline" and group.respondent == "oracle"


def _reference_rule(analysis: Analysis, sport: str, key: str) -> list[Rule]:
    """The reference's own value, to read the others against."""
    score = analysis.of_reference(sport)
    value = score.metrics[key] if score else None
    drawn = {dot.respondent: dot.value for dot in _dots(analysis, sport, key)}
    label = analysis.reference_label
    if value is None or value.value is None or drawn.get(label) is None:
        return []
    return [Rule(value.value, label, analysis.looks[str(analysis.reference)].color, value.ci95)]


def _finding(analysis: Analysis, sport: str, key: str, best: str) -> str:
    """A sport's reference and extremes, in words."""
    unit = unit_of(key, analysis.scoring.policy)
    parts = []
    score = analysis.of_reference(sport)
    if score and score.metrics[key].value is not None:
        parts.append(f"{analysis.reference} {told(score.metrics[key], unit)}")
    explained = {group.number for group in analysis.explained}
    others = [
        (value, group, s.metrics[key])
        for group, s in analysis.of_sport(sport)
        if group.number in explained and (value := s.metrics[key].value) is not None
    ]
    if others:
        ascending = best in ("lowest", "closest")
        order = sorted(others, key=lambda one: one[0], reverse=not ascending)
        first, last = order[0], order[-1]
        word = f"{best} of the others " if parts else f"{best} "
        parts.append(f"{word if len(order) > 1 else ''}{analysis.name(first[1])} {told(first[2], unit)}")
        if len(order) > 1:
            opposite = {"lowest": "highest", "closest": "farthest", "highest": "lowest"}.get(best, "least spread")
            parts.append(f"{opposite} {analysis.name(last[1])} {told(last[2], unit)}")
    return f"{sport}: " + ", ".join(parts)


def _mean_over_truth(analysis: Analysis, sport: str, function: Callable[[FloatArray, Grid], FloatArray]) -> float:
    """The mean over a sport's scored images of a function of their truth."""
    arrays = analysis.scoring.arrays
    here = [p for p in analysis.places_of(sport) if arrays.has_truth[p]]
    values = [float(function(arrays.truth[p].astype(float), arrays.grids[arrays.grid_of[p]])) for p in here]
    return _mean_known(np.array(values))


def _mean_known(values: FloatArray) -> float:
    """The mean of the values that are known; NaN if none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
