"""Embedder `sentence-transformers`: an embedding model in this process, on the local GPU or CPU."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder, EmbedderAccess
from spotball_adapters.providers.protocol import PermanentError
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.files import folder_digest
from spotball_core.service.hugging_face import disable_progress_bars, one_line

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The default model: small, and fast on a CPU."""

MAX_BATCH = 128
"""Maximum number of texts per call of `embed`. Vectors are cached after each call."""

_AT_ONCE = 32
"""Number of texts per forward pass of the model."""

_PACKAGES = ("sentence-transformers", "torch", "transformers")


class SentenceTransformersEmbedder:
    """Embed texts with the sentence-transformers library. The model is a name on the Hugging Face Hub, or a folder.

    Batches are embedded one at a time, in a thread, with 32-bit weights on the fastest device. The first batch loads
    the model. A model in a folder is identified by the content of its files, not by the folder's name.

    Raises:
        MissingExtraError: if sentence-transformers is not installed.
        OptionError: if a base URL or a task type is given, or if the folder does not exist.
    """

    name = "sentence-transformers"
    paid = False

    def __init__(self, access: EmbedderAccess) -> None:
        if access.base_url is not None:
            raise OptionError(
                f"{self.name} runs the model on this machine, without a server. Remove --base-url",
                code="unsupported-option",
            )
        if access.task_type is not None:
            raise OptionError(
                f"the embedder {self.name} does not support task types. Remove --task-type",
                code="unsupported-option",
                field="--task-type",
            )
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError(f"the embedder {self.name}", "local")
        name = access.model or MODEL
        folder = Path(name).expanduser()
        self._source = str(folder) if folder.is_dir() else name
        if not folder.is_dir() and (folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1):
            raise OptionError(
                f"the folder {name} does not exist. Correct the path", code="missing-file", field="--model"
            )
        files = folder_digest(folder) if folder.is_dir() else None
        self.model = f"local@{files[:12]}" if files else name
        self.identity: Mapping[str, str] = {"files": files} if files else {}
        self.max_batch = MAX_BATCH
        self._loaded: Any = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self.name)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the libraries, by package name."""
        return {package: version(package) for package in _PACKAGES}

    async def embed(self, texts: Sequence[str]) -> Batch:
        """Return the vectors of the texts.

        Raises:
            PermanentError: if the model cannot be loaded, or needs too much memory.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._embed, list(texts))

    async def close(self) -> None:
        """Free the model's memory."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._loaded = None
        gc.collect()

    def _embed(self, texts: list[str]) -> Batch:
        from spotball_adapters.providers.local_sampling import is_no_memory

        if self._loaded is None:
            self._loaded = _load(self._source)
        try:
            vectors = self._loaded.encode(texts, batch_size=_AT_ONCE, convert_to_numpy=True, show_progress_bar=False)
        except RuntimeError as error:
            if not is_no_memory(error):
                raise
            raise PermanentError(
                f"{self._source}: not enough memory to embed {_AT_ONCE} texts at once. Choose a smaller model",
                code="out-of-memory",
            ) from None
        return Batch(np.asarray(vectors, dtype=np.float32), self._cut(texts))

    def _cut(self, texts: list[str]) -> Any:
        """Return whether each text has more tokens than the model reads, as a boolean array."""
        most, tokenizer = self._loaded.max_seq_length, self._loaded.tokenizer
        if most is None:
            return np.zeros(len(texts), dtype=bool)
        tokens = tokenizer(texts, truncation=False, padding=False, verbose=False)["input_ids"]
        return np.array([len(ids) > most for ids in tokens])


def embedder(access: EmbedderAccess) -> Embedder:
    """Create the embedder. The entry point `sentence-transformers` refers to this function."""
    return SentenceTransformersEmbedder(access)


def _load(source: str) -> Any:
    from sentence_transformers import SentenceTransformer

    from spotball_adapters.providers.local_model import picked_device
    from spotball_adapters.providers.local_sampling import is_no_memory

    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        return SentenceTransformer(source, device=picked_device())
    except (OSError, ValueError, ImportError) as error:
        raise PermanentError(f"{source}: cannot be loaded: {one_line(error)}", code="unusable-model") from error
    except RuntimeError as error:
        if not is_no_memory(error):
            raise
        raise PermanentError(
            f"{source}: not enough memory for the model. Choose a smaller model", code="out-of-memory"
        ) from error
