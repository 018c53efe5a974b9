"""Write the sections that compare with people: noise ceiling, heat maps of guesses, and mixtures."""

from __future__ import annotations

from collections.abc import Mapping

from spotball_core.pages.maps import MapFigure
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.heat_maps import HeatMapChart
from spotball_core.report.charts.mixture import Mix, MixPanel, MixtureChart
from spotball_core.report.maps import sport_maps
from spotball_core.report.sections.scores import NO_REFERENCE, described, no_ceiling
from spotball_core.report.sections.tables import names
from spotball_core.report.view import PageView
from spotball_core.schema.mixture import Mixture
from spotball_core.schema.report import Ceiling
from spotball_core.text.numbers import interval, listed, number, plural, quantity, span, told, unit_of, window_words

MAPS = "guess-maps"

_LISTED = 6
"""Maximum number of respondents and prompts that a sentence lists."""


def ceiling(view: PageView) -> Section:
    """Return the section on how close a respondent can get to people, and how close each respondent gets."""
    title = "How close to the reference can a respondent get?"
    if not view.reference:
        return Section("ceiling", title, missing=NO_REFERENCE)
    if not view.ceilings:
        return Section("ceiling", title, missing=f"The noise ceiling is missing: {no_ceiling(view)}")
    reference, unit = view.reference, unit_of("wasserstein", view.policy)
    lead = (
        "Participants differ from each other, so the distance between two samples of participants is not 0. The noise "
        f"ceiling is the distance between two random halves of the participants of {reference}. The score of a "
        f"respondent is 0 for uniform guessing, and 1 for answers like those of {reference}. It uses the matched "
        "distance, which does not depend on the number of responses."
    )
    panels, alts, points = [], [], []
    for sport, of_sport in view.ceilings.items():
        dots = tuple(
            Dot(
                *view.labels(g),
                view.color(g),
                view.marker(g),
                of_sport.score[g.name].value,
                of_sport.score[g.name].ci95,
            )
            for g in view.of_sport(sport)
            if g.name in of_sport.score
        )
        rules = (ReferenceLine(0.0, "uniform guessing"), ReferenceLine(1.0, reference, view.looks[reference].color))
        under = f"{plural(of_sport.n_participants, 'participant')}, {plural(of_sport.n_images, 'image')}"
        points.append(_ceiling_words(of_sport, unit, view))
        if dots:
            panels.append(DotPanel(sport, under, dots, rules))
            alts.append(points[-1])
    pictures = []
    if panels:
        chart = DotChart(tuple(panels), f"score: 0 = uniform guessing, 1 = {reference}", "score")
        parts = ["Dots show the score of each respondent and prompt"]
        if view.policy.bootstrap:
            parts.append("Lines show 95% bootstrap intervals over images")
        parts += described(rules)
        caption = ". ".join(parts) + "."
        pictures.append(PagePicture("ceiling", "Between chance and the noise ceiling", caption, chart, tuple(alts)))
    tables = (_ceiling_table(view, unit),)
    return Section("ceiling", title, (lead,), tuple(points), pictures=tuple(pictures), tables=tables)


def _ceiling_words(one: Ceiling, unit: str, view: PageView) -> str:
    words = (
        f"{one.sport}: before matching, the distance between two halves of {one.n_participants} participants is "
        f"{told(one.split_half, unit)}, and that of uniform guessing is {quantity(one.uniform, unit)}. A "
        f"participant finds the ball in {told(one.participant_accuracy, 'share')} of guesses, and the most frequent "
        f"cell of the other participants in {told(one.leave_one_out_accuracy, 'share')}"
    )
    known = [(g, one.score[g.name]) for g in view.of_sport(one.sport) if g.name in one.score]
    scores = [(score.value, told(score, "score"), g) for g, score in known if score.value is not None]
    if scores:
        _, best_score, best = max(scores, key=lambda found: found[0])
        words += f". The highest score is {best_score}, of {view.name(best)}"
    return words + "."


def _ceiling_table(view: PageView, unit: str) -> PageTable:
    heads = ("Respondent", "Prompt", f"Wasserstein distance ({unit})", f"Sampling floor ({unit})", "Score")
    groups = []
    for sport, of_sport in view.ceilings.items():
        rows = []
        for group in view.of_sport(sport):
            value = group.metrics["wasserstein"]
            if group.name in of_sport.score and value.value is not None:
                distance = TableCell(number(value.value, unit), interval(value.ci95, unit))
                floor = TableCell(number(of_sport.sampling_floor[group.name], unit))
                score = of_sport.score[group.name]
                words = "–" if score.value is None else number(score.value, "score")
                rows.append((*names(group), distance, floor, TableCell(words, interval(score.ci95, "score"))))
        groups.append(TableRows(sport, tuple(rows)))
    caption = (
        f"Distances from {view.reference}. The first column uses the responses of each respondent. The sampling floor "
        f"is the distance of the same number of random responses from the distribution of {view.reference}. The score "
        "does not depend on the number of responses."
    )
    return PageTable("floors", caption, heads, 2, tuple(groups), "Table of distances, floors and scores")


# Where guesses fall ------------------------------------------------------------------------------------------


