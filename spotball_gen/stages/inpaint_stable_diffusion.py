"""`inpaint`, kind `stable-diffusion`: the ball painted out by an inpainting model (section 3.2, step 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import ClassVar

from pydantic import Field

from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
from spotball_gen.imaging.views import ModelView
from spotball_gen.items.item import Image, Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.models.inpainting import STABLE_DIFFUSION, InpaintingModel, InpaintRequest
from spotball_gen.models.torch_models import TorchSettings, picked_device, require, source_of

MODEL = "stable-diffusion-v1-5/stable-diffusion-inpainting"

PROMPT = "the empty background of a {sport} match, photograph"

NEGATIVE_PROMPT = "ball, person, hand, shadow, text"


class StableDiffusionSettings(MaskSettings, TorchSettings):
    """Settings of `stable-diffusion`.

    Attributes:
        variant: of the weights' files, such as `fp16`.
        prompt: what the model is asked to paint; `{sport}` is the item's.
        negative_prompt: what it is asked not to paint.
        steps: of the scheduler that comes with the weights.
        guidance_scale: how much the prompt counts.
        size: the longer side of what the model sees, in pixels.
        surroundings: how much it sees: so many times the mask's longer side. A small ball is shown to it enlarged.
        batch_size: images that go through together. With more than one, an image's last bits hang on the others.
    """

    model: str = MODEL
    variant: str | None = None
    prompt: str = PROMPT
    negative_prompt: str = NEGATIVE_PROMPT
    steps: int = Field(30, ge=1, le=1000)
    guidance_scale: float = Field(7.5, ge=0, le=100)
    size: int = Field(512, ge=64, le=4096, multiple_of=8)
    surroundings: float = Field(4.0, ge=1, le=100)
    batch_size: int = Field(1, ge=1, le=1024)


class StableDiffusion:
    """Paints what the mask covers, from what is around it. Nothing outside the mask changes.

    What is painted is drawn from the item's seed. It starts from noise alone, and the model never sees the ball. On
    `auto` it computes in 16 bits on a GPU and in 32 on a CPU. The safety checker, which would blacken what it takes for
    nudity, is not loaded: a black rectangle would be no scene.

    Raises:
        MissingExtraError: without PyTorch, diffusers, transformers or Pillow.
        OptionError: if there is no such folder or device.
    """

    Settings: ClassVar[type[StageSettings]] = StableDiffusionSettings
    packages: ClassVar[tuple[str, ...]] = ("diffusers", "torch", "transformers", "opencv-python-headless")

    name = "inpaint"
    kind = "stable-diffusion"
    version = "2"
    family = STABLE_DIFFUSION

    def __init__(self, settings: StableDiffusionSettings, context: Context) -> None:
        require(f"inpaint {self.kind!r}", "torch", "diffusers", "transformers", "PIL")
        self.settings = settings
        self.context = context
        self.batch_size = settings.batch_size
        self._source = source_of(settings.model, context.folder, self.name)
        self._on = picked_device(settings.device, self.name)
        self.device: Device = "gpu" if self._on == "cuda" else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """The items with their mask and the image without the ball. None is rejected.

        Raises:
            OptionError: if the model cannot be loaded or is not made for inpainting.
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
            cell=self.family.cell,
        )

    def _finished(self, item: Item, view: ModelView, pixels: Image) -> Item:
        composed = composite(item.image, view.put_back(item.image, pixels), view.mask)
        mask, painted = self.context.keep(item, "masks", view.mask), self.context.keep(item, "painted", composed)
        return replace(item, mask=mask, painted=painted)

    @cached_property
    def _model(self) -> InpaintingModel:
        return InpaintingModel.load(self._source, self.settings, self._on, self.family)


def _by_size(items: Sequence[Item], views: Mapping[str, ModelView]) -> list[list[Item]]:
    """Items whose canvases have the same size, together."""
    sizes: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        sizes.setdefault(views[item.id].canvas, []).append(item)
    return list(sizes.values())
