"""Stage `detect`, kind `yolov8-onnx`: a YOLOv8 detector exported to ONNX, run with ONNX Runtime."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.items.item import Box, Item, Sport
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.onnx_file import OnnxFile, YoloSettings, by_size, onnx_providers, wanted_classes
from spotball_gen.models.yolo.output import read_boxes

_EXPORT = "Export a detector with: yolo export model=yolov8n.pt format=onnx (or yolov8n-seg.pt)"


class YoloV8OnnxSettings(YoloSettings):
    """Settings of `yolov8-onnx`.

    Attributes:
        names: names of the detector's classes, if the file does not contain them.
    """

    names: tuple[str, ...] = ()


class YoloV8Onnx:
    """Find balls and players with a YOLOv8 model in an ONNX file, without PyTorch.

    A segmentation model also gives the players' outlines.

    Raises:
        MissingExtraError: if ONNX Runtime is not installed.
        OptionError: if the file does not exist, or if the device is not available.
    """

    Settings: ClassVar[type[StageSettings]] = YoloV8OnnxSettings
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime", "opencv-python-headless")

    name = "detect"
    kind = "yolov8-onnx"
    version = "1"

    def __init__(self, settings: YoloV8OnnxSettings, context: Context) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtraError(f"detect {self.kind!r}", "gen")
        self.settings = settings
        self.context = context
        self.batch_size = settings.batch_size
        self._path = context.folder / Path(settings.model).expanduser()
        if not self._path.is_file():
            raise OptionError(
                f"model: the file {self._path} does not exist. Correct the path, or download the weights",
                code="missing-file",
                field="detect",
            )
        self._providers = onnx_providers(settings.device, "detect")
        self.device: Device = "cpu" if len(self._providers) == 1 else "gpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their boxes: balls and players, highest score first. No item is rejected.

        Raises:
            OptionError: if the file is not a YOLOv8 detector, or has no class for the sport's ball or players.
        """
        by_id: dict[str, Item] = {}
        for image, same_size in by_size(items).items():
            box = Letterbox.of(image, self._detector.file.canvas(image, self.settings.size))
            inputs = np.stack([box.fill(item.image) for item in same_size])
            for item, (output, prototypes) in zip(same_size, self._detector.run(inputs), strict=True):
                read = self._boxes(item, output, prototypes, box)
                by_id[item.id] = replace(item, boxes=read).noted(self.name, weights=self._detector.file.weights)
        return Outcome(tuple(by_id[item.id] for item in items))

    def _boxes(
        self, item: Item, output: NDArray[np.floating], prototypes: NDArray[np.floating] | None, box: Letterbox
    ) -> tuple[Box, ...]:
        sport = self.context.sports.get(item.sport, Sport())
        classes = wanted_classes(self._detector.names, sport, self.settings.model)
        return read_boxes(
            output,
            box,
            classes,
            confidence=self.settings.confidence,
            overlap=self.settings.overlap,
            prototypes=prototypes,
        )

    @cached_property
    def _detector(self) -> OnnxDetector:
        return OnnxDetector.load(self._path, self._providers, self.settings.names)


@dataclass(frozen=True)
class OnnxDetector:
    """A detector in an ONNX file.

    Attributes:
        file: the model's file.
        names: names of the model's classes, by number.
        segments: whether the model returns masks in addition to boxes.
    """

    file: OnnxFile
    names: Mapping[int, str]
    segments: bool = False

    @classmethod
    def load(cls, path: Path, providers: Sequence[str], names: Sequence[str]) -> OnnxDetector:
        """Load a detector from an ONNX file.

        Args:
            path: the file.
            providers: execution providers of ONNX Runtime.
            names: names of the detector's classes, if the file does not contain them.

        Raises:
            OptionError: if the file cannot be read, is not a detector, or contains no class names and none are given.
        """
        file = OnnxFile.load(path, providers, tasks=("detect", "segment"), where="detect", hint=_EXPORT)
        class_names = file.names or dict(enumerate(names))
        if not class_names:
            raise OptionError(
                f"{path} does not contain the names of its classes. List them in the setting `names`",
                code="unusable-model",
                field="detect",
            )
        return cls(file, class_names, segments=file.task == "segment")

    def run(self, inputs: NDArray[np.float32]) -> list[tuple[NDArray[np.floating], NDArray[np.floating] | None]]:
        """Return the model's raw outputs for each image.

        Args:
            inputs: the images, shape (n, 3, height, width).

        Returns:
            For each image, the candidate boxes, shape (4 + classes + masks, places), and the prototypes of the masks,
                shape (masks, height, width), or None for a model without masks.

        Raises:
            OptionError: if the output does not have the shape of a detector's output.
        """
        weights = self.file.weights
        read: list[tuple[NDArray[np.floating], NDArray[np.floating] | None]] = []
        for count, outputs in self.file.run(inputs):
            prototypes = outputs[1] if self.segments and len(outputs) > 1 and outputs[1].ndim == 4 else None
            if self.segments and prototypes is None:
                raise OptionError(
                    f"{weights}: the segmentation model returned no masks. {_EXPORT}",
                    code="unusable-model",
                    field="detect",
                )
            rows = 4 + len(self.names) + (0 if prototypes is None else prototypes.shape[1])
            if outputs[0].ndim != 3 or outputs[0].shape[1] != rows:
                shape = " x ".join(map(str, outputs[0].shape))
                expected = f"batch x {rows} x places"
                raise OptionError(
                    f"{weights}: found the output shape {shape}, expected {expected}. {_EXPORT}",
                    code="unusable-model",
                    field="detect",
                )
            masks = [None] * count if prototypes is None else prototypes[:count]
            read += zip(outputs[0][:count], masks, strict=True)
        return read
