"""The first screen of a comparison: what it says of accuracy, and the paper's metrics in 80 columns."""

from __future__ import annotations

import io
import textwrap

from spotball_core.comparison.record import Comparison, Difference
from spotball_core.comparison.tables import in_the_paper, signed
from spotball_core.metrics.registry import METRICS
from spotball_core.service.safe_text import rich_text
from spotball_core.text.numbers import interval, number, plural, unit_of
from spotball_core.text.p_values import ALPHA, say_p

WIDTH = 80

MORE = "More: --full for every metric of every sport; --format json, csv, markdown or latex for files and papers."


def to_summary(comparison: Comparison, *, to_terminal: bool = False) -> str:
    """Write the sentence on accuracy, a table of the paper's metrics, the warnings, and where the rest is.

    Args:
        comparison: of which the last contrast is shown: of all sports, where there are several.
        to_terminal: whether the text may be as wide as the terminal that standard output is.
    """
    import sys

    from rich.console import Console
    from rich.table import Table

    on_terminal = to_terminal and sys.stdout.isatty()
    width = max(Console().width, WIDTH) if on_terminal else WIDTH
    contrast = comparison.contrasts[-1]
    shown = in_the_paper(contrast)
    sentence = next(iter(shown.values())).sentence if shown else "The two share no metric that can be compared."
    place = contrast.sport or ("all sports" if len(comparison.contrasts) > 1 else "")
    images = f"the same {plural(contrast.n_images, 'image')}"
    names = f"a: {comparison.a}. b: {comparison.b}. {', '.join(filter(None, [place, images]))}."
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, head in enumerate(("metric", "a", "b", "a - b", "95% interval", "p")):
        table.add_column(head, no_wrap=True, justify="right" if column else "left", header_style="")
    for key, difference in shown.items():
        table.add_row(*(rich_text(cell) for cell in _cells(comparison, key, difference)))
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=on_terminal or None)
    console.print(rich_text(_wrapped(sentence, width), "bold"), soft_wrap=True)
    console.print()
    console.print(rich_text(_wrapped(names, width)), soft_wrap=True)
    console.print()
    console.print(table)
    console.print()
    for warning in comparison.warnings:
        console.print(rich_text(f"warning: {warning}"), soft_wrap=True)
    tests = sum(difference.p is not None for difference in contrast.metrics.values())
    bound = f"p is at most {ALPHA}" + (" and the interval is without 0" if comparison.policy.bootstrap else "")
    console.print(
        rich_text(_wrapped(f"p: corrected for {tests} tests (Holm). *: a clear difference; {bound}.", width)),
        soft_wrap=True,
    )
    console.print(rich_text(_wrapped(MORE, width)), soft_wrap=True)
    console.print(rich_text(comparison.signature), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _cells(comparison: Comparison, key: str, difference: Difference) -> list[str]:
    unit = unit_of(key, comparison.policy)
    title = METRICS[key].title_under(comparison.policy).replace("Wasserstein distance", "Wasserstein")
    said = {"share": " (%)", "none": "", "ratio": ""}.get(unit, f" ({unit})")
    p = "-" if difference.p_holm is None else say_p(difference.p_holm).removeprefix("= ")
    return [
        title + said,
        *("-" if value is None else number(value, unit) for value in (difference.a, difference.b)),
        "-" if difference.difference is None else signed(number(difference.difference, unit)),
        interval(difference.ci95, unit) or "-",
        p + ("*" if difference.verdict == "clear" else " "),
    ]


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))
