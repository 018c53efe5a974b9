"""Stage `filter`, kind `clip`: reject images with a low CLIP similarity to the prompts of their sport.

This filter is step 2 in section 3.2 of Spot the Ball.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from spotball_core.errors import OptionError
from spotball_gen.items.item import Image, Item, Sport
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings
from spotball_gen.models.torch_models import TorchSettings, loaded, picked_device, require, source_of, weights_name

_DIGITS = 4
"""Number of decimals to which scores are rounded. On a GPU, further decimals would depend on the batch size."""

MODEL = "openai/clip-vit-base-patch32"


class ClipSettings(TorchSettings):
    """Settings of `clip`. Set `threshold`, `top_share` or both, because no default is suitable for all footage.

    Attributes:
        threshold: minimum similarity of an image (exclusive), from -1 to 1.
        top_share: share of each sport's images to keep: those with the highest similarity. If a threshold is given too,
            it is the share of the images above the threshold. All images are scored before any item continues.
    """

    model: str = MODEL
    batch_size: int = Field(16, ge=1, le=1024)
    threshold: float | None = Field(None, ge=-1, le=1)
    top_share: float | None = Field(None, gt=0, lt=1)

    @model_validator(mode="after")
    def _chooses(self) -> ClipSettings:
        if self.threshold is None and self.top_share is None:
            raise ValueError("expected `threshold`, `top_share` or both")
        return self


class Clip:
    """Keep the images that are most similar to a sport's prompts.

    An image's score `clip` is its cosine similarity to the best-matching prompt, from -1 to 1, rounded to four
    decimals. With the dtype `auto`, the model computes in 32 bits. On a GPU, images are processed in batches; on a CPU,
    one at a time.

    Raises:
        MissingExtraError: if PyTorch, transformers or Pillow is not installed.
        OptionError: if the model's folder does not exist, or if the device is not available.
    """

    Settings: ClassVar[type[StageSettings]] = ClipSettings
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers", "pillow", "torchvision")

    name = "filter"
    kind = "clip"
    version = "1"

    def __init__(self, settings: ClipSettings, context: Context) -> None:
        require(f"filter {self.kind!r}", "torch", "transformers", "PIL")
        self.settings = settings
        self.context = context
        self.batch_size = settings.batch_size
        self.settles = settings.top_share is not None
        self._source = source_of(settings.model, context.folder, self.name)
        self._on = picked_device(settings.device, self.name)
        self.device: Device = "gpu" if self._on == "cuda" else "cpu"
        # The batch size affects a vector's last bits, and batches save little time on a CPU.
        self._lot = settings.batch_size if self._on == "cuda" else 1
        self._prompts: dict[str, NDArray[np.float64]] = {}

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their score, and reject those that do not exceed the threshold.

        Raises:
            OptionError: if the model cannot be loaded, or if a sport has no prompt or a prompt that is too long.
        """
        prompts = [self._prompt_vectors(item.sport) for item in items]
        images = self._model.image_vectors([item.image for item in items], self._lot)
        passed: list[Item] = []
        rejects: list[Reject] = []
        threshold = self.settings.threshold
        for item, image, vectors in zip(items, images, prompts, strict=True):
            scored = item.scored(clip=round(float((vectors @ image).max()), _DIGITS)).noted(
                self.name, weights=self._model.weights
            )
            score = scored.scores["clip"]
            if threshold is None or score > threshold:
                passed.append(scored)
            else:
                detail = f"{score:.4f} is not above {threshold:g}"
                rejects.append(Reject(item.id, self.name, "unlike the prompts", detail, scored.scores))
        return Outcome(tuple(passed), tuple(rejects))

    def settle(self, scores: Mapping[str, Mapping[str, float]], sports: Mapping[str, str]) -> tuple[Reject, ...]:
        """Return rejects for the items outside the top share of their sport, after all images are scored.

        Args:
            scores: scores by item id. If two scores are equal, the item with the lower id ranks higher.
            sports: sport by item id.
        """
        share = self.settings.top_share or 1.0
        rejects: list[Reject] = []
        for sport in sorted(set(sports.values())):
            ranked = sorted((item for item in scores if sports[item] == sport), key=lambda x: (-scores[x]["clip"], x))
            most = math.ceil(share * len(ranked))
            for rank, item in enumerate(ranked[most:], most + 1):
                detail = f"rank {rank} of {len(ranked)}; only the best {most} are kept"
                rejects.append(Reject(item, self.name, "not among the best", detail, scores[item]))
        return tuple(rejects)

    @cached_property
    def _model(self) -> ClipModel:
        return ClipModel.load(self._source, self.settings, self._on)

    def _prompt_vectors(self, sport: str) -> NDArray[np.float64]:
        if sport not in self._prompts:
            prompts = self.context.sports.get(sport, Sport()).prompts
            if not prompts:
                raise OptionError(
                    f"clip: the sport {sport!r} has no prompts. Add `prompts` to the table [sports.{sport}]",
                    code="missing-option",
                    field="filter",
                )
            self._prompts[sport] = self._model.text_vectors(prompts)
        return self._prompts[sport]


