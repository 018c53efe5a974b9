"""Inpainting models of the diffusers library: how each family is loaded, checked and called."""

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
    """What is read of a stage's settings."""

    @property
    def revision(self) -> str | None:
        """The branch, tag or commit on the Hub."""

    @property
    def variant(self) -> str | None:
        """The variant of the weights' files."""

    @property
    def dtype(self) -> str:
        """The numbers it computes in."""

    @property
    def steps(self) -> int:
        """Steps of the scheduler."""

    @property
    def guidance_scale(self) -> float:
        """How much the prompt counts."""


@dataclass(frozen=True)
class PipelineFamily:
    """Models that diffusers loads and calls in the same way.

    Attributes:
        pipeline: name of the class of diffusers.
        network: the part whose input tells whether the model inpaints.
        channels: from the pipeline, the channels that this input must have.
        half: the numbers of 16 bits that it computes in on a GPU.
        cell: sides of images are multiples of this many pixels.
        takes_negative: whether there is a negative prompt.
        load: further options for loading.
        call: further options for calling.
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
    """Noise, the image without what is masked, and the mask."""
    return 2 * int(pipeline.vae.config.latent_channels) + 1


def _flux_channels(pipeline: Any) -> int:
    """The same, four latent pixels together, and each pixel of the mask."""
    return 8 * int(pipeline.vae.config.latent_channels) + 4 * 64


_WITHOUT_CHECKER = {"safety_checker": None, "requires_safety_checker": False}
# From noise alone: less would keep something of what was there.
_FROM_NOISE = {"strength": 1.0}

STABLE_DIFFUSION = PipelineFamily(
    "StableDiffusionInpaintPipeline", "unet", _unet_channels, load=_WITHOUT_CHECKER, call=_FROM_NOISE
)
# A watermark would show where the ball was.
STABLE_DIFFUSION_XL = PipelineFamily(
    "StableDiffusionXLInpaintPipeline", "unet", _unet_channels, load={"add_watermarker": False}, call=_FROM_NOISE
)
FLUX_FILL = PipelineFamily(
    "FluxFillPipeline", "transformer", _flux_channels, half="bfloat16", cell=16, takes_negative=False, call=_FROM_NOISE
)


@dataclass(frozen=True, slots=True)
class InpaintRequest:
    """What is asked of the model for one image."""

    prompt: str
    negative_prompt: str
    seed: int


@dataclass(frozen=True)
class InpaintingModel:
    """A loaded pipeline.

    Attributes:
        pipeline: of the diffusers library.
        weights: which ones.
        family: how it is called.
    """

    pipeline: Any
    weights: str
    family: PipelineFamily

    @classmethod
    def load(cls, source: str, settings: DiffusionSettings, device: str, family: PipelineFamily) -> InpaintingModel:
        """Load a pipeline onto a device.

        Raises:
            OptionError: if it cannot be had or is not made for inpainting.
        """
        import diffusers
        import torch

        kind = getattr(diffusers, family.pipeline)
        files = {"revision": settings.revision, "variant": settings.variant}
        automatic = family.half if device == "cuda" else "float32"
        dtype = automatic if settings.dtype == "auto" else settings.dtype

        def load() -> tuple[Any, str | None]:
            # The folder that the Hub's files are in is called by their commit.
            is_local = Path(source).is_dir()
            folder = source if is_local else kind.download(source, **family.load, **files)
            pipeline = kind.from_pretrained(folder, variant=settings.variant, **family.load)
            return pipeline, None if is_local else Path(folder).name

        pipeline, commit = loaded(load, source, "inpaint")
        channels, wanted = getattr(pipeline, family.network).config.in_channels, family.channels(pipeline)
        if channels != wanted:
            reason = f"its network takes {channels} channels, not {wanted}"
            raise OptionError(f"inpaint: {source}: no inpainting model: {reason}")
        pipeline.set_progress_bar_config(disable=True)
        # In 32 bits, as it is loaded, there is nothing to be cast, and to be warned of.
        pipeline.to(*[device] if dtype == "float32" else [device, getattr(torch, dtype)])
        return cls(pipeline, weights_name(source, commit), family)

    def paint(
        self,
        views: Sequence[tuple[Image, NDArray[np.uint8]]],
        requests: Sequence[InpaintRequest],
        settings: DiffusionSettings,
    ) -> NDArray[np.uint8]:
        """What the model makes of some images of one size.

        Args:
            views: each image, shape (height, width, 3), and its mask, shape (height, width).
            requests: of each.
            settings: steps and guidance scale.

        Returns:
            Shape (n, height, width, 3).

        Raises:
            OptionError: if a prompt is longer than the model reads.
            ValueError: if what it makes is no image.
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
            # On the CPU, so that a GPU starts from the same noise.
            generator=[torch.Generator("cpu").manual_seed(request.seed) for request in requests],
            output_type="np",
        ).images
        if not np.isfinite(images).all():
            raise ValueError("the model's image has numbers that are not finite; in 32 bits it may not")
        pixels: NDArray[np.uint8] = (images * 255).round().astype(np.uint8)
        return pixels

    def _check_length(self, prompt: str) -> None:
        tokenizer = self.pipeline.tokenizer
        count = len(tokenizer(prompt, truncation=False, verbose=False)["input_ids"])
        if count > tokenizer.model_max_length:
            most = tokenizer.model_max_length
            raise OptionError(f"inpaint: the model reads {most} tokens, and this has {count}: {prompt!r}")
