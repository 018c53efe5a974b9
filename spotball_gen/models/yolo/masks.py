"""Convert the masks of a YOLOv8 segmentation model to outlines in the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spotball_core.geometry import Polygon, clipped
from spotball_gen.items.pictures import opencv
from spotball_gen.models.yolo.letterbox import Letterbox


def read_outlines(
    prototypes: NDArray[np.floating],
    coefficients: NDArray[np.floating],
    corners: NDArray[np.floating],
    box: Letterbox,
) -> list[tuple[Polygon, ...]]:
    """Return the outline of each detection in pixels of the image; empty if its mask is empty.

    A mask is the sum of the prototypes, weighted by the detection's coefficients. A pixel is inside if the sum is above
    0 and the pixel is within the detection's box.

    Args:
        prototypes: shape (n_masks, height, width), with a lower resolution than the input.
        coefficients: shape (n, n_masks).
        corners: x1, y1, x2, y2 of the detections in the input, shape (n, 4).
        box: position of the image in the input.

    Raises:
        ValueError: if a number is not finite.
    """
    if not (np.isfinite(prototypes).all() and np.isfinite(coefficients).all()):
        raise ValueError("the model's masks contain NaN or infinity. Export the model again, in 32-bit precision")
    sums = np.tensordot(coefficients.astype(np.float32), prototypes.astype(np.float32), axes=1)
    return [_outline(mask, edges, box) for mask, edges in zip(sums, corners, strict=True)]


def _outline(mask: NDArray[np.float32], corners: NDArray[np.floating], box: Letterbox) -> tuple[Polygon, ...]:
    cv2 = opencv()
    height, width = box.canvas
    inside = (cv2.resize(mask, (width, height), interpolation=cv2.INTER_LINEAR) > 0).astype(np.uint8)
    x1, y1, x2, y2 = np.rint(corners).astype(int).clip(0, [width, height, width, height])
    inside[:y1], inside[y2:], inside[:, :x1], inside[:, x2:] = 0, 0, 0, 0
    contours, _ = cv2.findContours(inside, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    # OpenCV's contours run through the centers of the outermost pixels.
    parts = [box.points_to_image(contour[:, 0] + 0.5) for contour in contours if len(contour) >= 3]
    rows, columns = box.image
    return clipped([[(float(x), float(y)) for x, y in part] for part in parts], columns, rows)
