"""Write the analysis of rationales as text: for a terminal, as CSV, as Markdown and as LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from spotball_core.reasoning.figure import name_of
from spotball_core.reasoning.records import (
    Alignment,
    CategoryContrast,
    LeftOut,
    ReasoningGroup,
    ReasoningReport,
    Relabeling,
    TextCounts,
)
from spotball_core.schema.report import Interval, MetricValue
from spotball_core.service.safe_text import csv_cells
from spotball_core.text.numbers import interval, number
from spotball_core.text.tables import Titled, tables_as_latex, tables_as_markdown, tables_as_text
from spotball_core.text.words import plural

UNITS = {"accuracy": "share", "euclidean_error": "px", "distance_to_people": "px"}
OUTCOMES = {
    "accuracy": "Accuracy (%)",
    "euclidean_error": "Euclidean error (px)",
    "distance_to_people": "Distance to people (px)",
}

CSV_COLUMNS = (
    *("panel", "sport", "respondent", "kind", "prompt", "n_images", "n_rationales", "n_empty", "statistic", "quantity"),
    *("category", "value", "ci95_low", "ci95_high", "expected", "p", "signature"),
)

_NAMES = ["sport", "respondent", "prompt"]


def to_text(report: ReasoningReport, *, to_terminal: bool = False) -> str:
    """Return the report as text tables, at full width or at the width of the terminal on standard output."""
    return tables_as_text(_tables(report), "\n".join(_foot(report)), to_terminal=to_terminal)


def to_markdown(report: ReasoningReport) -> str:
    """Return the report as Markdown tables, followed by the signature."""
    return tables_as_markdown(_tables(report), "\n".join(_foot(report)))


def to_latex(report: ReasoningReport) -> str:
    """Return the report as LaTeX tables, with the signature in a comment."""
    return tables_as_latex(_tables(report), "\n".join(_foot(report)))


def to_csv(report: ReasoningReport) -> str:
    """Return the report as CSV in full precision: the numbers of each group, then those of Figure 7, then contrasts."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    panels = [("", report.groups), *((panel.name, panel.groups) for panel in report.panels)]
    for panel, groups in panels:
        for group in groups:
            name = (panel, group.sport, group.respondent, group.kind, group.prompt)
            counts = (group.n_images, group.n_rationales, group.n_empty)
            for line in _lines(group):
                writer.writerow(csv_cells((*name, *counts, *line, report.signature)))
    for contrast in report.contrasts:
        low, high = contrast.ci95 or (None, None)
        identity = (
            "",
            None,
            contrast.respondent,
            contrast.kind,
            None,
            contrast.n_images,
            contrast.n_a + contrast.n_b,
            None,
        )
        value_columns = (
            contrast.statistic,
            f"contrast.{contrast.outcome}",
            f"{contrast.a} - {contrast.b}",
            contrast.difference,
            low,
            high,
            None,
            None,
        )
        writer.writerow(csv_cells((*identity, *value_columns, report.signature)))
    return out.getvalue()


def _lines(group: ReasoningGroup) -> Iterator[tuple[object, ...]]:
    """Yield each number of a group: statistic, quantity, category, value, interval's ends, expected value and p."""
    for statistic, alignment in (("published", group.published), ("centered", group.centered)):
        for category, share in alignment.shares.items():
            yield statistic, "share", category, share.value, *(share.ci95 or (None, None)), None, None
        mean = alignment.margin.mean
        yield statistic, "margin", None, mean.value, *(mean.ci95 or (None, None)), None, None
        for quantity, test in (("margin_test", alignment.margin_test), ("share_test", alignment.share_test)):
            yield statistic, quantity, None, test.observed, None, None, test.expected, test.p
    yield "centered", "changed", None, group.changed, None, None, None, None
    if group.keywords is not None:
        for quantity in ("covered", "share", "kappa"):
            value = getattr(group.keywords, quantity)
            yield "published", f"keywords.{quantity}", None, value, None, None, None, None


def _tables(report: ReasoningReport) -> Iterator[Titled]:
    heads = [f"{category} (%)" for category in report.categories]
    names = [[str(part) for part in (group.sport, group.respondent, group.prompt)] for group in report.groups]
    yield (
        "Published method: categories by the largest mean cosine",
        3,
        [*_NAMES, "images", "rationales", "empty", *heads],
        [[*name, *_counts(group), *_shares(group.published)] for name, group in zip(names, report.groups, strict=True)],
    )
    yield (
        "Centered method: the offset between the categories is removed",
        3,
        [*_NAMES, *heads, "changed (%)"],
        [
            [*name, *_shares(group.centered), number(group.changed, "share")]
            for name, group in zip(names, report.groups, strict=True)
        ],
    )
    yield (
        "Reliability of the categories",
        3,
        [*_NAMES, *_trust_heads(report)],
        [[*name, *_trust(group)] for name, group in zip(names, report.groups, strict=True)],
    )
    if report.panels:
        yield (
            "Figure 7",
            2,
            ["panel", "", "images", "rationales", *heads, *(f"centered: {head}" for head in heads)],
            [
                [
                    *(panel.name, name_of(group), f"{group.n_images:,}", f"{group.n_rationales:,}"),
                    *(*_shares(group.published), *_shares(group.centered)),
                ]
                for panel in report.panels
                for group in panel.groups
            ],
        )
    yield (
        "Share of rationales that keep their category if a template is excluded",
        2,
        ["category", "most influential template", "published (%)", "centered (%)"],
        [
            [left_out.category, left_out.template, *(_kept(share) for share in (left_out.published, left_out.centered))]
            for left_out in least(report)
        ],
    )
    heads = ["outcome", "respondent", "statistic", "a", "b", "rationales", "mean of a", "mean of b", "a - b"]
    yield (
        "Accuracy and distances by category",
        5,
        heads,
        [_contrast(contrast) for contrast in report.contrasts if contrast.reason is None],
    )


