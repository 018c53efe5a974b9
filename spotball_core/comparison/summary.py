"""Write the summary that `spotball compare` prints first: a sentence, and a table of the paper's metrics."""

from __future__ import annotations

from functools import partial

from spotball_core.comparison.record import Comparison, Difference
from spotball_core.comparison.tables import COLUMNS, frame_rows, in_the_paper, signed, with_margin
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.report import sport_prefix
from spotball_core.schema.result import Forms
from spotball_core.text.first_screen import IN_PYTHON, FirstScreen
from spotball_core.text.numbers import ALPHA, interval, number, points, say_p, unit_of
from spotball_core.text.words import plural

MORE = "Add --full to see every metric of every sport. Add --format json, csv, markdown or latex to choose the format."


def to_summary(comparison: Comparison, *, to_terminal: bool = False, more: str = MORE) -> str:
    """Return the first metric's sentence, a table of the paper's metrics, the warnings, and a pointer to more output.

    Args:
        comparison: the comparison. Its last contrast is shown, which covers all sports if there are several.
        to_terminal: whether the text may use the width of the terminal that standard output is connected to.
        more: how to see more than the summary.
    """
    return _screen(comparison, more).text(to_terminal=to_terminal)


def _html(comparison: Comparison) -> str:
    return _screen(comparison, IN_PYTHON).html()


def _screen(comparison: Comparison, more: str) -> FirstScreen:
    contrast, policy = comparison.contrasts[-1], comparison.policy
    shown = in_the_paper(contrast)
    images = f"the same {plural(contrast.n_images, 'image')}"
    sport = "all sports, " if len(comparison.contrasts) > 1 else sport_prefix(contrast.sport, ", ")
    tests = sum(difference.p is not None for difference in contrast.metrics.values())
    clear = f"p is at most {ALPHA}" + (" and the interval excludes 0" if policy.bootstrap else "")
    margins = [difference.sentence for difference in with_margin(contrast).values()]
    sentences = margins or [difference.sentence for difference in shown.values()]
    could = [
        f"{METRICS[key].title_under(policy)} {points(difference.detectable, unit_of(key, policy))}"
        for key, difference in shown.items()
        if difference.verdict != "clear" and difference.detectable is not None
    ]
    seen = [f"Differences that these images detect with 80% power: {'; '.join(could)}."] if could else []
    return FirstScreen(
        sentences[0] if sentences else "No metric has values for both a and b.",
        ["metric", "a", "b", "a - b", "95% interval", "p"],
        [_cells(comparison, key, difference) for key, difference in shown.items()],
        n_names=1,
        about=f"a: {comparison.a}. b: {comparison.b}. {sport}{images}.",
        warnings=comparison.warnings,
        notes=[
            *margins[1:],
            f"p is corrected for {tests} tests (Holm). An asterisk marks clear differences: {clear}.",
            *seen,
            more,
        ],
        signature=comparison.signature,
    )


def _cells(comparison: Comparison, key: str, difference: Difference) -> list[str]:
    unit = unit_of(key, comparison.policy)
    title = METRICS[key].title_under(comparison.policy).replace("Wasserstein distance", "Wasserstein")
    unit_label = {"share": " (%)", "none": "", "ratio": ""}.get(unit, f" ({unit})")
    p = "-" if difference.p_holm is None else say_p(difference.p_holm).removeprefix("= ")
    return [
        title + unit_label,
        *("-" if value is None else number(value, unit) for value in (difference.a, difference.b)),
        "-" if difference.difference is None else signed(number(difference.difference, unit)),
        interval(difference.ci95, unit) or "-",
        p + ("*" if difference.verdict == "clear" else " "),
    ]


FORMS = Forms(text=partial(to_summary, more=IN_PYTHON), html=_html, columns=COLUMNS, rows=frame_rows)
