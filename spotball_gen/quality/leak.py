"""The leak test: can a simple classifier tell the cells that were painted over from others?

It is told noise, blur and edges of each cell, relative to its image; not where the cell is, nor what is on it. It
learns from some videos and answers on others. Chance is what it makes of images whose balls have been exchanged: each
image is given the ball cells of another one of its sport, so that where balls usually are stays the same.

What is around a ball is not what is around any cell: players are near, and look at it. So it is asked once more to tell
the ball's cell from decoys alone: cells of the same image that are as high in it and as near to players, and in which
nothing was painted. What it tells there is hardly what is shown, and more likely how it was painted.
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
from spotball_gen.items.pictures import decoded
from spotball_gen.pipeline.folder import with_ball
from spotball_gen.quality.cells import FEATURES, cell_features
from spotball_gen.quality.classifier import Discriminant, areas
from spotball_gen.quality.decoys import DECOYS, ball_cell, beside, decoys
from spotball_gen.quality.splits import video_of

FOLDS = 5
RESAMPLES = 1000
"""Of videos, for the intervals."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Measured:
    """One number of the leak test.

    Attributes:
        value: over the images.
        interval: 95%, by resampling of videos; None with fewer than three.
        chance: mean over the exchanges of balls.
        chance_range: the middle 95% of them.
        p: share of exchanges, the real one among them, with as high a value.
    """

    value: float
    interval: tuple[float, float] | None
    chance: float
    chance_range: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Leak:
    """What the leak test found.

    Attributes:
        accuracy: share of images whose most suspicious cell is one of the ball's.
        auc: mean over images: share of pairs of a ball cell and another one in which the ball's is more suspicious.
        weights: of the features, learned from all images, the largest first: what gives balls away. Each is that of a
            feature of variance 1; their absolute values have the sum 1.
        images: how many were looked at.
        videos: how many they are from.
        folds: parts of the cross-validation; no video is in two.
        permutations: how often balls were exchanged.
        decoys: the same against decoys alone, chance being that any of the ball's cell and its decoys is the ball's;
            None in itself, and where images of two videos have none.
    """

    accuracy: Measured
    auc: Measured
    weights: Mapping[str, float]
    images: int
    videos: int
    folds: int
    permutations: int
    decoys: Leak | None = None

    @property
    def distinguished(self) -> bool:
        """Whether inpainted cells were distinguished from the others, at 5% for the two numbers together."""
        return min(self.accuracy.p, self.auc.p) < 0.025

    @property
    def leaks(self) -> bool | None:
        """Whether the inpainting shows: whether inpainted cells were distinguished from their decoys.

        Cells around balls differ from most cells of an image by what is in them, however perfect the inpainting is. So
        the test among all cells has no part in the verdict. None without decoys.
        """
        return self.decoys.distinguished if self.decoys else None

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values, in thousandths; `leaks` is the verdict, in the result for all cells."""
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
            "distinguished": self.distinguished,
            "weights": {name: round(value, 2) for name, value in self.weights.items()},
            "images": self.images,
            "videos": self.videos,
            "folds": self.folds,
            "permutations": self.permutations,
        }


def leak_test(dataset: Path, *, seed: int = 0, permutations: int = 200, most: int = 2000) -> Leak:
    """Test a dataset: scenes, and images without the ball.

    Args:
        dataset: its folder.
        seed: of all that is drawn.
        permutations: how often balls are exchanged for chance.
        most: so many images at most are looked at, drawn where there are more.

    Raises:
        InputError: for a dataset that cannot be read, with scenes of fewer than two videos, or with several grids.
    """
    usable = [scene for scene in read_scenes(dataset / SCENES) if _tells(scene)]
    rng = np.random.default_rng(seed)
    if len(usable) > most:
        usable = [usable[index] for index in np.sort(rng.choice(len(usable), most, replace=False))]
    videos = [video_of(scene) for scene in usable]
    if len(set(videos)) < 2:
        actual = f"{len(usable)} images without the ball, of {len(set(videos))} videos"
        raise InputError([Problem(str(dataset / SCENES), None, "scenes", actual, "images of two videos at least")])
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
    """An image's features, and the cells that the question is asked of once more: the ball's, then its decoys."""
    image, grid = _image(data_file(dataset, scene.path)), scene.layout
    touched = grid.mask(scene.ball_cells or ())
    before = find_file([dataset], with_ball(scene.path))
    pixels = _image(before) if before else None
    if pixels is not None and pixels.shape == image.shape:
        rows, cols = np.nonzero((pixels != image).any(axis=2))
        height, width = image.shape[:2]
        touched[rows * grid.rows // height * grid.cols + cols * grid.cols // width] = True
    else:
        # Nobody knows what was painted: margin and shadow reach beyond the ball's cells.
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
    """Whether the ball was painted out, and some of the cells hold it and others do not."""
    in_cells = len(scene.ball_cells or ())
    return scene.path is not None and not scene.control and 0 < in_cells < scene.grid.rows * scene.grid.cols


class _Cells:
    """Cells of images, as many of each: their features, and which part of the images is left out when.

    Args:
        features: shape (n_images, n_cells, n_features).
        truth: which cell is the ball's, shape (n_images, n_cells).
        videos: that the images are from.
        exchanged: draws what might be the truth by chance.
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
        # Largest videos first, each to the fold that has least: folds of about the same size.
        sizes = np.bincount(self.video)
        load, fold = np.zeros(self.folds), np.zeros(len(names), dtype=int)
        for video in np.argsort(-sizes, kind="stable"):
            fold[video] = int(np.argmin(load))
            load[fold[video]] += sizes[video]
        self._out = [fold[self.video] == number for number in range(self.folds)]
        self._learned = [Discriminant(self._rows(~out)) for out in self._out]

    def answered(self, truth: Bools) -> tuple[Floats, Floats]:
        """Of each image, the share of its most suspicious cells that are the ball's, and its AUC.

        Each is answered by a classifier that has seen no image of its video.
        """
        suspicion = np.zeros(truth.shape)
        for out, discriminant in zip(self._out, self._learned, strict=True):
            suspicion[out] = self.features[out] @ discriminant.weights(truth[~out].reshape(-1))
        most = suspicion == suspicion.max(axis=1, keepdims=True)
        return (most & truth).sum(axis=1) / most.sum(axis=1), areas(suspicion, truth)

    def weights(self) -> Floats:
        """Of the features, learned from all images, in standard deviations of each."""
        rows = self._rows(np.ones(len(self.truth), dtype=bool))
        weights: Floats = Discriminant(rows).weights(self.truth.reshape(-1)) * rows.std(axis=0)
        return weights / max(float(np.abs(weights).sum()), 1e-12)

    def _rows(self, images: Bools) -> Floats:
        return self.features[images].reshape(-1, self.features.shape[-1])


