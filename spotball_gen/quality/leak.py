"""The leak test: can a simple classifier distinguish inpainted cells from others?

The classifier sees noise, blur and edges of each cell relative to its image, but neither position nor content. It is
trained on some videos and tested on others. To estimate the chance level, the balls are exchanged between the images of
each sport, so the typical positions of balls are kept. Sequences of positions are kept as well, because neighboring
images of a video show similar places; see `exchanged`.

The surroundings of a ball differ from other places: players are near and look at it. Therefore, a second test
distinguishes the ball's cell only from decoys: untouched cells of the same image, at a similar height in the image and
a similar distance to players. Success in this test is more likely due to the inpainting than to the content.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import InputError
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import data_file, find_file
from spotball_core.text.words import plural
from spotball_gen.items.pictures import decoded
from spotball_gen.pipeline.folder import with_ball
from spotball_gen.quality.cells import FEATURES, cell_features
from spotball_gen.quality.classifier import CrossValidated
from spotball_gen.quality.decoys import DECOYS, ball_cell, beside, decoys, surroundings
from spotball_gen.quality.leak_result import LEVEL, Leak, Measured
from spotball_gen.quality.splits import video_of

RESAMPLES = 1000
"""Number of resamples of videos for the confidence intervals."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


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
    n_videos = len({video_of(scene) for scene in usable})
    if n_videos < 2:
        actual = f"{plural(len(usable), 'image')} without the ball, of {plural(n_videos, 'video')}"
        expected, fix = "images of at least two videos", "Generate items from more videos"
        raise InputError.of("invalid-value", dataset / SCENES, "scenes", actual, expected, fix=fix)
    grids = {(scene.grid.rows, scene.grid.cols) for scene in usable}
    if len(grids) > 1:
        actual = ", ".join(f"{rows} x {cols}" for rows, cols in sorted(grids))
        raise InputError.of("different-grids", dataset / SCENES, "grid", actual, "one grid for all images")
    usable.sort(key=lambda scene: (scene.sport, video_of(scene), scene.image))
    images = _inspected(dataset, usable)
    return replace(_all_cells(images, rng, permutations), decoys=against_decoys(images, rng, permutations))


@dataclass(frozen=True)
class InpaintedImages:
    """Images and their balls, as arrays. The images of a video are in their temporal order.

    Attributes:
        features: features of the cells, shape (n_images, n_cells, n_features).
        places: positions of the cells, see `surroundings`; shape (n_images, n_cells, 4).
        ball_cells: whether a part of the ball was in a cell, shape (n_images, n_cells).
        main_cell: index of the cell with the largest part of the ball, shape (n_images,).
        touched: whether a cell has inpainted pixels, shape (n_images, n_cells).
        video: number of each image's video, shape (n_images,).
        sport: number of each image's sport, shape (n_images,).
    """

    features: Floats
    places: Floats
    ball_cells: Bools
    main_cell: Ints
    touched: Bools
    video: Ints
    sport: Ints

    def only(self, images: Bools) -> InpaintedImages:
        """Return the images for which `images` is True."""
        return InpaintedImages(**{field.name: getattr(self, field.name)[images] for field in fields(self)})


def _inspected(dataset: Path, scenes: Sequence[Scene]) -> InpaintedImages:
    """Read the images of scenes."""
    rows = [_looked_at(dataset, scene) for scene in scenes]
    return InpaintedImages(
        features=np.array([features for features, _ in rows]),
        places=np.array([surroundings(scene) for scene in scenes]),
        ball_cells=np.array([scene.layout.mask(scene.ball_cells or ()) for scene in scenes]),
        main_cell=np.array([ball_cell(scene) for scene in scenes]),
        touched=np.array([touched for _, touched in rows]),
        video=np.unique([video_of(scene) for scene in scenes], return_inverse=True)[1],
        sport=np.unique([scene.sport for scene in scenes], return_inverse=True)[1],
    )


def _looked_at(dataset: Path, scene: Scene) -> tuple[Floats, Bools]:
    """Return the features of a scene's cells, and which cells have inpainted pixels."""
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
    return cell_features(image, grid), touched


def _tells(scene: Scene) -> bool:
    """Return whether the test can use a scene: the ball was inpainted, and some but not all cells held it."""
    in_cells = len(scene.ball_cells or ())
    return scene.path is not None and not scene.control and 0 < in_cells < scene.grid.rows * scene.grid.cols


