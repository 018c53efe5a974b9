"""Cross-validate a scikit-learn classifier of cells with a metric in pixels."""

import numpy as np
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from spotball_core import scorer

features = np.random.default_rng(0).uniform(1, 4, (60, 2))
labels = np.array(["ABCDEF"[int(y) - 1] + str(int(x)) for x, y in features])
model, folds = KNeighborsClassifier(1), KFold(5)
values = cross_val_score(model, features, labels, scoring=scorer("euclidean_error"), cv=folds)

for value, (train, test) in zip(values, folds.split(features), strict=True):
    guesses = model.fit(features[train], labels[train]).predict(features[test])
    steps = [
        (64 * (int(a[1]) - int(b[1])), 60 * (ord(a[0]) - ord(b[0]))) for a, b in zip(guesses, labels[test], strict=True)
    ]
    assert np.isclose(-value, np.linalg.norm(steps, axis=1).mean())
