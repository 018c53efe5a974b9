"""A YOLOv8 detector's raw output as boxes of the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from spotball_core.geometry import Polygon
from spotball_gen.items.item import Box, Label
from spotball_gen.items.pictures import opencv
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.masks import read_outlines


def read_boxes(
    output: NDArray[np.floating],
    box: Letterbox,
    labels: Mapping[int, Label],
    *,
    confidence: float,
    overlap: float,
    prototypes: NDArray[np.floating] | None = None,
) -> tuple[Box, ...]:
    """The boxes that one image's output names.

    A place counts for the class that it scores highest, so that what is more likely a bird than a ball is no ball.

    Args:
        output: shape (4 + classes + masks, places): center x and y, width and height in pixels of the input, then a
            score in [0, 1] for each class, then the mask's coefficients.
        box: where the image is in the input.
        labels: by number of the class, what it is called here; others are left out.
        confidence: scores must be above.
        overlap: of two boxes of one class whose intersection over union is above, the one that scores less goes.
        prototypes: of a segmentation model, shape (masks, height, width); None for a detector, which has no masks.

    Returns:
        The boxes, highest score first, within the image; where a score is equal, in the order of their places.

    Raises:
        ValueError: if a number is not finite.
    """
    if not np.isfinite(output).all():
        raise ValueError("the model's output has numbers that are not finite")
    n_masks = 0 if prototypes is None else len(prototypes)
    of_classes = output[4 : len(output) - n_masks]
    scores, kinds = of_classes.max(axis=0), of_classes.argmax(axis=0)
    # A score of 16 bits would not be what it is compared with.
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
    """Which boxes non-maximum suppression leaves.

    Args:
        cornered: x1, y1, width, height, shape (n, 4).
        scores: shape (n,).
        overlap: the intersection over union above which the weaker of two goes.

    Returns:
        Indices, highest score first.
    """
    if not len(scores):
        return np.empty(0, dtype=np.intp)
    indices = opencv().dnn.NMSBoxes(cornered, scores, score_threshold=0.0, nms_threshold=overlap)
    return cast("NDArray[np.intp]", np.asarray(indices, dtype=np.intp).reshape(-1))
