"""Write the first section: the main results, in sentences and in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.cards import ImageCard, Opening, OpeningRow
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.dots import DotChart, DotPanel, ReferenceLine
from spotball_core.report.numbers.records import HEADLINE, PairedDifference, Standing
from spotball_core.report.sections.scores import INTERVALS, UNIFORM, dots_of
from spotball_core.report.sections.tables import caption, cell, has_values, head, names
from spotball_core.report.view import OfGroup, PageView, same_group
from spotball_core.schema.report import GroupScore, named_sports, sport_prefix
from spotball_core.text.numbers import ALPHA, interval, more_or_less, number, quantity, ranged, say_p, told, unit_of
from spotball_core.text.words import listed, plural

ALL_SPORTS = "All sports (unweighted mean over sports)"


_MOST_ROWS = 14
"""Maximum number of rows of the first chart; if there are more, each respondent has one row, for its best prompt."""

_ALIKE = ("most similar", "typical", "most different guesses")
_FOUND = ("found most often", "typically", "found least often")
"""How the images at the top of the page were chosen: by the distance between the two, or by the reference's hits."""


def findings(view: PageView, images: Sequence[ImageCard] = ()) -> Section:
    """Return the first section: pictures, a chart and at most three sentences; sentences by sport, and tables.

    Args:
        view: the report with the names and looks of its groups.
        images: the images of the gallery, in its order.
    """
    details = [
        *(_of_sport(view, None, view.page.overall) if view.page.overall else ()),
        *(sentence for sport in view.sports for sentence in _of_sport(view, sport, view.of_sport(sport))),
    ]
    tables = [_headline(view)]
    if view.page.differences:
        tables.append(_differences(view))
    return Section(
        "summary",
        "Result",
        points=tuple(_sentences(view)),
        details=tuple(details),
        pictures=_chart(view),
        tables=tuple(tables),
        opening=_opening(view, images),
    )


def title(view: PageView) -> str:
    """Return the page's title, which states who finds the ball more often; empty if no accuracy is known."""
    of_reference, best, own, value = _compared(view)
    if best is None or value is None:
        return ""
    name = "the best model" if _is_best_of_models(view, best) else view.name(best)
    if of_reference is None or own is None:
        return f"{_finds(view, best)} the ball in {quantity(value, 'share')} of guesses"
    paired = _difference(view, best)
    if paired is not None and not _clear(paired):
        return f"{_capital(view.name(of_reference))} and {name}: no clear difference in finding the ball"
    first, second = (of_reference, name) if own >= value else (best, view.name(of_reference))
    subject = _finds(view, first) if own >= value or name != "the best model" else "The best model finds"
    low, high = sorted((own, value))
    times = f"{high / low:.2g}" if low else ""
    often = (
        "more often than"
        if times in ("", "1")
        else "twice as often as"
        if times == "2"
        else f"{times} times as often as"
    )
    return f"{subject} the ball {often} {second}"


def _compared(view: PageView) -> tuple[GroupScore | None, GroupScore | None, float | None, float | None]:
    """Return the reference's scores and the best others, over all sports, and their accuracies."""
    own = [score for score in view.of_all if score.respondent == view.reference]
    of_reference = own[0] if len(own) == 1 else None
    best = view.best or of_reference
    if of_reference is best:
        of_reference = None
    known = of_reference.metrics["accuracy"].value if of_reference else None
    return of_reference, best, known, best.metrics["accuracy"].value if best else None


def _is_best_of_models(view: PageView, best: GroupScore) -> bool:
    """Return whether a model is the best of several respondents or prompts."""
    return best.kind == "model" and len({(group.respondent, group.prompt) for group in view.compared}) > 1


def _sentences(view: PageView) -> Iterator[str]:
    """Yield at most three sentences on the best respondent: its accuracy, its closeness, and its bias to the center."""
    of_reference, best, own, value = _compared(view)
    if best is None:
        return
    name = view.name(best)
    if value is not None and of_reference is not None and own is not None:
        paired = _difference(view, best)
        difference = f", {_said(paired)}" if paired else ""
        yield (
            f"{_capital(view.name(of_reference))}: {quantity(own, 'share')}. {_capital(name)}: "
            f"{quantity(value, 'share')}{difference}."
        )
    elif value is not None:
        chance = _chance(view, None)
        uniform = f" Uniform guessing: {quantity(chance, 'share')}." if chance is not None else ""
        yield f"{_capital(name)}: {_with_interval(best, 'accuracy')} of guesses hit the ball.{uniform}"
    of_best = [score for score in view.scored if same_group(score, best, any_sport=True)]
    close = [
        closeness.value
        for score in of_best
        if (ceiling := view.ceilings.get(score.sport or "")) and (closeness := ceiling.score.get(score.name))
    ]
    if known := [value for value in close if value is not None]:
        yield (
            f"Closeness of {name} to {view.reference_words}: {ranged(known, 'score')} (0: uniform guessing, "
            f"1: {view.reference_words})."
        )
    ratios = [value for score in of_best if (value := score.metrics["center_ratio"].value) is not None]
    if ratios:
        yield (
            f"{_capital(name)} guesses the middle of the image {ranged(ratios, 'times')} times as often as "
            "the ball is there."
        )