def _between_images(truth: Bools, sports: Sequence[str]) -> Callable[[np.random.Generator], Bools]:
    """Draws the truth, each image's from another one of its sport."""
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
    )


def _measured(values: Floats, by_chance: Floats, video: NDArray[np.int64], rng: np.random.Generator) -> Measured:
    value = _mean(values)
    low, high = np.percentile(by_chance, [2.5, 97.5]).tolist()
    p = (1 + int((by_chance >= value - 1e-12).sum())) / (1 + len(by_chance))
    return Measured(value, _interval(values, video, rng), float(by_chance.mean()), (low, high), p)


def _interval(values: Floats, video: NDArray[np.int64], rng: np.random.Generator) -> tuple[float, float] | None:
    """By resampling whole videos, since images of one are alike."""
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
        raise InputError([Problem(str(path), None, "image", str(error), "a picture")]) from error


def lines(leak: Leak) -> Iterator[str]:
    """As lines for a terminal; the last one is the verdict."""
    images = f"{leak.images:,} images of {leak.videos:,} videos, {leak.folds} folds"
    yield f"{images}, {leak.permutations} exchanges of balls"
    yield from _numbers(leak)
    yield f"Cells with a ball {_distinguished(leak)} from other cells.{_named(leak)}"
    if leak.decoys is not None:
        yield f"{leak.decoys.images:,} images, each ball's cell among {DECOYS} decoys as high and as near to players"
        yield from _numbers(leak.decoys)
        yield f"Inpainted cells {_distinguished(leak.decoys)} from their decoys.{_named(leak.decoys)}"
    yield verdict(leak.record())


def verdict(record: Mapping[str, Any]) -> str:
    """Return the verdict of a leak test in a sentence.

    Args:
        record: see `Leak.record`, or `not_done` with the reason.

    Examples:
        >>> verdict({"not_done": "it needs images of at least two videos"})
        'Leak test: not done; it needs images of at least two videos.'
    """
    if "not_done" in record:
        return f"Leak test: not done; {record['not_done']}."
    if record["leaks"] is None:
        return f"Leak test: no verdict; too few images have {DECOYS} untouched cells to compare with."
    accuracy, auc = record["decoys"]["accuracy"], record["decoys"]["auc"]
    numbers = (
        f"a classifier picks them out of {DECOYS + 1} similar cells in {accuracy['value']:.0%} of the images, by "
        f"chance in {accuracy['chance']:.0%} (p = {min(accuracy['p'], auc['p']):.3f})"
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
    """What tells most, where anything does."""
    features = ", ".join(f"{name} ({weight:+.2f})" for name, weight in list(leak.weights.items())[:3])
    return f" What tells most: {features}." if leak.distinguished else ""
