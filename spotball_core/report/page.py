"""The report's page: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from spotball_core.grid import row_name
from spotball_core.report import theme
from spotball_core.report.charts_mixture import MixtureChart
from spotball_core.report.inline import Inline
from spotball_core.report.numbers import listed, plural
from spotball_core.report.page_parts import Section
from spotball_core.report.view import PageView

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TITLE = "Spot the Ball: report"
GENERATOR = "spotball report"
"""What the page's `generator` starts with; by it a folder is known for a report's."""


@dataclass(frozen=True, slots=True)
class Page:
    """What stands around a page's sections.

    Attributes:
        title: its heading.
        generator: the command that makes it.
        intro: paragraphs beneath the title.
        signature: of its numbers.
        warnings: what to bear in mind.
        dropped: how much was left out, by reason.
        reference: whom others are compared with.
    """

    title: str
    generator: str
    intro: Sequence[str]
    signature: str
    warnings: Sequence[str]
    dropped: Mapping[str, int]
    reference: str | None = None


def render(view: PageView, sections: Sequence[Section], svgs: Mapping[str, Sequence[Inline]]) -> str:
    """A score report's page as HTML; see `render_page`."""
    report = view.report
    page = Page(
        TITLE,
        GENERATOR,
        _intro(view),
        report.signature,
        report.warnings,
        report.provenance.dropped,
        view.reference,
    )
    return render_page(page, sections, svgs)


def render_page(page: Page, sections: Sequence[Section], svgs: Mapping[str, Sequence[Inline]]) -> str:
    """A page as HTML.

    Args:
        page: what stands around the sections.
        sections: in order.
        svgs: the panels of each picture, by the picture's name, as `inline_svg` writes them.
    """
    from spotball_core import __version__

    environment = _environment()
    from markupsafe import Markup

    wide = {p.name for section in sections for p in section.pictures if isinstance(p.chart, MixtureChart)}
    gallery = next((section.gallery for section in sections if section.gallery), None)
    return environment.get_template("template.html").render(
        page=page,
        generator=f"{page.generator} {__version__}",
        theme=Markup(theme.css()),
        style=Markup(_text("style.css")),
        modes=gallery.modes if gallery else (),
        dropped="; ".join(f"{what}: {n}" for what, n in page.dropped.items() if n),
        sections=sections,
        # Made by our own code from escaped text; everything else is escaped here.
        svgs={name: [(Markup(one.svg), one.width) for one in panels] for name, panels in svgs.items()},
        wide=wide,
    )


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(n=lambda value: f"{value:g}", row=row_name, words=_words)
    return environment


def _words(text: str) -> Markup:
    """Text as HTML, with what stands in backquotes as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _intro(view: PageView) -> list[str]:
    """Who answered, how much, and to what."""
    kinds: dict[str, set[str]] = {"human": set(), "model": set(), "baseline": set()}
    for group in view.scored:
        if group.kind:
            kinds[group.kind].add(group.respondent or "")
    words = [", ".join(sorted(kinds["human"]))] if kinds["human"] else []
    words += [plural(len(kinds[kind]), kind) for kind in ("model", "baseline") if kinds[kind]]
    n, images = view.page.n_responses, plural(view.page.n_images, "image")
    compared = f" Others are compared with {view.reference}." if view.reference else ""
    return [f"{listed(words)}: {plural(n, 'response')} to {images} of {listed(view.sports)}.{compared}"]
