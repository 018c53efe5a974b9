"""Write the funnel (how many items each stage kept, and why others were removed) as a table and as a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from spotball_core.service.safe_text import csv_cells
from spotball_core.text.tables import beside
from spotball_gen.pipeline.ledger import FunnelStep

CHOICE = "targets"
"""Name of the final step, which follows all stages: the selection of items for the dataset."""

_WIDTH, _LEFT, _ROW, _BAR = 700, 120, 44, 400
"""Width of the figure, left margin of the bars, height of a row, and length of the longest bar, in pixels."""

_KEPT, _GONE, _TEXT, _FAINT = "#0f766e", "#d9dee3", "#1f2933", "#5b6770"


def choice_step(kept: int, left_out: Mapping[str, str]) -> FunnelStep:
    """Return the final step of the funnel: the number of selected items, and of excluded items by reason."""
    reasons: dict[str, int] = {}
    for reason in left_out.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return FunnelStep(CHOICE, kept, len(left_out), 0, dict(sorted(reasons.items())))


def record(steps: Sequence[FunnelStep]) -> list[dict[str, object]]:
    """Return the funnel as JSON values."""
    return [
        {
            "stage": step.stage,
            "entered": step.entered,
            "kept": step.kept,
            "rejected": step.rejected,
            "failed": step.failed,
            "reasons": dict(step.reasons),
        }
        for step in steps
    ]


def table(steps: Sequence[FunnelStep]) -> str:
    """Return the funnel as CSV: for each stage, rows for kept items, for each reason for rejection, and for failures.

    Examples:
        >>> print(table([FunnelStep("filter", 7, 3, 1, {"blurred": 2, "dark": 1})]), end="")
        stage,outcome,reason,items
        filter,kept,,7
        filter,rejected,blurred,2
        filter,rejected,dark,1
        filter,failed,,1
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["stage", "outcome", "reason", "items"])
    for step in steps:
        rows.writerow([step.stage, "kept", "", step.kept])
        rows.writerows(csv_cells([step.stage, "rejected", reason, count]) for reason, count in step.reasons.items())
        if step.failed:
            rows.writerow([step.stage, "failed", "", step.failed])
    return text.getvalue()


def lines(steps: Sequence[FunnelStep]) -> list[str]:
    """Return the funnel as lines for a terminal.

    Examples:
        >>> steps = [FunnelStep("frames", 40, 2, 0, {"near duplicate": 2}), FunnelStep("filter", 40, 0, 0, {})]
        >>> print(*lines(steps), sep="\\n")
        frames   40 of 42   2 near duplicate
        filter   40 of 40
    """
    rows = [(step.stage, f"{step.kept:,} of {step.entered:,}", _why(step)) for step in steps]
    wide = [max(len(row[i]) for row in rows) for i in (0, 1)]
    return [beside(f"{name:<{wide[0]}}   {counts:>{wide[1]}}   ", why) for name, counts, why in rows]


def picture(steps: Sequence[FunnelStep]) -> str:
    """Return an SVG figure with a bar per stage: the items that it received and kept, and reasons for the others."""
    most = max([1, *(step.entered for step in steps)])
    height = _ROW * len(steps) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">',
        '<g font-family="system-ui, sans-serif" font-size="13">',
        "<title>Items left after each stage</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="20" fill="{_TEXT}" font-weight="600">Items left after each stage</text>',
    ]
    for number, step in enumerate(steps):
        y = 34 + number * _ROW
        entered_width, kept_width = (_BAR * count / most for count in (step.entered, step.kept))
        share = f"{step.kept / step.entered:.0%}" if step.entered else ""
        parts += [
            f'<text x="{_LEFT - 10}" y="{y + 16}" fill="{_TEXT}" text-anchor="end">{escape(step.stage)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{entered_width:.1f}" height="22" rx="2" fill="{_GONE}"/>',
            f'<rect x="{_LEFT}" y="{y}" width="{kept_width:.1f}" height="22" rx="2" fill="{_KEPT}"/>',
            f'<text x="{_LEFT + _BAR + 10}" y="{y + 16}" fill="{_TEXT}">{step.kept:,} of {step.entered:,}</text>',
            f'<text x="{_WIDTH - 12}" y="{y + 16}" fill="{_FAINT}" text-anchor="end">{share}</text>',
            f'<text x="{_LEFT}" y="{y + 36}" fill="{_FAINT}" font-size="11">{escape(_why(step))}</text>',
        ]
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _why(step: FunnelStep) -> str:
    """Return the reasons for which items were removed with their counts as text, the most frequent reason first."""
    ordered = sorted(step.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    parts = [f"{count:,} {reason}" for reason, count in ordered]
    return ", ".join([*parts, *([f"{step.failed:,} failed"] if step.failed else [])])
