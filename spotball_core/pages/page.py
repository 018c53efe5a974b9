"""Render a page: one HTML file without external resources."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from spotball_core.grid import row_name
from spotball_core.pages.parts import Section
from spotball_core.plots import theme
from spotball_core.plots.inline import Inline

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page outside its sections, such as the title.

    Attributes:
        title: the page's heading.
        generator: the command that writes the page.
        intro: paragraphs below the title.
        signature: signature of the page's numbers; empty if each section has its own.
        warnings: warnings about the data.
        dropped: number of excluded responses or trials, by reason.
        reference: the respondent that others are compared with; None without a reference.
        respondents: respondents whose rows, marks and cards the reader can select.
        about: paragraphs at the bottom; by default they name the record and the figures of a report.
        back: address of the page that this page is a part of; empty for a page on its own.
        remarks: remarks on methods, which the page folds.
        is_result: whether the title is a result. The warnings are then folded, and the signature is only at the bottom.
    """

    title: str
    generator: str
    intro: Sequence[str]
    signature: str
    warnings: Sequence[str]
    dropped: Mapping[str, int]
    reference: str | None = None
    respondents: Sequence[str] = ()
    about: Sequence[str] = ()
    back: str = ""
    remarks: Sequence[str] = ()
    is_result: bool = False


def render_page(page: Page, sections: Sequence[Section], svgs: Mapping[str, Sequence[Inline]]) -> str:
    """Return a page as HTML.

    Args:
        page: the page's content outside its sections.
        sections: sections from top to bottom.
        svgs: the panels of each picture, by the picture's name, from `inline_panels`.
    """
    from spotball_core.version import version

    environment = _environment()
    from markupsafe import Markup

    script = _text("explorer.js").replace("</", "<\\/")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return environment.get_template("template.html").render(
        page=page,
        generator=f"{page.generator} {version()}",
        theme=Markup(theme.css()),
        style=Markup(_text("style.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        dropped="; ".join(f"{what}: {n}" for what, n in page.dropped.items() if n),
        sections=sections,
        # Our code makes this from escaped text; all other text is escaped here.
        svgs={name: [(Markup(panel.svg), panel.width) for panel in panels] for name, panels in svgs.items()},
    )


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(n=lambda value: f"{value:g}", row=row_name, words=_words)
    return environment


def _words(text: str) -> Markup:
    """Convert text to HTML, with text in backquotes as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
