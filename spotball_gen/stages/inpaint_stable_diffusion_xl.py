"""Stage `inpaint`, kind `stable-diffusion-xl`: inpaint the ball with Stable Diffusion XL."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from spotball_gen.items.stage import StageSettings
from spotball_gen.models.inpainting import STABLE_DIFFUSION_XL
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusion, StableDiffusionSettings


class StableDiffusionXLSettings(StableDiffusionSettings):
    """Settings of `stable-diffusion-xl`: those of `stable-diffusion`, with defaults for this model."""

    model: str = "diffusers/stable-diffusion-xl-1.0-inpainting-0.1"
    size: int = Field(1024, ge=64, le=4096, multiple_of=8)


class StableDiffusionXL(StableDiffusion):
    """Inpaint like `stable-diffusion`, with a larger model and without a watermark."""

    Settings: ClassVar[type[StageSettings]] = StableDiffusionXLSettings
    kind = "stable-diffusion-xl"
    version = "1"
    family = STABLE_DIFFUSION_XL
