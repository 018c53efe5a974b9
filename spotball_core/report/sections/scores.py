"""Write the sections on single metrics: accuracy, distances, center and spread, each with its dot chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.report.numbers.records import MEAN_OVER_PROMPTS
from spotball_core.report.sections.tables import caption, cell, has_values, head, names
from spotball_core.report.view import PageView
from spotball_core.schema.report import GroupScore, sport_prefix
from spotball_core.text.numbers import number, quantity, ranged, told, unit_of
from spotball_core.text.words import listed, span, within

OFF_SCALE = 2.0
"""If the oracle's accuracy exceeds this multiple of the best other accuracy, it has a note instead of a dot."""

NO_REFERENCE = "No reference respondent was named. Name one, for example with `--reference human`."

INTERVALS = "Lines show 95% bootstrap intervals over images"
UNIFORM = "uniform guessing"
LIKE_THE_BALL = "like the ball"

Chance = dict[str, float | None]
"""For each sport, the score of uniform guessing, or another value that scores are compared with."""


def accuracy(view: PageView) -> Section:
    """Return the section on how often the ball is found (Spot the Ball, Figure 4)."""
    chance = {sport: numbers.uniform.accuracy for sport, numbers in view.by_sport.items()}
    lead = (
        "Accuracy is the share of responses that name a cell with the ball. A response that names no cell is wrong.",
    )
    return dots_section(
        view, "accuracy", "accuracy", "How often is the ball found?", lead, chance, "highest", short="Accuracy"
    )


def error(view: PageView) -> Section:
    """Return the section on how far the guesses are from the ball."""
    chance = {sport: numbers.uniform.euclidean_error for sport, numbers in view.by_sport.items()}
    lead = (
        (
            "The error is the distance between the centers of the guessed cell and the nearest cell with the ball. "
            "It is averaged over the responses to an image, and then over images."
        ),
    )
    return dots_section(
        view, "euclidean_error", "error", "How far are guesses from the ball?", lead, chance, "lowest", short="Error"
    )


def alignment(view: PageView) -> Section:
    """Return the section on the distance of guesses to the reference's guesses (Spot the Ball, Figures 6 and 9)."""
    title = f"How close are guesses to {view.reference_words or 'people'}?"
    if not view.reference:
        return Section("alignment", title, missing=NO_REFERENCE, short="Distance")
    if not has_values(view, "wasserstein_matched"):
        why = f"No other respondent has enough responses to the images that {view.reference_words} answered."
        return Section("alignment", title, missing=why, short="Distance")
    lead = (
        (
            "The Wasserstein distance is the average distance by which a respondent's guesses for an image must be "
            f"moved to match those of {view.reference_words}. It is averaged over images. Lower values are closer."
        ),
        (
            "The distance is matched: its estimate does not depend on the number of responses. It is 0 for a "
            f"respondent that answers like {view.reference_words}, and estimates near 0 may be negative."
        ),
    )
    chance = {sport: numbers.uniform.wasserstein_matched for sport, numbers in view.by_sport.items()}
    color = view.looks[view.reference].color
    rules = {sport: ReferenceLine(0.0, f"like {view.reference_label}", color) for sport in view.sports}
    return dots_section(
        *(view, "wasserstein_matched", "alignment", title, lead, chance, "closest", rules),
        from_zero=False,
        short="Distance",
    )


def no_ceiling(view: PageView) -> str:
    """Return the words that state why there is no noise ceiling."""
    return (
        f"the responses of {view.reference_words} name fewer than two participants. Name them in the column "
        "`participant`."
    )


def center(view: PageView) -> Section:
    """Return the section on the center bias and the spread of guesses (Spot the Ball, Table 3)."""
    lead = (
        (
            "The center ratio is the share of guesses in the center window, divided by the share of the ball's cells "
            "in it. A value above 1 means center bias. The window (rows 2–4 and columns 3–7 of the paper's grid) is "
            "half a cell left of the image's center, and half a cell above it."
        ),
        (
            "The symmetric center bias avoids this offset, so it is the better measure. It is the mean distance of "
            "guesses from the image's center, divided by that of the ball. A value below 1 means center bias."
        ),
        (
            "Normalized entropy measures how widely the guesses for all images together spread over the grid. Image "
            "entropy measures how uncertain a respondent is about one image. Both depend on the number of responses, "
            "so use the matched entropies to compare respondents."
        ),
    )
    keys = MEAN_OVER_PROMPTS
    equal: Chance = dict.fromkeys(view.sports, 1.0)
    ratio = dots_section(view, "center_ratio", "center", "", (), equal, "highest", chance_name=LIKE_THE_BALL)
    spread = dots_section(
        view, "normalized_entropy_matched", "entropy", "", (), {}, "most widely spread", from_zero=False
    )
    table = PageTable(
        "center",
        caption("Center bias and entropy, with the mean over prompts if a respondent has several", view),
        ("Respondent", "Prompt", *(head(key, view) for key in keys)),
        2,
        tuple(TableRows(sport, _with_means(view, sport, keys)) for sport in view.sports),
        "Table of center bias and entropy, with the means over prompts",
    )
    title = "Center and spread"
    parts = (("Center ratio", ratio), ("Entropy", spread))
    points = tuple(point if part.details else f"{name}, {point}" for name, part in parts for point in part.points)
    details = tuple(f"{name}, {point}" for name, part in parts for point in part.details)
    missing = tuple(part.missing for _, part in parts if part.missing)
    pictures = (*ratio.pictures, *spread.pictures)
    return Section(
        *("center", title, (*lead, *missing), points),
        short="Center",
        details=details,
        pictures=pictures,
        tables=(table,),
    )