@dataclass(frozen=True)
class ClipModel:
    """A loaded CLIP model with its tokenizer and image processor.

    Attributes:
        model: a model of the transformers library.
        tokenizer: converts prompts to tokens.
        processor: converts images to model input.
        device: the model's device.
        weights: a text that identifies the weights.
    """

    model: Any
    tokenizer: Any
    processor: Any
    device: str
    weights: str

    @classmethod
    def load(cls, source: str, settings: TorchSettings, device: str) -> ClipModel:
        """Load a model onto a device.

        Raises:
            OptionError: if the model cannot be loaded, or if it is not a CLIP model.
        """
        import torch
        import transformers

        def load(kind: Any, **options: Any) -> Any:
            return loaded(lambda: kind.from_pretrained(source, revision=settings.revision, **options), source, "filter")

        config = load(transformers.AutoConfig)
        if config.model_type != "clip":
            raise OptionError(
                f"{source}: a model of the type {config.model_type!r} is not a CLIP model. Choose a CLIP model",
                code="unusable-model",
                field="filter",
            )
        dtype = torch.float32 if settings.dtype == "auto" else getattr(torch, settings.dtype)
        model = load(transformers.CLIPModel, dtype=dtype).to(device).eval()
        tokenizer, processor = load(transformers.AutoTokenizer), load(transformers.AutoImageProcessor)
        return cls(model, tokenizer, processor, device, weights_name(source, getattr(config, "_commit_hash", None)))

    def text_vectors(self, prompts: Sequence[str]) -> NDArray[np.float64]:
        """Return the unit vectors of prompts, shape (n, d).

        Raises:
            OptionError: if a prompt is longer than the model supports.
        """
        import torch

        most = self.model.config.text_config.max_position_embeddings
        for prompt in prompts:
            count = len(self.tokenizer(prompt, truncation=False, verbose=False)["input_ids"])
            if count > most:
                raise OptionError(
                    f"clip: a prompt has {count} tokens, but the model accepts at most {most}. Shorten it: {prompt!r}",
                    code="too-large",
                    field="filter",
                )
        inputs = self.tokenizer(list(prompts), padding=True, return_tensors="pt").to(self.device)
        with torch.inference_mode():
            read = self.model.text_model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
            return _units(self.model.text_projection(read.pooler_output))

    def image_vectors(self, images: Sequence[Image], lot: int) -> NDArray[np.float64]:
        """Return the unit vectors of images.

        Args:
            images: RGB images, shape (height, width, 3) each.
            lot: batch size.

        Returns:
            Shape (n, d).
        """
        import torch
        from PIL import Image as Pictures

        vectors = []
        for start in range(0, len(images), lot):
            pictures = [Pictures.fromarray(image) for image in images[start : start + lot]]
            pixel_values = self.processor(images=pictures, return_tensors="pt")["pixel_values"]
            with torch.inference_mode():
                read = self.model.vision_model(pixel_values=pixel_values.to(self.device, self.model.dtype))
                vectors.append(_units(self.model.visual_projection(read.pooler_output)))
        return np.concatenate(vectors)


def _units(vectors: Any) -> NDArray[np.float64]:
    array = np.asarray(vectors.double().cpu().numpy(), dtype=np.float64)
    units: NDArray[np.float64] = array / np.linalg.norm(array, axis=-1, keepdims=True)
    if not np.isfinite(units).all():
        raise ValueError("the model's vectors contain numbers that are not finite. Choose another model")
    return units
