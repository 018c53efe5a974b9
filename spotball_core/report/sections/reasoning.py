"""Write the section on the categories of rationales (Spot the Ball, Figure 7)."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.reasoning.figure import name_of, picture
from spotball_core.reasoning.records import CategoryContrast, Offset, ReasoningGroup, ReasoningReport
from spotball_core.reasoning.tables import OUTCOMES, UNITS, counted, least, say_p
from spotball_core.text.numbers import interval, number, quantity, ranged, told
from spotball_core.text.words import listed, plural


def words(report: ReasoningReport) -> Section:
    """Return the section with the share of each category, its reliability, and its associations with outcomes."""
    lead = (
        (
            f"Each category has a set of sentences, the templates. The categories are {listed(report.categories)}. "
            f"Each rationale is embedded ({report.provenance.embedder}, {report.provenance.model}). Its category is "
            "the one whose templates are closest to it on average."
        ),
        "A category shows which templates a rationale resembles, not what a respondent looked at.",
        _offset_words(report.offsets[0]),
        f"{counted(report.texts)}.",
    )
    return Section(
        "reasoning",
        "What do rationales mention?",
        lead,
        (f"Share of the rationales in each category: {'; '.join(_shares(report))}.",) if report.panels else (),
        short="Rationales",
        details=tuple(_points(report)),
        pictures=(picture(report),) if report.panels else (),
        tables=(_share_table(report), _trust_table(report), _contrast_table(report)),
        signature=report.signature,
    )


def _offset_words(offset: Offset) -> str:
    closest = max(offset.similarity, key=lambda category: offset.similarity[category])
    which = f"{plural(offset.n_texts, 'sentence')} that mention no category"
    if offset.texts == "rationales":
        which = "all rationales, with equal weight for each group"
    return (
        f"The templates of one category can be closer to all texts than those of another category. Over {which}, the "
        f"mean cosine is largest for {closest}; it exceeds the smallest one by {offset.spread:.3f}. Centered shares "
        "remove this offset."
    )


def _shares(report: ReasoningReport) -> Iterator[str]:
    """Yield each category with the lowest and the highest share in any group."""
    groups = [group for panel in report.panels for group in panel.groups]
    for name in report.categories:
        values = [value for group in groups if (value := group.published.shares[name].value) is not None]
        if values:
            yield f"{name} {ranged(values, 'share')}"


def _points(report: ReasoningReport) -> Iterator[str]:
    """Yield sentences on each panel, on the most influential template, and on contrasts whose intervals exclude 0."""
    # With two categories, the second share is the remainder.
    shown = report.categories[:1] if len(report.categories) == 2 else report.categories
    for panel in report.panels:
        groups = []
        for group in panel.groups:
            both = ((name, group.published.shares[name], group.centered.shares[name].value) for name in shown)
            phrases = (
                f"{name} {told(share, 'share')}" + (f", centered {quantity(fair, 'share')}" if fair is not None else "")
                for name, share, fair in both
            )
            groups.append(f"{name_of(group)} {', '.join(phrases)}")
        yield f"{panel.name}: {'; '.join(groups)}."
    kept = [contrast for contrast in least(report) if contrast.published is not None]
    if kept:
        worst = min(kept, key=lambda contrast: contrast.published or 0.0)
        stay = quantity(worst.published or 0.0, "share")
        yield f"If any one template is removed, at least {stay} of the rationales keep their category."
    for contrast in report.contrasts:
        if contrast.statistic == "published" and contrast.ci95 and not contrast.ci95[0] <= 0 <= contrast.ci95[1]:
            unit, who = UNITS[contrast.outcome], contrast.respondent or "all models"
            difference = f"{quantity(contrast.difference or 0.0, unit)} {interval(contrast.ci95, unit)}"
            outcome = OUTCOMES[contrast.outcome].partition(" (")[0].lower()
            yield f"{who}, {outcome}: {contrast.a} minus {contrast.b} is {difference}."


def _names(group: ReasoningGroup) -> tuple[TableCell, TableCell]:
    return TableCell(group.respondent or ""), TableCell(group.prompt or "")


def _by_sport(report: ReasoningReport, cells: dict[int, tuple[TableCell, ...]]) -> tuple[TableRows, ...]:
    """Return a table's rows, grouped by sport; `cells` holds the row of each group of responses, by its index."""
    sports = dict.fromkeys(group.sport or "" for group in report.groups)
    return tuple(
        TableRows(sport, tuple(cells[place] for place, group in enumerate(report.groups) if group.sport == sport))
        for sport in sports
    )


