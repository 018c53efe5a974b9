"""Implement GazeLLE, a gaze-target decoder on a frozen image encoder, from its paper (arXiv 2412.09586).

The patch features of a DINOv2 encoder are projected to the decoder's width. Position encodings are added to all
patches, and a learned vector is added to the patches of the head. A few transformer blocks process the patches, and the
output is a heatmap of the gaze target.
The names and shapes of the weights match the published checkpoints, which contain only the decoder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from spotball_core.errors import InputError

Box = tuple[float, float, float, float]
"""A box (x1, y1, x2, y2) as fractions of the image's width and height."""

HEADS = 8
OUT = 64
"""Number of cells per side of a heatmap."""

MEAN, SD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation with which the encoder's input images are normalized, per color channel."""


class Attention(nn.Module):
    """Multi-head self-attention over tokens."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Apply attention to tokens of shape (batch, tokens, dim)."""
        batch, tokens, dim = x.shape
        parts = self.qkv(x).reshape(batch, tokens, 3, HEADS, dim // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts.unbind(0))
        return self.proj(mixed.transpose(1, 2).reshape(batch, tokens, dim))


class Mlp(nn.Module):
    """Two linear layers with a GELU activation between them."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layers to each token separately."""
        return self.fc2(functional.gelu(self.fc1(x)))


class Block(nn.Module):
    """A pre-norm transformer block.

    Args:
        drop: probability that the attention or the MLP is skipped for an image during training.
    """

    def __init__(self, dim: int, drop: float = 0.1) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim), Attention(dim)
        self.norm2, self.mlp = nn.LayerNorm(dim), Mlp(dim)
        self.drop = drop

    def forward(self, x: Tensor) -> Tensor:
        """Transform tokens of shape (batch, tokens, dim)."""
        x = x + self._kept(self.attn(self.norm1(x)))
        return x + self._kept(self.mlp(self.norm2(x)))

    def _kept(self, branch: Tensor) -> Tensor:
        if not self.training or not self.drop:
            return branch
        keep = torch.rand(branch.shape[0], 1, 1, device=branch.device) >= self.drop
        return branch * keep / (1 - self.drop)


class GazeLLE(nn.Module):
    """The GazeLLE model: a trainable decoder on a frozen encoder.

    Args:
        encoder: a DINOv2 model of the transformers library. It is not trained.
        grid: number of rows and columns of patches.
        dim: the decoder's width.
        layers: number of transformer blocks in the decoder.
        inout: whether the decoder has weights that predict whether the gaze target is inside the image. `forward` does
            not return this prediction.
    """

    def __init__(
        self, encoder: Any, *, grid: tuple[int, int] = (32, 32), dim: int = 256, layers: int = 3, inout: bool = False
    ) -> None:
        super().__init__()
        self.backbone = encoder.requires_grad_(False)
        self.grid, self.inout = grid, inout
        self.linear = nn.Conv2d(encoder.config.hidden_size, dim, 1)
        self.register_buffer("pos_embed", positions(dim, *grid))
        self.transformer = nn.Sequential(*(Block(dim) for _ in range(layers)))
        self.heatmap_head = nn.Sequential(
            nn.ConvTranspose2d(dim, dim, 2, stride=2), nn.Conv2d(dim, 1, 1, bias=False), nn.Sigmoid()
        )
        self.head_token = nn.Embedding(1, dim)
        if inout:
            self.inout_head = nn.Sequential(
                nn.Linear(dim, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 1), nn.Sigmoid()
            )
            self.inout_token = nn.Embedding(1, dim)

    @property
    def size(self) -> tuple[int, int]:
        """Return height and width of the input images, in pixels."""
        patch = self.backbone.config.patch_size
        return self.grid[0] * patch, self.grid[1] * patch

    def train(self, mode: bool = True) -> GazeLLE:
        """Set the decoder's training mode. The encoder always stays in evaluation mode."""
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, images: Tensor, faces: Sequence[Box | None]) -> Tensor:
        """Return a heatmap of the gaze target for each image.

        Args:
            images: images from `prepared`, shape (batch, 3, height, width).
            faces: the box of each person's head, or None for an unknown box.

        Returns:
            Heatmaps with values from 0 to 1, shape (batch, 64, 64).
        """
        with torch.no_grad():
            patches = self.backbone(pixel_values=images).last_hidden_state[:, -self.grid[0] * self.grid[1] :]
        x = self.linear(patches.transpose(1, 2).unflatten(2, self.grid)) + self.pos_embed
        heads = torch.stack([self._head_map(face) for face in faces]).to(x)
        x = x + heads[:, None] * self.head_token.weight[:, :, None, None]
        tokens = x.flatten(2).transpose(1, 2)
        if self.inout:
            extra = self.inout_token.weight.expand(len(tokens), 1, -1)
            tokens = self.transformer(torch.cat([extra, tokens], 1))[:, 1:]
        else:
            tokens = self.transformer(tokens)
        heatmaps = self.heatmap_head(tokens.transpose(1, 2).unflatten(2, self.grid))
        return functional.interpolate(heatmaps, (OUT, OUT), mode="bilinear", antialias=True)[:, 0]

    def _head_map(self, face: Box | None) -> Tensor:
        """Return an array of shape (rows, columns): 1 in the patches of the head, 0 elsewhere."""
        head_map = torch.zeros(self.grid)
        if face is not None:
            rows, columns = self.grid
            x1, y1, x2, y2 = face
            head_map[round(y1 * rows) : round(y2 * rows), round(x1 * columns) : round(x2 * columns)] = 1
        return head_map


