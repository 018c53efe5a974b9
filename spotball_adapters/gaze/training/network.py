"""A small network that tells where somebody looks: one path for the head, one for the whole picture.

After the two paths of Recasens et al., *Where are they looking?* (2015): the head's box is cut out and seen in detail,
the picture coarsely; both together make a heatmap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from spotball_adapters.gaze.gazelle import Box

CELLS: Final = 32
"""Cells of a heatmap's side."""

HEAD: Final = 40
"""Pixels of a side of the head that is cut out."""

SCENE: Final = 32
"""Pixels of a side of the picture as it is seen as a whole."""

_WHOLE: Final[Box] = (0.0, 0.0, 1.0, 1.0)


class TwoPaths(nn.Module):
    """The network, untrained.

    Args:
        side: pixels of a side of the pictures that it takes.
        width: channels of the first layers.
    """

    def __init__(self, side: int, width: int = 16) -> None:
        super().__init__()
        self.size = (side, side)
        self.head = _path(HEAD, width, 96)
        self.scene = _path(SCENE, width, 64)
        self.together = nn.Sequential(
            nn.Linear(96 + 64 + 4, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, CELLS * CELLS)
        )

    def forward(self, images: Tensor, faces: Sequence[Box | None]) -> Tensor:
        """Where the person on each picture looks.

        Args:
            images: as `gazelle.prepared`, shape (batch, 3, side, side).
            faces: the box of each one's head; the whole picture where it is None.

        Returns:
            Heatmaps whose cells add up to 1, shape (batch, 32, 32).
        """
        boxes = torch.tensor([face or _WHOLE for face in faces], dtype=images.dtype, device=images.device)
        scene = functional.interpolate(images, (SCENE, SCENE), mode="bilinear", antialias=True)
        features = torch.cat([self.head(cut_out(images, boxes, HEAD)), self.scene(scene), boxes], 1)
        return self.together(features).softmax(1).unflatten(1, (CELLS, CELLS))


def cut_out(images: Tensor, boxes: Tensor, side: int) -> Tensor:
    """Parts of pictures, each brought to the same size.

    Args:
        images: shape (batch, channels, height, width).
        boxes: x1, y1, x2, y2 as shares of the image, shape (batch, 4).
        side: pixels of a side of a part.

    Returns:
        Shape (batch, channels, side, side).
    """
    low, high = boxes[:, :2], boxes[:, 2:]
    # What is sampled has coordinates from -1 to 1.
    scale, middle = high - low, high + low - 1
    maps = torch.cat([torch.diag_embed(scale), middle[:, :, None]], 2)
    grid = functional.affine_grid(maps, [len(images), images.shape[1], side, side], align_corners=False)
    return functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _path(side: int, width: int, out: int) -> nn.Sequential:
    """Three convolutions that halve the picture, and what they found as a vector."""
    layers: list[nn.Module] = []
    channels = 3
    for wider in (width, 2 * width, 2 * width):
        layers += [nn.Conv2d(channels, wider, 3, stride=2, padding=1), nn.BatchNorm2d(wider), nn.ReLU()]
        channels, side = wider, (side + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side * side, out), nn.ReLU())
