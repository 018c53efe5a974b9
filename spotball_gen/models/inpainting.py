"""Load and call inpainting models of the diffusers library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_gen.items.item import Image
from spotball_gen.models.torch_models import loaded, weights_name


class DiffusionSettings(Protocol):
    """The settings that all diffusion stages have."""

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


@dataclass(frozen=True)
class PipelineFamily:
    """A family of models that diffusers loads and calls in the same way.

    Attributes:
        pipeline: name of the diffusers class.
        network: name of the component whose number of input channels shows whether the model is an inpainting model.
        channels: function that returns the required number of input channels of this component.
        half: name of the 16-bit number format that `auto` selects on a GPU.
        cell: the sides of images must be multiples of this number of pixels.
        takes_negative: whether the model supports a negative prompt.
        load: further options for loading a pipeline.
        call: further options for calling a pipeline.
    """

    pipeline: str
    network: str
    channels: Callable[[Any], int]
    half: str = "float16"
    cell: int = 8
    takes_negative: bool = True
    load: Mapping[str, Any] = field(default_factory=dict)
    call: Mapping[str, Any] = field(default_factory=dict)


def _unet_channels(pipeline: Any) -> int:
    """Return the number of input channels for noise, the masked image, and the mask."""
    return 2 * int(pipeline.vae.config.latent_channels) + 1


def _flux_channels(pipeline: Any) -> int:
    """Return the number of input channels for noise, the masked image, and the mask in the image's full resolution.

    Each position of the input stands for 2 x 2 latent pixels.
    """
    return 8 * int(pipeline.vae.config.latent_channels) + 4 * 64


_WITHOUT_CHECKER = {"safety_checker": None, "requires_safety_checker": False}
# Start from pure noise. A lower strength would keep traces of the ball.
_FROM_NOISE = {"strength": 1.0}

STABLE_DIFFUSION = PipelineFamily(
    "StableDiffusionInpaintPipeline", "unet", _unet_channels, load=_WITHOUT_CHECKER, call=_FROM_NOISE
)
# A watermark would reveal where the ball was.
STABLE_DIFFUSION_XL = PipelineFamily(
    "StableDiffusionXLInpaintPipeline", "unet", _unet_channels, load={"add_watermarker": False}, call=_FROM_NOISE
)
FLUX_FILL = PipelineFamily(
    "FluxFillPipeline", "transformer", _flux_channels, half="bfloat16", cell=16, takes_negative=False, call=_FROM_NOISE
)


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
        family: the family of the model.
    """

    pipeline: Any
    weights: str
    family: PipelineFamily

    @classmethod
    def load(cls, source: str, settings: DiffusionSettings, device: str, family: PipelineFamily) -> InpaintingModel:
        """Load a pipeline onto a device.

        Raises:
            OptionError: if the pipeline cannot be loaded, or if it is not an inpainting model.
        """
        import diffusers
        import torch

        kind = getattr(diffusers, family.pipeline)
        files = {"revision": settings.revision, "variant": settings.variant}
        automatic = family.half if device == "cuda" else "float32"
        dtype = automatic if settings.dtype == "auto" else settings.dtype

        def load() -> tuple[Any, str | None]:
            # The folder with files from the Hub is named by their commit.
            is_local = Path(source).is_dir()
            folder = source if is_local else kind.download(source, **family.load, **files)
            pipeline = kind.from_pretrained(folder, variant=settings.variant, **family.load)
            return pipeline, None if is_local else Path(folder).name

        pipeline, commit = loaded(load, source, "inpaint")
        channels, wanted = getattr(pipeline, family.network).config.in_channels, family.channels(pipeline)
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
        return cls(pipeline, weights_name(source, commit), family)

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

        negatives = [request.negative_prompt for request in requests] if self.family.takes_negative else []
        for prompt in {*(request.prompt for request in requests), *negatives}:
            self._check_length(prompt)
        height, width = views[0][1].shape
        images = self.pipeline(
            prompt=[request.prompt for request in requests],
            **({"negative_prompt": negatives} if negatives else {}),
            image=[Pictures.fromarray(image) for image, _ in views],
            mask_image=[Pictures.fromarray(mask) for _, mask in views],
            height=height,
            width=width,
            **self.family.call,
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
