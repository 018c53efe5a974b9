"""Draw Figure 7 (Spot the Ball): the share of each category, for people by sport, for models by sport and by prompt."""

from __future__ import annotations

from spotball_core.errors import OptionError
from spotball_core.pages.parts import PagePicture
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.theme import INK, THEME
from spotball_core.reasoning.records import Panel as Groups, ReasoningGroup, ReasoningReport
from spotball_core.text.numbers import told
from spotball_core.text.words import plural, shortened

NAME = "reasoning"

_MARKERS = ("o", "^", "s", "v", "P", "X", "<", ">", "h")
_ROOM = 22
"""Maximum number of characters of a sport's, a prompt's or a category's name."""


def picture(report: ReasoningReport) -> PagePicture:
    """Return the figure with its title and caption.

    Raises:
        OptionError: if there are neither people nor models.
    """
    if not report.panels:
        raise OptionError(
            "the report has no rationales of people or models, so the figure would be empty. Add their responses",
            code="no-data",
        )
    chart = DotChart(
        tuple(_panel(panel, report) for panel in report.panels),
        "share of the rationales",
        "share",
    )
    interval_note = ", with 95% bootstrap intervals over images" if report.provenance.bootstrap else ""
    caption = (
        "Dots show the share of rationales that are closest to the category's sentences (published "
        f"method){interval_note}. Short lines show the share after the offset between the categories is removed; the "
        f"offset was {_corpus(report)}. All rationales of a row have the same weight."
    )
    return PagePicture(NAME, "What rationales mention", caption, chart, tuple(map(_words, report.panels)))


def _corpus(report: ReasoningReport) -> str:
    neutral = report.provenance.centered_on == "neutral"
    return "measured on neutral sentences" if neutral else "measured on the rationales themselves"


def name_of(group: ReasoningGroup) -> str:
    """Return the name of a panel's group: its sport or its prompt."""
    return group.sport or group.prompt or ""


def _panel(panel: Groups, report: ReasoningReport) -> DotPanel:
    color = THEME["people"][0] if panel.name.startswith("people") else INK
    dots = tuple(
        Dot(
            respondent=shortened(name_of(group), _ROOM),
            prompt=shortened(category, _ROOM),
            color=color,
            marker=_MARKERS[place % len(_MARKERS)],
            value=share.value,
            ends=share.ci95,
            tick=group.centered.shares[category].value,
        )
        for group in panel.groups
        for place, (category, share) in enumerate(group.published.shares.items())
    )
    n = sum(group.n_rationales for group in panel.groups)
    return DotPanel(
        panel.name, plural(n, "rationale"), dots, (ReferenceLine(1 / len(report.categories), "equal shares"),)
    )


def _words(panel: Groups) -> str:
    """Describe a panel in words, with each category's share."""
    groups = (
        f"{name_of(group)} "
        + ", ".join(f"{category} {told(share, 'share')}" for category, share in group.published.shares.items())
        for group in panel.groups
    )
    return f"{panel.name}: {'; '.join(groups)}."
