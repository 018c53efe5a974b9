"""The leak test: can a simple classifier distinguish inpainted cells from others?

The classifier sees noise, blur and edges of each cell relative to its image, but neither position nor content. It is
trained on some videos and tested on others. To estimate the chance level, the ball cells are randomly permuted among
the images of each sport, so the typical positions of balls are kept.

The surroundings of a ball differ from other places: players are near and look at it. Therefore, a second test
distinguishes the ball's cell only from decoys: untouched cells of the same image, at a similar height in the image and
a similar distance to players. Success in this test is more likely due to the inpainting than to the content.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import data_file, find_file
from spotball_core.text.words import plural
from spotball_gen.items.pictures import decoded
from spotball_gen.pipeline.folder import with_ball
from spotball_gen.quality.cells import FEATURES, cell_features
from spotball_gen.quality.classifier import Discriminant, areas
from spotball_gen.quality.decoys import DECOYS, ball_cell, beside, decoys
from spotball_gen.quality.splits import video_of

FOLDS = 5
RESAMPLES = 1000
"""Number of resamples of videos for the confidence intervals."""
LEVEL = 0.05
"""Significance level of the test. The joint p value covers accuracy and AUC, so it needs no further correction."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Measured:
    """A statistic of the leak test (accuracy or AUC), compared with chance.

    Attributes:
        value: mean of the statistic over the images.
        interval: 95% confidence interval of `value` from resampling videos; None with fewer than three videos.
        chance: mean of the statistic over random permutations of the balls.
        chance_range: 2.5th and 97.5th percentiles of the statistic over these permutations.
        p: share of the permutations (including the actual assignment) with at least `value`.
    """

    value: float
    interval: tuple[float, float] | None
    chance: float
    chance_range: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Leak:
    """The result of the leak test.

    Attributes:
        accuracy: share of images whose most suspicious cell is a ball cell.
        auc: mean over images of the share of pairs (a ball cell, another cell) in which the ball cell is more
            suspicious.
        weights: weights of the features, learned from all images, sorted from the largest absolute value. They show
            which features reveal balls. They apply to features scaled to variance 1, and their absolute values sum to
            1.
        images: number of images.
        videos: number of videos.
        folds: number of cross-validation folds. Each video is in one fold only.
        permutations: number of random permutations of the balls.
        p: joint p value of accuracy and AUC; see `joint_p`.
        decoys: the result of the test against decoys only. By chance, the ball's cell and its decoys are equally likely
            to be chosen. None if fewer than two videos have decoys, and in this nested result itself.
    """

    accuracy: Measured
    auc: Measured
    weights: Mapping[str, float]
    images: int
    videos: int
    folds: int
    permutations: int
    p: float
    decoys: Leak | None = None

    @property
    def distinguished(self) -> bool:
        """Return whether inpainted cells were distinguished from the others: whether `p` is below 0.05."""
        return self.p < LEVEL

    @property
    def leaks(self) -> bool | None:
        """Return whether the inpainting is visible: whether inpainted cells were distinguished from their decoys.

        Cells around balls differ from most cells by their content, even with perfect inpainting. Therefore, the test
        among all cells does not affect the verdict. The value is None if there was no test against decoys.
        """
        return self.decoys.distinguished if self.decoys else None

    def record(self) -> dict[str, Any]:
        """Return the result as rounded JSON values. The key `leaks` contains the verdict: the property `leaks`."""
        own = self._record()
        if self.decoys is None:
            return {**own, "leaks": None}
        return {**own, "leaks": self.leaks, "decoys": self.decoys._record()}

    def _record(self) -> dict[str, Any]:
        measures: dict[str, Any] = {
            name: {
                "value": _round(of.value),
                "interval": of.interval and [_round(end) for end in of.interval],
                "chance": _round(of.chance),
                "chance_range": [_round(end) for end in of.chance_range],
                "p": round(of.p, 4),
            }
            for name, of in (("accuracy", self.accuracy), ("auc", self.auc))
        }
        return {
            **measures,
            "p": round(self.p, 4),
            "distinguished": self.distinguished,
            "weights": {name: round(value, 2) for name, value in self.weights.items()},
            "images": self.images,
            "videos": self.videos,
            "folds": self.folds,
            "permutations": self.permutations,
        }


