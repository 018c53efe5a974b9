"""Compute features of each cell for the leak test: noise, blur and edges, but neither position nor color."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spotball_core.grid import Grid
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

MEASURES = ("noise", "edges", "strong edges", "blur", "structure")
"""Measures of each block of 8 x 8 pixels in a cell."""

FEATURES = (
    *(f"{how} {measure}" for measure in MEASURES for how in ("smallest", "median", "largest")),
    "blocks with hardly any noise",
)
"""Features of a cell: minimum, median and maximum of each measure over its blocks, because a ball is smaller than a
cell, and the share of its blocks with hardly any noise.
"""

BLOCK = 8
"""Side length of a block in pixels."""

_NOISE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32) / 6
_STRONG = 12.0
"""Minimum gradient of a strong edge, in gray levels per pixel."""
_LEAST = 0.25
_QUIET = 0.35
"""A block has hardly any noise if its noise is below this share of the image's median noise per block."""

Floats = NDArray[np.float64]


def cell_features(image: Image, grid: Grid) -> Floats:
    """Return the features of all cells of an image, standardized over these cells.

    Args:
        image: RGB, of any size.
        grid: the grid; only its numbers of rows and columns are used.

    Returns:
        Shape (n_cells, n_features), in robust standard deviations, limited to [-10, 10].
    """
    blocks = _blocks(image)
    height, width = blocks.shape[:2]
    rows = np.arange(height) * grid.rows // height
    cols = np.arange(width) * grid.cols // width
    cell = (rows[:, None] * grid.cols + cols[None]).reshape(-1)
    flat = blocks.reshape(-1, len(MEASURES))
    quiet = flat[:, 0] < np.median(flat[:, 0]) + np.log(_QUIET)
    features = np.zeros((grid.n_cells, len(FEATURES)))
    for index in np.unique(cell):
        of = flat[cell == index]
        features[index, :-1] = np.percentile(of, [0, 50, 100], axis=0).T.reshape(-1)
        features[index, -1] = quiet[cell == index].mean()
    return _standard(features)


def _blocks(image: Image) -> Floats:
    """Return the measures of all blocks in the order of `MEASURES`, shape (block rows, block columns, 5).

    All are logarithms, except strong edges, which is the share of the block's pixels.
    """
    cv2 = opencv()
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    border = cv2.BORDER_REFLECT
    noise = np.abs(cv2.filter2D(gray, -1, _NOISE, borderType=border))
    across = cv2.Sobel(gray, cv2.CV_32F, 1, 0, scale=1 / 8, borderType=border)
    edges = np.hypot(across, cv2.Sobel(gray, cv2.CV_32F, 0, 1, scale=1 / 8, borderType=border))
    # A second blur changes little where the image is already blurred.
    lost = np.abs(gray - cv2.GaussianBlur(gray, (0, 0), 1.5, borderType=border))
    second = np.abs(cv2.Laplacian(gray, cv2.CV_32F, borderType=border))
    means = [_block_means(values) for values in (noise, edges, (edges > _STRONG) * 1.0, lost, second)]
    noisy, edgy, strong, blurred, curved = means
    blur = np.log((blurred + _LEAST) / (edgy + _LEAST))
    structure = np.log((curved + _LEAST) / (noisy + _LEAST))
    return np.dstack([np.log(noisy + _LEAST), np.log(edgy + _LEAST), strong, blur, structure])


def _block_means(values: NDArray[np.floating]) -> Floats:
    """Return the mean of each complete block. Incomplete blocks at the right and bottom edges are ignored."""
    height, width = (max(1, side // BLOCK) for side in values.shape)
    block = min(BLOCK, values.shape[0]), min(BLOCK, values.shape[1])
    cut = values[: height * block[0], : width * block[1]].astype(np.float64)
    means: Floats = cut.reshape(height, block[0], width, block[1]).mean(axis=(1, 3))
    return means


def _standard(features: Floats) -> Floats:
    """Standardize each feature by its median and median absolute deviation over the cells, limited to [-10, 10]."""
    middle = np.median(features, axis=0)
    spread = 1.4826 * np.median(np.abs(features - middle), axis=0)
    # If most cells are equal, use the standard deviation instead.
    spread = np.where(spread > 1e-6, spread, np.maximum(features.std(axis=0), 1e-6))
    standard: Floats = np.clip((features - middle) / spread, -10, 10)
    return standard
