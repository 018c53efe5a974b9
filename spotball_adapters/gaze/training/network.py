"""Define a small network that predicts where a person looks, with one path for the head and one for the whole picture.

It follows the two paths of Recasens et al., *Where are they looking?* (2015): one path sees the cropped head in detail,
the other the whole picture at low resolution. Together they produce a heatmap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from spotball_adapters.gaze.gazelle import Box

CELLS: Final = 32
"""Number of cells per side of a heatmap."""

HEAD: Final = 40
"""Side length of the cropped head in pixels."""

SCENE: Final = 32
"""Side length of the downscaled picture in pixels."""

_WHOLE: Final[Box] = (0.0, 0.0, 1.0, 1.0)


class TwoPaths(nn.Module):
    """A network with one path for the head and one for the whole picture. It starts with random weights.

    Args:
        side: side length of the input pictures in pixels.
        width: number of channels in the first layer of each path.
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
        """Return a heatmap of the gaze target for each picture.

        Args:
            images: images from `gazelle.prepared`, shape (batch, 3, side, side).
            faces: the box of each person's head, or None for the whole picture.

        Returns:
            Heatmaps whose cells sum to 1, shape (batch, 32, 32).
        """
        boxes = torch.tensor([face or _WHOLE for face in faces], dtype=images.dtype, device=images.device)
        scene = functional.interpolate(images, (SCENE, SCENE), mode="bilinear", antialias=True)
        features = torch.cat([self.head(cut_out(images, boxes, HEAD)), self.scene(scene), boxes], 1)
        return self.together(features).softmax(1).unflatten(1, (CELLS, CELLS))


def cut_out(images: Tensor, boxes: Tensor, side: int) -> Tensor:
    """Crop one box from each picture, and resize the crops to squares of the same size.

    Args:
        images: shape (batch, channels, height, width).
        boxes: x1, y1, x2, y2 as fractions of the image, shape (batch, 4).
        side: side length of a crop in pixels.

    Returns:
        The crops, shape (batch, channels, side, side).
    """
    low, high = boxes[:, :2], boxes[:, 2:]
    # Sampling coordinates range from -1 to 1.
    scale, middle = high - low, high + low - 1
    maps = torch.cat([torch.diag_embed(scale), middle[:, :, None]], 2)
    grid = functional.affine_grid(maps, [len(images), images.shape[1], side, side], align_corners=False)
    return functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _path(side: int, width: int, out: int) -> nn.Sequential:
    """Return a path: three convolutions, each of which halves the picture's width and height, and a linear layer with
    `out` outputs.
    """
    layers: list[nn.Module] = []
    channels = 3
    for wider in (width, 2 * width, 2 * width):
        layers += [nn.Conv2d(channels, wider, 3, stride=2, padding=1), nn.BatchNorm2d(wider), nn.ReLU()]
        channels, side = wider, (side + 1) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side * side, out), nn.ReLU())