def leak_test(dataset: Path, *, seed: int = 0, permutations: int = 200, most: int = 2000) -> Leak:
    """Run the leak test on a dataset with scenes and images without the ball.

    Args:
        dataset: the dataset's folder.
        seed: random seed.
        permutations: number of random permutations of the balls, which estimate the chance level.
        most: maximum number of images. If the dataset has more, this many are sampled.

    Raises:
        InputError: if the dataset cannot be read, if its images without the ball are from fewer than two videos, or if
            they have grids of different shapes.
    """
    usable = [scene for scene in read_scenes(dataset / SCENES) if _tells(scene)]
    rng = np.random.default_rng(seed)
    if len(usable) > most:
        usable = [usable[index] for index in np.sort(rng.choice(len(usable), most, replace=False))]
    videos = [video_of(scene) for scene in usable]
    if len(set(videos)) < 2:
        actual = f"{plural(len(usable), 'image')} without the ball, of {plural(len(set(videos)), 'video')}"
        expected, fix = "images of at least two videos", "Generate items from more videos"
        raise InputError([Problem(str(dataset / SCENES), None, "scenes", actual, expected, fix=fix)])
    grids = {(scene.grid.rows, scene.grid.cols) for scene in usable}
    if len(grids) > 1:
        actual = ", ".join(f"{rows} x {cols}" for rows, cols in sorted(grids))
        raise InputError([Problem(str(dataset / SCENES), None, "grid", actual, "one grid for all images")])
    inspected = [_looked_at(dataset, scene) for scene in usable]
    features = np.array([image_features for image_features, _ in inspected])
    truth = np.array([scene.layout.mask(scene.ball_cells or ()) for scene in usable])
    exchanged = _between_images(truth, [scene.sport for scene in usable])
    leak = _tested(_Cells(features, truth, videos, exchanged), rng, permutations)
    return replace(leak, decoys=_against_decoys(features, [of for _, of in inspected], videos, rng, permutations))