def where(view: PageView) -> Section:
    """Return the section with heat maps of guesses, pooled over images, next to the ball's heat map."""
    sports = tuple(
        sport_maps(sport, numbers.ball, [(view.name(g), g.cells) for g in view.answers_of(sport)], view.grid)
        for sport, numbers in view.by_sport.items()
    )
    lead = (
        "These maps pool guesses over images, so they show where a respondent looks for the ball in all images. All "
        "maps have the same color scale."
    )
    window = view.page.window
    outline = f" The dashed line shows the center window ({window_words(window)})." if window else ""
    caption = f"Guesses pooled over images, and the cells of the ball. Blank cells have no guesses.{outline}"
    figure = MapFigure(MAPS, "Where respondents guess", caption, HeatMapChart(sports, view.grid, window))
    return Section("where", "Where do respondents guess?", (lead,), maps=figure)


# What explains a respondent ----------------------------------------------------------------------------------


def mixture(view: PageView) -> Section:
    """Return the section on the mixture of simple guessers and people that explains each respondent's guesses."""
    title = "Which strategies explain the guesses?"
    if not view.page.mixtures:
        why = "; ".join(view.page.unexplained)
        return Section("mixture", title, missing=f"No mixture could be fitted: {why}.")
    reference = view.reference
    people = (
        f" Another part, `people`, is the distribution of guesses of {reference}; the mixture of {reference} itself "
        "does not have it."
        if reference
        else ""
    )
    lead = (
        "A mixture of simple strategies describes the guesses of each respondent. It is fitted by maximum likelihood. "
        "The weight of a part is the probability that a guess came from this part. The parts are uniform guessing "
        "(uniform), the image's center, the nearest player, the position of the ball in the sport's other images "
        f"(prior), and the ball itself (truth).{people} If parts are similar on the images, the data cannot separate "
        "their weights, and the intervals are wide."
    )
    notes = sorted({note for mix in view.page.mixtures for note in mix.notes} | set(view.page.unexplained))
    parts = tuple(dict.fromkeys(part for mix in view.page.mixtures for part in mix.weights))
    panels, points, tables = [], [], []
    for sport in view.sports:
        explained_groups = [(g, mix) for g in view.of_sport(sport) if (mix := view.mixture(g))]
        if not explained_groups:
            continue
        mixes = tuple(
            Mix(
                *view.labels(group),
                view.color(group),
                view.marker(group),
                {part: (w.value, w.ci95) for part, w in mix.weights.items() if w.value is not None},
            )
            for group, mix in explained_groups
        )
        panels.append(MixPanel(sport, f"{span([mix.n_images for _, mix in explained_groups], 'image')} each", mixes))
        points.append(f"{sport}: {_largest({view.name(group): mix for group, mix in explained_groups})}.")
        rows = tuple((*names(group), *_weights(mix, parts)) for group, mix in explained_groups)
        tables.append(TableRows(sport, rows))
    lines = (
        f" Lines show 95% bootstrap intervals ({view.page.mixture_resamples} resamples of images)."
        if view.policy.bootstrap
        else ""
    )
    caption = f"Weight of each part in each respondent's guesses, from 0 to 100%.{lines}"
    chart = MixtureChart(tuple(panels), parts)
    picture = PagePicture("mixture", "Mixture weights of each respondent", caption, chart, tuple(points))
    table = PageTable(
        "weights",
        "Weight of each part in %, with its 95% interval. Italics show the part's share of the gain in log likelihood "
        "over uniform guessing (Shapley value).",
        ("Respondent", "Prompt", *parts),
        2,
        tuple(tables),
        "Table of weights, intervals and shares of the log likelihood",
    )
    note_words = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
    return Section("mixture", title, (lead, *note_words), tuple(points), pictures=(picture,), tables=(table,))


def _largest(mixtures: Mapping[str, Mixture]) -> str:
    """Describe the largest part of each respondent's mixture, with the range of this part's weights."""
    by_part: dict[str, dict[str, float]] = {}
    for name, mix in mixtures.items():
        values = {part: weight.value or 0.0 for part, weight in mix.weights.items()}
        part = max(values, key=lambda part: values[part])
        by_part.setdefault(part, {})[name] = values[part]
    phrases = []
    for part, weights in sorted(by_part.items(), key=lambda item: -len(item[1])):
        low, high = quantity(min(weights.values()), "share"), quantity(max(weights.values()), "share")
        range_ = low if low == high else f"{low} to {high}"
        some = f"{len(weights)} of {len(mixtures)} respondents and prompts"
        who = listed(list(weights)) if len(weights) <= _LISTED else some
        phrases.append(f"{part} has the largest weight for {who} ({range_})")
    return "; ".join(phrases)


def _weights(one: Mixture, parts: tuple[str, ...]) -> list[TableCell]:
    cells = []
    for part in parts:
        if part not in one.weights:
            cells.append(TableCell("–"))
            continue
        weight = one.weights[part]
        share = f"{round(100 * one.explained[part])}%" if part in one.explained else ""
        cells.append(TableCell(number(weight.value or 0.0, "share"), interval(weight.ci95, "share"), share))
    return cells
