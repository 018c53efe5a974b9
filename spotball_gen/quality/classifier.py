"""A simple classifier: a linear discriminant with ridge regularization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RIDGE = 1e-3
"""Value added to each feature's variance."""


class Discriminant:
    """Fit a linear discriminant: a least squares regression of True and False labels on features.

    The inverse covariance of the features is computed once, so fitting many label vectors to the same rows is cheap.

    Args:
        features: shape (n, k).
        ridge: value added to each feature's variance.

    Examples:
        >>> rows = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> Discriminant(rows).weights(np.array([False, False, True, True])).round(3).tolist()
        [0.4]
    """

    def __init__(self, features: Floats, *, ridge: float = RIDGE) -> None:
        self._features, self._sum = features, features.sum(axis=0)
        centered = features - features.mean(axis=0)
        covariance = centered.T @ centered + ridge * len(features) * np.eye(features.shape[1])
        self._inverse = np.linalg.inv(covariance)

    def weights(self, labels: Bools) -> Floats:
        """Return the weights of the features, shape (k,). A higher weighted sum of a row means True is more likely."""
        weights: Floats = self._inverse @ (self._features[labels].sum(axis=0) - labels.mean() * self._sum)
        return weights


def areas(scores: Floats, labels: Bools) -> Floats:
    """Return the area under the ROC curve of each row: the share of pairs in which the True entry scores higher; ties
    count half.

    Args:
        scores: shape (n, k).
        labels: shape (n, k).

    Returns:
        Shape (n,), in [0, 1], or NaN if all labels of a row are equal.

    Examples:
        >>> areas(np.array([[0.1, 0.4, 0.35, 0.8]]), np.array([[False, False, True, True]])).tolist()
        [0.75]
    """
    from scipy.stats import rankdata

    inside = labels.sum(axis=1)
    pairs = inside * (labels.shape[1] - inside)
    above = (rankdata(scores, axis=1) * labels).sum(axis=1) - inside * (inside + 1) / 2
    areas_under: Floats = np.divide(above, pairs, out=np.full(len(scores), np.nan), where=pairs > 0)
    return areas_under
