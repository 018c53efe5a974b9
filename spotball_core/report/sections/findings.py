"""Write the first section: the main results, in sentences and in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.report.numbers.records import HEADLINE, PairedDifference, Standing
from spotball_core.report.sections.tables import caption, cell, has_values, head, names
from spotball_core.report.view import OfGroup, PageView, same_group
from spotball_core.schema.report import GroupScore, named_sports, sport_prefix
from spotball_core.text.numbers import ALPHA, interval, number, quantity, say_p, told, unit_of
from spotball_core.text.words import plural

ALL_SPORTS = "All sports (unweighted mean over sports)"


def findings(view: PageView) -> Section:
    """Return the first section: the main results in sentences, and the table that they come from."""
    sentences = [
        *(_of_sport(view, None, view.page.overall) if view.page.overall else ()),
        *(sentence for sport in view.sports for sentence in _of_sport(view, sport, view.of_sport(sport))),
    ]
    tables = [_headline(view)]
    if view.page.differences:
        tables.append(_differences(view))
    return Section("summary", "Findings", points=tuple(sentences), tables=tuple(tables))


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
    people = score.respondent and view.in_words(score.respondent) == "people"
    return "People find" if people else f"{view.name(score)} finds"


def _said(paired: PairedDifference) -> str:
    """Describe a difference in accuracy in words."""
    ends = f" [95% CI {interval(paired.ci95, 'share')[1:]}" if paired.ci95 else ""
    clear = "" if paired.p_holm is None or paired.p_holm <= ALPHA else ", which may be due to chance"
    return f"difference {100 * paired.difference:+.1f} points{ends}{clear}"


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
            heads.append(f"Minus {view.reference}")
        if key in ranked:
            heads.append("Rank")
    heads += ["Images", "Responses", "Unparsed"]

    def cells(score: GroupScore) -> tuple[TableCell, ...]:
        row = list(names(score))
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
    return PageTable("headline", text, tuple(heads), 2, tuple(groups))


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
                    *names(difference),
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
    heads = ("Respondent", "Prompt", "Value", str(view.reference), "Difference", "p", "p (Holm)", "Images")
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
