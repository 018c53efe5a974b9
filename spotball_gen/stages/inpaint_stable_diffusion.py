"""Stage `inpaint`, kind `stable-diffusion`: inpaint the ball with a diffusion model.

This is step 4 in section 3.2 of Spot the Ball.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_core.errors import OptionError
from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
from spotball_gen.items.item import Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.torch_models import TorchSettings, loaded, picked_device, require, source_of, weights_name


class DiffusionSettings(Protocol):
    """The settings that determine how a pipeline is loaded and called."""

    @property
    def xl(self) -> bool:
        """Return whether the model is of the family Stable Diffusion XL."""

    @property
    def revision(self) -> str | None:
        """Return the branch, tag or commit on the Hub, or None for the main branch."""

    @property
    def variant(self) -> str | None:
        """Return the variant of the weight files, such as `fp16`, or None for the default files."""

    @property
    def dtype(self) -> str:
        """Return the number format for computation, such as `float16`, or `auto`."""

    @property
    def steps(self) -> int:
        """Return the number of scheduler steps."""

    @property
    def guidance_scale(self) -> float:
        """Return the guidance scale: the influence of the prompt."""


# For each value of `xl`: the class of the pipeline and the options for loading it. A watermark would reveal where the
# ball was.
_PIPELINES: Mapping[bool, tuple[str, Mapping[str, Any]]] = {
    False: ("StableDiffusionInpaintPipeline", {"safety_checker": None, "requires_safety_checker": False}),
    True: ("StableDiffusionXLInpaintPipeline", {"add_watermarker": False}),
}


@dataclass(frozen=True, slots=True)
class InpaintRequest:
    """The prompts and seed for one image."""

    prompt: str
    negative_prompt: str
    seed: int


@dataclass(frozen=True)
class InpaintingModel:
    """A loaded inpainting pipeline.

    Attributes:
        pipeline: a pipeline of the diffusers library.
        weights: text that identifies the weights, such as `NAME@COMMIT`.
    """

    pipeline: Any
    weights: str

    @classmethod
    def load(cls, source: str, settings: DiffusionSettings, device: str) -> InpaintingModel:
        """Load a pipeline onto a device.

        Raises:
            OptionError: if the pipeline cannot be loaded, or if it is not an inpainting model.
        """
        import diffusers
        import torch

        name, options = _PIPELINES[settings.xl]
        kind = getattr(diffusers, name)
        files = {"revision": settings.revision, "variant": settings.variant}
        automatic = "float16" if device == "cuda" else "float32"
        dtype = automatic if settings.dtype == "auto" else settings.dtype

        def load() -> tuple[Any, str | None]:
            # The folder with files from the Hub is named by their commit.
            is_local = Path(source).is_dir()
            folder = source if is_local else kind.download(source, **options, **files)
            pipeline = kind.from_pretrained(folder, variant=settings.variant, **options)
            return pipeline, None if is_local else Path(folder).name

        pipeline, commit = loaded(load, source, "inpaint")
        # The input channels are noise, the masked image, and the mask.
        channels, wanted = pipeline.unet.config.in_channels, 2 * int(pipeline.vae.config.latent_channels) + 1
        if channels != wanted:
            reason = f"its network has {channels} input channels instead of {wanted}"
            raise OptionError(
                f"{source} is not an inpainting model: {reason}. Choose another model",
                code="unusable-model",
                field="inpaint",
            )
        pipeline.set_progress_bar_config(disable=True)
        # With 32 bits, nothing needs to be cast, which avoids a warning.
        pipeline.to(*[device] if dtype == "float32" else [device, getattr(torch, dtype)])
        return cls(pipeline, weights_name(source, commit))

    def paint(
        self,
        views: Sequence[tuple[Image, NDArray[np.uint8]]],
        requests: Sequence[InpaintRequest],
        settings: DiffusionSettings,
    ) -> NDArray[np.uint8]:
        """Inpaint images of the same size.

        Args:
            views: each image, shape (height, width, 3), and its mask, shape (height, width).
            requests: prompts and seed for each image.
            settings: steps and guidance scale.

        Returns:
            The inpainted images, RGB, shape (n, height, width, 3).

        Raises:
            OptionError: if a prompt is longer than the model supports.
            ValueError: if the output contains numbers that are not finite.
        """
        import torch
        from PIL import Image as Pictures

        negatives = [request.negative_prompt for request in requests]
        for prompt in {*(request.prompt for request in requests), *negatives}:
            self._check_length(prompt)
        height, width = views[0][1].shape
        images = self.pipeline(
            prompt=[request.prompt for request in requests],
            negative_prompt=negatives,
            image=[Pictures.fromarray(image) for image, _ in views],
            mask_image=[Pictures.fromarray(mask) for _, mask in views],
            height=height,
            width=width,
            # Start from pure noise. A lower strength would keep traces of the ball.
            strength=1.0,
            num_inference_steps=settings.steps,
            guidance_scale=settings.guidance_scale,
            # Generate noise on the CPU, so that a GPU starts from the same noise.
            generator=[torch.Generator("cpu").manual_seed(request.seed) for request in requests],
            output_type="np",
        ).images
        if not np.isfinite(images).all():
            raise ValueError("the model's image contains numbers that are not finite. Try dtype = 'float32'")
        pixels: NDArray[np.uint8] = (images * 255).round().astype(np.uint8)
        return pixels

    def _check_length(self, prompt: str) -> None:
        tokenizer = self.pipeline.tokenizer
        count = len(tokenizer(prompt, truncation=False, verbose=False)["input_ids"])
        if count > tokenizer.model_max_length:
            most = tokenizer.model_max_length
            raise OptionError(
                f"a prompt has {count} tokens, but the model accepts at most {most}. Shorten it: {prompt!r}",
                code="too-large",
                field="inpaint",
            )


CELL = 8
"""Side length in pixels of the cells into which a diffusion model divides an image: one latent pixel per cell. The
model's mask has one value per cell."""

