"""Load a YOLO model that Ultralytics exported to ONNX, and read its metadata."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_core.errors import OptionError
from spotball_core.service.files import file_digest
from spotball_gen.items.item import Item, Label, Sport
from spotball_gen.items.stage import StageSettings
from spotball_gen.models.yolo.letterbox import smallest_canvas


class YoloSettings(StageSettings):
    """Settings of a YOLO detector.

    Attributes:
        model: path of the file with the weights.
        confidence: minimum score of a box (exclusive).
        overlap: if two boxes of a class have a larger intersection over union, the one with the lower score is dropped.
        size: length in pixels to which an image's longer side is resized, unless the file with the weights fixes it;
            None for the default of the file, or 640.
        batch_size: images per batch.
        device: `auto` is the GPU if there is one, otherwise the CPU.
    """

    model: str
    confidence: float = Field(0.25, ge=0, lt=1)
    overlap: float = Field(0.7, gt=0, le=1)
    size: int | None = Field(None, ge=32, le=8192)
    batch_size: int = Field(8, ge=1, le=1024)
    device: Literal["auto", "cpu", "cuda"] = "auto"


def wanted_classes(names: Mapping[int, str], sport: Sport, model: str) -> dict[int, Label]:
    """Return the label (`ball` or `player`) of each detector class that a sport uses, by class number.

    Args:
        names: names of the detector's classes, by number.
        sport: the sport, whose settings name the detector's classes.
        model: the detector's name, for the error message.

    Raises:
        OptionError: if the detector has no class for the ball or for players.

    Examples:
        >>> wanted_classes({0: "person", 32: "sports ball", 38: "tennis racket"}, Sport(), "m.onnx")
        {32: 'ball', 0: 'player'}
    """
    classes: dict[int, Label] = {}
    labels: tuple[tuple[str, Label], ...] = ((sport.ball_class, "ball"), (sport.player_class, "player"))
    for name, label in labels:
        numbers = [number for number, class_name in names.items() if class_name == name]
        if not numbers:
            known_names = ", ".join(names.values())
            fix = f"Set `{label}_class` in the table [sports.SPORT] to one of: {known_names}"
            raise OptionError(f"{model} has no class {name!r}. {fix}", code="unknown-name", field="detect")
        classes |= dict.fromkeys(numbers, label)
    return classes


def by_size(items: Sequence[Item]) -> dict[tuple[int, int], list[Item]]:
    """Return the items grouped by the (height, width) of their images."""
    sizes: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        sizes.setdefault((item.image.shape[0], item.image.shape[1]), []).append(item)
    return sizes


def file_name(path: Path) -> str:
    """Return a file's name and the start of its digest, which identify the weights."""
    return f"{path.name}@{file_digest(path)[:12]}"


SIZE = 640
"""Default length of the input's longer side, if neither the file nor the settings state it."""