def _looked_at(dataset: Path, scene: Scene) -> tuple[Floats, NDArray[np.int64] | None]:
    """Return the features of a scene's cells, and the indices of its ball's cell and decoys; None without decoys."""
    image, grid = _image(data_file(dataset, scene.path)), scene.layout
    touched = grid.mask(scene.ball_cells or ())
    before = find_file([dataset], with_ball(scene.path))
    pixels = _image(before) if before else None
    if pixels is not None and pixels.shape == image.shape:
        rows, cols = np.nonzero((pixels != image).any(axis=2))
        height, width = image.shape[:2]
        touched[rows * grid.rows // height * grid.cols + cols * grid.cols // width] = True
    else:
        # The inpainted pixels are unknown: margin and shadow can extend beyond the ball's cells.
        touched = beside(touched, grid.rows, grid.cols)
    decoy_cells = decoys(scene, touched)
    return cell_features(image, grid), None if decoy_cells is None else np.r_[ball_cell(scene), decoy_cells]


def _against_decoys(
    features: Floats,
    groups: Sequence[NDArray[np.int64] | None],
    videos: Sequence[str],
    rng: np.random.Generator,
    permutations: int,
) -> Leak | None:
    questions = [(index, group) for index, group in enumerate(groups) if group is not None]
    of = [videos[index] for index, _ in questions]
    if len(set(of)) < 2:
        return None
    truth = np.zeros((len(questions), DECOYS + 1), dtype=bool)
    truth[:, 0] = True
    cells = _Cells(
        np.array([features[index, group] for index, group in questions]),
        truth,
        of,
        lambda rng: rng.permuted(truth, axis=1),
    )
    return _tested(cells, rng, permutations)


def _tells(scene: Scene) -> bool:
    """Return whether the test can use a scene: the ball was inpainted, and some but not all cells held it."""
    in_cells = len(scene.ball_cells or ())
    return scene.path is not None and not scene.control and 0 < in_cells < scene.grid.rows * scene.grid.cols


class _Cells:
    """Cells of images, with the same number per image: their features, and the cross-validation folds.

    Args:
        features: shape (n_images, n_cells, n_features).
        truth: the ball cells, shape (n_images, n_cells).
        videos: the video of each image.
        exchanged: function that draws random ball cells, with the shape of `truth`.
    """

    def __init__(
        self,
        features: Floats,
        truth: Bools,
        videos: Sequence[str],
        exchanged: Callable[[np.random.Generator], Bools],
    ) -> None:
        self.features, self.truth, self.exchanged = features, truth, exchanged
        names, self.video = np.unique(np.array(videos), return_inverse=True)
        self.folds = min(FOLDS, len(names))
        # Assign the largest videos first, each to the smallest fold, so that folds have similar sizes.
        sizes = np.bincount(self.video)
        load, fold = np.zeros(self.folds), np.zeros(len(names), dtype=int)
        for video in np.argsort(-sizes, kind="stable"):
            fold[video] = int(np.argmin(load))
            load[fold[video]] += sizes[video]
        self._out = [fold[self.video] == number for number in range(self.folds)]
        self._learned = [Discriminant(self._rows(~out)) for out in self._out]

    def answered(self, truth: Bools) -> tuple[Floats, Floats]:
        """Return the accuracy and the AUC of each image, shape (n_images,) each, if `truth` marks the ball cells.

        Accuracy is 1 if the most suspicious cell is a ball cell; of several equally suspicious cells, it is the share
        that are ball cells. The classifier that rates an image was not trained on its video.
        """
        suspicion = np.zeros(truth.shape)
        for out, discriminant in zip(self._out, self._learned, strict=True):
            suspicion[out] = self.features[out] @ discriminant.weights(truth[~out].reshape(-1))
        most = suspicion == suspicion.max(axis=1, keepdims=True)
        return (most & truth).sum(axis=1) / most.sum(axis=1), areas(suspicion, truth)

    def weights(self) -> Floats:
        """Return the features' weights, learned from all images, in units of each feature's standard deviation."""
        rows = self._rows(np.ones(len(self.truth), dtype=bool))
        weights: Floats = Discriminant(rows).weights(self.truth.reshape(-1)) * rows.std(axis=0)
        return weights / max(float(np.abs(weights).sum()), 1e-12)

    def _rows(self, images: Bools) -> Floats:
        return self.features[images].reshape(-1, self.features.shape[-1])


def _between_images(truth: Bools, sports: Sequence[str]) -> Callable[[np.random.Generator], Bools]:
    """Return a function that randomly permutes the rows of `truth` among the images of each sport."""
    of = [np.flatnonzero(np.array(sports) == sport) for sport in sorted(set(sports))]

    def drawn(rng: np.random.Generator) -> Bools:
        order = np.arange(len(truth))
        for images in of:
            order[images] = rng.permutation(images)
        return truth[order]

    return drawn


def _tested(cells: _Cells, rng: np.random.Generator, permutations: int) -> Leak:
    observed = cells.answered(cells.truth)
    by_chance = np.array(
        [[_mean(values) for values in cells.answered(cells.exchanged(rng))] for _ in range(permutations)]
    ).reshape(-1, 2)
    measured = [_measured(values, by_chance[:, column], cells.video, rng) for column, values in enumerate(observed)]
    weights = cells.weights()
    largest = np.argsort(-np.abs(weights), kind="stable")
    return Leak(
        accuracy=measured[0],
        auc=measured[1],
        weights={FEATURES[index]: float(weights[index]) for index in largest},
        images=len(cells.truth),
        videos=int(cells.video.max()) + 1,
        folds=cells.folds,
        permutations=permutations,
        p=joint_p(np.array([of.value for of in measured]), by_chance),
    )


def joint_p(observed: Floats, by_chance: Floats) -> float:
    """Return the joint p value of several statistics, by the min-P method on permutations.

    For each permutation and each statistic, a p value is computed: the share of permutations with at least this value.
    Only the smallest p value of each permutation is kept. The joint p value is the share of permutations whose smallest
    p value is at most that of the actual assignment. All shares include the actual assignment. If the balls are
    exchangeable, the joint p value is at most 0.05 in at most 5% of datasets. For comparison, the smallest of two p
    values would be at most 0.05 in up to 10% of datasets.

    Source: Westfall and Young (1993), *Resampling-Based Multiple Testing*, section 2.3.

    Args:
        observed: the statistics with the actual assignment, shape (n_statistics,). Larger values are more extreme.
        by_chance: the statistics of each permutation, shape (n_permutations, n_statistics).

    Returns:
        A number above 0 and at most 1, in steps of 1 / (n_permutations + 1).

    Examples:
        Both observed values have the p value 2 / 4. One of the three permutations has a smaller p value: 1 / 4, for the
        value 0.7.

        >>> joint_p(np.array([0.4, 0.6]), np.array([[0.2, 0.5], [0.4, 0.7], [0.2, 0.4]]))
        0.5
    """
    together = np.vstack([observed, by_chance])
    # Sums of the same numbers in another order differ by rounding errors. Such values count as equal.
    rounded = np.round(together, 12)
    ranks = np.column_stack([np.searchsorted(np.sort(column), column) for column in rounded.T])
    smallest = (len(together) - ranks).min(axis=1)
    return float((smallest <= smallest[0]).mean())


def _measured(values: Floats, by_chance: Floats, video: NDArray[np.int64], rng: np.random.Generator) -> Measured:
    value = _mean(values)
    low, high = np.percentile(by_chance, [2.5, 97.5]).tolist()
    p = (1 + int((by_chance >= value - 1e-12).sum())) / (1 + len(by_chance))
    return Measured(value, _interval(values, video, rng), float(by_chance.mean()), (low, high), p)


def _interval(values: Floats, video: NDArray[np.int64], rng: np.random.Generator) -> tuple[float, float] | None:
    """Return the 95% interval of the mean from resampling whole videos, or None with fewer than three videos."""
    n = int(video.max()) + 1
    if n < 3:
        return None
    defined = ~np.isnan(values)
    sums = np.bincount(video[defined], values[defined], minlength=n)
    counts = np.bincount(video[defined], minlength=n)
    resampled = rng.integers(n, size=(RESAMPLES, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means = sums[resampled].sum(axis=1) / counts[resampled].sum(axis=1)
    low, high = np.nanpercentile(means, [2.5, 97.5]).tolist()
    return low, high


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _round(value: float) -> float:
    return round(value, 3)


def _image(path: Path) -> NDArray[np.uint8]:
    try:
        return decoded(path)
    except OSError as error:
        raise InputError([Problem(str(path), None, "image", str(error), "a readable image")]) from error


def lines(leak: Leak) -> Iterator[str]:
    """Yield the lines that `spotball gen check` prints about the result. The last line is the verdict."""
    images = f"{leak.images:,} images of {leak.videos:,} videos"
    yield f"{images}; {leak.folds} folds of cross-validation; {leak.permutations} permutations of the balls' positions"
    yield from _numbers(leak)
    yield f"Cells that contained the ball {_distinguished(leak)} from other cells{_named(leak)}"
    if leak.decoys is not None:
        yield f"{leak.decoys.images:,} images; the ball's cell is compared with {DECOYS} similar cells (decoys)"
        yield from _numbers(leak.decoys)
        yield f"Inpainted cells {_distinguished(leak.decoys)} from their decoys{_named(leak.decoys)}"
    yield verdict(leak.record())


def verdict(record: Mapping[str, Any]) -> str:
    """Return the verdict of a leak test as a sentence.

    Args:
        record: a record from `Leak.record`, or a record with the key `not_done` and the reason.

    Examples:
        >>> verdict({"not_done": "it needs images of at least two videos"})
        'Leak test: not done, because it needs images of at least two videos.'
    """
    if "not_done" in record:
        return f"Leak test: not done, because {record['not_done']}."
    if record["leaks"] is None:
        return (
            f"Leak test: no verdict, because fewer than two videos have an image with {DECOYS} cells that inpainting "
            "did not change."
        )
    accuracy = record["decoys"]["accuracy"]
    numbers = (
        f"among {DECOYS + 1} similar cells, a classifier chooses the inpainted one in {accuracy['value']:.0%} of the "
        f"images (chance level {accuracy['chance']:.0%}, p = {record['decoys']['p']:.3f})"
    )
    if record["leaks"]:
        return f"Leak test: failed. Inpainted cells can be recognized: {numbers}. Do not publish these images."
    return f"Leak test: passed. Inpainted cells were not recognized: {numbers}."


def _distinguished(leak: Leak) -> str:
    return "can be distinguished" if leak.distinguished else "were not distinguished"


def _numbers(leak: Leak) -> Iterator[str]:
    for name, of in (("accuracy", leak.accuracy), ("AUC", leak.auc)):
        interval = f" [{of.interval[0]:.3f}, {of.interval[1]:.3f}]" if of.interval else ""
        low, high = of.chance_range
        yield f"{name:<8}  {of.value:.3f}{interval}; chance {of.chance:.3f} [{low:.3f}, {high:.3f}], p = {of.p:.3f}"


def _named(leak: Leak) -> str:
    """Return a text with the joint p value and, if cells were distinguished, the most informative features."""
    features = ", ".join(f"{name} ({weight:+.2f})" for name, weight in list(leak.weights.items())[:3])
    together = f" (p = {leak.p:.3f} for accuracy and AUC together)."
    return together + (f" The most informative features are {features}." if leak.distinguished else "")
