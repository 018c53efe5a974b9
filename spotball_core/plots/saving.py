"""Figures as files: whole or not there, the same figure the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.errors import OptionError
from spotball_core.service.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
DPI = 160


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG (160 dots per inch) or SVG, by the file's ending; the same figure gives the same bytes.

    The file is whole or not there.

    Raises:
        OptionError: for another ending.
    """
    import matplotlib

    path = Path(path)
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: pictures are written as one of {', '.join(FORMATS)}")
    metadata = {"Software": None} if path.suffix == ".png" else {"Date": None, "Creator": None}
    # Without a salt of its own an SVG's ids are random.
    with replacing(path) as beside, matplotlib.rc_context({"svg.hashsalt": "spotball"}):
        figure.savefig(beside, dpi=DPI, metadata=metadata)
