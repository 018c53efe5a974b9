"""The sections on guesses beside people's: the noise ceiling, where guesses fall, what explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spotball_core.grid import FloatArray
from spotball_core.report.analysis import RESAMPLES, Analysis
from spotball_core.report.charts_dots import Dot, DotChart, Panel, Rule
from spotball_core.report.charts_mixture import Mix, MixPanel, MixtureChart
from spotball_core.report.maps import map_row
from spotball_core.report.numbers import interval, listed, number, plural, quantity, span, told, unit_of
from spotball_core.report.page_parts import Cell, Picture, Rows, Section, Table
from spotball_core.report.sections_scores import NO_REFERENCE, no_ceiling
from spotball_core.report.sections_tables import names

if TYPE_CHECKING:
    from spotball_core.schema.report import Ceiling
    from spotball_core.stats.mixture import Mixture


def ceiling(analysis: Analysis) -> Section:
    """How close anyone can get to people, and how much of the way each respondent went."""
    title = "How close can anyone get?"
    if not analysis.reference:
        return Section("ceiling", title, missing=NO_REFERENCE)
    if not analysis.ceilings:
        return Section("ceiling", title, missing=f"There is no noise ceiling: {no_ceiling(analysis)}")
    reference, unit = analysis.reference, unit_of("wasserstein", analysis.scoring.policy)
    lead = (
        "Participants differ among themselves, so that nobody can be at distance 0 from all of them. The noise ceiling "
        f"is the distance between two random halves of the participants of {reference}. The score puts every "
        "respondent between guessing every cell alike (0) and that ceiling (1)."
    )
    panels, alts, points = [], [], []
    for sport, one in analysis.ceilings.items():
        dots = tuple(
            Dot(*analysis.labels(g), analysis.color(g), analysis.marker(g), one.score[g.name])
            for g, _ in analysis.of_sport(sport)
            if g.name in one.score
        )
        rules = (Rule(0.0, "every cell alike"), Rule(1.0, "ceiling", analysis.looks[reference].color))
        under = f"{plural(one.n_participants, 'participant')}, {plural(one.n_images, 'image')}"
        points.append(_ceiling_words(one, unit, analysis))
        if dots:
            panels.append(Panel(sport, under, dots, rules))
            alts.append(points[-1])
    pictures = []
    if panels:
        chart = DotChart(tuple(panels), "score: 0 = every cell alike, 1 = ceiling", lambda v: f"{v:.2f}")
        caption = f"Dots: how far a respondent went from guessing every cell alike to the ceiling of {reference}."
        pictures.append(Picture("ceiling", "Between chance and the noise ceiling", caption, chart, tuple(alts)))
    tables = (_ceiling_table(analysis, unit),)
    return Section("ceiling", title, (lead,), tuple(points), pictures=tuple(pictures), tables=tables)


def _ceiling_words(one: Ceiling, unit: str, analysis: Analysis) -> str:
    words = (
        f"{one.sport}: two halves of {one.n_participants} participants are {told(one.split_half, unit)} apart, "
        f"guessing every cell alike is {quantity(one.uniform, unit)} away; a participant is right in "
        f"{told(one.participant_accuracy, 'share')}, the others' most named cell in "
        f"{told(one.leave_one_out_accuracy, 'share')}"
    )
    scores = {g: one.score[g.name] for g, _ in analysis.of_sport(one.sport) if g.name in one.score}
    if scores:
        best = max(scores, key=lambda group: scores[group])
        words += f"; highest score {scores[best]:.2f}, of {analysis.name(best)}"
    return words + "."


def _ceiling_table(analysis: Analysis, unit: str) -> Table:
    heads = ("Respondent", "Prompt", f"Wasserstein distance ({unit})", f"Sampling floor ({unit})", "Score")
    groups = []
    for sport, one in analysis.ceilings.items():
        rows = []
        for group, score in analysis.of_sport(sport):
            value = score.metrics["wasserstein"]
            if group.name in one.score and value.value is not None:
                distance = Cell(number(value.value, unit), interval(value.ci95, unit))
                floor = Cell(number(one.sampling_floor[group.name], unit))
                rows.append((*names(group), distance, floor, Cell(f"{one.score[group.name]:.2f}")))
        groups.append(Rows(sport, tuple(rows)))
    caption = (
        "Distance, what a respondent would get that draws from the reference's own distribution as often (sampling "
        "floor), and score."
    )
    return Table("floors", caption, heads, 2, tuple(groups), "Distances, floors and scores as a table")


# Where guesses fall ------------------------------------------------------------------------------------------


def pooled(analysis: Analysis) -> tuple[dict[str, dict[str, FloatArray]], dict[str, FloatArray]]:
    """By sport: how often each group named each cell of each image, and where the ball is on the scored images."""
    guesses: dict[str, dict[str, FloatArray]] = {}
    for group, _ in analysis.scored:
        mass = analysis.scoring.estimator(group).answers.mass
        guesses.setdefault(group.sport or "", {})[analysis.name(group)] = mass
    arrays = analysis.scoring.arrays
    return guesses, {sport: arrays.truth[analysis.places_of(sport)].astype(float) for sport in guesses}


def where(analysis: Analysis) -> Section:
    """Where guesses fall, pooled over images, beside where the ball is."""
    guesses, truth = pooled(analysis)
    grid = analysis.scoring.arrays.grids[0]
    rows = []
    for sport, by_name in guesses.items():
        masses = {"the ball": (truth[sport], "cell")} | {name: (mass, "guess") for name, mass in by_name.items()}
        rows.append(map_row(sport, masses, grid, analysis.scoring.policy.window))
    lead = (
        "Guesses pooled over images: where a respondent looks for the ball whatever the image shows. The outline is "
        "the center window; maps of a sport share one scale."
    )
    return Section("where", "Where do guesses fall?", (lead,), maps=tuple(rows))


# What explains a respondent ----------------------------------------------------------------------------------


def mixture(analysis: Analysis) -> Section:
    """What mixture of simple guessers and people each respondent's guesses look like."""
    title = "What explains a respondent?"
    if not analysis.mixtures:
        why = "; ".join(analysis.unexplained)
        return Section("mixture", title, missing=f"Nobody's guesses can be taken apart: {why}.")
    reference = analysis.reference
    people = f", and {reference} (people), whose own mixture is without that part" if reference else ""
    lead = (
        "Each respondent's guesses as a mixture of simpler guessers, fitted by maximum likelihood: with which "
        "probability a guess came from which part. The parts: every cell alike (uniform), the image's center, the "
        "nearest player, where the ball is in the sport's other images (prior), the ball itself (truth)"
        f"{people}. Parts that resemble each other on the images share their weight, and the intervals say how far."
    )
    notes = sorted({note for one in analysis.mixtures.values() for note in one.notes} | set(analysis.unexplained))
    parts = tuple(dict.fromkeys(part for one in analysis.mixtures.values() for part in one.weights))
    panels, points, tables = [], [], []
    for sport in analysis.sports:
        found = [(g, one) for g, _ in analysis.of_sport(sport) if (one := analysis.mixtures.get(g.name))]
        if not found:
            continue
        mixes = tuple(
            Mix(
                *analysis.labels(group),
                analysis.color(group),
                analysis.marker(group),
                {part: (w.value, w.ci95) for part, w in one.weights.items() if w.value is not None},
            )
            for group, one in found
        )
        panels.append(MixPanel(sport, f"{span([one.n_images for _, one in found], 'image')} each", mixes))
        points.append(f"{sport}: {_largest({analysis.name(group): one for group, one in found})}.")
        rows = tuple((*names(group), *_weights(one, parts)) for group, one in found)
        tables.append(Rows(sport, rows))
    lines = f" Lines: 95% intervals of {RESAMPLES} resamples of images." if analysis.scoring.policy.bootstrap else ""
    caption = f"Weight of each part in each respondent's guesses, from 0 to 100%.{lines}"
    chart = MixtureChart(tuple(panels), parts)
    picture = Picture("mixture", "What explains each respondent", caption, chart, tuple(points))
    table = Table(
        "weights",
        "Weight of each part in %, its 95% interval, and in italics its share of the log likelihood gained over "
        "guessing every cell alike (Shapley value).",
        ("Respondent", "Prompt", *parts),
        2,
        tuple(tables),
        "Weights, intervals and shares of the log likelihood as a table",
    )
    said = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
    return Section("mixture", title, (lead, *said), tuple(points), pictures=(picture,), tables=(table,))


def _largest(mixtures: Mapping[str, Mixture]) -> str:
    """Whose largest part is which, with the range of its weights."""
    by_part: dict[str, dict[str, float]] = {}
    for name, one in mixtures.items():
        values = {part: weight.value or 0.0 for part, weight in one.weights.items()}
        part = max(values, key=lambda part: values[part])
        by_part.setdefault(part, {})[name] = values[part]
    said = []
    for part, weights in sorted(by_part.items(), key=lambda item: -len(item[1])):
        low, high = quantity(min(weights.values()), "share"), quantity(max(weights.values()), "share")
        range_ = low if low == high else f"{low} to {high}"
        said.append(f"{part} is the largest part of {listed(list(weights))} ({range_})")
    return "; ".join(said)


def _weights(one: Mixture, parts: tuple[str, ...]) -> list[Cell]:
    cells = []
    for part in parts:
        if part not in one.weights:
            cells.append(Cell("–"))
            continue
        weight = one.weights[part]
        share = f"{one.explained[part]:.0%}" if part in one.explained else ""
        cells.append(Cell(number(weight.value or 0.0, "share"), interval(weight.ci95, "share"), share))
    return cells
