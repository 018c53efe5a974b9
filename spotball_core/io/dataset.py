"""Read a dataset: a folder with `scenes.jsonl`, `images/`, and any number of `responses*` files.

A `responses*` file may also contain counts (`.counts`) from another machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.io.plain_files import plain_ending
from spotball_core.io.scenes import SCENES as SCENES, read_scenes
from spotball_core.io.sources import COUNTS_ENDING, ENDINGS
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import confined


@dataclass(frozen=True)
class DatasetFiles:
    """The scenes of a dataset, and the files with responses to them."""

    scenes: tuple[Scene, ...]
    response_files: tuple[Path, ...]


def read_dataset(paths: str | Path | Sequence[str | Path], scenes: str | Path | None = None) -> DatasetFiles:
    """Return the scenes and the response files in the given paths.

    Args:
        paths: dataset folders and response files. A folder provides its scenes and all its `responses*` files.
        scenes: a file of scenes to use instead of the folders' scenes.

    Raises:
        InputError: if a folder has no `responses*` files, a file of scenes is missing or invalid, the paths contain no
            folder although `scenes` is None, or the scenes of two folders contradict each other. Response files are
            not checked.
        OptionError: if `paths` is empty.
    """
    listed = _listed(paths)
    files = response_files(listed)
    if scenes is not None:
        return DatasetFiles(read_scenes(scenes), files)
    by_key: dict[tuple[str, str], Scene] = {}
    first_file: dict[tuple[str, str], Path] = {}
    problems: list[Problem] = []
    for path in listed:
        for scene in read_scenes(path / SCENES) if path.is_dir() else ():
            first = first_file.setdefault(scene.key, path / SCENES)
            if by_key.setdefault(scene.key, scene) != scene:
                actual = f"a scene {scene.sport}/{scene.image} that differs from the one in {first}"
                problems.append(
                    Problem(
                        "duplicate", str(path / SCENES), None, "image", actual, "the same scene, or another image id"
                    )
                )
    if problems:
        raise InputError(problems)
    if not by_key:
        fix = "Add --scenes FILE, such as the scenes.jsonl of the dataset"
        raise InputError.of("missing-truth", listed[0], "scenes", "none", "a dataset folder or --scenes", fix=fix)
    return DatasetFiles(tuple(by_key.values()), files)


def response_files(paths: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the response files in the given paths: paths of files, and the `responses*` files in folders.

    Raises:
        InputError: if a folder has no response files, or one that is a link to a place outside the folder.
        OptionError: if `paths` is empty.
    """
    files: list[Path] = []
    problems: list[Problem] = []
    for path in _listed(paths):
        matching = [path]
        if path.is_dir():
            endings = (*ENDINGS, COUNTS_ENDING)
            matching = sorted(file for file in path.glob("responses*") if plain_ending(file) in endings)
            for file in matching:
                if file.is_symlink():
                    confined(path, file.name, field="file")
            if not matching:
                expected = f"a file named responses*, ending in {', '.join(endings)}"
                fix = "Use a dataset folder or a responses file"
                problems.append(
                    Problem("wrong-folder", str(path), None, "folder", "no responses file", expected, fix=fix)
                )
        files.extend(matching)
    if problems:
        raise InputError(problems)
    return tuple(files)


def _listed(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    listed = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    if not listed:
        raise OptionError("no dataset folder or responses file was given. Name at least one", code="no-data")
    return listed
