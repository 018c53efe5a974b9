"""Images of scenes for the page: found, given the grid that respondents saw, made small, and written into it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path

from spotball_core.errors import GridError
from spotball_core.grid import Grid
from spotball_core.overlay import gridded, layout
from spotball_core.schema.scene import Scene

WIDTH = 480
"""Pixels across, at most; a card shows an image about as wide."""

QUALITY = 60
"""WebP quality."""


def found(scene: Scene, folders: Sequence[Path]) -> Path | None:
    """A scene's image file, in the first folder that has it; None if there is none.

    A path that leads out of the folder is not followed: a dataset may come from anybody, and what is in other folders
    is nothing that a report should show.
    """
    for folder in folders if scene.path else ():
        path = (folder / str(scene.path)).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file():
            return path
    return None


def as_data(path: Path, grid: Grid) -> str | None:
    """An image with its grid as a `data:` address of a small WebP; None where it cannot be read or drawn on.

    Names beside the image, which grids of many cells get, are left out.
    """
    from PIL import Image, ImageOps

    try:
        plan = layout(grid)
        with Image.open(path) as image:
            whole = ImageOps.exif_transpose(image).convert("RGB").resize((round(grid.width), round(grid.height)))
        drawn = gridded(whole, grid)
    except (OSError, ValueError, Image.DecompressionBombError, GridError):
        return None
    (left, top), (width, height) = plan.margin, plan.size
    small = drawn.crop((left, top, width - left, height - top))
    small.thumbnail((WIDTH, WIDTH))
    out = io.BytesIO()
    small.save(out, "WEBP", quality=QUALITY)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")
