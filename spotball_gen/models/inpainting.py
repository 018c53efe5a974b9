"""Load and call inpainting models of the diffusers library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_gen.items.item import Image
from spotball_gen.models.torch_models import loaded, weights_name


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
