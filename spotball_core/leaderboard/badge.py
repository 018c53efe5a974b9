"""Make a badge for a README that names the leader, as SVG in the style of shields.io and as endpoint JSON."""

from __future__ import annotations

import html
import json

from spotball_core.leaderboard.columns import MetricColumn
from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.leaderboard.text import columns_of
from spotball_core.service.safe_text import printable
from spotball_core.text.numbers import quantity
from spotball_core.text.words import plural, shortened, within

LABEL = "Spot the Ball"

_COLOR, _NAME = "#007ec6", 40
_CHARACTER, _PADDING, _HEIGHT = 6.8, 10, 20
"""Average width of a character, total space at the sides of a text, and height of the badge, in pixels."""


def message(board: Leaderboard, keys: tuple[str, ...]) -> str:
    """Return the badge's text: who leads the first ranking that has ranks, by its first ranked metric.

    If the rank intervals allow several leaders, the text gives their number. Without ranks, it gives the number of
    respondents.
    """
    for ranking in board.rankings:
        for column in columns_of(ranking, keys):
            if ranking.ranks[column.key]:
                return _leader(ranking, column)
    return plural(len({entry.respondent for ranking in board.rankings for entry in ranking.entries}), "respondent")


def as_svg(text: str) -> str:
    """Return the badge with this text as self-contained SVG."""
    label, shown = html.escape(LABEL), html.escape(printable(text))
    left, right = (round(len(words) * _CHARACTER) + _PADDING for words in (LABEL, text))
    full, font = left + right, 'font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11"'
    name = f"{label}: {shown}"

    def words(middle: float, width: int, inner: str) -> str:
        # `textLength` keeps the text within its half in any font.
        fit = f'textLength="{width - _PADDING}" lengthAdjust="spacingAndGlyphs"'
        return f'<text x="{middle:g}" y="14" {fit}>{inner}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full}" height="{_HEIGHT}" role="img" aria-label="{name}">'
        f'<title>{name}</title><clipPath id="r"><rect width="{full}" height="{_HEIGHT}" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{_HEIGHT}" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{_COLOR}"/></g>'
        f'<g fill="#fff" text-anchor="middle" {font}>'
        f"{words(left / 2, left, label)}{words(left + right / 2, right, shown)}</g></svg>\n"
    )


def as_endpoint(text: str) -> str:
    """Return the badge with this text as JSON for https://shields.io/badges/endpoint-badge."""
    return (
        json.dumps({"schemaVersion": 1, "label": LABEL, "message": printable(text), "color": "blue"}, indent=1) + "\n"
    )


def _leader(ranking: RankTable, column: MetricColumn) -> str:
    ranks = ranking.ranks[column.key]
    title = within(column.title)
    may_lead = [place for place, rank in ranks.items() if rank.interval is None or rank.interval[0] == 1]
    first = [place for place, rank in ranks.items() if rank.rank == 1]
    if len(may_lead) > 1 or len(first) > 1:
        return f"{len(may_lead)} of {len(ranks)} entries may be best in {title}"
    entry = ranking.entries[first[0]]
    value = entry.metrics[column.key].value
    assert value is not None
    return f"{shortened(printable(entry.respondent), _NAME)}, {title} {quantity(value, column.unit)}"
