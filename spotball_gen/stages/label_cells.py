"""Stage `label`, kind `cells`: label the cells that hold the ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from spotball_core.grid import Grid
from spotball_core.overlay import gridded, layout
from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one


class CellsSettings(StageSettings):
    """Settings of `cells`.

    Attributes:
        min_share: a cell holds the ball if it contains more than this share of the ball's box, from 0 to 1. The cell
            with the largest share always counts. The paper (Spot the Ball) counts all cells that the ball overlaps,
            which is a share of 0. The default ignores overlaps as small as a detector's error.
        overlay: whether to write each image, with the ball and the grid, into the folder `overlays/` of the work
            folder, for visual checks.
    """

    min_share: float = Field(0.02, ge=0, lt=1)
    overlay: bool = False


class Cells:
    """Label each item with the cells that hold the ball, in the order of their indices.

    Raises:
        MissingExtraError: if overlays are enabled and Pillow is not installed.
        GridError: if overlays are enabled and the cells are too small to draw.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from spotball_gen.items.item import VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> frame = PictureFile(Path("frame.png"))
        >>> item = Item("match-000001000", source, 1.0, 0, frame, ball=Box(118, 50, 138, 70))
        >>> stage = Cells(CellsSettings(), Context(Path(tempfile.gettempdir()), Grid.standard()))
        >>> stage.process([item]).items[0].cells
        ('A2', 'A3', 'B2', 'B3')
    """

    Settings: ClassVar[type[StageSettings]] = CellsSettings
    packages: ClassVar[tuple[str, ...]] = ("pillow",)

    name = "label"
    kind = "cells"
    version = "1"
    batch_size = 64
    device: Device = "cpu"

    def __init__(self, settings: CellsSettings, context: Context) -> None:
        self.settings = settings
        self.context = context
        if settings.overlay:
            layout(context.grid)

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their cells. No item is rejected; an item without a ball in the image fails."""
        return one_by_one(self.name, items, self._labeled)

    def _labeled(self, item: Item) -> Item:
        if item.ball is None:
            raise ValueError("the item has no ball to label")
        cells = ball_cells(item.ball, self.context.grid, min_share=self.settings.min_share)
        if self.settings.overlay:
            self._draw(item)
        return replace(item, cells=cells)

    def _draw(self, item: Item) -> None:
        import numpy as np
        from PIL import Image as Pictures

        overlay = gridded(Pictures.fromarray(item.image), self.context.grid)
        self.context.keep(item, "overlays", np.asarray(overlay))


def ball_cells(ball: Box, grid: Grid, *, min_share: float) -> tuple[str, ...]:
    """Return the labels of the cells that hold a ball, in the order of their indices.

    Args:
        ball: the ball's box. Parts outside the image are not counted.
        grid: the grid over the image.
        min_share: a cell holds the ball if it contains more than this share of the ball's box (0 to 1). The cell with
            the largest share always counts.

    Raises:
        ValueError: if the box is outside the image.

    Examples:
        >>> ball_cells(Box(60, 10, 80, 30), Grid.standard(), min_share=0.1)
        ('A1', 'A2')
        >>> ball_cells(Box(60, 10, 80, 30), Grid.standard(), min_share=0.2)
        ('A2',)
    """
    # All cells have the same area, so covered shares of cells are proportional to shares of the ball.
    shares = grid.cells_in(ball.corners)
    total = sum(shares.values())
    if not total:
        raise ValueError("the ball is outside the image")
    most = max(shares.values())
    return tuple(cell for cell, share in shares.items() if share == most or share > min_share * total)