def _capital(name: str) -> str:
    """Return a name for the start of a sentence: only the word "people" is changed."""
    return "People" if name == "people" else name


def _chart(view: PageView) -> tuple[PagePicture, ...]:
    """Return the chart of all respondents, between uniform guessing and the reference; empty without accuracies."""
    known = [score for score in view.of_all if score.metrics["accuracy"].value is not None]
    known.sort(key=lambda score: (score.respondent != view.reference, -(score.metrics["accuracy"].value or 0.0)))
    under = f"mean over {len(view.sports)} sports" if view.page.overall else view.sports[0]
    if len(known) > _MOST_ROWS:
        known = list({score.respondent: score for score in reversed(known)}.values())[::-1]
        under += ", best prompt of each respondent"
    # An oracle is far off the scale, and so has no dot.
    dots = tuple(dot for dot in dots_of(view, known, "accuracy") if dot.value is not None)
    if not dots:
        return ()
    chance = _chance(view, None if view.page.overall else view.sports[0])
    lines = [ReferenceLine(chance, UNIFORM)] if chance is not None else []
    own = [score for score in known if score.respondent == view.reference]
    if view.reference and len(own) == 1 and (value := own[0].metrics["accuracy"]).value is not None:
        color = view.looks[view.reference].color
        lines.insert(0, ReferenceLine(value.value, view.reference_label, color, value.ci95))
    told_values = [f"{view.name(score)} {told(score.metrics['accuracy'], 'share')}" for score in known]
    told_values += [f"{UNIFORM} {quantity(chance, 'share')}"] if chance is not None else []
    chart = DotChart((DotPanel(under, "", dots, tuple(lines)),), "accuracy", "share")
    caption = f"{INTERVALS}." if view.policy.bootstrap else "Each dot shows one respondent."
    return (
        PagePicture("summary", "Guesses that hit the ball", caption, chart, (f"Accuracy: {'; '.join(told_values)}.",)),
    )


