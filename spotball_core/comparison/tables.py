"""Write a comparison as text: for a terminal, as CSV, as Markdown, as LaTeX. Every form includes the signature."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from spotball_core.comparison.record import Comparison, Contrast, Difference
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.report import sport_prefix
from spotball_core.service.safe_text import csv_cells, markdown_row, markdown_text, rich_text
from spotball_core.text.numbers import ALPHA, interval, number, say_p, unit_of
from spotball_core.text.tables import columns_that_fit, print_lines, printed_text, tables_as_latex

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 80

_NAME = 22
"""Metric names are wrapped at this width if the table does not fit otherwise."""

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("sport", "a", "b", "metric", "unit"), str),
    "n_images": int,
    **dict.fromkeys(("value_a", "value_b", "difference", "ci95_low", "ci95_high", "effect_size", "p", "p_holm"), float),
    **dict.fromkeys(("direction", "verdict"), str),
    **dict.fromkeys(("detectable", "margin"), float),
    **dict.fromkeys(("conclusion", "sentence", "reason", "signature"), str),
}
"""Name and type of each column of a comparison's rows."""


def print_table(comparison: Comparison, console: Console) -> None:
    """Print one table per sport and one for all sports, their results in words, and the signature.

    A table that is wider than the console is split into several tables, so that no number is cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    for contrast in comparison.contrasts:
        title, heads, rows = _section(comparison, contrast)
        widths = _widths(heads, rows, console.width)
        for part, columns in enumerate(columns_that_fit(widths, 1, console.width)):
            table = Table(title=None if part else rich_text(title, "bold"), title_justify="left", header_style="")
            table.box = SIMPLE_HEAD
            for i in columns:
                table.add_column(rich_text(heads[i]), justify="left" if i in _TEXT else "right", width=widths[i])
            for row in rows:
                table.add_row(*(rich_text(row[i]) for i in columns))
            console.print(table)
    console.print(rich_text(_in_words(comparison), "bold"))
    for sentence in _sentences(comparison):
        print_lines(f"- {sentence}", console)
    console.print()
    for line in _foot(comparison):
        print_lines(line, console)


def _widths(heads: list[str], rows: list[list[str]], width: int) -> list[int]:
    """Return each column's width: the full width if all columns fit, else with wrapped heads and names."""
    cells = [max((len(row[i]) for row in rows), default=0) for i in range(len(heads))]
    full_widths = [max(len(head), needed) for head, needed in zip(heads, cells, strict=True)]
    # Each column has a space on both sides and a separator; the table has one space on its left.
    if sum(full_widths) + 3 * len(full_widths) + 1 <= width:
        return full_widths
    broken = [max(*map(len, head.split()), needed) for head, needed in zip(heads, cells, strict=True)]
    return [min(broken[0], _NAME), *broken[1:]]


def to_text(comparison: Comparison, *, to_terminal: bool = False) -> str:
    """Return the text that `print_table` prints, 80 columns wide, or as wide as the terminal on standard output."""
    return printed_text(lambda console: print_table(comparison, console), _WIDE, to_terminal=to_terminal)


def to_markdown(comparison: Comparison) -> str:
    """Return the comparison as Markdown tables, followed by the sentences and the signature."""
    lines: list[str] = []
    for contrast in comparison.contrasts:
        title, heads, rows = _section(comparison, contrast)
        rules = ["---" if i in _TEXT else "---:" for i in range(len(heads))]
        lines += [f"**{markdown_text(title)}**", "", *map(markdown_row, (heads, rules, *rows)), ""]
    sentences = (f"- {markdown_text(sentence)}" for sentence in _sentences(comparison))
    lines += [f"**{markdown_text(_in_words(comparison))}**", "", *sentences, ""]
    return "\n".join([*lines, *(f"{markdown_text(line)}  " for line in _foot(comparison))]) + "\n"


def to_latex(comparison: Comparison) -> str:
    """Return the comparison as LaTeX tables, with the sentences and the signature in comments."""
    sections = map(partial(_section, comparison), comparison.contrasts)
    tables = ((title, 1, heads, rows) for title, heads, rows in sections)
    return tables_as_latex(tables, "\n".join([*_sentences(comparison), *_foot(comparison)]))


