"""`detect`, kind `yolov8-onnx`: a YOLOv8 detector exported to ONNX, by ONNX Runtime."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.items.item import Box, Item
from spotball_gen.items.sports import Sport
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.yolo.letterbox import Letterbox, smallest_canvas
from spotball_gen.models.yolo.output import read_boxes
from spotball_gen.models.yolo.settings import YoloSettings, by_size, file_name, wanted_classes

SIZE = 640
"""The longer side of the input where neither the model's file nor the settings say."""

STRIDE = 32
"""What the input's sides are multiples of, where the model's file does not say."""

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}

_EXPORT = "it takes a detector exported by: yolo export model=yolov8n.pt format=onnx (or yolov8n-seg.pt)"


class YoloV8OnnxSettings(YoloSettings):
    """Settings of `yolov8-onnx`.

    Attributes:
        names: the detector's classes, where its file does not name them.
    """

    names: tuple[str, ...] = ()


class YoloV8Onnx:
    """Finds balls and players with exported weights; needs no PyTorch.

    A segmentation model gives players their outlines, too.

    Raises:
        MissingExtraError: without ONNX Runtime.
        OptionError: if there is no such file, or no such device.
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
            raise OptionError(f"detect: model: there is no file {self._path}")
        self._providers = _providers(settings.device)
        self.device: Device = "cpu" if len(self._providers) == 1 else "gpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """The items with their boxes: balls and players, highest score first. None is rejected.

        Raises:
            OptionError: if the file holds no such detector, or it does not know the sport's ball.
        """
        by_id: dict[str, Item] = {}
        for image, same_size in by_size(items).items():
            box = Letterbox.of(image, self._detector.canvas(image, self.settings.size))
            inputs = np.stack([box.fill(item.image) for item in same_size])
            for item, (output, prototypes) in zip(same_size, self._detector.run(inputs), strict=True):
                read = self._boxes(item, output, prototypes, box)
                by_id[item.id] = replace(item, boxes=read).noted(self.name, weights=self._detector.weights)
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
        session: of ONNX Runtime.
        shape: (batch, 3, height, width) of its input; None where it takes any.
        names: of its classes, by number.
        size: (height, width) that it was exported for.
        stride: what its input's sides are multiples of.
        weights: the file's name and the start of its digest.
        segments: it gives masks beside boxes.
    """

    session: Any
    shape: tuple[int | None, ...]
    names: dict[int, str]
    size: tuple[int, int]
    stride: int
    weights: str
    segments: bool = False

    @classmethod
    def load(cls, path: Path, providers: Sequence[str], names: Sequence[str]) -> OnnxDetector:
        """Read a file.

        Args:
            path: the file.
            providers: of ONNX Runtime.
            names: of its classes, where it does not name them.

        Raises:
            OptionError: if it cannot be read or holds something else than a detector.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(path, options, providers=list(providers))
        except Exception as error:  # Each fault of a file has a class of its own there.
            raise OptionError(f"detect: {path}: cannot be loaded: {str(error).splitlines()[0]}") from error
        (image_input, *other_inputs) = session.get_inputs()
        shape = tuple(side if isinstance(side, int) else None for side in image_input.shape)
        if other_inputs or image_input.type not in _TYPES or len(shape) != 4 or shape[1] not in (3, None):
            raise OptionError(f"detect: {path}: its input is no image; {_EXPORT}")
        metadata = session.get_modelmeta().custom_metadata_map
        task = metadata.get("task", "detect")
        if task not in ("detect", "segment"):
            raise OptionError(f"detect: {path}: made for the task {task!r}; {_EXPORT}")
        try:
            # An export writes them as Python does.
            class_names = {
                int(number): str(name) for number, name in ast.literal_eval(metadata.get("names", "{}")).items()
            }
            height, width = ast.literal_eval(metadata.get("imgsz", f"{SIZE}, {SIZE}"))
            size, stride = (int(height), int(width)), int(metadata.get("stride", STRIDE))
        except (ValueError, SyntaxError, AttributeError, TypeError) as error:
            raise OptionError(f"detect: {path}: what it says of itself cannot be read: {error}") from error
        class_names = class_names or dict(enumerate(names))
        if not class_names:
            raise OptionError(f"detect: {path} does not name its classes; give them as names")
        return cls(session, shape, class_names, size, stride, file_name(path), segments=task == "segment")

    def canvas(self, image: tuple[int, int], size: int | None) -> tuple[int, int]:
        """(height, width) of the input for an image of a (height, width).

        Args:
            image: (height, width).
            size: the longer side of what the image is fitted into, where the file leaves that open.

        Raises:
            OptionError: if the file does not leave it open.
        """
        height, width = self.shape[2:]
        if height is not None and width is not None:
            if size not in (None, max(height, width)):
                raise OptionError(f"detect: size: {self.weights} takes images of {width} x {height} pixels only")
            return height, width
        return smallest_canvas(image, (size, size) if size else self.size, self.stride)

    def run(self, inputs: NDArray[np.float32]) -> list[tuple[NDArray[np.floating], NDArray[np.floating] | None]]:
        """The raw outputs of each image.

        Args:
            inputs: shape (n, 3, height, width).

        Returns:
            For each input, shape (4 + classes + masks, places), and the masks' prototypes, shape
            (masks, height, width); None without masks.

        Raises:
            OptionError: if the output is no detector's.
        """
        (image_input,) = self.session.get_inputs()
        # Where the file says how many go through together, gray ones fill up.
        lot = self.shape[0] or len(inputs)
        read: list[tuple[NDArray[np.floating], NDArray[np.floating] | None]] = []
        for start in range(0, len(inputs), lot):
            chunk = inputs[start : start + lot]
            filled = np.concatenate([chunk, np.full((lot - len(chunk), *chunk.shape[1:]), 0.5, dtype=np.float32)])
            outputs = self.session.run(None, {image_input.name: filled.astype(_TYPES[image_input.type], copy=False)})
            prototypes = outputs[1] if self.segments and len(outputs) > 1 and outputs[1].ndim == 4 else None
            if self.segments and prototypes is None:
                raise OptionError(f"detect: {self.weights}: it has no masks, which a segmentation model has; {_EXPORT}")
            rows = 4 + len(self.names) + (0 if prototypes is None else prototypes.shape[1])
            if outputs[0].ndim != 3 or outputs[0].shape[1] != rows:
                shape = " x ".join(map(str, outputs[0].shape))
                problem = f"its output is {shape}, not batch x {rows} x places"
                raise OptionError(f"detect: {self.weights}: {problem}; {_EXPORT}")
            masks = [None] * len(chunk) if prototypes is None else prototypes[: len(chunk)]
            read += zip(outputs[0][: len(chunk)], masks, strict=True)
        return read


def _providers(device: str) -> list[str]:
    import onnxruntime

    has_cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if device == "cuda" and not has_cuda:
        raise OptionError("detect: device: this ONNX Runtime has no CUDA; that needs the package onnxruntime-gpu")
    return (
        ["CUDAExecutionProvider", "CPUExecutionProvider"] if has_cuda and device != "cpu" else ["CPUExecutionProvider"]
    )
