"""A model on this machine: where it runs, loading it, and what it is given and says."""

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
from spotball_core.service.images import open_image


def picked_device() -> str:
    """The fastest that is there: `cuda`, `mps` or `cpu`."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_name(device: str) -> str:
    """What a device is called: the GPU's model, or the device's own name."""
    import torch

    return torch.cuda.get_device_name(device) if device == "cuda" else device


@dataclass(slots=True)
class LocalModel:
    """A loaded model and what prepares its inputs.

    Attributes:
        name: the folder or the name on the Hugging Face Hub that it was loaded from.
        device: where it is.
        model: of the transformers library.
        processor: turns messages and images into the model's inputs.
    """

    name: str
    device: str
    model: Any
    processor: Any

    @property
    def revised_name(self) -> str:
        """The name, with the Hub's commit where the model came from there."""
        commit = getattr(self.model.config, "_commit_hash", None)
        return f"{self.name}@{commit}" if commit else self.name

    def inputs(self, picture: Picture, messages: Sequence[Message]) -> Any:
        """Messages as the model takes them: by its own chat template, on its device.

        Raises:
            PermanentError: if the template refuses the messages or leaves some of their text out.
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
            raise PermanentError(f"{self.name}: its chat template does not take the messages: {error}") from error
        for message in messages:
            if message.text.strip() not in prompt_text:
                raise PermanentError(f"{self.name}: its chat template leaves the {message.role}'s text out")
        return inputs.to(device=self.device, dtype=self.model.dtype)

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens as text, without the special ones."""
        decoded: str = self.processor.tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    def release(self) -> None:
        """Let go of the memory."""
        import torch

        self.model = self.processor = None
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()


def loaded(name: str) -> LocalModel:
    """Load a model onto the fastest device: 32-bit numbers on a CPU, bfloat16 elsewhere.

    Args:
        name: a folder, or a name on the Hugging Face Hub. HF_TOKEN, HF_HOME and HF_HUB_OFFLINE in the environment are
            the library's to read.

    Raises:
        PermanentError: if there is no such model, it cannot be had, it does not answer about images in chats, or the
            device has not enough memory.
    """
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    folder = Path(name).expanduser()
    if not folder.is_dir() and (folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
        raise PermanentError(f"--model: the folder {name} does not exist. Correct the path")
    source = str(folder) if folder.is_dir() else name
    device = picked_device()
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        config = AutoConfig.from_pretrained(source)
        if type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING or config.is_encoder_decoder:
            raise PermanentError(
                f"{name}: {config.model_type} is not a model that reads images "
                "and answers in text. Choose another model"
            )
        processor = _processor(source, config)
        if not getattr(processor, "chat_template", None):
            raise PermanentError(f"{name}: the model has no chat template. Choose an instruction-tuned model")
        model = AutoModelForImageTextToText.from_pretrained(
            source, dtype=torch.float32 if device == "cpu" else torch.bfloat16
        )
        model.to(device).eval()
    except (OSError, ValueError, ImportError) as error:
        raise PermanentError(f"{name}: cannot be loaded: {one_line(error)}") from error
    except RuntimeError as error:
        if not is_no_memory(error):
            raise
        raise PermanentError(f"{name}: {device_name(device)} has not enough memory for the model") from error
    return LocalModel(name, device, model, processor)


def disable_progress_bars() -> None:
    """Keep the libraries from drawing bars, for where nobody watches."""
    import huggingface_hub.utils
    import transformers.utils.logging

    transformers.utils.logging.disable_progress_bar()
    huggingface_hub.utils.disable_progress_bars()


def _processor(source: str, config: Any) -> Any:
    """The model's processor, with what is installed: without torchvision, images are prepared with Pillow and NumPy."""
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
    # Processors that also take videos cannot be loaded without torchvision, although images do not need it.
    return _without_videos(processor_class).from_pretrained(source)


def _without_videos(processor: Any) -> Any:
    parts = [part for part in processor.get_attributes() if part != "video_processor"]
    return type(processor.__name__, (processor,), {"get_attributes": classmethod(lambda _: list(parts))})


def _content(message: Message, image: Any) -> list[dict[str, Any]]:
    image_part = [{"type": "image", "image": image}] if message.picture else []
    return [*image_part, {"type": "text", "text": message.text}]


def one_line(error: Exception) -> str:
    """The first line of a message, without the token that the Hub was asked with."""
    from huggingface_hub import get_token

    line = next(iter(str(error).splitlines()), type(error).__name__)
    token = get_token()
    return line.replace(token, "***") if token else line
