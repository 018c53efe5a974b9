"""A simple classifier: a linear discriminant with ridge regularization, cross-validated by video."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FOLDS = 5
"""Maximum number of cross-validation folds."""
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


class CrossValidated:
    """A linear discriminant that rates the cells of each image, trained on the images of other videos.

    Args:
        features: features of the cells, with the same number of cells per image; shape (n_images, n_cells, n_features).
        video: number of each image's video, shape (n_images,).
    """

    def __init__(self, features: Floats, video: Ints) -> None:
        self.features = features
        numbers, self.video = np.unique(video, return_inverse=True)
        self.folds = min(FOLDS, len(numbers))
        # Assign the largest videos first, each to the smallest fold, so that folds have similar sizes.
        sizes = np.bincount(self.video)
        load, fold = np.zeros(self.folds), np.zeros(len(numbers), dtype=int)
        for video in np.argsort(-sizes, kind="stable"):
            fold[video] = int(np.argmin(load))
            load[fold[video]] += sizes[video]
        self._out = [fold[self.video] == number for number in range(self.folds)]
        self._learned = [Discriminant(self._rows(~out)) for out in self._out]

    def answered(self, truth: Bools) -> tuple[Floats, Floats]:
        """Return the accuracy and the AUC of each image, shape (n_images,) each, if `truth` marks the ball cells.

        Accuracy is 1 if the most suspicious cell is a ball cell; of several equally suspicious cells, it is the share
        that are ball cells.
        """
        suspicion = np.zeros(truth.shape)
        for out, discriminant in zip(self._out, self._learned, strict=True):
            suspicion[out] = self.features[out] @ discriminant.weights(truth[~out].reshape(-1))
        most = suspicion == suspicion.max(axis=1, keepdims=True)
        return (most & truth).sum(axis=1) / most.sum(axis=1), areas(suspicion, truth)

    def weights(self, truth: Bools) -> Floats:
        """Return the features' weights, learned from all images, in units of each feature's standard deviation."""
        rows = self._rows(np.ones(len(truth), dtype=bool))
        weights: Floats = Discriminant(rows).weights(truth.reshape(-1)) * rows.std(axis=0)
        return weights / max(float(np.abs(weights).sum()), 1e-12)

    def _rows(self, images: Bools) -> Floats:
        return self.features[images].reshape(-1, self.features.shape[-1])
