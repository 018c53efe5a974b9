"""Estimator `yolov8-pose-onnx`: a YOLOv8 pose model exported to ONNX, run with ONNX Runtime."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray
from spotball_gen.items.item import Image
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.onnx_file import OnnxFile, onnx_providers
from spotball_gen.models.yolo.output import places_left
from spotball_gen.poses.estimator import Estimate, Person, PoseSettings, match, overlaps

N_KEYPOINTS = len(KEYPOINT_NAMES)

RAW_ROWS = 5 + 3 * N_KEYPOINTS
"""Number of output rows, which describe each candidate box: center x and y, width, height, score, and x, y and
confidence of each keypoint.
"""

NMS_COLUMNS = 6 + 3 * N_KEYPOINTS
"""Number of output columns of a model with built-in non-maximum suppression: x1, y1, x2, y2, score, class, and
keypoints.
"""


@dataclass(frozen=True)
class People:
    """People in an image, highest score first.

    Attributes:
        boxes: shape (n, 4), in pixels of the image.
        scores: shape (n,), in [0, 1].
        keypoints: shape (n, 17, 3): x and y in pixels of the image, and confidence in [0, 1].
    """

    boxes: FloatArray
    scores: FloatArray
    keypoints: FloatArray


def read_people(output: NDArray[np.floating], box: Letterbox, *, confidence: float, overlap: float) -> People:
    """Return the people in a model's output for one image.

    Args:
        output: shape (56, candidate boxes), or (people, 57) from a model with built-in non-maximum suppression, in
            pixels of the input.
        box: position of the image in the input.
        confidence: minimum score (exclusive).
        overlap: if the boxes of two people have a larger intersection over union, the one with the lower score is
            dropped. Not used if the model has built-in non-maximum suppression.

    Raises:
        ValueError: if a number is not finite.
    """
    if not np.isfinite(output).all():
        raise ValueError("the model's output contains NaN or infinity. Export the model again, in 32-bit precision")
    people = _suppressed(output, confidence) if output.shape[1] == NMS_COLUMNS else _raw(output, confidence, overlap)
    corners, scores, points = people
    keypoints = points.reshape(-1, N_KEYPOINTS, 3).astype(float)
    keypoints[..., :2] = box.points_to_image(keypoints[..., :2].reshape(-1, 2)).reshape(-1, N_KEYPOINTS, 2)
    keypoints[..., 2] = keypoints[..., 2].clip(0, 1)
    return People(box.to_image(corners), scores.astype(float), keypoints)


def is_pose_output(shape: tuple[int, ...]) -> bool:
    """Return whether an output with this shape (images on the first axis) is that of a pose model.

    Examples:
        >>> is_pose_output((1, 56, 8400)), is_pose_output((1, 300, 57)), is_pose_output((1, 84, 8400))
        (True, True, False)
    """
    return len(shape) == 3 and (shape[1] == RAW_ROWS or shape[2] == NMS_COLUMNS)


def _raw(
    output: NDArray[np.floating], confidence: float, overlap: float
) -> tuple[FloatArray, NDArray[np.float32], NDArray[np.floating]]:
    # Compare in 32 bits, because a 16-bit score is rounded differently than the threshold.
    scores = output[4].astype(np.float32)
    places = np.flatnonzero((scores > np.float32(confidence)) & (output[2:4] > 0).all(axis=0))
    x, y, width, height = output[:4, places].astype(float)
    cornered = np.stack([x - width / 2, y - height / 2, width, height], axis=1)
    left = places_left(cornered, scores[places], overlap)
    corners = np.concatenate([cornered[left, :2], cornered[left, :2] + cornered[left, 2:]], axis=1)
    return corners, scores[places[left]], output[5:, places[left]].T


def _suppressed(
    output: NDArray[np.floating], confidence: float
) -> tuple[FloatArray, NDArray[np.float32], NDArray[np.floating]]:
    scores = output[:, 4].astype(np.float32)
    people = np.flatnonzero((scores > np.float32(confidence)) & (output[:, 2:4] > output[:, :2]).all(axis=1))
    people = people[np.argsort(-scores[people], kind="stable")]
    return output[people, :4].astype(float), scores[people], output[people, 6:]


_WHERE = "yolov8-pose-onnx"
_EXPORT = "Export a model with: yolo export model=yolov8n-pose.pt format=onnx"


class YoloV8PoseSettings(PoseSettings):
    """Settings of `yolov8-pose-onnx`.

    Attributes:
        file: path of the ONNX file with the model.
        confidence: minimum score of detected people (exclusive).
        nms: if the boxes of two people have a larger intersection over union, the one with the lower score is dropped.
        overlap: minimum intersection over union of a person's box and a player's box.
        views: input of the model: the whole image, crops around the players, or both. The whole image helps with
            overlapping players; crops enlarge small players.
        enlarge: size of a crop: it extends beyond the player's box by (enlarge - 1) / 2 of the box's longer side on
            each side. With 1.5, limbs beyond the box are in the crop, and the player still fills most of it.
        size: length in pixels to which the image's longer side is resized, unless the ONNX file fixes it; None for the
            default of the file, or 640.
        crop_size: length in pixels to which a crop's longer side is resized, unless the ONNX file fixes it.
        batch_size: number of crops per batch.
        device: `auto` is the GPU if there is one, otherwise the CPU.
    """

    file: Path
    confidence: float = Field(0.25, ge=0, lt=1)
    nms: float = Field(0.7, gt=0, le=1)
    overlap: float = Field(0.3, gt=0, le=1)
    views: Literal["both", "image", "crops"] = "both"
    enlarge: float = Field(1.5, ge=1, le=4)
    size: int | None = Field(None, ge=32, le=8192)
    crop_size: int = Field(256, ge=32, le=8192)
    batch_size: int = Field(8, ge=1, le=1024)
    device: Literal["auto", "cpu", "cuda"] = "auto"


class YoloV8PoseOnnx:
    """Detect people with keypoints in the image and in crops, and match them to the players.

    Raises:
        MissingExtraError: if ONNX Runtime is not installed.
        OptionError: if the file or the device does not exist.
    """

    Settings: ClassVar[type[PoseSettings]] = YoloV8PoseSettings
    needs_images: ClassVar[bool] = True
    version: ClassVar[str] = "1"

    def __init__(self, settings: YoloV8PoseSettings, scenes: Sequence[Scene]) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtraError(_WHERE, "gen")
        if not settings.file.is_file():
            raise OptionError(f"{_WHERE}: the file {settings.file} does not exist. {_EXPORT}", code="missing-file")
        self.settings = settings
        self._providers = onnx_providers(settings.device, _WHERE)

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Estimate the poses of the players in one image.

        Raises:
            OptionError: if the file is not a YOLOv8 pose model in the ONNX format.
        """
        assert image is not None
        settings = self.settings
        people: list[People] = []
        if settings.views != "crops":
            people += self._detected([image], [np.zeros(2)], settings.size)
        if settings.views != "image":
            windows = [_window(box, settings.enlarge, image) for box in scene.boxes]
            crops = [image[y1:y2, x1:x2] for x1, y1, x2, y2 in windows]
            size = settings.crop_size if self._model.fixed_size is None else None
            seen = self._detected(crops, [np.array(window[:2], dtype=float) for window in windows], size)
            # A crop cuts off neighbors, so only the person that fits its player best counts.
            people += [_nearest(in_crop, box) for in_crop, box in zip(seen, scene.boxes, strict=True)]
        return match(_different(people, settings.nms), scene.boxes, overlap=settings.overlap, inside=1.0)

    def _detected(self, images: Sequence[Image], corners: Sequence[FloatArray], size: int | None) -> list[People]:
        """Return the people in each part of the scene's image, in coordinates of the whole image.

        Args:
            images: the parts of the image.
            corners: position of each part's top left corner in the image: x and y in pixels.
            size: length in pixels to which a part's longer side is resized, unless the ONNX file fixes it; None for the
                default of the file, or 640.
        """
        views = []
        for image, corner in zip(images, corners, strict=True):
            shape = (image.shape[0], image.shape[1])
            views.append((Letterbox.of(shape, self._model.canvas(shape, size)), image, corner))
        people: dict[int, People] = {}
        # Inputs of the same size are processed in one batch.
        order = sorted(range(len(views)), key=lambda place: views[place][0].canvas)
        for _, same_size in groupby(order, key=lambda place: views[place][0].canvas):
            places = list(same_size)
            for start in range(0, len(places), self.settings.batch_size):
                batch = places[start : start + self.settings.batch_size]
                people |= zip(batch, self._batch([views[place] for place in batch]), strict=True)
        return [people[place] for place in range(len(views))]

    def _batch(self, views: Sequence[tuple[Letterbox, Image, FloatArray]]) -> list[People]:
        settings = self.settings
        outputs = []
        for count, (output, *_) in self._model.run(np.stack([box.fill(image) for box, image, _ in views])):
            if not is_pose_output(output.shape):
                shape = " x ".join(map(str, output.shape))
                expected = f"batch x {RAW_ROWS} x places, or batch x people x {NMS_COLUMNS}"
                raise OptionError(
                    f"{_WHERE}: {self._model.weights}: found the output shape {shape}, expected {expected}. {_EXPORT}",
                    code="unusable-model",
                )
            outputs += list(output[:count])
        read = []
        for (box, _, corner), output in zip(views, outputs, strict=True):
            people = read_people(output, box, confidence=settings.confidence, overlap=settings.nms)
            moved = People(people.boxes + np.tile(corner, 2), people.scores, people.keypoints + np.append(corner, 0))
            read.append(moved)
        return read

    @cached_property
    def _model(self) -> OnnxFile:
        return OnnxFile.load(self.settings.file, self._providers, tasks=("pose",), where=_WHERE, hint=_EXPORT)