def positions(dim: int, rows: int, columns: int) -> Tensor:
    """Return sine and cosine position encodings of the patches, shape (dim, rows, columns).

    The first half of the channels encodes the column, the second half the row. In each half, sine and cosine alternate,
    with wavelengths that increase from one channel pair to the next.
    """
    rates = torch.exp(torch.arange(0, dim // 2, 2) * (-math.log(10_000) / (dim // 2)))

    def waves(n: int) -> Tensor:
        angles = torch.arange(n)[:, None] * rates
        return torch.stack([angles.sin(), angles.cos()], 2).flatten(1).T

    across, down = waves(columns)[:, None, :], waves(rows)[:, :, None]
    return torch.cat([across.expand(-1, rows, -1), down.expand(-1, -1, columns)])


def prepared(image: Any, size: tuple[int, int]) -> Tensor:
    """Convert a PIL image in RGB to encoder input of the given height and width, shape (3, height, width). The aspect
    ratio is not kept.
    """
    data = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    pixels = data.reshape(image.height, image.width, 3).permute(2, 0, 1) / 255
    normal = (pixels - torch.tensor(MEAN)[:, None, None]) / torch.tensor(SD)[:, None, None]
    return functional.interpolate(normal[None], size, mode="bilinear", antialias=True)[0]


def peak(heatmap: Tensor) -> tuple[float, float]:
    """Return the center of the cell with the highest value in a heatmap: x and y as fractions of width and height."""
    rows, columns = heatmap.shape
    row, column = divmod(int(heatmap.argmax()), columns)
    return (column + 0.5) / columns, (row + 0.5) / rows


def load_gazelle(checkpoint: Path, backbone: str) -> GazeLLE:
    """Load a GazeLLE model onto the CPU, from a checkpoint of its decoder.

    Args:
        checkpoint: a state dict saved by PyTorch. Other pickled objects are rejected.
        backbone: folder of a DINOv2 model of the transformers library, or its name on the Hugging Face Hub.

    Raises:
        InputError: if the checkpoint is not a GazeLLE decoder, if the encoder cannot be loaded, or if the checkpoint
            requires another encoder.
    """
    from transformers import AutoModel

    try:
        weights = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:
        # PyTorch raises many kinds of errors for invalid files.
        reason = str(error).split("\n", 1)[0]
        raise InputError.of("unusable-model", checkpoint, "file", reason, "weights saved with PyTorch") from error
    try:
        encoder = AutoModel.from_pretrained(backbone)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        expected = "a DINOv2 model for the library transformers"
        raise InputError.of("unusable-model", backbone, "backbone", reason, expected, fix="Check --backbone") from error
    return assembled(weights, encoder, str(checkpoint))


def assembled(weights: Mapping[str, Tensor], encoder: Any, name: str) -> GazeLLE:
    """Build a GazeLLE model from an encoder and the decoder's weights, whose shapes determine the decoder's size.

    Raises:
        InputError: if the weights are not those of a GazeLLE decoder, or if `encoder` is not a DINOv2 model of the
            width that they require.
    """
    needed = ("linear.weight", "pos_embed", "head_token.weight")
    if not isinstance(weights, Mapping) or any(key not in weights for key in needed):
        raise InputError.of(
            "unusable-model",
            name,
            "weights",
            "weights of another model",
            f"weights of GazeLLE's decoder, such as `{needed[0]}`",
        )
    dim, width = weights["linear.weight"].shape[:2]
    hidden = getattr(encoder.config, "hidden_size", None)
    if encoder.config.model_type not in ("dinov2", "dinov2_with_registers") or hidden != width:
        actual = f"{encoder.config.model_type} of width {hidden}"
        needed_encoder = f"dinov2 of width {width}, which the checkpoint requires"
        raise InputError.of("unusable-model", name, "backbone", actual, needed_encoder, fix="Choose another --backbone")
    layers = 1 + max((int(key.split(".")[1]) for key in weights if key.startswith("transformer.")), default=-1)
    rows, columns = weights["pos_embed"].shape[-2:]
    model = GazeLLE(encoder, grid=(rows, columns), dim=dim, layers=layers, inout="inout_token.weight" in weights)
    expected = {key: value.shape for key, value in model.state_dict().items() if not key.startswith("backbone.")}
    differing = [
        key for key in expected.keys() | weights.keys() if expected.get(key) != getattr(weights.get(key), "shape", None)
    ]
    if differing:
        example = min(differing)
        actual = f"{len(differing)} weights that are missing, unknown or have the wrong shape, such as `{example}`"
        raise InputError.of("unusable-model", name, "weights", actual, "exactly the weights of a GazeLLE decoder")
    model.load_state_dict(dict(weights), strict=False)
    model.eval()
    return model