def _share_table(report: ReasoningReport) -> PageTable:
    heads = (
        *("Respondent", "Prompt", "Images", "Rationales", "Without rationale"),
        *(f"{category} (%)" for category in report.categories),
        *(f"{category}, centered (%)" for category in report.categories),
    )
    cells = {
        place: (
            *_names(group),
            *(TableCell(f"{n:,}") for n in (group.n_images, group.n_rationales, group.n_empty)),
            *(
                TableCell("–" if share.value is None else number(share.value, "share"), interval(share.ci95, "share"))
                for version in (group.published, group.centered)
                for share in version.shares.values()
            ),
        )
        for place, group in enumerate(report.groups)
    }
    drawn = ". Brackets show 95% bootstrap intervals over images" if report.provenance.bootstrap else ""
    return PageTable("reasoning-shares", f"Share of each category{drawn}.", heads, 2, _by_sport(report, cells))


def _trust_table(report: ReasoningReport) -> PageTable:
    words_too = ("With keywords (%)", "Agree (%)", "Kappa") if any(g.keywords for g in report.groups) else ()
    heads = ("Respondent", "Prompt", "Margin", "With random labels", "p", "Changed by centering (%)", *words_too)
    cells: dict[int, tuple[TableCell, ...]] = {}
    for place, group in enumerate(report.groups):
        mean, test = group.published.margin.mean, group.published.margin_test
        row = [
            TableCell(f"{mean.value:.3f}", interval(mean.ci95, "")),
            TableCell(f"{test.expected:.3f}"),
            TableCell(say_p(test)),
        ]
        row.append(TableCell(number(group.changed, "share")))
        if group.keywords is not None:
            share, kappa = group.keywords.share, group.keywords.kappa
            row.append(TableCell(number(group.keywords.covered, "share")))
            row.append(TableCell("–" if share is None else number(share, "share")))
            row.append(TableCell("–" if kappa is None else f"{kappa:.2f}"))
        cells[place] = (*_names(group), *row)
    caption = (
        "The margin is the difference in mean cosine between the closest category and the next one. It is compared "
        "with the margin if categories are assigned to the templates at random. The other columns show how many "
        "rationales change their category if the offset is removed, and how often a keyword rule gives the same "
        "category."
    )
    return PageTable("reasoning-trust", caption, heads, 2, _by_sport(report, cells), "Reliability of the categories")


def _contrast_table(report: ReasoningReport) -> PageTable:
    heads = (
        "Respondent",
        "Categories",
        "Statistic",
        "Mean of the first category",
        "Mean of the second category",
        "Difference",
        "Rationales",
    )

    def row(contrast: CategoryContrast) -> tuple[TableCell, ...]:
        unit = UNITS[contrast.outcome]
        values = ("–" if value is None else number(value, unit) for value in (contrast.value_a, contrast.value_b))
        return (
            TableCell(contrast.respondent or "all models"),
            TableCell(f"{contrast.a}, {contrast.b}"),
            TableCell(contrast.statistic),
            *map(TableCell, values),
            TableCell(
                "–" if contrast.difference is None else number(contrast.difference, unit), interval(contrast.ci95, unit)
            ),
            TableCell(f"{contrast.n_a:,}, {contrast.n_b:,}"),
        )

    groups = tuple(
        TableRows(title, tuple(row(contrast) for contrast in report.contrasts if contrast.outcome == outcome))
        for outcome, title in OUTCOMES.items()
        if any(contrast.outcome == outcome for contrast in report.contrasts)
    )
    caption = (
        "Accuracy and distances of responses by the category of their rationale: weighted means over sports and "
        "prompts, and the difference between two categories. Categories are not assigned at random, so a difference is "
        "not a causal effect."
    )
    return PageTable("reasoning-contrasts", caption, heads, 3, groups, "Accuracy and distances by category")
