"""Draw a ball on noise, and check what an inpainting stage returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_gen.imaging.masks import ball_mask
from spotball_gen.items.item import Box, Item
from spotball_gen.items.pictures import PictureFile

BALL = Box(40, 30, 52, 42)


def picture(size: tuple[int, int] = (90, 160), ball: Box = BALL, color: int = 250) -> NDArray[np.uint8]:
    """Return an image of noise with a ball."""
    pixels = np.random.default_rng(0).integers(60, 120, (*size, 3), dtype=np.uint8)
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    (at_x, at_y), radius = ball.center, ball.width / 2
    pixels[(x - at_x) ** 2 + (y - at_y) ** 2 <= radius**2] = color
    return pixels


def pictures(item: Item) -> tuple[PictureFile, PictureFile]:
    """Return the mask and the inpainted image of an item."""
    assert item.mask is not None
    assert item.painted is not None
    return item.mask, item.painted


def arrays(item: Item) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    mask, painted = pictures(item)
    return mask.array, painted.array


def inpainted(stage: Any, *items: Item) -> list[Item]:
    """Return the items from a stage, after checking that it changes only masked pixels and stores the results."""
    outcome = stage.process(items)
    assert not outcome.rejects
    assert not outcome.failures, outcome.failures
    for item, done in zip(items, outcome.items, strict=True):
        mask, image = arrays(done)
        assert (done.id, image.shape) == (item.id, item.image.shape)
        assert (mask == ball_mask(item, stage.settings)).all()
        assert (image[mask == 0] == item.image[mask == 0]).all()
        # Check the stored files, which the ledger refers to.
        for file, folder in zip(pictures(done), ("masks", "painted"), strict=True):
            assert file.within(stage.context.work) == f"{folder}/match/{item.id}.png"
            assert (PictureFile(file.path, gray=file.gray).array == file.array).all()
    return list(outcome.items)
