"""Define the common interface of Google's SDKs for the provider and embedder `gemini`, and choose an SDK.

Google has two SDKs: `google-genai`, which Google supports, and the older `google-generativeai`, which the paper used.
With both, the API key is read from GEMINI_API_KEY.
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
from spotball_adapters.providers.protocol import Access, PermanentError, Request, TransientError, key_from, missing
from spotball_adapters.providers.responses import Responses
from spotball_adapters.providers.server_messages import count, describe_error, writable
from spotball_core.errors import MissingExtraError

KEY = "GEMINI_API_KEY"

SDKS: Mapping[str, str] = {
    "google.genai": "spotball_adapters.providers.google_genai",
    "google.generativeai": "spotball_adapters.providers.google_generativeai",
}
"""Each SDK's module, with the module of this package that calls the SDK. The preferred SDK comes first."""

_USAGE = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reply of a model.

    Attributes:
        text: the text of all parts of the reply, concatenated.
        finish_reason: the API's name for the reason why the reply ended; empty if the API gave none.
    """

    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The response to one request for replies.

    Attributes:
        candidates: the replies, in the order of their indices.
        block_reason: why the prompt was blocked; empty if it was not blocked.
        model: the model's version; empty if the server does not name it.
        prompt_tokens: number of tokens in the request.
        candidate_tokens: number of tokens in all candidates, without reasoning.
        total_tokens: number of tokens in prompt, candidates and reasoning; 0 if the server reports no usage.
    """

    candidates: tuple[Candidate, ...]
    block_reason: str
    model: str
    prompt_tokens: int
    candidate_tokens: int
    total_tokens: int


class GeminiSdk(ABC):
    """Interface of a Google SDK. Each instance has its own client.

    Attributes:
        takes_seed: whether the SDK can send a seed.
        endpoint: the address of the server, or None for Google's server.
        certificates: the environment variable that names a file of trusted certificates.

    Raises:
        OptionError: if the address is invalid.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
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
        """Return the API key.

        Raises:
            PermanentError: if the key is not set.
        """
        if self._key is None:
            raise missing(KEY, "gemini")
        return self._key

    def _not_reached(self, error: Exception) -> PermanentError | TransientError:
        """Return the error for a server that could not be reached. The error has no cause, because the cause would
        contain the request and the key.
        """
        if advice := tls_advice(error, self.certificates):
            return PermanentError(self._responses.clean(f"gemini: {advice}"))
        return TransientError(self._responses.clean(f"gemini: {describe_error(error)}"))

    @abstractmethod
    def versions(self) -> Mapping[str, str]:
        """Return the versions of the SDK's packages."""

    @abstractmethod
    async def generate(self, model: str, request: Request, n: int) -> Generated:
        """Send one request for `n` candidates, and return the response.

        Raises:
            TransientError: if a retry may succeed.
            RefusedError: if the server rejects only this request.
            PermanentError: if every further request would fail as well.
        """

    @abstractmethod
    async def embed(self, model: str, texts: Sequence[str], task_type: str | None) -> Any:
        """Return the vectors of the texts without checking them. The method raises the same errors as `generate`."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""


def open_sdk(access: Access) -> GeminiSdk:
    """Return the preferred SDK among those installed. The SDK's package is imported at the first request.

    Raises:
        OptionError: if the address is invalid.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
        MissingExtraError: if no SDK is installed.
    """
    for name, module in SDKS.items():
        if is_installed(name):
            sdk: GeminiSdk = import_module(module).Sdk(access)
            return sdk
    raise MissingExtraError("Gemini", "gemini")


def is_installed(name: str) -> bool:
    """Return whether an SDK is installed, without importing it."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def readable(body: dict[str, Any]) -> bytes:
    """Return the response body as JSON that the SDKs can read.

    Lone surrogates are replaced, and the usage is removed if it contains invalid token counts.
    """
    usage = body.get("usageMetadata")
    if not isinstance(usage, dict) or any(count(usage.get(name, 0)) is None for name in _USAGE):
        body = {name: value for name, value in body.items() if name != "usageMetadata"}
    return writable(json.dumps(body, ensure_ascii=False)).encode()
