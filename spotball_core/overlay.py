"""The grid as it is drawn on an image, for models, for people and for pages alike.

Where cells have room, each bears its label in its top left corner, in white with a dark rim, so that it reads on
grass, on shirts and on crowds. Where they have none, rows and columns are named on a margin around the image. Where
not even that fits, the image is first enlarged by a whole number.
"""

from __future__ import annotations

import math
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

_SMALLEST, _SHARE = 10, 0.21
"""Size of the labels in cells: at least in pixels, and as a share of the cell's shorter side."""

_MARGIN_TYPE = 9
"""Size of the labels on the margin in an image that is not enlarged, at least, in pixels."""

_LIGHT, _DARK, _LINE = (255, 255, 255), (0, 0, 0), 150
_PAPER, _INK = (24, 24, 24), (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Layout:
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
def layout(grid: Grid) -> Layout:
    """How a grid is drawn over its image.

    Raises:
        GridError: if its cells are so small that the image would have to be larger than 8000 pixels, or if the
            image is that large.
        MissingExtraError: without Pillow.

    Examples:
        >>> layout(Grid.standard())
        Layout(scale=1, type=13, margin=(0, 0), size=(640, 360))
        >>> layout(Grid(26, 40, 320, 180)).scale
        2
    """
    width, height = round(grid.width), round(grid.height)
    size = max(_SMALLEST, round(_SHARE * min(grid.cell_width, grid.cell_height)))
    wide, high = _room(f"{_widest_row(grid)}{grid.cols}", size)
    found = None
    if wide <= 0.7 * grid.cell_width and high <= 0.5 * grid.cell_height:
        found = Layout(1, size, (0, 0), (width, height))
    else:
        wide, high = _room(str(grid.cols), _MARGIN_TYPE)
        scale = math.ceil(max((wide + 3) / grid.cell_width, (high + 3) / grid.cell_height, 1))
        side = _room(_widest_row(grid), _MARGIN_TYPE)[0] + 8
        margin = (side, high + 8)
        found = Layout(scale, _MARGIN_TYPE, margin, (width * scale + 2 * margin[0], height * scale + 2 * margin[1]))
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
    from PIL import Image as Images
    from PIL import ImageDraw

    plan = layout(grid)
    if image.size != (grid.width, grid.height):
        raise GridError(f"the image is {image.width} x {image.height} pixels, the grid {grid}")
    width, height = image.width * plan.scale, image.height * plan.scale
    drawn = image.convert("RGB")
    if plan.scale > 1:
        drawn = drawn.resize((width, height), Images.Resampling.BICUBIC)
    xs = [round(i * width / grid.cols) for i in range(grid.cols + 1)]
    ys = [round(i * height / grid.rows) for i in range(grid.rows + 1)]
    _lines(ImageDraw.Draw(drawn, "RGBA"), xs, ys, max(1, round(min(width, height) / 480)))
    if plan.margin == (0, 0):
        _labels(ImageDraw.Draw(drawn), grid, xs, ys, plan.type)
        return drawn
    framed = Images.new("RGB", plan.size, _PAPER)
    framed.paste(drawn, plan.margin)
    _names(ImageDraw.Draw(framed), grid, xs, ys, plan)
    return framed


def _lines(draw: ImageDraw, xs: list[int], ys: list[int], thick: int) -> None:
    """Between the cells: a dark line and a light one side by side, so that one of them shows on any ground."""
    width, height = xs[-1], ys[-1]
    for x in xs[1:-1]:
        draw.rectangle((x - thick, 0, x - 1, height), (*_DARK, _LINE))
        draw.rectangle((x, 0, x + thick - 1, height), (*_LIGHT, _LINE))
    for y in ys[1:-1]:
        draw.rectangle((0, y - thick, width, y - 1), (*_DARK, _LINE))
        draw.rectangle((0, y, width, y + thick - 1), (*_LIGHT, _LINE))


def _labels(draw: ImageDraw, grid: Grid, xs: list[int], ys: list[int], size: int) -> None:
    """Each cell's label in its top left corner."""
    font, rim = _font(size), max(1, round(size / 9))
    inset = rim + max(2, round(size / 6))
    for row in range(grid.rows):
        for col in range(grid.cols):
            at = (xs[col] + inset, ys[row] + inset)
            label = f"{row_name(row + 1)}{col + 1}"
            draw.text(at, label, _LIGHT, font, anchor="lt", stroke_width=rim, stroke_fill=_DARK)


def _names(draw: ImageDraw, grid: Grid, xs: list[int], ys: list[int], plan: Layout) -> None:
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


def _widest_row(grid: Grid) -> str:
    return "W" * len(row_name(grid.rows))


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
