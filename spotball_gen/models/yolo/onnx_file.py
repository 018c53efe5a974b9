"""A YOLO model that Ultralytics exported to ONNX: its input, and what the file states about itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_gen.models.yolo.letterbox import smallest_canvas
from spotball_gen.models.yolo.settings import file_name

SIZE = 640
"""The longer side of the input where neither the model's file nor the settings say."""

STRIDE = 32
"""What the input's sides are multiples of, where the model's file does not say."""

_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True)
class OnnxFile:
    """A model in an ONNX file.

    Attributes:
        session: of ONNX Runtime.
        shape: (batch, 3, height, width) of its input; None where it takes any.
        names: of its classes, by number; empty where the file does not name them.
        size: (height, width) that it was exported for.
        stride: what its input's sides are multiples of.
        weights: the file's name and the start of its digest.
        task: what it was made for, such as `detect`; empty where the file does not say.
        metadata: everything that the file states about itself.
        where: what errors start with.
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
        """Read a file.

        Args:
            path: the file.
            providers: of ONNX Runtime.
            tasks: the tasks that the model may be made for.
            where: what errors start with.
            hint: how to export such a model, for errors.

        Raises:
            OptionError: if it cannot be read, or is made for another task.
        """
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(path, options, providers=list(providers))
        except Exception as error:  # Each fault of a file has a class of its own there.
            raise OptionError(f"{where}: {path}: cannot be loaded: {str(error).splitlines()[0]}") from error
        (image_input, *other_inputs) = session.get_inputs()
        shape = tuple(side if isinstance(side, int) else None for side in image_input.shape)
        if other_inputs or image_input.type not in _TYPES or len(shape) != 4 or shape[1] not in (3, None):
            raise OptionError(f"{where}: {path}: its input is not an image; {hint}")
        metadata = session.get_modelmeta().custom_metadata_map
        task = metadata.get("task", "")
        if task and task not in tasks:
            raise OptionError(f"{where}: {path}: made for the task {task!r}; {hint}")
        try:
            # An export writes them as Python does.
            names = {int(number): str(name) for number, name in ast.literal_eval(metadata.get("names", "{}")).items()}
            height, width = ast.literal_eval(metadata.get("imgsz", f"{SIZE}, {SIZE}"))
            size, stride = (int(height), int(width)), int(metadata.get("stride", STRIDE))
        except (ValueError, SyntaxError, AttributeError, TypeError) as error:
            raise OptionError(f"{where}: {path}: its metadata cannot be read: {error}") from error
        return cls(session, shape, names, size, stride, file_name(path), task, metadata, where)

    def canvas(self, image: tuple[int, int], size: int | None) -> tuple[int, int]:
        """Return (height, width) of the input for an image.

        Args:
            image: (height, width).
            size: the longer side of what the image is fitted into, where the file leaves that open.

        Raises:
            OptionError: if the file does not leave it open.
        """
        if fixed := self.fixed_size:
            if size not in (None, max(fixed)):
                height, width = fixed
                raise OptionError(f"{self.where}: size: {self.weights} takes images of {width} x {height} pixels only")
            return fixed
        return smallest_canvas(image, (size, size) if size else self.size, self.stride)

    @property
    def fixed_size(self) -> tuple[int, int] | None:
        """(height, width) of the input; None where the file leaves it open."""
        height, width = self.shape[2:]
        return None if height is None or width is None else (height, width)

    def run(self, inputs: NDArray[np.float32]) -> Iterator[tuple[int, list[NDArray[np.floating]]]]:
        """Yield the raw outputs, as many images at a time as the file takes.

        Args:
            inputs: shape (n, 3, height, width).

        Yields:
            How many images, and the outputs, each with the images on the first axis. There may be more than these.
        """
        (image_input,) = self.session.get_inputs()
        # Where the file says how many go through together, gray ones fill up.
        lot = self.shape[0] or len(inputs)
        for start in range(0, len(inputs), lot):
            chunk = inputs[start : start + lot]
            filled = np.concatenate([chunk, np.full((lot - len(chunk), *chunk.shape[1:]), 0.5, dtype=np.float32)])
            yield (
                len(chunk),
                self.session.run(None, {image_input.name: filled.astype(_TYPES[image_input.type], copy=False)}),
            )


def onnx_providers(device: str, where: str) -> list[str]:
    """Return ONNX Runtime's providers for a device: `auto`, `cpu` or `cuda`.

    Raises:
        OptionError: if there is no such device.
    """
    import onnxruntime

    has_cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()
    if device == "cuda" and not has_cuda:
        raise OptionError(f"{where}: device: this ONNX Runtime has no CUDA; that needs the package onnxruntime-gpu")
    return (
        ["CUDAExecutionProvider", "CPUExecutionProvider"] if has_cuda and device != "cpu" else ["CPUExecutionProvider"]
    )
