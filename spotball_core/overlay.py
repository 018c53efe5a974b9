"""Draw the grid on an image, in the same way for models, people and web pages.

If the cells are large enough, each cell has its label in its top left corner, in white with a dark rim, so that the
label is readable on grass, shirts and crowds. If the cells are too small, the names of rows and columns are drawn on a
margin around the image. If these names do not fit either, the image is first enlarged by an integer factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spotball_core.errors import GridError, MissingExtraError
from spotball_core.grid import Grid, row_name

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = FreeTypeFont | ImageFont

STYLE = 1
"""Version of the drawing. Increase it if the same image and grid would be drawn differently."""

LARGEST = 8000
"""Maximum number of pixels along a side of the drawing."""

_WANTED = 13
"""Desired font size of labels in pixels, for images up to 360 pixels high.

In higher images, it grows in proportion to the height, because models scale images down.
"""

_SHARE = 0.21
"""Minimum font size of labels, as a share of the cell's shorter side."""

_ACROSS, _DOWN = 0.65, 0.4
"""Maximum share of a cell's width and of its height that a label covers. If necessary, its font is made smaller."""

_IN_CELLS, _ON_MARGIN = 10, 9
"""Smallest readable font sizes in pixels: on the image, and on the margin."""

_APART = 3
"""Minimum distance in pixels between two names on the margin."""

_LIGHT, _DARK = (255, 255, 255), (0, 0, 0)
_STRONG, _FAINT = 150, 70
"""Opacity of the lines, out of 255.

If each cell is labeled, all lines are strong. Otherwise, every fifth line is strong and the others are faint.
"""

