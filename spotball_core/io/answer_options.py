"""Define the options that state how the answers in tables are read."""

from __future__ import annotations

from typing import Literal, TypedDict

PointScale = Literal["image", "1", "100", "1000", "qwen", "gemini", "molmo"]
"""Scales of points: pixels of the image, 0 to 1, 0 to 100 or 0 to 1000; or the scale of a family of models."""

POINT_SIZES: dict[PointScale, float | None] = {
    "image": None,
    "1": 1,
    "100": 100,
    "1000": 1000,
    "qwen": 1000,
    "gemini": 1000,
    "molmo": 100,
}
"""The coordinate of the right and lower edge of the image in each scale; None for pixels."""

FirstIndex = Literal[0, 1]
"""The number of the first row, column and cell."""


class AnswerOptions(TypedDict, total=False):
    """How the answers in tables are read.

    Attributes:
        point_scale: the scale of `x` and `y`. Default: pixels, unless a sign shows that this is wrong.
        first_index: the number of the first row and column. Cells may then also be numbers, counted along the rows.
            Default: rows and columns from 1, unless a sign shows that this is wrong.
        accept_signs: whether to give only a warning if a sign shows that answers were misread.
    """

    point_scale: PointScale | None
    first_index: FirstIndex | None
    accept_signs: bool
