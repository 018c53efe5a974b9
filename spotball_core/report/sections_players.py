"""The sections on players: how near them guesses fall, how many there are, and the thresholds of being near."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spotball_core.grid import FloatArray
from spotball_core.metrics.inputs import share
from spotball_core.report.analysis import Analysis
from spotball_core.report.charts_density import Strip, StripChart, coverage
from spotball_core.report.charts_proximity import Point, ProximityChart, ProximityPanel
from spotball_core.report.charts_thresholds import SurfaceChart
from spotball_core.report.numbers import listed, plural, quantity, told
from spotball_core.report.page_parts import Picture, Section, Table
from spotball_core.report.sections_tables import by_sport, cell, head, names
from spotball_core.stats.bootstrap import percentile_interval, resample_weights

if TYPE_CHECKING:
    from spotball_core.groups import Group
    from spotball_core.report.page_parts import Cell
    from spotball_core.schema.report import GroupScore

NO_PLAYERS = "None of the scored images has player boxes."
KEYS = ("near_player_rate", "overlap_rate")


def proximity(analysis: Analysis) -> Section:
    """Near-player rate against overlap rate, with the truth's point (Figure 5)."""
    title = "Near the players, or on them?"
    if not analysis.has_players:
        return Section("players", title, missing=NO_PLAYERS)
    policy = analysis.scoring.policy
    lead = (
        f"Near: the guessed cell's center is within {100 * policy.tau:g}% of the image's diagonal of a "
        f"player's box. Overlap: a box covers at least {100 * policy.theta:g}% of the guessed cell. The star "
        "is where the ball's own cells are, all images weighing alike: a respondent up and right of it looks for the "
        "ball at the players more often than the ball is there."
    )
    panels, points = [], []
    for sport in analysis.sports:
        truth = truth_point(analysis, sport)
        found = _points(analysis, sport)
        if not found:
            continue
        n = int(np.sum(analysis.scoring.arrays.has_players[analysis.places_of(sport)]))
        panels.append(ProximityPanel(sport, f"{plural(n, 'image')} with players", found, truth))
        points.append(_words(analysis, sport, truth))
    lines = " Thin lines: 95% bootstrap intervals over images." if policy.bootstrap else ""
    caption = f"Near-player rate (across) and overlap rate (up) of each respondent and prompt.{lines} Star: the ball."
    chart = ProximityChart(tuple(panels))
    picture = Picture("proximity", "Near-player and overlap rates", caption, chart, tuple(points))

    def cells(group: Group, score: GroupScore) -> tuple[Cell, ...]:
        return (*names(group), *(cell(key, score, analysis) for key in KEYS))

    heads = ("Respondent", "Prompt", *(head(key, analysis) for key in KEYS))
    rows = by_sport(analysis, cells)
    table = Table("rates", "Near-player and overlap rates, with 95% intervals.", heads, 2, rows, "The rates as a table")
    return Section("players", title, (lead,), tuple(points), pictures=(picture,), tables=(table,))


def truth_point(analysis: Analysis, sport: str) -> tuple[float, float] | None:
    """Which share of the ball's cells is near a player, and on one: mean over the sport's images with players."""
    arrays = analysis.scoring.arrays
    here = [p for p in analysis.places_of(sport) if arrays.has_players[p] and arrays.has_truth[p]]
    if not here:
        return None
    truth = arrays.truth[here].astype(float)
    return float(share(truth, arrays.near[here]).mean()), float(share(truth, arrays.overlap[here]).mean())


def _points(analysis: Analysis, sport: str) -> tuple[Point, ...]:
    out = []
    for group, score in analysis.of_sport(sport):
        near, overlap = (score.metrics[key] for key in KEYS)
        if near.value is not None and overlap.value is not None:
            looks = (analysis.color(group), analysis.marker(group))
            ends = (near.ci95, overlap.ci95)
            out.append(Point(*analysis.labels(group), *looks, near.value, overlap.value, *ends))
    return tuple(out)


