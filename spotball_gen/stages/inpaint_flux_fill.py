"""Stage `inpaint`, kind `flux-fill`: inpaint the ball with FLUX.1 Fill."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from spotball_gen.items.stage import StageSettings
from spotball_gen.models.inpainting import FLUX_FILL
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusion, StableDiffusionSettings


class FluxFillSettings(StableDiffusionSettings):
    """Settings of `flux-fill`: those of `stable-diffusion`, with defaults for this model.

    Attributes:
        negative_prompt: must be empty, because this model does not support it.
    """

    model: str = "black-forest-labs/FLUX.1-Fill-dev"
    negative_prompt: str = Field("", max_length=0)
    steps: int = Field(50, ge=1, le=1000)
    guidance_scale: float = Field(30.0, ge=0, le=100)
    size: int = Field(1024, ge=64, le=4096, multiple_of=16)


class FluxFill(StableDiffusion):
    """Inpaint like `stable-diffusion`, but with a transformer. The dtype `auto` is bfloat16 on a GPU."""

    Settings: ClassVar[type[StageSettings]] = FluxFillSettings
    kind = "flux-fill"
    version = "1"
    family = FLUX_FILL
