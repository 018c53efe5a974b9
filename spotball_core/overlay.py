"""The grid as it is drawn on an image, for models, for people and for pages alike.

Where cells have room, each bears its label in its top left corner, in white with a dark rim, so that it reads on
grass, on shirts and on crowds. Where they have none, rows and columns are named on a margin around the image. Where
not even that fits, the image is first enlarged by a whole number.
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
"""Counted up whenever the same image and grid are drawn differently."""

LARGEST = 8000
"""Pixels along a side of what is drawn, at most."""

_WANTED = 13
"""Size of the labels in an image 360 pixels high, and more in a higher one: models see that made smaller."""

_SHARE = 0.21
"""The same as a share of the cell's shorter side; the labels of large cells are as large as this."""

_ACROSS, _DOWN = 0.65, 0.4
"""How much of a cell its label covers in width and height, at most, where it is smaller than wanted."""

_IN_CELLS, _ON_MARGIN = 10, 9
"""Smallest type that reads, in pixels: over an image, and beside it."""

_APART = 3
"""Pixels between two names on the margin, at least."""

_LIGHT, _DARK = (255, 255, 255), (0, 0, 0)
_STRONG, _FAINT = 150, 70
"""Opacity of the lines, of 255: all between labeled cells; between others every fifth, to count by, and the rest."""

_PAPER, _INK = (24, 24, 24), (255, 255, 255)


@dataclass(frozen=True, slots=True)
class GridLayout:
    """How a grid is drawn over an image.

    Attributes:
        scale: how many times larger the image is drawn.
        type: size of the labels in pixels.
        margin: left and right, above and below, in pixels; zeros where each cell bears its own label.
        size: width and height of what is drawn, in pixels.
    """

    scale: int
    type: int
    margin: tuple[int, int]
    size: tuple[int, int]


@lru_cache(maxsize=64)
def layout(grid: Grid) -> GridLayout:
    """How a grid is drawn over its image.

    Raises:
        GridError: if its cells are so small that the image would have to be larger than 8000 pixels, or if the
            image is that large.
        MissingExtraError: without Pillow.

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
        raise GridError(f"{grid} would have to be drawn {found.size[0]} x {found.size[1]} pixels large, over {LARGEST}")
    return found


def gridded(image: Image, grid: Grid) -> Image:
    """A copy of an image with the grid and its labels drawn on it.

    Args:
        image: in RGB, of the grid's size.
        grid: with the image's size in pixels.

    Raises:
        GridError: if the image is not of the grid's size, or as `layout`.
        MissingExtraError: without Pillow.
    """
    from PIL import Image as Images, ImageDraw

    plan = layout(grid)
    if image.size != (grid.width, grid.height):
        raise GridError(f"the image is {image.width} x {image.height} pixels, the grid {grid}")
    width, height = image.width * plan.scale, image.height * plan.scale
    # Pasted, since a copy would keep what else the file says, such as a color profile.
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
    """Between the cells: a dark line and a light one side by side, so that one of them shows on any ground."""
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
    """Masks of the labels' rims and of their letters: each cell's label is in its top left corner.

    Most images of a dataset have the same size, so that their labels are drawn once.
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
    """Letters of the rows left and right, numbers of the columns above and below."""
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
    """The largest size, from 1, at which a text is no larger than this; all in pixels."""
    wide, high = _room(text, 100)
    return max(1, math.floor(100 * min(width / wide, height / high)))


def _room(text: str, size: int) -> tuple[int, int]:
    """Width and height of a text, in pixels."""
    left, top, right, bottom = _font(size).getbbox(text)
    return math.ceil(right - left), math.ceil(bottom - top)


@lru_cache(maxsize=32)
def _font(size: int) -> Font:
    try:
        from PIL import ImageFont
    except ImportError as error:
        raise MissingExtraError("drawing the grid on images", "adapters") from error
    return ImageFont.load_default(size)
