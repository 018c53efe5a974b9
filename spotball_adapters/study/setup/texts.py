"""Convert a researcher's Markdown to safe HTML: HTML tags in the Markdown are shown as text."""

from __future__ import annotations

from spotball_core.errors import MissingExtraError


def to_html(text: str) -> str:
    """Convert Markdown (CommonMark and tables) to HTML. Images are not supported.

    Examples:
        >>> to_html("Thank *you*. <script>alert(1)</script>")
        '<p>Thank <em>you</em>. &lt;script&gt;alert(1)&lt;/script&gt;</p>\\n'
        >>> to_html("[us](https://example.org)")
        '<p><a href="https://example.org" target="_blank" rel="noopener noreferrer">us</a></p>\\n'
        >>> to_html("[us](javascript:alert%281%29)")
        '<p>[us](javascript:alert%281%29)</p>\\n'
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtraError("the human study", "study") from error

    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                # A link must not navigate the participant away from the study.
                child.attrSet("target", "_blank")
                child.attrSet("rel", "noopener noreferrer")
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html
