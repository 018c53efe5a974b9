"""Detect answers given without looking at the images: repeated answers, or answers that follow a pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Places = tuple[tuple[int, int], ...]
"""Positions of an answer's clicks as (row, column). A choice is represented as one click in row 0, whose column is the
option's index.
"""

FEWEST = 8
"""Minimum number of images for which the functions of this module return a share. With fewer images, some pattern
always fits the answers.
"""

_NEAR = 0.5
"""Maximum mean distance between the clicks of two near-identical answers, in cells."""

_LONGEST_PERIOD = 6


def repeated_share(answers: Sequence[Places]) -> float | None:
    """Return the share of a participant's answers that are in the largest group of near-identical answers.

    Two answers are near-identical if their clicks, in reading order, are at most half a cell apart on average.

    Args:
        answers: answers of one participant, each with the same number of clicks.

    Returns:
        A share from 1 / len(answers) to 1, or None for fewer than `FEWEST` answers. Among the 50 people whose soccer
        clicks are published, the largest share is 0.2.

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
    """Return the largest share of images whose answer follows from earlier answers by a simple rule.

    There are two kinds of rules. Either the answer equals the answer that the participant gave 2, 3, 4, 5 or 6 images
    earlier, but not the previous answer. Or the first click is a fixed number of rows and columns away from the first
    click on the previous image, as in A1, A2, A3, and so on.

    Args:
        answers: answers of one participant, in the order of the images.

    Returns:
        A share from 0 to 1, or None for fewer than `FEWEST` answers. Among the 50 people whose soccer clicks are
        published, the largest share is 0.163.

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
