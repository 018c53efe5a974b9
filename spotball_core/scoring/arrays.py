"""Score arrays of ground truth and guesses without files, with a call like scikit-learn's metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from spotball_core.errors import DistributionError, OptionError, unknown_name
from spotball_core.grid import Grid
from spotball_core.interchange import values_of
from spotball_core.metrics import strategy
from spotball_core.metrics.inputs import AnyArray, ArrayValues, are_labels, boxes_of, checked_numbers, mass_of, truth_of
from spotball_core.metrics.metric import Metric, MetricInput, MetricOptions
from spotball_core.metrics.registry import METRICS
from spotball_core.typing import BoolArray, FloatArray

Rows = TypeVar("Rows", bound=AnyArray)


def score_arrays(
    y_true: ArrayValues,
    y_pred: ArrayValues,
    *,
    metrics: Iterable[str] | None = None,
    reference: ArrayValues | None = None,
    players: ArrayValues | None = None,
    grid: Grid | None = None,
    sample_weight: ArrayValues | None = None,
) -> dict[str, float]:
    """Compute metrics over many images, aggregated in the same way as in `score` (`Metric.over`).

    Args:
        y_true: the ball's cells: true or 1 on these cells, shape (n_images, n_cells); or one label per image.
        y_pred: counts or probabilities, shape (n_images, n_cells); or one label per image, None if no cell could be
            read.
        metrics: keys of the metrics to compute. Default: all metrics that the arguments allow.
        reference: distributions to compare with, in the same forms as `y_pred`.
        players: the players' boxes in pixels, shape (n_images, n_boxes, 4), padded with rows of NaN.
        grid: the grid (default: the grid from the paper).
        sample_weight: weight of each image, shape (n_images,). Default: equal weights.

    Returns:
        Each metric's value by its key; NaN where it is undefined.

    Raises:
        OptionError: for an unknown metric, or a metric that needs an argument that is missing.
        DistributionError: if an array does not hold distributions, or lengths differ.

    Examples:
        >>> score_arrays(["C5", "D5"], ["C5", "D6"], metrics=["accuracy", "euclidean_error"])
        {'accuracy': 0.5, 'euclidean_error': 32.0}
    """
    grid = grid or Grid.standard()
    truth = _truth(y_true, grid)
    mass, unparsed = _guesses(y_pred, grid)
    weight = np.ones(len(mass)) if sample_weight is None else checked_numbers(sample_weight, "sample_weight")
    given: dict[str, Any] = {"truth": truth}
    if reference is not None:
        given["reference"] = _guesses(reference, grid)[0]
    if players is not None:
        given["players"] = boxes_of(players)
    if weight.ndim != 1:
        raise DistributionError(f"sample_weight has shape {weight.shape}, expected (n_images,)")
    for name, array in {**given, "sample_weight": weight}.items():
        if len(array) != len(mass):
            name = "y_true" if name == "truth" else name
            raise DistributionError(f"y_pred has {len(mass)} images, but {name} has {len(array)}. Pass the same number")
    if metrics is None:
        wanted = [metric for metric in METRICS.values() if set(metric.needs) <= given.keys()]
    else:
        wanted = [_metric(key, given) for key in metrics]
    data = _input(mass, unparsed, given, grid)
    return {metric.key: float(metric.aggregate.statistic(data).weighted(weight)) for metric in wanted}


@dataclass(frozen=True)
class Scorer:
    """A metric as a scikit-learn scorer, made by `scorer`; higher is better.

    Scorers are picklable and therefore work with `GridSearchCV(..., n_jobs=2)`.

    Attributes:
        metric: the metric's key.
        grid: the grid; None for the grid from the paper.
        weighted: whether scikit-learn's metadata routing passes `sample_weight`, or the name under which it passes it.
            With None, scikit-learn raises an error if weights are given.
    """

    metric: str
    grid: Grid | None = None
    weighted: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: ArrayValues | None = None) -> float:
        """Score an estimator's guesses for `X` against the labels `y`; `sample_weight` weights the images."""
        if hasattr(estimator, "predict_proba"):
            probabilities = checked_numbers(estimator.predict_proba(X), "predict_proba")
            guesses = _in_grid(probabilities, list(estimator.classes_), self.grid or Grid.standard())
        else:
            guesses = estimator.predict(X)
        scores = score_arrays(y, guesses, metrics=[self.metric], grid=self.grid, sample_weight=sample_weight)
        value = scores[self.metric]
        return -value if METRICS[self.metric].direction == "lower" else value

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """Return a scorer that does or does not request `sample_weight` from scikit-learn's metadata routing."""
        return replace(self, weighted=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the request for `sample_weight`; scikit-learn calls this."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self.weighted)
        return request


def scorer(metric: str, *, grid: Grid | None = None) -> Scorer:
    """Return a scikit-learn scorer, for example for `cross_val_score(..., scoring=...)`; higher is better.

    The guesses come from the estimator's `predict_proba` and `classes_` (labels of cells), or else from its `predict`.
    The scorer is picklable and accepts a `sample_weight`.

    Args:
        metric: the key of a metric that has a direction (lower or higher is better) and needs only the ground truth.
        grid: the grid (default: the grid from the paper).

    Raises:
        OptionError: for an unknown metric, a metric for which neither higher nor lower is better, or a metric that does
            not use the ground truth or needs other data as well.

    Examples:
        >>> class Always:
        ...     classes_ = ["C5", "C6"]
        ...     def predict_proba(self, X): return [[0.5, 0.5]] * len(X)
        >>> scorer("euclidean_error")(Always(), [0, 1], ["C5", "C7"])
        -64.0
        >>> scorer("euclidean_error")(Always(), [0, 1], ["C5", "C7"], sample_weight=[1, 0])
        -32.0
    """
    record = _metric(metric, {"truth": None})
    if record.direction not in ("lower", "higher") or "truth" not in record.needs:
        raise OptionError(
            f"{metric} cannot be a scorer. Use a metric that compares guesses with the ground truth and for which "
            "higher or lower is better, such as accuracy"
        )
    return Scorer(metric, grid)


def _metric(key: str, given: dict[str, Any]) -> Metric:
    if key not in METRICS:
        raise OptionError(unknown_name("metric", key, METRICS))
    if missing := [need for need in METRICS[key].needs if need not in given]:
        raise OptionError(f"{key} needs {' and '.join(missing)}")
    return METRICS[key]


def _input(mass: FloatArray, unparsed: FloatArray, given: dict[str, Any], grid: Grid) -> MetricInput:
    options, n = MetricOptions(), len(mass)
    boxes = given.get("players", np.empty((n, 0, 4)))
    near, has_players = strategy.near_player_mask(boxes, grid, tau=options.tau)
    return MetricInput(
        mass=mass,
        unparsed=unparsed,
        truth=given["truth"],
        reference=given.get("reference", np.zeros_like(mass)),
        near=near,
        overlap=strategy.overlap_mask(boxes, grid, theta=options.theta)[0],
        has_players=has_players,
        boxes=lambda: list(boxes),
        grids=(grid,),
        grid_of=np.zeros(n, dtype=int),
        options=options,
    )


def _guesses(values: object, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Return the mass, shape (n_images, n_cells), and the unparsed answers, shape (n_images,)."""
    plain = values_of(values, grid)
    if not are_labels(plain):
        return _rows(mass_of(plain, grid)[0], "y_pred"), np.zeros(len(np.asarray(plain)))  # type: ignore[arg-type]
    _check_any(plain, "y_pred")
    mass, unparsed = zip(*(mass_of([label], grid) for label in plain), strict=True)
    return np.stack(mass), np.array(unparsed)


def _truth(values: object, grid: Grid) -> BoolArray:
    plain = values_of(values, grid)
    if not are_labels(plain):
        return _rows(truth_of(plain, grid), "y_true")  # type: ignore[arg-type]
    _check_any(plain, "y_true")
    return np.stack([truth_of([] if label is None else [label], grid) for label in plain])


def _check_any(labels: Sequence[str | None], name: str) -> None:
    if not labels:
        raise DistributionError(f"{name} has no images, expected at least one")


def _rows(array: Rows, name: str) -> Rows:
    if array.ndim != 2:
        raise DistributionError(f"{name} has shape {array.shape}, expected (n_images, {array.shape[-1]})")
    return array


def _in_grid(probabilities: FloatArray, classes: list[str], grid: Grid) -> FloatArray:
    """Return the probabilities of an estimator's classes as mass over the grid's cells."""
    mass = np.zeros((len(probabilities), grid.n_cells))
    mass[:, [grid.index(label) for label in classes]] = probabilities
    return mass