def _counts(group: ReasoningGroup) -> list[str]:
    return [f"{n:,}" for n in (group.n_images, group.n_rationales, group.n_empty)]


def _shares(alignment: Alignment) -> list[str]:
    return [_said(share, "share") for share in alignment.shares.values()]


def _said(value: MetricValue, unit: str) -> str:
    return "-" if value.value is None else _with(number(value.value, unit), value.ci95, unit)


def _with(text: str, ends: Interval | None, unit: str) -> str:
    return f"{text}\n{interval(ends, unit)}" if ends else text


def _trust_heads(report: ReasoningReport) -> list[str]:
    heads = ["margin", "with random labels", "p", "centered margin", "with random labels", "p"]
    if any(group.keywords for group in report.groups):
        heads += ["with keywords (%)", "agree (%)", "kappa"]
    return heads


def _trust(group: ReasoningGroup) -> list[str]:
    cells = []
    for alignment in (group.published, group.centered):
        cells += [
            _said(alignment.margin.mean, ""),
            f"{alignment.margin_test.expected:.3f}",
            say_p(alignment.margin_test),
        ]
    if (words := group.keywords) is not None:
        cells.append(number(words.covered, "share"))
        cells.append("-" if words.share is None else number(words.share, "share"))
        cells.append("-" if words.kappa is None else f"{words.kappa:.2f}")
    return cells


def say_p(test: Relabeling) -> str:
    """Format a p value with three decimals, or with four if it is below 0.01."""
    return f"{test.p:.4f}" if test.p < 0.01 else f"{test.p:.3f}"


def least(report: ReasoningReport) -> list[LeftOut]:
    """Return, for each category, the template whose omission changes the category of the most rationales."""
    least_kept = []
    for category in report.categories:
        of_category = [left_out for left_out in report.left_out if left_out.category == category]
        defined = [left_out for left_out in of_category if left_out.published is not None] or of_category
        least_kept.append(min(defined, key=lambda left_out: 1.0 if left_out.published is None else left_out.published))
    return least_kept


def _kept(share: float | None) -> str:
    return "-" if share is None else number(share, "share")


def _contrast(contrast: CategoryContrast) -> list[str]:
    unit = UNITS[contrast.outcome]
    values = ["-" if value is None else number(value, unit) for value in (contrast.value_a, contrast.value_b)]
    difference = "-" if contrast.difference is None else _with(number(contrast.difference, unit), contrast.ci95, unit)
    respondent = contrast.respondent or "all models"
    return [
        OUTCOMES[contrast.outcome],
        respondent,
        contrast.statistic,
        contrast.a,
        contrast.b,
        f"{contrast.n_a:,} / {contrast.n_b:,}",
        *values,
        difference,
    ]


def _foot(report: ReasoningReport) -> Iterator[str]:
    yield from (f"warning: {warning}" for warning in report.warnings)
    yield from (f"- {note}" for note in _missing(report))
    yield counted(report.texts)
    for offset in report.offsets:
        listed = ", ".join(f"{category} {value:.3f}" for category, value in offset.similarity.items())
        corpus = plural(offset.n_texts, "neutral sentence" if offset.texts == "neutral" else "rationale")
        weighting = "" if offset.texts == "neutral" else ", with equal weight for each group"
        yield (
            f"Mean cosine (offset) over {corpus}{weighting}: {listed}. Difference of the offsets: {offset.spread:.3f}."
        )
    if report.provenance.bootstrap:
        yield "Brackets show 95% bootstrap intervals over images."
    yield (
        f"p: permutation test of the mean margin with {report.provenance.labelings:,} random labelings of "
        "the templates."
    )
    yield "The means of a and b are weighted means over sports, respondents and prompts."
    yield report.signature


def counted(texts: TextCounts) -> str:
    """Return a line with the numbers of responses, of texts, and of special cases such as texts without letters."""
    parts = [
        f"{plural(texts.n_responses, 'response')}",
        f"{texts.n_empty:,} without a rationale",
        f"{texts.n_unique:,} different texts",
        f"{texts.n_duplicates:,} repeated texts",
        f"{texts.n_without_letters:,} without letters",
        f"{texts.n_seem_not_english:,} that may not be English",
    ]
    if texts.n_truncated is not None:
        parts.append(f"{texts.n_truncated:,} truncated by the embedder")
    if texts.n_without_direction:
        parts.append(f"{texts.n_without_direction:,} with an embedding that is zero or not finite")
    if texts.n_controls:
        parts.append(f"{texts.n_controls:,} to control images (excluded)")
    return f"{'; '.join(parts)}; the longest has {texts.longest:,} words"


def _missing(report: ReasoningReport) -> Iterator[str]:
    """Yield a line for each reason why contrasts are missing, with the outcomes and respondents that it concerns."""
    places: dict[str, dict[str, None]] = {}
    for contrast in report.contrasts:
        if contrast.reason is not None:
            where = f"{OUTCOMES[contrast.outcome].partition(' (')[0]} of {contrast.respondent or 'all models'}"
            places.setdefault(contrast.reason, {})[where] = None
    for reason, names in places.items():
        yield f"{', '.join(names)}: {reason}"
