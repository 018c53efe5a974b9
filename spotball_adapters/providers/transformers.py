"""Provider `transformers`: a vision-language model in this process, on the local GPU or CPU."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TYPE_CHECKING

from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    PermanentError,
    Provider,
    Reply,
    Request,
    Settings,
    check_ranges,
)
from spotball_core.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from spotball_adapters.providers.local_model import LocalModel

MAX_SAMPLES = 50
"""Maximum number of samples per request.

The published study has at most 50 samples per image, so one request, which encodes the image once, is enough.

If memory cannot hold that many replies at a time, they are generated in smaller batches from the same encoding.
"""

MAX_OUTPUT_TOKENS = 1024
"""Maximum reply length in tokens if the settings do not set it. Most models default to 20 tokens or no limit."""

_MODULES = {"torch": "torch", "transformers": "transformers", "pillow": "PIL"}


class Transformers:
    """Run an image-text-to-text model with the transformers library.

    Requests are answered one at a time, in a thread; further requests wait. The first request loads the model. With a
    seed, a reply depends only on the seed, the image, the messages and the sample's number: repeated requests return
    the same replies, but different samples and images use different random numbers. A setting of None keeps the value
    in the model's `generation_config.json`, which says whether and how the model samples.

    At temperature 0 the model always takes the most likely token. The reply is then generated once and used for all
    samples.

    Raises:
        MissingExtraError: if PyTorch, transformers or Pillow is not installed.
        OptionError: if a base URL is given.
    """

    name = "transformers"

    def __init__(self, access: Access) -> None:
        if access.base_url is not None:
            raise OptionError(
                f"{self.name} runs the model on this machine, without a server. Remove --base-url",
                code="unsupported-option",
            )
        if any(importlib.util.find_spec(module) is None for module in _MODULES.values()):
            raise MissingExtraError(f"the provider {self.name}", "local")
        self.model = access.model
        self.max_samples = MAX_SAMPLES
        self._width = MAX_SAMPLES
        self._local: LocalModel | None = None
        self._closed = threading.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self.name)

    def check(self, settings: Settings) -> None:
        """Raise OptionError for values out of range, and for `reasoning_effort` and `extra_body`."""
        check_ranges(settings, self.name, max_temperature=100.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return None, because the number depends on the model, and local tokens cost nothing."""
        return None

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the libraries, and the device."""
        from spotball_adapters.providers.local_model import device_name, picked_device

        return {package: version(package) for package in _MODULES} | {"device": device_name(picked_device())}

    async def ask(self, request: Request) -> Answer:
        """Generate all replies of a request from one encoding of its image and messages.

        Raises:
            PermanentError: if the model cannot be loaded, rejects the messages, or needs too much memory, or if the
                provider is closed before the replies are complete.
        """
        left = threading.Event()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, request, left)
        finally:
            left.set()

    async def close(self) -> None:
        """Stop the generation in progress, and free the model's memory."""
        self._closed.set()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        if self._local is not None:
            self._local.release()
            self._local = None

    def _answer(self, request: Request, left: threading.Event) -> Answer:
        from spotball_adapters.providers.local_model import device_name, loaded
        from spotball_adapters.providers.local_sampling import NoMemoryError, drawn, how_to_sample

        if self._local is None:
            self._local = loaded(self.model)
        local = self._local
        config = how_to_sample(local.model.generation_config, request.settings, MAX_OUTPUT_TOKENS)
        inputs = local.inputs(request.picture, request.messages)
        samples = request.samples if config.do_sample else request.samples[:1]
        try:
            sampled, self._width = drawn(
                local.model,
                inputs,
                config,
                seeds=[_seed(request, sample) for sample in samples],
                width=self._width,
                stopped=lambda: left.is_set() or self._closed.is_set(),
            )
        except NoMemoryError:
            raise PermanentError(
                f"{self.model}: {device_name(local.device)} does not have enough memory for a reply. Choose a smaller "
                "model",
                code="out-of-memory",
            ) from None
        if self._closed.is_set():
            raise PermanentError(
                f"{self.model}: the provider was closed before the replies were complete", code="provider-failed"
            )
        copies = len(request.samples) // len(samples)
        replies = [
            Reply(
                local.text(generated.tokens),
                "stop" if generated.ended else "length",
                "eos" if generated.ended else "max_new_tokens",
            )
            for generated in sampled
        ]
        return Answer(
            tuple(replies * copies),
            model=local.revised_name,
            input_tokens=inputs["input_ids"].shape[1],
            output_tokens=copies * sum(len(generated.tokens) for generated in sampled),
        )


def provider(access: Access) -> Provider:
    """Create the provider. The entry point `transformers` refers to this function."""
    return Transformers(access)


def _seed(request: Request, sample: int) -> int | None:
    """Return the seed of one sample, or None if the settings have no seed.

    The seed depends on the image, so replies to different images are independent.
    """
    if request.settings.seed is None:
        return None
    turns = [(message.role, message.text, message.picture) for message in request.messages]
    picture = hashlib.sha256(request.picture.data).hexdigest()
    key = json.dumps([request.settings.seed, picture, turns, sample])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
