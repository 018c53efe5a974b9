"""Load a vision-language model on this machine, prepare its inputs, and decode its output."""

from __future__ import annotations

import gc
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_adapters.providers.local_sampling import is_no_memory
from spotball_adapters.providers.protocol import Message, PermanentError, Picture
from spotball_core.service.hugging_face import disable_progress_bars, one_line
from spotball_core.service.images import open_image


def picked_device() -> str:
    """Return the fastest available device: `cuda`, `mps` or `cpu`."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_name(device: str) -> str:
    """Return a device's name: the GPU model for `cuda`, otherwise the name unchanged."""
    import torch

    return torch.cuda.get_device_name(device) if device == "cuda" else device


@dataclass(slots=True)
class LocalModel:
    """A loaded model with its processor.

    Attributes:
        name: the folder or the Hugging Face Hub name that the model was loaded from.
        device: the device that holds the model.
        model: a model of the transformers library.
        processor: the model's processor, which turns messages and images into model inputs.
    """

    name: str
    device: str
    model: Any
    processor: Any

    @property
    def revised_name(self) -> str:
        """Return the name, with the commit hash if the model came from the Hub."""
        commit = getattr(self.model.config, "_commit_hash", None)
        return f"{self.name}@{commit}" if commit else self.name

    def inputs(self, picture: Picture, messages: Sequence[Message]) -> Any:
        """Return the messages as model inputs on the model's device, built with the model's chat template.

        Raises:
            PermanentError: if the template rejects the messages or drops part of their text.
        """
        from jinja2 import TemplateError

        image = None
        if any(message.picture for message in messages):
            with open_image(io.BytesIO(picture.data)) as opened:
                image = opened.convert("RGB")
        conversation = [{"role": message.role, "content": _content(message, image)} for message in messages]
        try:
            prompt_text = self.processor.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
            inputs = self.processor.apply_chat_template(
                conversation, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            )
        except TemplateError as error:
            raise PermanentError(
                f"{self.name}: the chat template rejects the messages ({error}). Use another prompt or model",
                code="unusable-model",
            ) from error
        for message in messages:
            if message.text.strip() not in prompt_text:
                raise PermanentError(
                    f"{self.name}: the chat template omits the text of the {message.role} message. Use another prompt "
                    "or model",
                    code="unusable-model",
                )
        return inputs.to(device=self.device, dtype=self.model.dtype)

    def text(self, tokens: Sequence[int]) -> str:
        """Decode token IDs to text, without special tokens."""
        decoded: str = self.processor.tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    def release(self) -> None:
        """Free the memory of the model and the processor."""
        import torch

        self.model = self.processor = None
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()


def loaded(name: str) -> LocalModel:
    """Load a model onto the fastest device, with 32-bit weights on a CPU and bfloat16 weights on other devices.

    Args:
        name: a folder, or a name on the Hugging Face Hub. The transformers library reads HF_TOKEN, HF_HOME and
            HF_HUB_OFFLINE from the environment.

    Raises:
        PermanentError: if the model does not exist, cannot be downloaded, cannot chat about images, or does not fit
            into the device's memory.
    """
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    folder = Path(name).expanduser()
    if not folder.is_dir() and (folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
        raise PermanentError(
            f"the folder {name} does not exist. Correct the path", code="missing-file", field="--model"
        )
    source = str(folder) if folder.is_dir() else name
    device = picked_device()
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        config = AutoConfig.from_pretrained(source)
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING or config.is_encoder_decoder:
            raise PermanentError(
                f"{config.model_type} is not a model that reads images and answers in text. Choose another model",
                code="unusable-model",
                file=name,
            )
        processor = _processor(source, config)
        if not getattr(processor, "chat_template", None):
            raise PermanentError(
                "the model has no chat template. Choose an instruction-tuned model", code="unusable-model", file=name
            )
        model = AutoModelForImageTextToText.from_pretrained(
            source, dtype=torch.float32 if device == "cpu" else torch.bfloat16
        )
        model.to(device).eval()
    except (OSError, ValueError, ImportError) as error:
        raise PermanentError(f"cannot be loaded: {one_line(error)}", code="unusable-model", file=name) from error
    except RuntimeError as error:
        if not is_no_memory(error):
            raise
        raise PermanentError(
            f"{device_name(device)} does not have enough memory for the model. Choose a smaller model",
            code="out-of-memory",
            file=name,
        ) from error
    return LocalModel(name, device, model, processor)


def _processor(source: str, config: Any) -> Any:
    """Return the model's processor. Without torchvision, images are prepared with Pillow and NumPy."""
    from transformers import AutoProcessor
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.utils import is_torchvision_available

    processor_class = PROCESSOR_MAPPING.get(type(config), None)
    if (
        processor_class is None
        or is_torchvision_available()
        or "video_processor" not in processor_class.get_attributes()
    ):
        return AutoProcessor.from_pretrained(source)
    # Processors that support videos require torchvision, although images do not need it.
    return _without_videos(processor_class).from_pretrained(source)


def _without_videos(processor: Any) -> Any:
    parts = [part for part in processor.get_attributes() if part != "video_processor"]
    return type(processor.__name__, (processor,), {"get_attributes": classmethod(lambda _: list(parts))})


def _content(message: Message, image: Any) -> list[dict[str, Any]]:
    image_part = [{"type": "image", "image": image}] if message.picture else []
    return [*image_part, {"type": "text", "text": message.text}]