STRIDE = 32
"""Default number of pixels that the input's sides must be multiples of, if the file does not state it."""

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class OnnxFile:
    """A model in an ONNX file.

    Attributes:
        session: a session of ONNX Runtime.
        shape: (batch, 3, height, width) of the model's input, with None for each size that is variable.
        names: names of the model's classes by number; empty if the file does not contain them.
        size: (height, width) of the input for which the model was exported.
        stride: the input's sides must be multiples of this number.
        weights: the file's name and the start of its digest.
        task: the task of the model, such as `detect`; empty if the file does not state it.
        metadata: all metadata in the file.
        where: prefix of error messages.
    """

    session: Any
    shape: tuple[int | None, ...]
    names: Mapping[int, str]
    size: tuple[int, int]
    stride: int
    weights: str
    task: str
    metadata: Mapping[str, str]
    where: str

    @classmethod
    def load(cls, path: Path, providers: Sequence[str], *, tasks: Sequence[str], where: str, hint: str) -> OnnxFile:
        """Load a YOLO model from an ONNX file.

        Args:
            path: the file.
            providers: execution providers of ONNX Runtime.
            tasks: allowed tasks of the model.
            where: prefix of error messages.
            hint: how to export such a model, for errors.

        Raises:
            OptionError: if the file cannot be read, if its input is not an image, or if its task is not in `tasks`.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(path, options, providers=list(providers))
        except Exception as error:  # ONNX Runtime has a different error class for each problem.
            raise OptionError(
                f"{where}: {path}: cannot be loaded: {str(error).splitlines()[0]}", code="unusable-model"
            ) from error
        (image_input, *other_inputs) = session.get_inputs()
        shape = tuple(side if isinstance(side, int) else None for side in image_input.shape)
        if other_inputs or image_input.type not in _TYPES or len(shape) != 4 or shape[1] not in (3, None):
            raise OptionError(f"{where}: {path}: the input of the model is not an image. {hint}", code="unusable-model")
        metadata = session.get_modelmeta().custom_metadata_map
        task = metadata.get("task", "")
        if task and task not in tasks:
            raise OptionError(
                f"{where}: {path}: the model was made for the task {task!r}. {hint}", code="unusable-model"
            )
        try:
            # The export writes Python literals.
            names = {int(number): str(name) for number, name in ast.literal_eval(metadata.get("names", "{}")).items()}
            height, width = ast.literal_eval(metadata.get("imgsz", f"{SIZE}, {SIZE}"))
            size, stride = (int(height), int(width)), int(metadata.get("stride", STRIDE))
        except (ValueError, SyntaxError, AttributeError, TypeError) as error:
            raise OptionError(
                f"{where}: {path}: the metadata of the model cannot be read ({error}). {hint}", code="unusable-model"
            ) from error
        return cls(session, shape, names, size, stride, file_name(path), task, metadata, where)

    def canvas(self, image: tuple[int, int], size: int | None) -> tuple[int, int]:
        """Return (height, width) of the model's input for an image.

        Args:
            image: (height, width) of the image.
            size: side length of the square that the image is fitted into; None uses the size in the ONNX file.

        Raises:
            OptionError: if the file fixes the size, and `size` differs from its longer side.
        """
        if fixed := self.fixed_size:
            if size not in (None, max(fixed)):
                height, width = fixed
                raise OptionError(
                    f"{self.where}: size: {self.weights} accepts only images of {width} x {height} pixels. Set size "
                    f"to {max(fixed)}"
                )
            return fixed
        return smallest_canvas(image, (size, size) if size else self.size, self.stride)

    @property
    def fixed_size(self) -> tuple[int, int] | None:
        """Return (height, width) of the input, or None if the file does not fix it."""
        height, width = self.shape[2:]
        return None if height is None or width is None else (height, width)

    def run(self, inputs: NDArray[np.float32]) -> Iterator[tuple[int, list[NDArray[np.floating]]]]:
        """Yield the raw outputs, in batches of the size that the file fixes, or in one batch if the file fixes no size.

        Args:
            inputs: shape (n, 3, height, width).

        Yields:
            For each batch, the number of images in it, and the outputs with the images on the first axis. In the last
                batch, this axis may be longer than the number of images; ignore the rest.
        """
        (image_input,) = self.session.get_inputs()
        # If the file fixes the batch size, gray images fill the last batch.
        lot = self.shape[0] or len(inputs)
        for start in range(0, len(inputs), lot):
            chunk = inputs[start : start + lot]
            filled = np.concatenate([chunk, np.full((lot - len(chunk), *chunk.shape[1:]), 0.5, dtype=np.float32)])
            yield (
                len(chunk),
                self.session.run(None, {image_input.name: filled.astype(_TYPES[image_input.type], copy=False)}),
            )


def onnx_providers(device: str, where: str) -> list[str]:
    """Return ONNX Runtime's execution providers for a device: `auto`, `cpu` or `cuda`.

    Raises:
        OptionError: if the device is not available.
    """
    import onnxruntime

    has_cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if device == "cuda" and not has_cuda:
        raise OptionError(
            f"{where}: device: the installed ONNX Runtime does not support CUDA. Install onnxruntime-gpu",
            code="unsupported-device",
        )
    return (
        ["CUDAExecutionProvider", "CPUExecutionProvider"] if has_cuda and device != "cpu" else ["CPUExecutionProvider"]
    )
