"""Scores of arrays: the truth, the guesses, and no files, as scikit-learn's metrics are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from spotball_core.errors import DistributionError, OptionError
from spotball_core.grid import BoolArray, FloatArray, Grid
from spotball_core.interchange import values_of
from spotball_core.metrics.inputs import AnyArray, are_labels, mass_of, ratio, truth_of
from spotball_core.metrics.registry import METRICS, Metric
from spotball_core.metrics.strategy import normalized_entropy

Rows = TypeVar("Rows", bound=AnyArray)


def score_arrays(
    y_true: object,
    y_pred: object,
    *,
    metrics: Iterable[str] | None = None,
    reference: object | None = None,
    players: object | None = None,
    grid: Grid | None = None,
    sample_weight: object | None = None,
) -> dict[str, float]:
    """Metrics of many images at once, each brought to one number as `score` does it (`Metric.over`).

    Args:
        y_true: where each image's ball is: true or 1 on its cells, shape (n_images, n_cells); or one label an image.
        y_pred: counts or probabilities, shape (n_images, n_cells); or one label an image, None where the answer could
            not be read.
        metrics: keys of the metrics wanted; all that what was given allows if left out.
        reference: the distributions compared with, in the forms of `y_pred`.
        players: their boxes in pixels, shape (n_images, n_boxes, 4), padded with rows of NaN.
        grid: the grid to measure on; the paper's if left out.
        sample_weight: how much each image counts, shape (n_images,); alike if left out.

    Returns:
        Each metric's value by its key; NaN where it is undefined.

    Raises:
        OptionError: for a metric that there is not, or that needs what was not given.
        DistributionError: for arrays that are no distributions, or not as long as each other.

    Examples:
        >>> score_arrays(["C5", "D5"], ["C5", "D6"], metrics=["accuracy", "euclidean_error"])
        {'accuracy': 0.5, 'euclidean_error': 32.0}
    """
    grid = grid or Grid.standard()
    truth = _truth(y_true, grid)
    mass, unparsed = _guesses(y_pred, grid)
    weight = np.ones(len(mass)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    given: dict[str, Any] = {"truth": truth}
    if reference is not None:
        given["reference"] = _guesses(reference, grid)[0]
    if players is not None:
        given["players"] = np.asarray(players, dtype=float)
    for name, array in {**given, "sample_weight": weight}.items():
        if len(array) != len(mass):
            name = "y_true" if name == "truth" else name
            raise DistributionError(f"{len(mass)} images in y_pred, {len(array)} in {name}")
    if metrics is None:
        wanted = [metric for metric in METRICS.values() if set(metric.needs) <= given.keys()]
    else:
        wanted = [_metric(key, given) for key in metrics]
    return {metric.key: _value(metric, mass, unparsed, weight, given, grid) for metric in wanted}


def scorer(metric: str, *, grid: Grid | None = None) -> Callable[[Any, Any, Any], float]:
    """A scorer for scikit-learn, as `cross_val_score(..., scoring=...)` takes it: higher is better.

    The estimator's `predict_proba` and `classes_`, which are labels of cells, or else its `predict`, give the guesses.

    Args:
        metric: the key of a metric of which lower or higher is better and that needs nothing but the truth.
        grid: the grid to measure on; the paper's if left out.

    Raises:
        OptionError: for a metric that there is not, or that cannot be used so.

    Examples:
        >>> class Always:
        ...     classes_ = ["C5", "C6"]
        ...     def predict_proba(self, X): return [[0.5, 0.5]] * len(X)
        >>> scorer("euclidean_error")(Always(), [0, 1], ["C5", "C7"])
        -64.0
    """
    record = _metric(metric, {"truth": None})
    if record.direction not in ("lower", "higher") or "truth" not in record.needs:
        raise OptionError(f"{metric} says how a respondent answers, not how well: there is no better and worse")

    def score(estimator: Any, X: Any, y: Any) -> float:
        if hasattr(estimator, "predict_proba"):
            classes = list(estimator.classes_)
            guesses = _in_grid(np.asarray(estimator.predict_proba(X)), classes, grid or Grid.standard())
        else:
            guesses = estimator.predict(X)
        value = score_arrays(y, guesses, metrics=[metric], grid=grid)[metric]
        return -value if record.direction == "lower" else value

    return score


def _metric(key: str, given: dict[str, Any]) -> Metric:
    if key not in METRICS:
        raise OptionError(f"no metric is called {key!r}; there are {', '.join(METRICS)}")
    if missing := [need for need in METRICS[key].needs if need not in given]:
        raise OptionError(f"{key} needs {' and '.join(missing)}")
    return METRICS[key]


def _value(
    metric: Metric, mass: FloatArray, unparsed: FloatArray, weight: FloatArray, given: dict[str, Any], grid: Grid
) -> float:
    needed = [given[need] for need in metric.needs]
    if metric.over == "pool":
        # The truth is pooled too: how often each cell holds the ball.
        return float(metric.function(weight @ mass, *(weight @ one for one in needed), grid=grid))
    is_accuracy = metric.key == "accuracy"
    # Image entropy is already a mean over images: of this.
    function = normalized_entropy if metric.key == "image_entropy" else metric.function
    values = function(mass, *needed, grid=grid, **({"unparsed": unparsed} if is_accuracy else {}))
    if metric.over == "responses":
        weight = weight * (mass.sum(axis=-1) + (unparsed if is_accuracy else 0.0))
    known = np.isfinite(values)
    return float(ratio(np.where(known, values, 0.0) @ weight, weight[known].sum()))


def _guesses(values: object, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Mass, shape (n_images, n_cells), and unparsed answers, shape (n_images,)."""
    plain = values_of(values, grid)
    if not are_labels(plain):
        return _rows(mass_of(plain, grid)[0], "y_pred"), np.zeros(len(np.asarray(plain)))  # type: ignore[arg-type]
    mass, unparsed = zip(*(mass_of([label], grid) for label in plain), strict=True)
    return np.stack(mass), np.array(unparsed)


def _truth(values: object, grid: Grid) -> BoolArray:
    plain = values_of(values, grid)
    if not are_labels(plain):
        return _rows(truth_of(plain, grid), "y_true")  # type: ignore[arg-type]
    return np.stack([truth_of([] if label is None else [label], grid) for label in plain])


def _rows(array: Rows, name: str) -> Rows:
    if array.ndim != 2:
        raise DistributionError(f"{name} has shape {array.shape}, expected (n_images, {array.shape[-1]})")
    return array


def _in_grid(probabilities: FloatArray, classes: list[str], grid: Grid) -> FloatArray:
    """Probabilities of an estimator's classes as mass over the grid's cells."""
    mass = np.zeros((len(probabilities), grid.n_cells))
    mass[:, [grid.index(label) for label in classes]] = probabilities
    return mass