def _words(analysis: Analysis, sport: str, truth: tuple[float, float] | None) -> str:
    """A sport's rates in words: the ball's, the reference's, the range of the others'."""
    score = analysis.of_reference(sport)
    explained = {group.number for group in analysis.explained}
    others = [s for g, s in analysis.of_sport(sport) if g.number in explained]
    said = []
    for place, (key, title) in enumerate(zip(KEYS, ("near a player", "on one"), strict=True)):
        parts = [f"the ball {quantity(truth[place], 'share')}"] if truth else []
        if score and score.metrics[key].value is not None:
            parts.append(f"{analysis.reference} {told(score.metrics[key], 'share')}")
        values = [value for s in others if (value := s.metrics[key].value) is not None]
        if values:
            low, high = quantity(min(values), "share"), quantity(max(values), "share")
            parts.append(f"{'others' if score else 'guesses'} {low if low == high else f'{low} to {high}'}")
        said.append(f"{title}: {', '.join(parts)}")
    return f"{sport}: {'; '.join(said)}."


def density(analysis: Analysis) -> Section:
    """How many players there are, and how much of the image they cover (Figure 3)."""
    title = "How crowded are the images?"
    if not analysis.has_players:
        return Section("density", title, missing=NO_PLAYERS)
    scenes, policy = analysis.scenes, analysis.scoring.policy
    strips: tuple[list[Strip], list[Strip]] = ([], [])
    points = []
    for sport in analysis.sports:
        # Looked for and not found is 0 players; not looked for is not known.
        here = [scenes[p] for p in analysis.places_of(sport) if scenes[p].players is not None]
        if not here:
            continue
        n = np.array([len(scene.players or ()) for scene in here], dtype=float)
        covered = np.array([coverage(scene.boxes, scene.layout) for scene in here])
        found = [_strip(sport, values, policy.bootstrap, policy.seed) for values in (n, covered)]
        for of_measure, strip in zip(strips, found, strict=True):
            of_measure.append(strip)
        least, most = int(n.min()), int(n.max())
        points.append(
            f"{sport}: {found[0].mean:.2f} players an image ({least} to {most}), covering "
            f"{quantity(found[1].mean, 'share')} of it, mean of {plural(len(here), 'image')}."
        )
    lead = (
        "In a crowd most cells are near a player, whoever guesses: rates of sports that are not equally crowded do not "
        "compare."
    )
    of_n, of_area = (tuple(strip) for strip in strips)
    chart = StripChart((("Players per image", of_n, False), ("Share of the image covered", of_area, True)))
    caption = "Dots: images. Diamond: their mean" + (" with its 95% bootstrap interval." if policy.bootstrap else ".")
    caption += " Covered by two players is covered once."
    alts = tuple(
        f"{name}: {listed([f'{strip.name} mean {_said(strip.mean, percent)}' for strip in some])}."
        for name, some, percent in chart.measures
    )
    picture = Picture("density", "Players per image, and how much of it they cover", caption, chart, alts)
    return Section("density", title, (lead,), tuple(points), pictures=(picture,))


def _said(value: float, percent: bool) -> str:
    return quantity(value, "share") if percent else f"{value:.2f}"


def _strip(name: str, values: FloatArray, resamples: int, seed: int) -> Strip:
    drawn = resample_weights(len(values), resamples, seed) @ values / len(values)
    return Strip(name, values, float(values.mean()), percentile_interval(drawn) if resamples else None)


def thresholds(analysis: Analysis) -> Section:
    """The threshold fit (Figure 10)."""
    title = "How were the thresholds chosen?"
    surface = analysis.surface
    if surface is None:
        return Section("thresholds", title, missing=NO_PLAYERS)
    policy = analysis.scoring.policy
    tau, theta = surface.best
    n = int(surface.plateau.sum())
    lead = (
        "The paper chose τ and θ where the mean of near-player and overlap rate, over all responses, is largest. That "
        "mean can only grow with τ and shrink with θ, whatever people do: its maximum is at the edge of whatever range "
        "is searched, and says nothing about which thresholds are right."
    )
    row, col = np.abs(surface.taus - policy.tau).argmin(), np.abs(surface.thetas - policy.theta).argmin()
    at_chosen = quantity(float(surface.objective[row, col]), "share")
    most = quantity(float(surface.objective.max()), "share")
    point = (
        f"Of {plural(surface.n_responses, 'response')}: largest, {most}, at τ = {tau:g}, θ = {theta:g}; {at_chosen} at "
        f"this report's τ = {policy.tau:g}, "
        f"θ = {policy.theta:g}; {n} of {surface.plateau.size} pairs are within 1% of the largest."
    )
    caption = "Color: the objective at each pair of thresholds, all scored responses to images with players pooled."
    chart = SurfaceChart(surface, (policy.tau, policy.theta))
    picture = Picture("thresholds", "Objective of the threshold fit", caption, chart, (point,))
    return Section("thresholds", title, (lead,), (point,), pictures=(picture,))
