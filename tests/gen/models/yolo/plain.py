"""Read a YOLOv8 detector's output with plain loops, as a reference for the tests."""

from __future__ import annotations

from collections.abc import Sequence

Corners = tuple[float, float, float, float]
Found = tuple[str, float, Corners]


def letterbox(image: tuple[int, int], canvas: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return (height, width, top, left) of an image within a canvas."""
    scale = min(canvas[0] / image[0], canvas[1] / image[1])
    height, width = max(1, round(image[0] * scale)), max(1, round(image[1] * scale))
    return height, width, int((canvas[0] - height) / 2), int((canvas[1] - width) / 2)


def iou(one: Corners, other: Corners) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return shared / (sum(areas) - shared)


def suppressed(boxes: Sequence[Corners], scores: Sequence[float], overlap: float) -> list[int]:
    """Return the indices that remain after suppression, highest score first."""
    left: list[int] = []
    for index in sorted(range(len(boxes)), key=lambda index: -scores[index]):
        if all(iou(boxes[index], boxes[kept]) <= overlap for kept in left):
            left.append(index)
    return left


def read(
    rows: Sequence[Sequence[float]],
    wanted: dict[int, str],
    image: tuple[int, int],
    canvas: tuple[int, int],
    confidence: float,
    overlap: float,
) -> list[Found]:
    """Return the boxes of an image, highest score first.

    Args:
        rows: one row per place: center x, center y, width, height, scores.
    """
    height, width, top, left = letterbox(image, canvas)
    by_label: dict[str, list[tuple[Corners, float]]] = {label: [] for label in wanted.values()}
    for x, y, w, h, *scores in rows:
        best = max(range(len(scores)), key=lambda number: scores[number])
        if best in wanted and scores[best] > confidence:
            by_label[wanted[best]].append(((x - w / 2, y - h / 2, x + w / 2, y + h / 2), scores[best]))
    found: list[Found] = []
    for label, boxes in by_label.items():
        for index in suppressed([box for box, _ in boxes], [score for _, score in boxes], overlap):
            x1, y1, x2, y2 = boxes[index][0]
            xs = [min(max((x - left) * image[1] / width, 0), image[1]) for x in (x1, x2)]
            ys = [min(max((y - top) * image[0] / height, 0), image[0]) for y in (y1, y2)]
            if xs[0] < xs[1] and ys[0] < ys[1]:
                found.append((label, boxes[index][1], (xs[0], ys[0], xs[1], ys[1])))
    return sorted(found, key=lambda one: -one[1])
