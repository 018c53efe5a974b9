"""Images for the page: found, given the grid that respondents saw, made small, and written into it."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.errors import GridError
from spotball_core.grid import Grid
from spotball_core.overlay import gridded, layout
from spotball_core.service.images import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH = 480
"""Pixels across, at most; a card shows an image about as wide."""

QUALITY, METHOD = 60, 2
"""WebP quality, and how hard the encoder tries: more than 2 takes twice the time for files 5% smaller."""


def as_data(path: Path, grid: Grid) -> str | None:
    """An image with its grid as a `data:` address of a small WebP; None where it cannot be read or drawn on.

    Names beside the image, which grids of many cells get, are left out.
    """
    whole = upright(path)
    if whole is None:
        return None
    try:
        plan = layout(grid)
        drawn = gridded(whole.resize((round(grid.width), round(grid.height))), grid)
    except (ValueError, OSError, MemoryError, GridError):
        return None
    (left, top), (width, height) = plan.margin, plan.size
    return written(drawn.crop((left, top, width - left, height - top)))


def upright(path: Path) -> Image | None:
    """An image as a browser shows it, in RGB; None where it cannot be read."""
    from PIL import ImageOps

    try:
        with open_image(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except Exception:  # Pillow raises nearly anything for a damaged file, and one file must not cost the page.
        return None


def written(image: Image) -> str:
    """An image as a `data:` address of a small WebP; it is made small itself."""
    image.thumbnail((WIDTH, WIDTH))
    out = io.BytesIO()
    image.save(out, "WEBP", quality=QUALITY, method=METHOD)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")