_PAPER, _INK = (24, 24, 24), (255, 255, 255)


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Layout of a grid drawing on an image.

    Attributes:
        scale: factor by which the image is enlarged.
        type: font size of the labels in pixels.
        margin: width of the margin left and right, and its height above and below, in pixels; zeros if each cell has
            its own label.
        size: width and height of the drawing, in pixels.
    """

    scale: int
    type: int
    margin: tuple[int, int]
    size: tuple[int, int]


@lru_cache(maxsize=64)
def layout(grid: Grid) -> GridLayout:
    """Return the layout of a grid drawing on its image.

    Raises:
        GridError: if the drawing would exceed 8000 pixels per side, because the cells are too small or the image is too
            large.
        MissingExtraError: if Pillow is not installed.

    Examples:
        >>> layout(Grid.standard())
        GridLayout(scale=1, type=13, margin=(0, 0), size=(640, 360))
        >>> layout(Grid(26, 40, 320, 180)).scale
        2
    """
    width, height = round(grid.width), round(grid.height)
    wanted = max(_WANTED, round(_WANTED * height / 360))
    row = _widest([row_name(i + 1) for i in range(grid.rows)])
    col = _widest([str(i + 1) for i in range(grid.cols)])
    size = max(
        min(wanted, _fitting(row + col, _ACROSS * grid.cell_width, _DOWN * grid.cell_height)),
        round(_SHARE * min(grid.cell_width, grid.cell_height)),
    )
    if size >= _IN_CELLS:
        found = GridLayout(1, size, (0, 0), (width, height))
    else:
        size = max(_ON_MARGIN, min(wanted, _fitting(col, grid.cell_width - _APART, grid.cell_height - _APART)))
        wide, high = _room(col, size)
        scale = max(1, math.ceil((wide + _APART) / grid.cell_width), math.ceil((high + _APART) / grid.cell_height))
        margin = (_room(row, size)[0] + size, high + size)
        found = GridLayout(scale, size, margin, (width * scale + 2 * margin[0], height * scale + 2 * margin[1]))
    if max(found.size) > LARGEST:
        raise GridError(
            f"drawing the grid {grid} needs {found.size[0]} x {found.size[1]} pixels, expected at most {LARGEST} "
            "pixels per side. Use a coarser grid or a smaller image"
        )
    return found


def gridded(image: Image, grid: Grid) -> Image:
    """Return a copy of an image with the grid and its labels.

    Args:
        image: an RGB image.
        grid: the grid, with the image's width and height in pixels.

    Raises:
        GridError: if image and grid have different sizes, or if the drawing would exceed 8000 pixels per side.
        MissingExtraError: if Pillow is not installed.
    """
    from PIL import Image as Images, ImageDraw

    plan = layout(grid)
    if image.size != (grid.width, grid.height):
        raise GridError(
            f"the image has {image.width} x {image.height} pixels, but the grid is {grid}. Correct the scene's width "
            "and height",
            code="incompatible-data",
        )
    width, height = image.width * plan.scale, image.height * plan.scale
    # Paste instead of copying, because a copy would keep the file's other data, such as a color profile.
    drawn = Images.new("RGB", (width, height))
    drawn.paste(image.resize((width, height), Images.Resampling.BICUBIC) if plan.scale > 1 else image)
    xs = [round(i * width / grid.cols) for i in range(grid.cols + 1)]
    ys = [round(i * height / grid.rows) for i in range(grid.rows + 1)]
    labeled = plan.margin == (0, 0)
    thick = max(1, round(min(width, height) / 480))
    _lines(ImageDraw.Draw(drawn, "RGBA"), xs, ys, thick, every=1 if labeled else 5)
    if labeled:
        rims, letters = _labels(grid, tuple(xs), tuple(ys), plan.type)
        drawn.paste(_DARK, mask=rims)
        drawn.paste(_LIGHT, mask=letters)
        return drawn
    framed = Images.new("RGB", plan.size, _PAPER)
    framed.paste(drawn, plan.margin)
    _names(ImageDraw.Draw(framed), grid, xs, ys, plan)
    return framed


def _lines(draw: ImageDraw, xs: list[int], ys: list[int], thick: int, *, every: int) -> None:
    """Draw the lines between cells: a dark and a light line side by side, so that one is always visible."""
    width, height = xs[-1], ys[-1]
    for i, x in enumerate(xs[1:-1], start=1):
        opacity = _FAINT if i % every else _STRONG
        draw.rectangle((x - thick, 0, x - 1, height), (*_DARK, opacity))
        draw.rectangle((x, 0, x + thick - 1, height), (*_LIGHT, opacity))
    for i, y in enumerate(ys[1:-1], start=1):
        opacity = _FAINT if i % every else _STRONG
        draw.rectangle((0, y - thick, width, y - 1), (*_DARK, opacity))
        draw.rectangle((0, y, width, y + thick - 1), (*_LIGHT, opacity))


@lru_cache(maxsize=1)
def _labels(grid: Grid, xs: tuple[int, ...], ys: tuple[int, ...], size: int) -> tuple[Image, Image]:
    """Return two masks of the image's size: the rims of all labels, and the letters of all labels.

    Most images of a dataset have the same size, so these masks are cached.
    """
    from PIL import Image as Images, ImageDraw

    font, rim = _font(size), max(1, round(size / 9))
    inset = rim + max(2, round(size / 6))
    masks = []
    for width in (rim, 0):
        mask = Images.new("L", (xs[-1], ys[-1]))
        draw = ImageDraw.Draw(mask)
        for row in range(grid.rows):
            for col in range(grid.cols):
                at = (xs[col] + inset, ys[row] + inset)
                draw.text(at, f"{row_name(row + 1)}{col + 1}", 255, font, anchor="lt", stroke_width=width)
        masks.append(mask)
    return masks[0], masks[1]


def _names(draw: ImageDraw, grid: Grid, xs: list[int], ys: list[int], plan: GridLayout) -> None:
    """Draw the rows' letters on the left and right margins, and the columns' numbers on the top and bottom margins."""
    font, (left, top), (width, height) = _font(plan.type), plan.margin, plan.size
    for row in range(grid.rows):
        y = top + (ys[row] + ys[row + 1]) / 2
        for x in (left / 2, width - left / 2):
            draw.text((x, y), row_name(row + 1), _INK, font, anchor="mm")
    for col in range(grid.cols):
        x = left + (xs[col] + xs[col + 1]) / 2
        for y in (top / 2, height - top / 2):
            draw.text((x, y), str(col + 1), _INK, font, anchor="mm")


def _widest(names: Sequence[str]) -> str:
    return max(names, key=_font(100).getlength)


def _fitting(text: str, width: float, height: float) -> int:
    """Return the largest font size at which a text fits into this width and height in pixels; at least 1."""
    wide, high = _room(text, 100)
    return max(1, math.floor(100 * min(width / wide, height / high)))


def _room(text: str, size: int) -> tuple[int, int]:
    """Return the width and height of a text at a font size, in pixels."""
    left, top, right, bottom = _font(size).getbbox(text)
    return math.ceil(right - left), math.ceil(bottom - top)


@lru_cache(maxsize=32)
def _font(size: int) -> Font:
    try:
        from PIL import ImageFont
    except ImportError as error:
        raise MissingExtraError("drawing the grid on images", "adapters") from error
    return ImageFont.load_default(size)
