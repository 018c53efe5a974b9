"""Stage `inpaint`, kind `stable-diffusion`: inpaint the ball with a diffusion model.

This is step 4 in section 3.2 of Spot the Ball.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
from spotball_gen.items.item import Image, Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.inpainting import InpaintingModel, InpaintRequest, ModelView
from spotball_gen.models.torch_models import TorchSettings, picked_device, require, source_of

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
