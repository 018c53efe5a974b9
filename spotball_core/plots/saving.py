"""Save figures as files. If writing fails, no partial file remains; the same figure gives identical bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DPI = 160

# No file contains the date or the program's version. PNG files are compressed in a third less time than by default, and
# are 7% larger.
_OPTIONS: dict[str, dict[str, Any]] = {
    ".png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    ".svg": {"metadata": {"Date": None, "Creator": None}},
    ".pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}

_LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
"""Tables of a font that state where glyphs are placed in a text. A PDF file contains the place of each glyph."""


def save_figure(figure: Figure, path: str | Path, *, dpi: int = DPI) -> None:
    """Write a figure as PNG, SVG or PDF, depending on the file's ending. Text in SVG and PDF files remains text.

    Args:
        figure: the figure.
        path: path of the file, which is written to a temporary name and renamed.
        dpi: dots per inch of a PNG file.

    Raises:
        OptionError: if the ending is not .png, .svg or .pdf.
    """
    import matplotlib

    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(
            f"this picture format is not supported. Use one of {', '.join(FORMATS)}",
            code="unsupported-format",
            file=path,
        )
    # Use TrueType fonts in PDF files, which journals require, and SVG ids that do not change between runs.
    with (
        replacing(path) as beside,
        matplotlib.rc_context({"svg.hashsalt": "spotball", "svg.fonttype": "none", "pdf.fonttype": 42}),
        _fonts_without_layout() if path.suffix == ".pdf" else nullcontext(),
    ):
        figure.savefig(beside, dpi=dpi, **_OPTIONS[path.suffix])


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """Embed fonts without their layout tables, which would take most of the time of writing a PDF file.

    Matplotlib has no option for this, so the default of fontTools is changed meanwhile.
    """
    from fontTools.subset import Options

    name = "_drop_tables_default"
    before = getattr(Options, name, None)
    if before is None:
        yield
        return
    setattr(Options, name, [*before, *_LAYOUT_TABLES])
    try:
        yield
    finally:
        setattr(Options, name, before)