def to_csv(comparison: Comparison) -> str:
    """Return the comparison as CSV in full precision; see `frame_rows`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(csv_cells, frame_rows(comparison)))
    return out.getvalue()


def frame_rows(comparison: Comparison) -> Iterator[tuple[object, ...]]:
    """Yield one row per sport and metric. Rows for all sports have no sport."""
    for contrast in comparison.contrasts:
        for key, difference in contrast.metrics.items():
            low, high = difference.ci95 or (None, None)
            names = (contrast.sport, comparison.a, comparison.b, key, unit_of(key, comparison.policy))
            numbers = (difference.n_images, difference.a, difference.b, difference.difference, low, high)
            tests = (difference.effect_size, difference.p, difference.p_holm, difference.direction, difference.verdict)
            margin = (difference.detectable, difference.margin, difference.conclusion)
            yield (*names, *numbers, *tests, *margin, difference.sentence, difference.reason, comparison.signature)


_TEXT = (0, 8)
"""Indices of the columns that hold words; the other columns hold numbers."""


def _section(comparison: Comparison, contrast: Contrast) -> tuple[str, list[str], list[list[str]]]:
    """Return the title, column heads and rows of one table."""
    images = f"the same {contrast.n_images} image{'s' if contrast.n_images > 1 else ''}"
    title = f"{_place(comparison, contrast)}{comparison.a} against {comparison.b} on {images}"
    numbers = ("Difference", "95% interval", "Effect size", "p", "p corrected")
    heads = ["Metric", comparison.a, comparison.b, *numbers, "Reading"]
    # A metric that has no value for either respondent is described in the notes.
    rows_shown = [
        (METRICS[key], difference)
        for key, difference in contrast.metrics.items()
        if (difference.a, difference.b) != (None, None)
    ]
    return title, heads, [_cells(comparison, metric, difference) for metric, difference in rows_shown]


def _place(comparison: Comparison, contrast: Contrast) -> str:
    if contrast.sport is not None:
        return sport_prefix(contrast.sport)
    return "all sports: " if len(comparison.contrasts) > 1 else ""


def _cells(comparison: Comparison, metric: Metric, difference: Difference) -> list[str]:
    unit = metric.unit_under(comparison.policy)
    title = metric.title_under(comparison.policy) + ("*" if difference.reason else "")
    head = {"share": f"{title} (%)", "none": title, "ratio": title}.get(unit, f"{title} ({unit})")
    return [
        head,
        "-" if difference.a is None else number(difference.a, unit),
        "-" if difference.b is None else number(difference.b, unit),
        "-" if difference.difference is None else signed(number(difference.difference, unit)),
        interval(difference.ci95, unit) or "-",
        "-" if difference.effect_size is None else signed(f"{difference.effect_size:.2f}"),
        *("-" if p is None else say_p(p).removeprefix("= ") for p in (difference.p, difference.p_holm)),
        _reading(comparison, difference),
    ]


def signed(text: str) -> str:
    """Return the text of a number with a leading + or -; 0 has no sign."""
    return text.lstrip("-") if float(text) == 0 else text if text.startswith("-") else f"+{text}"


def _reading(comparison: Comparison, difference: Difference) -> str:
    if difference.direction is None:
        return "no comparison"
    if difference.direction == "equal" or difference.verdict == "unclear":
        return "no clear difference"
    side, word = difference.direction.split(" is ")
    reading = f"{comparison.a if side == 'a' else comparison.b} {word}"
    return reading if difference.verdict == "clear" else f"{reading}?"


def _in_words(comparison: Comparison) -> str:
    place = _place(comparison, comparison.contrasts[-1]).removesuffix(": ")
    return f"The paper's metrics in words{f', {place}' if place else ''}"


def _sentences(comparison: Comparison) -> list[str]:
    """Return the sentences of the last contrast (all sports if there are several) for the paper's metrics."""
    last = comparison.contrasts[-1]
    return [difference.sentence for difference in {**in_the_paper(last), **with_margin(last)}.values()]


def with_margin(contrast: Contrast) -> dict[str, Difference]:
    """Return the differences with a margin."""
    return {key: difference for key, difference in contrast.metrics.items() if difference.conclusion is not None}


def in_the_paper(contrast: Contrast) -> dict[str, Difference]:
    """Return the differences of the paper's metrics, or of their matched versions, if both respondents have a value."""
    return {
        key: difference
        for key, difference in contrast.metrics.items()
        if METRICS[METRICS[key].estimates or key].equation is not None and difference.difference is not None
    }


def _foot(comparison: Comparison) -> list[str]:
    last, policy = comparison.contrasts[-1], comparison.policy
    tests = sum(difference.p is not None for difference in last.metrics.values())
    resampled = "images and, independently, participants" if "participants" in last.resampled else "images"
    lines = [
        *(f"warning: {warning}" for warning in comparison.warnings),
        *(f"* {note}" for note in _notes(comparison)),
        f"Difference: {comparison.a} - {comparison.b}.",
        "Effect size: mean of the differences per image, divided by their standard deviation.",
        f"p: from a permutation test that swaps the two respondents within images, in {_ways(comparison)}.",
        f"p is corrected for {tests} metrics (Holm).",
    ]
    if policy.bootstrap:
        lines.append(f"Interval: 95% bootstrap interval over {resampled}.")
    without_0 = " and the interval excludes 0" if policy.bootstrap else ""
    lines.append(
        f"A difference is clear if the corrected p is at most {ALPHA}{without_0}. A question mark marks weak evidence."
    )
    return [*lines, comparison.signature]


def _ways(comparison: Comparison) -> str:
    random_ways = {f"{contrast.permutations:,} random ways" for contrast in comparison.contrasts if not contrast.exact}
    all_ways = {"all ways" for contrast in comparison.contrasts if contrast.exact}
    return " or, with few images, ".join([*random_ways, *all_ways])


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield cautions and reasons for missing differences. Each text occurs once, with its metrics and sports."""
    places: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for contrast in comparison.contrasts:
        for key, difference in contrast.metrics.items():
            if difference.reason:
                titles, sports = places.setdefault(difference.reason, ({}, {}))
                titles[METRICS[key].title_under(comparison.policy)] = None
                sports[_place(comparison, contrast).removesuffix(": ")] = None
    for reason, (titles, sports) in places.items():
        every = len(sports) == len(comparison.contrasts)
        yield f"{', '.join(titles)}{'' if every else ' (' + ', '.join(sports) + ')'}: {reason}"
