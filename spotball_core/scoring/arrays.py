"""Score arrays of ground truth and guesses without files, with a call like scikit-learn's metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from spotball_core.errors import DistributionError, OptionError, unknown_name
from spotball_core.grid import Grid
from spotball_core.metrics import strategy
from spotball_core.metrics.inputs import (
    ArrayValues,
    Guesses,
    Players,
    Second,
    Truth,
    arguments,
    boxes_of,
    checked_numbers,
    is_scene,
    mass_of,
    plain_values,
    players_of_images,
)
from spotball_core.metrics.metric import Metric, MetricInput, MetricOptions
from spotball_core.metrics.registry import METRICS
from spotball_core.typing import FloatArray


def score_arrays(
    guesses: Guesses,
    truth: Truth,
    *,
    metrics: Iterable[str] | None = None,
    reference: Guesses | None = None,
    players: Players | None = None,
    grid: Grid | None = None,
    sample_weight: ArrayValues | None = None,
) -> dict[str, float]:
    """Compute metrics over many images, aggregated in the same way as in `score` (`Metric.over`).

    A list of truths is a list of images, and all arguments then have one item per image.

    Args:
        guesses: one item per image: a label (None: unparsed), a list of labels, a mapping from labels to counts, or one
            count or probability per cell.
        truth: one item per image: a label, a set of labels, a Scene, or one true/false value per cell.
        metrics: keys of the metrics to compute. Default: all metrics that the arguments allow.
        reference: guesses to compare with, in the same forms as `guesses`.
        players: the players' boxes in each image in pixels: lists of boxes, or shape (n_images, n_boxes, 4), padded
            with rows of NaN. Default: those of the scenes, if `truth` contains scenes.
        grid: the grid (default: the scenes', else the grid from the paper).
        sample_weight: weight of each image, shape (n_images,). Default: equal weights.

    Returns:
        Each metric's value by its key; NaN where it is undefined.

    Raises:
        OptionError: for an unknown metric, or a metric that needs an argument that is missing.
        DistributionError: if values are not distributions, there are no images, or numbers of images differ.
        GridError: for a label outside the grid, or scenes whose grids differ from `grid`.

    Examples:
        >>> score_arrays(["C5", "D6"], ["C5", "D5"], metrics=["accuracy", "euclidean_error"])
        {'accuracy': 0.5, 'euclidean_error': 32.0}
    """
    truth = plain_values(truth, grid)
    of_images = arguments(guesses, truth, grid, in_pixels=True)
    shape = np.broadcast_shapes((1, 1), of_images.mass.shape, of_images.truth.shape)
    mass, mask = np.broadcast_to(of_images.mass, shape), np.broadcast_to(of_images.truth, shape)
    if len(shape) != 2 or not len(mass):
        raise DistributionError(
            f"found shape {shape}, expected (n_images, n_cells), with at least one image",
            code="wrong-shape",
            field="guesses",
        )
    unparsed = np.broadcast_to(of_images.unparsed, len(mass))
    images = Second("truth", shape, is_list=True)
    given: dict[str, Any] = {"truth": mask}
    if reference is not None:
        given["reference"] = mass_of(reference, of_images.grids[0], second=images, name="reference")[0]
    scenes = [item for item in (truth if isinstance(truth, list) else [truth]) if is_scene(item)]
    if players is None and any(scene.players for scene in scenes):
        players = scenes
    if players is not None:
        given["players"] = _players(players, of_images.grids[0])
        images.check(len(given["players"]["near"]), "players")
    weight = np.ones(len(mass)) if sample_weight is None else checked_numbers(sample_weight, "sample_weight")
    if weight.shape != (len(mass),):
        raise DistributionError(
            f"found shape {weight.shape}, expected ({len(mass)},): one per image",
            code="wrong-shape",
            field="sample_weight",
        )
    if metrics is None:
        wanted = [metric for metric in METRICS.values() if set(metric.needs) <= given.keys()]
    else:
        wanted = [_metric(key, given) for key in metrics]
    data = _input(mass, unparsed, given, of_images.grids)
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
        scores = score_arrays(guesses, y, metrics=[self.metric], grid=self.grid, sample_weight=sample_weight)
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
        raise OptionError(unknown_name("metric", key, METRICS), code="unknown-name")
    if missing := [need for need in METRICS[key].needs if need not in given]:
        raise OptionError(f"{key} needs {' and '.join(missing)}", code="missing-option")
    return METRICS[key]


def _input(mass: FloatArray, unparsed: FloatArray, given: dict[str, Any], grids: tuple[Grid, ...]) -> MetricInput:
    n, sizes = len(mass), tuple(dict.fromkeys(grids))
    players = given.get("players") or _players(np.empty((n, 0, 4)), grids[0])
    return MetricInput(
        mass=mass,
        unparsed=unparsed,
        truth=given["truth"],
        reference=given.get("reference", np.zeros_like(mass)),
        **players,
        grids=sizes,
        grid_of=np.zeros(n, dtype=int) if len(sizes) == 1 else np.array([sizes.index(grid) for grid in grids]),
    )


def _players(players: Players, grid: Grid) -> dict[str, Any]:
    """Return the fields of `MetricInput` that describe the players in each image."""
    options = MetricOptions()
    of_images = players_of_images(players)
    near, has_players = strategy.near_player_mask(players, grid, tau=options.tau)
    boxes = boxes_of(players) if of_images is None else [boxes_of(() if one is None else one) for one in of_images]
    return {
        "near": np.atleast_2d(near),
        "overlap": np.atleast_2d(strategy.overlap_mask(players, grid, theta=options.theta)[0]),
        "has_players": np.atleast_1d(has_players),
        "boxes": lambda: list(boxes) if near.ndim > 1 else [boxes],
    }


def _in_grid(probabilities: FloatArray, classes: list[str], grid: Grid) -> FloatArray:
    """Return the probabilities of an estimator's classes as mass over the grid's cells."""
    mass = np.zeros((len(probabilities), grid.n_cells))
    mass[:, [grid.index(label) for label in classes]] = probabilities
    return mass