def _with_means(view: PageView, sport: str, keys: tuple[str, ...]) -> tuple[tuple[TableCell, ...], ...]:
    """Return a sport's table rows. Respondents with several prompts also have a row of means over prompts, as in the
    paper."""
    rows: list[tuple[TableCell, ...]] = []
    scores = view.of_sport(sport)
    for respondent in dict.fromkeys(score.respondent for score in scores):
        own_scores = [score for score in scores if score.respondent == respondent]
        rows += [(*names(score, view), *(cell(key, score, view) for key in keys)) for score in own_scores]
        for means in view.page.prompt_means:
            if (means.sport, means.respondent) == (sport, respondent):
                values = ((means.metrics[key], unit_of(key, view.policy)) for key in keys)
                cells = (TableCell("–" if value is None else number(value, unit)) for value, unit in values)
                rows.append((TableCell(respondent or ""), TableCell("mean"), *cells))
    return tuple(rows)


def dots_section(
    view: PageView,
    key: str,
    name: str,
    title: str,
    lead: tuple[str, ...],
    chance: Chance,
    best: str,
    rules: dict[str, ReferenceLine] | None = None,
    chance_name: str = UNIFORM,
    from_zero: bool = True,
    short: str = "",
) -> Section:
    """Return a section with one metric's dot chart. Its sentence states the ranges of the values over sports.

    Args:
        view: the report with the names and looks of its groups.
        key: the metric's key.
        name: name of the section and of the chart's files.
        title: the section's heading.
        lead: paragraphs on what is measured.
        chance: by sport, the score of uniform guessing, or another value to compare with.
        best: the word for the best value, such as "highest".
        rules: by sport, a line and band to draw instead of the reference's value.
        chance_name: the label of `chance` in the chart.
        from_zero: whether the axis starts at zero.
        short: the section's name in the navigation.
    """
    metric, unit = METRICS[key], unit_of(key, view.policy)
    if not has_values(view, key):
        why = next((score.metrics[key].reason for score in view.scored if score.metrics[key].reason), "")
        return Section(name, title, missing=f"{metric.title} has no value in this report: {why}.", short=short)
    panels, alts, points = [], [], []
    for sport in view.sports:
        lines = [*([rules[sport]] if rules and sport in rules else _reference_rule(view, sport, key))]
        if (value := chance.get(sport)) is not None:
            lines.append(ReferenceLine(value, chance_name))
        scores = view.of_sport(sport)
        dots = dots_of(view, scores, key)
        n_images, n_responses = [s.n_images for s in scores], [s.n_responses for s in scores]
        under = f"{span(n_images, 'image')}, {span(n_responses, 'response')} each"
        panels.append(DotPanel(sport, under, dots, tuple(lines)))
        finding = _finding(view, sport, key, best)
        told_already = (view.reference_label, f"like {view.reference_label}", LIKE_THE_BALL)
        read = [f"{line.name}: {quantity(line.value, unit)}" for line in lines if line.name not in told_already]
        points.append("; ".join([finding, *read]) + ".")
        alts.append(f"{metric.title} of {len(dots)} respondents and prompts. {points[-1]}")
    start = 0.0 if from_zero else None
    chart = DotChart(tuple(panels), _axis(key, view), unit, start)
    parts = ["Each dot shows one respondent and prompt"]
    if view.policy.bootstrap:
        parts.append(INTERVALS)
    parts += described([line for panel in panels for line in panel.rules])
    if any(dot.note.endswith("→") for panel in panels for dot in panel.dots):
        parts.append("An arrow marks a value beyond the scale")
    picture = PagePicture(name, metric.title, ". ".join(parts) + ".", chart, tuple(alts))
    sentences = (_ranges(view, key, chance, chance_name),) if len(points) > 1 else tuple(points)
    details = tuple(points) if len(points) > 1 else ()
    return Section(name, title, lead, sentences, short=short, details=details, pictures=(picture,))


