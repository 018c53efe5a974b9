"""What the provider and the embedder `gemini` need of a Google SDK, and the choice among the installed ones.

Google has two SDKs: `google-genai`, which it supports, and `google-generativeai`, which the paper used. The key is
GEMINI_API_KEY for both.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spotball_adapters.providers.http import checked_url, tls_advice
from spotball_adapters.providers.keys import key_from, missing
from spotball_adapters.providers.protocol import Access, PermanentError, Request, TransientError
from spotball_adapters.providers.responses import Responses
from spotball_adapters.providers.server_messages import count, describe_error, writable
from spotball_core.errors import MissingExtraError

KEY = "GEMINI_API_KEY"

SDKS: Mapping[str, str] = {
    "google.genai": "spotball_adapters.providers.google_genai",
    "google.generativeai": "spotball_adapters.providers.google_generativeai",
}
"""The module of each SDK and ours that calls it, the preferred one first."""

_USAGE = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reply of a model.

    Attributes:
        text: of all parts.
        finish_reason: the name that the API gives it; empty if it is not set.
    """

    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The response to one request for replies.

    Attributes:
        candidates: in the order of their indices.
        block_reason: why the prompt was blocked; empty if it was not.
        model: the model's version; empty if the server does not name it.
        prompt_tokens: of the whole request.
        candidate_tokens: of all candidates, without the model's thoughts.
        total_tokens: of both and the thoughts; 0 if the server reports no usage.
    """

    candidates: tuple[Candidate, ...]
    block_reason: str
    model: str
    prompt_tokens: int
    candidate_tokens: int
    total_tokens: int


class GeminiSdk(ABC):
    """A Google SDK, with a client of our own.

    Attributes:
        takes_seed: whether it can send a seed.
        endpoint: the address of the server, if it is not Google's.
        certificates: the environment variable that names a file of trusted certificates.

    Raises:
        OptionError: for an address that cannot be used.
        PermanentError: for a key that no header can hold.
    """

    takes_seed: bool
    certificates: str

    def __init__(self, access: Access) -> None:
        self._key = key_from(KEY)
        self._access = access
        self._responses = Responses("gemini", self._key, access.max_response)
        self.endpoint = str(checked_url(access.base_url)).rstrip("/") if access.base_url else None
        self._sdk_client: Any = None

    def key(self) -> str:
        """Return the key.

        Raises:
            PermanentError: if it is not set.
        """
        if self._key is None:
            raise missing(KEY, "gemini")
        return self._key

    def _not_reached(self, error: Exception) -> PermanentError | TransientError:
        """Return the error for a server that was not reached. It has no cause: that holds the request with the key."""
        if advice := tls_advice(error, self.certificates):
            return PermanentError(self._responses.clean(f"gemini: {advice}"))
        return TransientError(self._responses.clean(f"gemini: {describe_error(error)}"))

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Return the versions of the SDK's packages."""

    @abstractmethod
    async def generate(self, model: str, request: Request, n: int) -> Generated:
        """Send one request for `n` candidates.

        Raises:
            TransientError: for a fault that may be over when called again.
            RefusedError: for one of this request alone.
            PermanentError: for another one.
        """

    @abstractmethod
    async def embed(self, model: str, texts: Sequence[str], task_type: str | None) -> Any:
        """Return the vectors of some texts, unchecked. The errors are those of `generate`."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


def open_sdk(access: Access) -> GeminiSdk:
    """Return the preferred one of the installed SDKs. It is not loaded before the first request.

    Raises:
        OptionError: for an address that cannot be used.
        PermanentError: for a key that no header can hold.
        MissingExtraError: if no SDK is installed.
    """
    for name, module in SDKS.items():
        if is_installed(name):
            sdk: GeminiSdk = import_module(module).Sdk(access)
            return sdk
    raise MissingExtraError("Gemini", "gemini")


def is_installed(name: str) -> bool:
    """Return whether an SDK is installed, without loading it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def readable(body: dict[str, Any]) -> bytes:
    """Return a response's body without what the SDKs cannot read.

    That is halves of characters, and numbers of tokens that cannot be.
    """
    usage = body.get("usageMetadata")
    if not isinstance(usage, dict) or any(count(usage.get(name, 0)) is None for name in _USAGE):
        body = {name: value for name, value in body.items() if name != "usageMetadata"}
    return writable(json.dumps(body, ensure_ascii=False)).encode()