def _opening(view: PageView, images: Sequence[ImageCard]) -> Opening | None:
    """Return three images with the guesses of the reference and of the best other respondent side by side.

    They are the image on which both are most alike, a typical one, and the one on which they are least alike. Images
    without a file are used only if no image has a file.
    """
    if not view.page.gallery or not images:
        return None
    best = view.best if view.best and view.best.respondent != view.reference else None
    rows: list[tuple[bool, float, ImageCard, tuple[tuple[str, str], ...]]] = []
    for numbers, image in zip(view.page.gallery.images, images, strict=True):
        of_best = [
            (case, card)
            for case, card in zip(numbers.cases, image.cards, strict=True)
            if best and same_group(case, best, any_sport=True)
        ]
        both = view.reference and best
        value = of_best[0][0].distance if both and of_best else numbers.ease if not both else None
        if value is not None and len(of_best) == (best is not None):
            maps = [(image.people, image.alt)] if view.reference else []
            maps += [(card.heat, card.alt) for _, card in of_best]
            rows.append((image.data is None, value if both else -value, image, tuple(maps)))
    rows = sorted((row for row in rows if row[0] == min(missing for missing, *_ in rows)), key=lambda row: row[1])
    if not rows:
        return None
    words = _ALIKE if view.reference and best else _FOUND
    places = dict.fromkeys((0, (len(rows) - 1) // 2, len(rows) - 1))
    chosen = [OpeningRow(word, *rows[place][2:]) for word, place in zip(words, places, strict=False)]
    columns = (*([view.reference_words] if view.reference else []), *([view.name(best)] if best else []))
    how = f"Shades: guesses. Outline: the ball. Chosen images: {listed([row.why for row in chosen])}."
    return Opening(columns, tuple(chosen), how)


def _of_sport(view: PageView, sport: str | None, scores: Sequence[GroupScore]) -> Iterator[str]:
    others = [score for score in scores if any(same_group(score, group, any_sport=True) for group in view.compared)]
    of_reference = [score for score in scores if score.respondent == view.reference]
    alone = not others and len(of_reference) == 1
    single = of_reference[0] if len(of_reference) == 1 and not alone else None
    if sentence := _accuracy(view, sport, single, of_reference if alone else others):
        yield sentence
    if sentence := _closeness(view, sport, others):
        yield sentence


def _accuracy(view: PageView, sport: str | None, of_reference: GroupScore | None, others: Sequence[GroupScore]) -> str:
    """Describe the respondents' accuracies."""
    valued = [(value, score) for score in others if (value := score.metrics["accuracy"].value) is not None]
    if not valued:
        return ""
    value, best = max(valued, key=lambda pair: pair[0])
    where = (
        f"{sport_prefix(sport, ' ')}guesses"
        if sport is not None
        else f"guesses, averaged over {len(view.sports)} sports"
    )
    chance = _chance(view, sport)
    uniform = f"; uniform guessing finds it in {quantity(chance, 'share')}" if chance is not None else ""
    known = of_reference.metrics["accuracy"].value if of_reference else None
    if of_reference is None or known is None:
        subject = f"{view.name(best)}, the best of {len(valued)}, finds" if len(valued) > 1 else _finds(view, best)
        return f"{subject} the ball in {_with_interval(best, 'accuracy')} of {where}{uniform}."
    name = f"{view.name(best)}, the best of {len(valued)} others," if len(valued) > 1 else view.name(best)
    paired = _difference(view, best)
    difference = f" ({_said(paired)})" if paired else ""
    return (
        f"{_finds(view, of_reference)} the ball in {quantity(known, 'share')} of {where}, and {name} in "
        f"{quantity(value, 'share')}{difference}{uniform}."
    )


def _finds(view: PageView, score: GroupScore) -> str:
    """Return the subject and verb of a sentence about a respondent's accuracy."""
    return "People find" if view.name(score) == "people" else f"{view.name(score)} finds"


def _clear(paired: PairedDifference) -> bool:
    """Return whether a difference is unlikely to be due to chance: by its p value or, without one, by its interval."""
    if paired.p_holm is not None:
        return paired.p_holm <= ALPHA
    return paired.ci95 is None or not paired.ci95[0] <= 0 <= paired.ci95[1]


def _said(paired: PairedDifference) -> str:
    """Describe a difference in accuracy in words."""
    clear = "" if _clear(paired) else ", which may be due to chance"
    return more_or_less(paired.difference, paired.ci95, "share") + clear


def _closeness(view: PageView, sport: str | None, others: Sequence[GroupScore]) -> str:
    """Describe which respondent guesses most like the reference."""
    key, unit = "wasserstein_matched", unit_of("wasserstein_matched", view.policy)
    valued = [
        (value, score) for score in others if key in score.metrics and (value := score.metrics[key].value) is not None
    ]
    if not valued:
        return ""
    _, best = min(valued, key=lambda pair: pair[0])
    if sport is None:
        start = f"Averaged over {len(view.sports)} sports, the"
    else:
        start = f"In {sport}, the" if named_sports([sport]) else "The"
    chance = view.by_sport[sport].uniform.wasserstein_matched if sport is not None else None
    uniform = f" (uniform guessing: {quantity(chance, unit)})" if chance is not None else ""
    distance = _with_interval(best, key)
    if len(valued) > 1:
        sentence = (
            f"{start} guesses of {view.name(best)} are closest to those of {view.reference_words}, at a distance "
            f"of {distance}{uniform}"
        )
    else:
        sentence = f"{start} guesses of {view.name(best)} are {distance} from those of {view.reference_words}{uniform}"
    ceiling = view.ceilings.get(sport or "")
    closeness = ceiling.score.get(best.name) if ceiling else None
    if closeness and closeness.value is not None:
        sentence += f". The closeness is {told(closeness, 'score')} (0: uniform guessing, 1: {view.reference_words})"
    rivals = sum(score.rank_ci95 is not None and score.rank_ci95[0] == 1 for score in _standings(view, sport, key)) - 1
    if rivals > 0:
        sentence += f". {plural(rivals, 'other')} may be closer"
    return sentence + "."


def _with_interval(score: GroupScore, key: str) -> str:
    value = score.metrics[key]
    unit = METRICS[key].unit
    return f"{quantity(value.value or 0.0, unit)} {interval(value.ci95, unit)}".rstrip()


def _chance(view: PageView, sport: str | None) -> float | None:
    """Return the accuracy of uniform guessing in a sport, or its mean over sports if `sport` is None."""
    values = [numbers.uniform.accuracy for name, numbers in view.by_sport.items() if sport in (None, name)]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


# Tables ------------------------------------------------------------------------------------------------------


def _headline(view: PageView) -> PageTable:
    """Return the table of scores, differences and ranks; the numbers of answers come last."""
    keys = [key for key in HEADLINE if has_values(view, key)]
    paired = {record.metric for record in view.page.differences}
    ranked = {record.metric for record in view.page.standings}
    heads = ["Respondent", "Prompt"]
    for key in keys:
        heads.append(head(key, view))
        if key in paired:
            heads.append(f"Minus {view.reference_words}")
        if key in ranked:
            heads.append("Rank")
    heads += ["Images", "Responses", "Unparsed"]

    def cells(score: GroupScore) -> tuple[TableCell, ...]:
        row = list(names(score, view))
        for key in keys:
            row.append(cell(key, score, view) if key in score.metrics else TableCell("–"))
            if key in paired:
                row.append(_difference_cell(view, score, key))
            if key in ranked:
                row.append(_rank_cell(view, score, key))
        counts = (f"{n:,}" for n in (score.n_images, score.n_responses, score.n_unparsed))
        return (*row, *map(TableCell, counts))

    groups = [TableRows(sport, tuple(map(cells, view.of_sport(sport)))) for sport in view.sports]
    if view.page.overall:
        groups.append(TableRows(ALL_SPORTS, tuple(map(cells, view.page.overall))))
    text = caption("Main scores", view)
    if paired:
        text += (
            f" An asterisk marks differences with p ≤ {ALPHA:g} after Holm's correction for all differences "
            "of the metric."
        )
    if ranked:
        text += (
            " Parentheses show the ranks that the data allow, with 95% confidence for all ranks together. Baselines "
            "are not ranked."
        )
    return PageTable("headline", text, tuple(heads), 2, tuple(groups), "Table of the main scores")


def _difference_cell(view: PageView, score: GroupScore, key: str) -> TableCell:
    paired = _difference(view, score, key)
    if paired is None:
        return TableCell("")
    unit = unit_of(key, view.policy)
    clear = "*" if paired.p_holm is not None and paired.p_holm <= ALPHA else ""
    return TableCell(_signed(paired.difference, unit) + clear)


def _rank_cell(view: PageView, score: GroupScore, key: str) -> TableCell:
    for standing in _standings(view, score.sport, key):
        if same_group(standing, score):
            low, high = standing.rank_ci95 or (standing.rank, standing.rank)
            return TableCell(f"{standing.rank}" if low == high else f"{standing.rank} ({low}–{high})")
    return TableCell("")


def _differences(view: PageView) -> PageTable:
    """Return the table of all differences from the reference, with their p values."""
    keys = [key for key in HEADLINE if any(difference.metric == key for difference in view.page.differences)]
    groups = []
    for sport in (*view.sports, None):
        for key in keys:
            unit = unit_of(key, view.policy)
            rows = tuple(
                (
                    *names(difference, view),
                    TableCell(number(difference.value, unit)),
                    TableCell(number(difference.reference, unit)),
                    TableCell(_signed(difference.difference, unit), interval(difference.ci95, unit)),
                    TableCell(say_p(difference.p).removeprefix("= ") if difference.p is not None else "–"),
                    TableCell(say_p(difference.p_holm).removeprefix("= ") if difference.p_holm is not None else "–"),
                    TableCell(f"{difference.n_images}"),
                )
                for difference in view.page.differences
                if (difference.sport, difference.metric) == (sport, key)
            )
            if rows:
                groups.append(TableRows(f"{sport or ALL_SPORTS}: {head(key, view)}", rows))
    heads = ("Respondent", "Prompt", "Value", view.reference_words, "Difference", "p", "p (Holm)", "Images")
    text = (
        f"Differences from {view.reference_words} on the same images, with 95% bootstrap intervals over images. P "
        "values are from permutation tests that swap the two respondents within images. Holm's correction covers all "
        "differences of a metric on this page."
    )
    return PageTable(
        "differences", text, heads, 2, tuple(groups), f"Table of the differences from {view.reference_words}"
    )


def _signed(value: float, unit: str) -> str:
    text = number(value, unit)
    return text if text.startswith("-") or float(text) == 0 else f"+{text}"


def _difference(view: PageView, score: OfGroup, key: str = "accuracy") -> PairedDifference | None:
    return next(
        (
            difference
            for difference in view.page.differences
            if difference.metric == key and same_group(difference, score)
        ),
        None,
    )


def _standings(view: PageView, sport: str | None, key: str) -> list[Standing]:
    return [standing for standing in view.page.standings if (standing.sport, standing.metric) == (sport, key)]
