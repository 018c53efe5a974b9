"""Images of scenes for the page: found, made small, and written into it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path

from spotball_core.schema.scene import Scene

WIDTH = 480
"""Pixels across, at most; a card shows an image about as wide."""

QUALITY = 72
"""JPEG quality."""


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


def as_data(path: Path) -> str | None:
    """An image as a `data:` address of a small JPEG; None where it cannot be read."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            small = image.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    small.thumbnail((WIDTH, WIDTH))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode("ascii")