LEAST = 128
"""Minimum side length of the window in pixels, if the image is large enough."""


@dataclass(frozen=True)
class ModelView:
    """The window of an image that the model receives, and the size to which the window is resized.

    Attributes:
        mask: mask of the whole image, shape (height, width), 255 inside and 0 outside.
        window: rows and columns of the window in the image.
        canvas: (height, width) of the model's input, multiples of 8.
    """

    mask: NDArray[np.uint8]
    window: tuple[slice, slice]
    canvas: tuple[int, int]

    @classmethod
    def of(cls, mask: NDArray[np.uint8], *, size: int, surroundings: float) -> ModelView:
        """Return the window around a mask.

        Args:
            mask: shape (height, width), 255 inside and 0 outside. It must not be empty.
            size: length in pixels of the canvas's longer side.
            surroundings: side length of the window, as a multiple of the mask's longer side.
        """
        rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        extent = max(np.ptp(rows), np.ptp(cols)) + 1
        side = max(round(surroundings * extent), LEAST)
        window = _around(rows, side, mask.shape[0]), _around(cols, side, mask.shape[1])
        lengths = [part.stop - part.start for part in window]
        height, width = (max(round(size * length / max(lengths) / CELL), 1) * CELL for length in lengths)
        return cls(mask, window, (height, width))

    def shown(self, image: Image) -> tuple[Image, NDArray[np.uint8]]:
        """Return the model's input: the resized window and its mask.

        Masked pixels are replaced by the mean color of the surroundings.

        Args:
            image: RGB, shape (height, width, 3).

        Returns:
            The canvas, RGB, shape (height, width, 3), and its mask, shape (height, width): 255 in every cell that the
                mask touches, 0 elsewhere.
        """
        pixels, mask = image[self.window].copy(), self.mask[self.window] > 0
        pixels[mask] = pixels[~mask].mean(axis=0).round() if not mask.all() else 0
        height, width = self.canvas
        spread = opencv().resize(
            mask.astype(np.float32), (width, height), interpolation=_method(mask.shape, self.canvas)
        )
        cells = (np.abs(spread) > 1e-3).reshape(height // CELL, CELL, width // CELL, CELL).any(axis=(1, 3))
        touched = np.kron(cells, np.ones((CELL, CELL), dtype=np.uint8)) * np.uint8(255)
        return _resized(pixels, self.canvas), touched

    def put_back(self, image: Image, painted: Image) -> Image:
        """Return the whole image, with the window replaced by the model's output.

        Args:
            image: RGB, shape (height, width, 3).
            painted: the model's output, of the canvas's size.
        """
        result = image.copy()
        rows, cols = self.window
        result[self.window] = _resized(painted, (rows.stop - rows.start, cols.stop - cols.start))
        return result


def _around(inside: NDArray[np.intp], side: int, length: int) -> slice:
    """Return a slice of at most `side` pixels around the given rows or columns, within the image."""
    side = min(side, length)
    start = round((int(inside[0]) + int(inside[-1]) + 1 - side) / 2)
    start = min(max(start, 0), length - side)
    return slice(start, start + side)


def _resized(pixels: Image, size: tuple[int, int]) -> Image:
    if pixels.shape[:2] == size:
        return pixels
    method = _method(pixels.shape, size)
    resized: Image = opencv().resize(pixels, (size[1], size[0]), interpolation=method)
    return resized


def _method(before: tuple[int, ...], after: tuple[int, int]) -> int:
    cv2 = opencv()
    method: int = cv2.INTER_CUBIC if after[0] * after[1] > before[0] * before[1] else cv2.INTER_AREA
    return method


MODEL = "stable-diffusion-v1-5/stable-diffusion-inpainting"

PROMPT = "the empty background of a {sport} match, photograph"

NEGATIVE_PROMPT = "ball, person, hand, shadow, text"


class StableDiffusionSettings(MaskSettings, TorchSettings):
    """Settings of `stable-diffusion`.

    Attributes:
        xl: whether the model is of the family Stable Diffusion XL.
        variant: variant of the weight files, such as `fp16`.
        prompt: prompt; `{sport}` is replaced by the item's sport.
        negative_prompt: negative prompt.
        steps: number of steps of the scheduler that comes with the weights.
        guidance_scale: influence of the prompt.
        size: longer side of the model's input in pixels.
        surroundings: side length of the window around the mask, as a multiple of the mask's longer side. A small ball
            is therefore enlarged for the model.
        batch_size: images per batch. With more than one, a result may differ slightly depending on the other images in
            its batch.
    """

    model: str = MODEL
    xl: bool = False
    variant: str | None = None
    prompt: str = PROMPT
    negative_prompt: str = NEGATIVE_PROMPT
    steps: int = Field(30, ge=1, le=1000)
    guidance_scale: float = Field(7.5, ge=0, le=100)
    size: int = Field(512, ge=64, le=4096, multiple_of=8)
    surroundings: float = Field(4.0, ge=1, le=100)
    batch_size: int = Field(1, ge=1, le=1024)


class StableDiffusion:
    """Inpaint the mask from its surroundings. Pixels outside the mask do not change.

    The model starts from pure noise, which the item's seed determines, and never sees the ball. With the dtype `auto`,
    it computes in 16 bits on a GPU and in 32 bits on a CPU. The safety checker is not loaded: it replaces images that
    it classifies as nudity by black images, which are useless as scenes.

    Raises:
        MissingExtraError: if PyTorch, diffusers, transformers or Pillow is not installed.
        OptionError: if the model's folder does not exist, or if the device is not available.
    """

    Settings: ClassVar[type[StageSettings]] = StableDiffusionSettings
    packages: ClassVar[tuple[str, ...]] = ("diffusers", "torch", "transformers", "opencv-python-headless")

    name = "inpaint"
    kind = "stable-diffusion"
    version = "2"

    def __init__(self, settings: StableDiffusionSettings, context: Context) -> None:
        require(f"inpaint {self.kind!r}", "torch", "diffusers", "transformers", "PIL")
        self.settings = settings
        self.context = context
        self.batch_size = settings.batch_size
        self._source = source_of(settings.model, context.folder, self.name)
        self._on = picked_device(settings.device, self.name)
        self.device: Device = "gpu" if self._on == "cuda" else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their mask and the image without the ball. No item is rejected.

        Raises:
            OptionError: if the model cannot be loaded, if it is not an inpainting model, or if a prompt is too long.
            ValueError: if an item has no ball.
        """
        views = {item.id: self._view(item) for item in items}
        by_id: dict[str, Item] = {}
        for same_size in _by_size(items, views):
            requests = [self._asked(item) for item in same_size]
            views_shown = [views[item.id].shown(item.image) for item in same_size]
            for item, request, pixels in zip(
                same_size, requests, self._model.paint(views_shown, requests, self.settings), strict=True
            ):
                finished = self._finished(item, views[item.id], pixels)
                by_id[item.id] = finished.noted(self.name, **asdict(request), weights=self._model.weights)
        return Outcome(tuple(by_id[item.id] for item in items))

    def _asked(self, item: Item) -> InpaintRequest:
        prompt, negative = (
            text.replace("{sport}", item.sport) for text in (self.settings.prompt, self.settings.negative_prompt)
        )
        return InpaintRequest(prompt, negative, item.seed(self.context.seed, self.name))

    def _view(self, item: Item) -> ModelView:
        return ModelView.of(
            ball_mask(item, self.settings),
            size=self.settings.size,
            surroundings=self.settings.surroundings,
        )

    def _finished(self, item: Item, view: ModelView, pixels: Image) -> Item:
        composed = composite(item.image, view.put_back(item.image, pixels), view.mask)
        mask, painted = self.context.keep(item, "masks", view.mask), self.context.keep(item, "painted", composed)
        return replace(item, mask=mask, painted=painted)

    @cached_property
    def _model(self) -> InpaintingModel:
        return InpaintingModel.load(self._source, self.settings, self._on)


def _by_size(items: Sequence[Item], views: Mapping[str, ModelView]) -> list[list[Item]]:
    """Return the items grouped by the size of the model's input."""
    sizes: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        sizes.setdefault(views[item.id].canvas, []).append(item)
    return list(sizes.values())