def _ranges(view: PageView, key: str, chance: Chance, chance_name: str) -> str:
    """State the lowest and highest values over sports, of the reference, the other respondents and uniform guessing."""
    unit = unit_of(key, view.policy)
    valued = [(value, score) for score in view.scored if (value := score.metrics[key].value) is not None]
    others = {id(score) for score in view.compared}
    parts = {
        view.reference_words: [value for value, score in valued if score.respondent == view.reference],
        "other respondents" if view.reference else "respondents": [
            value for value, score in valued if id(score) in others
        ],
        chance_name: [value for value in chance.values() if value is not None],
    }
    words = [f"{name} {ranged(values, unit)}" for name, values in parts.items() if name and values]
    return f"{METRICS[key].title}, over {len(view.sports)} sports: {'; '.join(words)}."


def described(lines: Iterable[ReferenceLine]) -> list[str]:
    """Return the sentences of a caption that explain the vertical lines and bands of a dot chart, without full stops.

    Examples:
        >>> described([ReferenceLine(0.2, "human", ends=(0.1, 0.3))])
        ['The solid line and its band show the value of human and its 95% interval']
        >>> described([ReferenceLine(0.04, "uniform guessing")])
        ['The dashed line shows uniform guessing']
    """
    lines = list(lines)
    solid = dict.fromkeys(line.name for line in lines if line.ends)
    dashed = dict.fromkeys(line.name.removeprefix("like ") for line in lines if not line.ends)
    parts = (
        [f"The solid line and its band show the value of {listed(list(solid))} and its 95% interval"] if solid else []
    )
    if dashed:
        parts.append(f"The dashed {'line shows' if len(dashed) == 1 else 'lines show'} {listed(list(dashed))}")
    return parts


def _axis(key: str, view: PageView) -> str:
    """Return the label of a metric's axis. It has no percent sign, because the ticks have one."""
    return within(head(key, view).removesuffix(" (%)"))


def dots_of(view: PageView, scores: Sequence[GroupScore], key: str) -> tuple[Dot, ...]:
    """Return a dot for each score with a value of a metric; an oracle far off the scale has a note instead."""
    unit = unit_of(key, view.policy)
    scores = [score for score in scores if score.metrics[key].value is not None]
    most = max((score.metrics[key].value or 0.0 for score in scores if not _is_oracle(score)), default=0.0)
    dots = []
    for score in scores:
        value, ends = score.metrics[key].value, score.metrics[key].ci95
        note = ""
        if key == "accuracy" and _is_oracle(score) and most and (value or 0.0) > OFF_SCALE * most:
            value, ends, note = None, None, quantity(value or 0.0, unit) + " →"
        looks = (view.color(score), view.marker(score))
        dots.append(Dot(*view.labels(score), *looks, value, ends, note=note))
    return tuple(dots)


def _is_oracle(group: GroupScore) -> bool:
    return group.kind == "baseline" and group.respondent == "oracle"


def _reference_rule(view: PageView, sport: str, key: str) -> list[ReferenceLine]:
    """Return a line at the reference's value; empty if the chart does not show this value."""
    score = view.of_reference(sport)
    value = score.metrics[key] if score else None
    drawn = {dot.respondent: dot.value for dot in dots_of(view, view.of_sport(sport), key)}
    label = view.reference_label
    if value is None or value.value is None or drawn.get(label) is None:
        return []
    return [ReferenceLine(value.value, label, view.looks[str(view.reference)].color, value.ci95)]


def _finding(view: PageView, sport: str, key: str, best: str) -> str:
    """Describe the reference's value and the best and worst of the other values in a sport."""
    unit = unit_of(key, view.policy)
    parts = []
    score = view.of_reference(sport)
    if score and score.metrics[key].value is not None:
        parts.append(f"{view.reference_words} {told(score.metrics[key], unit)}")
    others = [
        (value, other, other.metrics[key])
        for other in view.compared
        if other.sport == sport and (value := other.metrics[key].value) is not None
    ]
    if others:
        ascending = best in ("lowest", "closest")
        order = sorted(others, key=lambda pair: pair[0], reverse=not ascending)
        first, last = order[0], order[-1]
        word = f"{best} of the others: " if parts else f"{best}: "
        parts.append(f"{word if len(order) > 1 else ''}{view.name(first[1])} {told(first[2], unit)}")
        if len(order) > 1:
            opposite = {"lowest": "highest", "closest": "farthest", "highest": "lowest"}.get(best, "least spread")
            parts.append(f"{opposite}: {view.name(last[1])} {told(last[2], unit)}")
    return sport_prefix(sport) + ", ".join(parts)
