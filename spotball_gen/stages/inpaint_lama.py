"""Stage `inpaint`, kind `lama`: inpaint the ball with LaMa in an ONNX file, without PyTorch."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
from spotball_gen.imaging.views import ModelView
from spotball_gen.items.item import Image, Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one
from spotball_gen.models.yolo.settings import file_name

_INPUTS = {"image": 3, "mask": 1}


class LamaSettings(MaskSettings):
    """Settings of `lama`.

    Attributes:
        model: the ONNX file, relative to the configuration's folder.
        size: side length in pixels of the model's square input, unless the ONNX file fixes it.
        surroundings: side length of the window around the mask, as a multiple of the mask's longer side.
        output_max: value of white in the model's output: 255 for common exports, 1 for others.
    """

    model: str
    size: int = Field(512, ge=64, le=4096, multiple_of=8)
    surroundings: float = Field(4.0, ge=1, le=100)
    output_max: float = Field(255.0, gt=0)


class Lama:
    """Inpaint the mask on the CPU with a network that continues textures. The result is the same in every run.

    The ONNX file must have two inputs and one output: `image`, shape (1, 3, height, width), from 0 to 1; `mask`, shape
    (1, 1, height, width), 1 inside and 0 outside; and an output image of the same shape as the input image.

    Source:
        Suvorov et al. (2022). Resolution-robust large mask inpainting with Fourier convolutions. WACV.

    Raises:
        MissingExtraError: if ONNX Runtime is not installed.
    """

    Settings: ClassVar[type[StageSettings]] = LamaSettings
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime", "opencv-python-headless", "numpy")

    name = "inpaint"
    kind = "lama"
    version = "1"
    batch_size = 8
    device: Device = "cpu"

    def __init__(self, settings: LamaSettings, context: Context) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtraError("inpaint 'lama'", "gen")
        self.settings = settings
        self.context = context

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their mask and the image without the ball. An item without a ball fails.

        Raises:
            OptionError: if the file cannot be loaded, or does not have the inputs and the output of LaMa.
        """
        return one_by_one(self.name, items, self._painted)

    def _painted(self, item: Item) -> Item:
        session, side, weights = self._model
        view = ModelView.of(ball_mask(item, self.settings), size=side, surroundings=self.settings.surroundings)
        # The model's input is a square for any shape of the window.
        view = replace(view, canvas=(side, side))
        pixels, mask = view.shown(item.image)
        inputs: dict[str, NDArray[np.float32]] = {
            "image": pixels.transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255),
            "mask": (mask > 0).astype(np.float32)[None, None],
        }
        (output,) = session.run(None, inputs)
        if output.shape != inputs["image"].shape or not np.isfinite(output).all():
            raise ValueError(
                "the model's output has the wrong size, or contains numbers that are not finite. Export the model again"
            )
        values = output[0].transpose(1, 2, 0) * (255 / self.settings.output_max)
        filled: Image = np.clip(values, 0, 255).round().astype(np.uint8)
        composed = composite(item.image, view.put_back(item.image, filled), view.mask)
        pictures = self.context.keep(item, "masks", view.mask), self.context.keep(item, "painted", composed)
        return replace(item, mask=pictures[0], painted=pictures[1]).noted(self.name, weights=weights)

    @cached_property
    def _model(self) -> tuple[Any, int, str]:
        """Return the session, the side length of its input in pixels, and a text that identifies the weights."""
        import onnxruntime

        path = self.context.folder / Path(self.settings.model).expanduser()
        if not path.is_file():
            raise OptionError(
                f"{self.name}: model: the file {path} does not exist. Correct the path, or download the weights",
                code="missing-file",
            )
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has a different error class for each problem.
            raise OptionError(
                f"{self.name}: {path}: cannot be loaded: {str(error).splitlines()[0]}", code="unusable-model"
            ) from error
        shapes = {given.name: given.shape for given in session.get_inputs()}
        if {name: shape[1] for name, shape in shapes.items() if len(shape) == 4} != _INPUTS or len(
            session.get_outputs()
        ) != 1:
            raise OptionError(
                f"{self.name}: {path} is not LaMa: found the inputs {', '.join(shapes)}, expected image and mask. "
                "Choose a LaMa model",
                code="unusable-model",
            )
        sides = {side for shape in shapes.values() for side in shape[2:] if isinstance(side, int)}
        if len(sides) > 1:
            raise OptionError(
                f"{self.name}: {path}: the model's input image is not square. Export the model with a square input",
                code="unusable-model",
            )
        return session, sides.pop() if sides else self.settings.size, file_name(path)
