"""Convert a YOLOv8 detector's raw output to boxes in the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from spotball_core.geometry import Polygon, clipped
from spotball_gen.items.item import Box, Label
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


def read_boxes(
    output: NDArray[np.floating],
    box: Letterbox,
    labels: Mapping[int, Label],
    *,
    confidence: float,
    overlap: float,
    prototypes: NDArray[np.floating] | None = None,
) -> tuple[Box, ...]:
    """Return the boxes in a model's output for one image.

    Each place (candidate box) is assigned only to the class with its highest score. For example, a place that is more
    likely a bird than a ball is not returned as a ball.

    Args:
        output: shape (4 + classes + masks, places): center x and y, width and height in pixels of the input, a score in
            [0, 1] for each class, and the coefficients of the mask.
        box: position of the image in the input.
        labels: label of each used class, by class number. Other classes are ignored.
        confidence: minimum score (exclusive).
        overlap: if two boxes of a class have a larger intersection over union, the one with the lower score is dropped.
        prototypes: prototypes of a segmentation model, shape (masks, height, width), or None for a detector without
            masks.

    Returns:
        The boxes in pixels of the image, highest score first. Boxes with equal scores keep the order of the places.

    Raises:
        ValueError: if a number is not finite.
    """
    if not np.isfinite(output).all():
        raise ValueError("the model's output contains NaN or infinity. Export the model again, in 32-bit precision")
    n_masks = 0 if prototypes is None else len(prototypes)
    of_classes = output[4 : len(output) - n_masks]
    scores, kinds = of_classes.max(axis=0), of_classes.argmax(axis=0)
    # Compare in 32 bits, because a 16-bit score is rounded differently than the threshold.
    scores = scores.astype(np.float32)
    candidates = np.flatnonzero((scores > np.float32(confidence)) & np.isin(kinds, list(labels)))
    candidates = candidates[(output[2:4, candidates] > 0).all(axis=0)]
    boxes: list[tuple[int, Box]] = []
    for number, label in labels.items():
        places = candidates[kinds[candidates] == number]
        x, y, width, height = output[:4, places].astype(np.float64)
        cornered = np.stack([x - width / 2, y - height / 2, width, height], axis=1)
        remaining = places_left(cornered, scores[places], overlap)
        corners = np.concatenate([cornered[remaining, :2], cornered[remaining, :2] + cornered[remaining, 2:]], axis=1)
        outlines: list[tuple[Polygon, ...]] = [()] * len(remaining)
        if prototypes is not None and label == "player":
            outlines = read_outlines(prototypes, output[-n_masks:, places[remaining]].T, corners, box)
        for place, edges, outline in zip(places[remaining], box.to_image(corners), outlines, strict=True):
            x1, y1, x2, y2 = (float(edge) for edge in edges)
            if x1 < x2 and y1 < y2:
                boxes.append((int(place), Box(x1, y1, x2, y2, float(scores[place]), label, outline or None)))
    return tuple(found_box for _, found_box in sorted(boxes, key=lambda pair: (-pair[1].score, pair[0])))


def places_left(cornered: NDArray[np.float64], scores: NDArray[np.float32], overlap: float) -> NDArray[np.intp]:
    """Return the indices of the boxes that remain after non-maximum suppression, highest score first.

    Args:
        cornered: the boxes: x1, y1, width, height, shape (n, 4).
        scores: the boxes' scores, shape (n,).
        overlap: maximum intersection over union of two boxes. If it is exceeded, the box with the lower score is
            dropped.
    """
    if not len(scores):
        return np.empty(0, dtype=np.intp)
    indices = opencv().dnn.NMSBoxes(cornered, scores, score_threshold=0.0, nms_threshold=overlap)
    return cast("NDArray[np.intp]", np.asarray(indices, dtype=np.intp).reshape(-1))