def _window(box: FloatArray, enlarge: float, image: Image) -> tuple[int, int, int, int]:
    """Return the part of the image to crop for a player's box: x1, y1, x2, y2 in pixels, with at least one pixel."""
    height, width = image.shape[:2]
    (x, y), half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2
    margin = (enlarge - 1) * half.max()
    x1, y1 = (
        int(value) for value in np.floor([x - half[0] - margin, y - half[1] - margin]).clip(0, [width - 1, height - 1])
    )
    x2, y2 = (int(value) for value in np.ceil([x + half[0] + margin, y + half[1] + margin]).clip(1, [width, height]))
    return x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)


def _nearest(people: People, box: FloatArray) -> People:
    """Return the person whose box has the largest intersection over union with a player's box; empty without people."""
    if not len(people.boxes):
        return people
    best = slice(place := int(overlaps(box, people.boxes).argmax()), place + 1)
    return People(people.boxes[best], people.scores[best], people.keypoints[best])


def _different(views: Sequence[People], nms: float) -> list[Person]:
    """Return the people detected in several parts of an image, after non-maximum suppression over all parts."""
    if not views:
        return []
    boxes, scores, keypoints = (
        np.concatenate([getattr(people, name) for people in views]) for name in ("boxes", "scores", "keypoints")
    )
    cornered = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    left = places_left(cornered, scores.astype(np.float32), nms)
    return [Person(keypoints[place], boxes[place]) for place in left]
