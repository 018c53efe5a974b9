"""Estimate the poses of a dataset's players, and write a new dataset with them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import SCENES, response_files
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.keypoints import SKELETON
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing_folder
from spotball_core.service.json_file import read_json
from spotball_core.service.paths import data_file, output_name
from spotball_core.service.progress import OnProgress, counted, ignore_progress
from spotball_gen.dataset.finish import CARD, SPLITS
from spotball_gen.dataset.output import put
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import decoded, opencv, quick_png
from spotball_gen.poses.checks import CONFIDENT, checked
from spotball_gen.poses.estimator import Estimate, PoseEstimator, make_estimator, no_pose
from spotball_gen.poses.report import PosesReport, image_poses, poses_report

_LEFT, _RIGHT, _MIDDLE = (255, 90, 80), (70, 220, 90), (80, 190, 255)
_WITH_POSE, _WITHOUT_POSE = (255, 255, 255), (255, 0, 200)
_NOSE = (255, 240, 0)

_MOST = 4096
"""Maximum length in pixels of a drawing's longer side, unless the image is larger."""


def draw_poses(image: Image, scene: Scene) -> Image:
    """Return a copy of an image with the players' boxes and skeletons, twice as large if it then fits 4096 pixels.

    Limbs of the player's left side are red, those of the right side green, others blue; the nose is a yellow dot. Boxes
    are white, or magenta if the player has no pose. Keypoints with a confidence below 0.3 are not drawn.

    Args:
        image: RGB, of the scene's size.
        scene: the boxes and keypoints.

    Raises:
        MissingExtraError: if OpenCV is not installed.
    """
    cv2 = opencv()
    scale = max(1, min(2, _MOST // max(scene.width, scene.height)))
    drawn: Image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    for box, pose in zip(scene.boxes * scale, scene.keypoints * [scale, scale, 1], strict=True):
        known = not np.isnan(pose).any()
        x1, y1, x2, y2 = (round(edge) for edge in box.tolist())
        cv2.rectangle(drawn, (x1, y1), (x2, y2), _WITH_POSE if known else _WITHOUT_POSE, 1)
        if not known:
            continue
        places = [(round(x), round(y)) for x, y in pose[:, :2].tolist()]
        for start, end in SKELETON:
            if min(pose[start, 2], pose[end, 2]) >= CONFIDENT:
                cv2.line(drawn, places[start], places[end], _color(start, end), 2, cv2.LINE_AA)
        if pose[0, 2] >= CONFIDENT:
            cv2.circle(drawn, places[0], 3, _NOSE, -1, cv2.LINE_AA)
    return drawn


def _color(start: int, end: int) -> tuple[int, int, int]:
    """Return the color of a limb. The nose has index 0, and left keypoints have odd indices."""
    sides = {place % 2 for place in (start, end) if place}
    return _MIDDLE if len(sides) > 1 else _LEFT if sides == {1} else _RIGHT


REPORT: Final = "poses.json"
"""Name of the file with the counts of poses in the new dataset."""

DRAWINGS: Final = "poses"
"""Name of the folder with drawings of the poses in the new dataset."""

_RECORDS = (CARD, SPLITS)
"""Further files of a generated dataset that exports need."""


def add_poses(
    dataset: Path,
    kind: str,
    out: Path,
    options: Mapping[str, str] | None = None,
    *,
    draw: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> PosesReport:
    """Write a copy of a dataset with estimated keypoints of the players, and return the counts of poses.

    The new folder has the scenes with `player_keypoints`, the images, the responses, and the counts in poses.json. For
    a generated dataset, it also has the card and the split. Existing keypoints are replaced. If the command is
    interrupted, no new folder is left.

    Args:
        dataset: a folder with scenes.jsonl.
        kind: kind of the estimator: `file`, `yolov8-pose-onnx`, `mediapipe`, or a kind that another package registers.
        out: the new folder. It does not exist yet, is empty, or contains only an earlier result, which is replaced.
        options: options of the estimator.
        draw: whether to write a drawing of the poses in each image with players, to poses/SPORT/IMAGE.png.
        on_progress: called with the number of finished images and their total.

    Raises:
        InputError: if the dataset or the estimator's file cannot be read.
        OptionError: if the estimator is unknown, if its options are invalid, or if `out` cannot be replaced.
        MissingExtraError: if the estimator needs a package that is not installed.
    """
    options = options or {}
    scenes = read_scenes(dataset / SCENES)
    _check_out(dataset, out)
    estimator = make_estimator(kind, options, scenes)
    posed: list[Scene] = []
    images = []
    for scene in counted(scenes, len(scenes), on_progress):
        estimate = scene_poses(scene, dataset, estimator)
        posed.append(scene.with_keypoints(estimate.keypoints))
        images.append(image_poses(scene, estimate))
    report = poses_report(kind, estimator.version, options, images)
    with replacing_folder(out) as new:
        if draw:
            _draw(posed, dataset, new)
        for name in dict.fromkeys(scene.path for scene in posed if scene.path):
            put(data_file(dataset, name), new / name)
        if any(dataset.glob("responses*")):
            for file in response_files(dataset):
                shutil.copyfile(data_file(dataset, file.name, description="a file of responses"), new / file.name)
        for name in _RECORDS:
            if (dataset / name).exists():
                shutil.copyfile(data_file(dataset, name, description="a file of records"), new / name)
        (new / REPORT).write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
        write_scenes(posed, new / SCENES)
    return report


def scene_poses(scene: Scene, dataset: Path, estimator: PoseEstimator) -> Estimate:
    """Return the checked poses of one scene's players.

    Raises:
        InputError: if the estimator needs the image and it is missing, cannot be read, or has another size than the
            scene.
        OptionError: if the estimator returns keypoints of a wrong shape.
    """
    if not len(scene.boxes):
        return Estimate(no_pose(0), {})
    image = _image(scene, dataset) if estimator.needs_images else None
    estimate = estimator.estimate(scene, image)
    if estimate.keypoints.shape != no_pose(len(scene.boxes)).shape:
        shape, expected = estimate.keypoints.shape, no_pose(len(scene.boxes)).shape
        raise OptionError(
            f"{type(estimator).__name__}: found keypoints of shape {shape} for {len(scene.boxes)} players, expected "
            f"{expected}",
            code="wrong-shape",
        )
    return checked(estimate, scene)


def _draw(scenes: Sequence[Scene], dataset: Path, folder: Path) -> None:
    for scene in scenes:
        if len(scene.boxes):
            place = folder / output_name(DRAWINGS, scene.sport, scene.image, ending=".png")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(quick_png(draw_poses(_image(scene, dataset), scene)))


def _image(scene: Scene, dataset: Path) -> Image:
    path = data_file(dataset, scene.path)
    try:
        pixels = decoded(path)
    except OSError as error:
        raise InputError.of("unreadable-file", path, "image", str(error), "a readable image") from error
    height, width = pixels.shape[:2]
    if (width, height) != (scene.width, scene.height):
        expected = f"{scene.width} x {scene.height} pixels, as {SCENES} states"
        raise InputError.of("invalid-value", path, "image", f"{width} x {height} pixels", expected)
    return pixels


def _check_out(dataset: Path, out: Path) -> None:
    """Raise OptionError if a new dataset must not be written to `out`."""
    source, target = dataset.resolve(), out.resolve()
    if source.is_relative_to(target) or target.is_relative_to(source):
        raise OptionError(
            f"{out} overlaps with the dataset {dataset}. Use a folder outside the dataset",
            code="output-exists",
            field="--out",
        )
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if out.is_dir() and (out / REPORT).is_file():
        present = {
            path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()
        }
        foreign = sorted(present - _files_of(out))
        if not foreign:
            return
        raise OptionError(
            f"{out} contains {foreign[0]}, which would be deleted. Move the file, or use another folder",
            code="output-exists",
        )
    raise OptionError(f"{out} exists and was not written by this command. Use another folder", code="output-exists")


def _files_of(out: Path) -> set[str]:
    """Return the names of the files of an earlier result."""
    read_json(out / REPORT, "the file that `spotball cues poses` writes")
    responses = {path.name for path in out.glob("responses*")}
    scenes = read_scenes(out / SCENES)
    drawings = {output_name(DRAWINGS, scene.sport, scene.image, ending=".png") for scene in scenes}
    return {REPORT, SCENES, *_RECORDS, *responses, *drawings, *(scene.path for scene in scenes if scene.path)}
