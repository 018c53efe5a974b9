"""Find or create the example in the instructions: an image with and without its ball.

Participants see this image only in the instructions.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from spotball_adapters.study.setup.config import ExampleConfig
from spotball_core.errors import OptionError
from spotball_core.schema.scene import Scene

WITH_BALL = "with_ball"
"""Name of the folder with the original images, which show the ball, in a dataset from `spotball gen`."""

SEED = 1
"""Seed of the synthetic example scene."""

_NAMES = ("example-with-ball", "example-without-ball")


def find_example(dataset: Path) -> ExampleConfig | None:
    """Return the example from a dataset's files images/example-with-ball.* and images/example-without-ball.*, or None
    if either file is missing."""
    paths = [
        next((path.relative_to(dataset).as_posix() for path in sorted(dataset.glob(f"images/{name}.*"))), None)
        for name in _NAMES
    ]
    return ExampleConfig(with_ball=paths[0], without_ball=paths[1]) if paths[0] and paths[1] else None


def has_originals(dataset: Path, scenes: Iterable[Scene], originals: Path | None) -> bool:
    """Return whether at least one of the scenes has an original image, in which the ball is visible.

    For the arguments, see `copy_example`.
    """
    return any(_original(dataset, scene, originals) for scene in scenes)


def copy_example(dataset: Path, scenes: Iterable[Scene], originals: Path | None, out: Path) -> ExampleConfig | None:
    """Copy the images of the first scene that has an original image into a study's folder, as the example.

    Args:
        dataset: the dataset's folder.
        scenes: scenes that no participant sees.
        originals: a folder of original images, whose names (without extensions) are those of the dataset's images; None
            to use the original images in the dataset.
        out: the study's folder.

    Returns:
        The example, or None if no scene has an original image.
    """
    for scene in scenes:
        original = _original(dataset, scene, originals)
        if original is not None and scene.path is not None:
            files = [original, dataset / scene.path]
            names = [f"{name}{file.suffix}" for name, file in zip(_NAMES, files, strict=True)]
            out.mkdir(parents=True, exist_ok=True)
            for file, name in zip(files, names, strict=True):
                shutil.copyfile(file, out / name)
            return ExampleConfig(with_ball=names[0], without_ball=names[1])
    return None


def draw_example(out: Path) -> ExampleConfig:
    """Draw a synthetic scene with and without its ball into a study's folder. The page says that it is synthetic.

    Raises:
        MissingExtraError: if Pillow is not installed.
    """
    from spotball_core.synthetic.pictures import draw_scene
    from spotball_core.synthetic.scenes import synthetic_scenes

    (scene,) = synthetic_scenes(1, seed=SEED)
    names = [f"{name}.png" for name in _NAMES]
    out.mkdir(parents=True, exist_ok=True)
    for name, ball in zip(names, (True, False), strict=True):
        draw_scene(scene, ball=ball).save(out / name)
    return ExampleConfig(with_ball=names[0], without_ball=names[1], synthetic=True)


def _original(dataset: Path, scene: Scene, originals: Path | None) -> Path | None:
    if scene.path is None or scene.control or not scene.ball_cells:
        return None
    own = Path(scene.path)
    if originals is None:
        folder, within = dataset / WITH_BALL, Path(*own.parts[1:])
    else:
        if not originals.is_dir():
            raise OptionError(
                f"the folder {originals} does not exist. Correct the path", code="missing-file", field="--originals"
            )
        folder, within = originals, own
    # Try the path in the dataset first, then only the sport and the name, or only the name.
    for stem in (within.with_suffix(""), Path(scene.sport, own.stem), Path(own.stem)):
        if matches := sorted(path for path in (folder / stem.parent).glob(f"{stem.name}.*") if path.is_file()):
            return matches[0]
    return None
