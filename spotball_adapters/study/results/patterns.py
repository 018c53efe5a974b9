"""Signs of answers given without looking at the images: the same answer again and again, or a pattern over images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Places = tuple[tuple[int, int], ...]
"""Where one answer's clicks are: (row, column) of each. A choice is one click in row 0, at its option's number."""

FEWEST = 8
"""Images below which nothing is computed: any few answers follow some pattern."""

_NEAR = 0.5
"""Cells that two near-identical answers are apart, on average over their clicks."""

_LONGEST_PERIOD = 6


def repeated_share(answers: Sequence[Places]) -> float | None:
    """Return the largest share of answers that are near-identical to one of them.

    Two answers are near-identical if their clicks, in reading order, are at most half a cell apart on average.

    Args:
        answers: of one participant, each with the same number of clicks.

    Returns:
        From 1 / len(answers) to 1; None for fewer than `FEWEST` answers. Of the 50 people whose soccer clicks are
        published, the largest is 0.2.

    Examples:
        >>> repeated_share([((3, 5), (3, 6))] * 6 + [((1, 1), (2, 2)), ((6, 1), (6, 2))])
        0.75
    """
    if len(answers) < FEWEST:
        return None
    places = np.asarray([sorted(answer) for answer in answers], dtype=float)
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=-1).mean(axis=-1)
    return float((apart <= _NEAR).mean(axis=1).max())


def pattern_share(answers: Sequence[Places]) -> float | None:
    """Return the largest share of images whose answer follows from those before by a simple rule.

    The rules: the answer is that of 2 to 6 images before, but not that of the image before; or its first click is one
    fixed step away from the last image's, as in A1, A2, A3, and so on.

    Args:
        answers: of one participant, in the order of the images.

    Returns:
        From 0 to 1; None for fewer than `FEWEST` answers. Of the 50 people whose soccer clicks are published, the
        largest is 0.163.

    Examples:
        >>> pattern_share([((1, column),) for column in range(1, 11)])
        1.0
        >>> pattern_share([((1, 1),), ((6, 10),)] * 5)
        1.0
    """
    if len(answers) < FEWEST:
        return None
    ordered = [tuple(sorted(answer)) for answer in answers]
    periods = [
        sum(ordered[i] == ordered[i - period] and ordered[i] != ordered[i - 1] for i in range(period, len(ordered)))
        / (len(ordered) - period)
        for period in range(2, _LONGEST_PERIOD + 1)
    ]
    steps = Counter((after[0][0] - before[0][0], after[0][1] - before[0][1]) for before, after in pairwise(answers))
    del steps[0, 0]
    return max(*periods, max(steps.values(), default=0) / (len(answers) - 1))