def _all_cells(images: InpaintedImages, rng: np.random.Generator, permutations: int) -> Leak:
    """Test whether the cells that contained balls are distinguished from all other cells."""
    classifier = CrossValidated(images.features, images.video)
    by_chance = (classifier.answered(images.ball_cells[exchanged(images, rng)]) for _ in range(permutations))
    return _tested(classifier, images.ball_cells, by_chance, rng)


def against_decoys(images: InpaintedImages, rng: np.random.Generator, permutations: int) -> Leak | None:
    """Test whether the cells of balls are distinguished from their decoys.

    In each permutation, the exchanged balls get decoys by the same rule as the actual balls.

    Args:
        images: images and their balls.
        rng: generator of random numbers.
        permutations: number of permutations.

    Returns:
        The result, or None if the test cannot be done: if fewer than two videos have images with four untouched cells,
        or if at least 5% of the permutations give each image its actual ball, so that no p value can be below 0.05.
    """
    images = images.only((~images.touched).sum(axis=1) >= DECOYS)
    if len(np.unique(images.video)) < 2:
        return None
    orders = [exchanged(images, rng) for _ in range(permutations)]
    balls = np.column_stack([images.main_cell, images.touched])
    unchanged = sum(np.array_equal(balls[order], balls) for order in orders)
    if (1 + unchanged) / (1 + permutations) >= LEVEL:
        return None

    def classifier(order: Ints) -> CrossValidated:
        cell = images.main_cell[order]
        candidates = np.column_stack([cell, decoys(images.places, cell, images.touched[order])])
        return CrossValidated(np.take_along_axis(images.features, candidates[..., None], axis=1), images.video)

    truth = np.zeros((len(balls), DECOYS + 1), dtype=bool)
    truth[:, 0] = True
    by_chance = (classifier(order).answered(truth) for order in orders)
    return _tested(classifier(np.arange(len(balls))), truth, by_chance, rng)


def exchanged(images: InpaintedImages, rng: np.random.Generator) -> Ints:
    """Draw a random permutation of the balls among the images of each sport.

    The videos of a sport are put in a random order, each forwards or backwards, and joined to a ring. Along this ring,
    the balls are moved by a random number of images. Neighboring images therefore keep neighboring positions of the
    ball. With independent permutations, chance results would vary too little: neighboring images show similar places,
    so a classifier that is right about one of them is often right about the next one.

    Returns:
        For each image, the index of the image whose ball it gets; shape (n_images,).

    Source: Besag and Clifford (1989), "Generalized Monte Carlo significance tests", *Biometrika* 76, as used for time
    series by R's package *permute*.
    """
    order = np.arange(len(images.video))
    rank = rng.permutation(images.video.max() + 1)[images.video]
    direction = rng.choice((-1, 1), images.video.max() + 1)[images.video]
    in_time = np.lexsort((order, images.video))
    shuffled = np.lexsort((direction * order, rank))
    for sport in np.unique(images.sport):
        ring = shuffled[images.sport[shuffled] == sport]
        order[in_time[images.sport[in_time] == sport]] = np.roll(ring, rng.integers(len(ring)))
    return order


def _tested(
    classifier: CrossValidated,
    truth: Bools,
    by_chance: Iterable[tuple[Floats, Floats]],
    rng: np.random.Generator,
) -> Leak:
    observed = classifier.answered(truth)
    chance = np.array([[_mean(values) for values in answered] for answered in by_chance]).reshape(-1, 2)
    measured = [_measured(values, chance[:, column], classifier.video, rng) for column, values in enumerate(observed)]
    weights = classifier.weights(truth)
    largest = np.argsort(-np.abs(weights), kind="stable")
    return Leak(
        accuracy=measured[0],
        auc=measured[1],
        weights={FEATURES[index]: float(weights[index]) for index in largest},
        images=len(truth),
        videos=int(classifier.video.max()) + 1,
        folds=classifier.folds,
        permutations=len(chance),
        p=joint_p(np.array([of.value for of in measured]), chance),
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


def _image(path: Path) -> NDArray[np.uint8]:
    try:
        return decoded(path)
    except OSError as error:
        raise InputError.of("unreadable-file", path, "image", str(error), "a readable image") from error
