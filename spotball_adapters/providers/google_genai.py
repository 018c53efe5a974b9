"""Calls to `google-genai`, Google's supported SDK: the client, the requests, and the conversion of errors."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from spotball_adapters.providers.gemini_sdk import Candidate, GeminiSdk, Generated, readable
from spotball_adapters.providers.http import received
from spotball_adapters.providers.protocol import Access, Message, Picture, Request
from spotball_adapters.providers.responses import ENCODINGS, Responses
from spotball_adapters.providers.server_messages import describe_error

if TYPE_CHECKING:
    from google.genai.types import Content, GenerateContentResponse

Found = TypeVar("Found")

HOME = "https://generativelanguage.googleapis.com"

API_VERSION = "v1beta"
"""The API version to request: the one that the SDK of the paper uses. The default depends on the SDK's version."""

_ROLES = {"user": "user", "assistant": "model"}


class Sdk(GeminiSdk):
    """Call `google-genai` over REST, with the HTTP client that this module defines."""

    takes_seed = True
    certificates = "SSL_CERT_FILE"

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._http: _Client | None = None

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the SDK and of the HTTP client."""
        return {name: version(name) for name in ("google-genai", "httpx")}

    async def generate(self, model: str, request: Request, n: int) -> Generated:
        """Send one request for `n` candidates, and return the response."""
        models = self._client().aio.models
        from google.genai.types import AutomaticFunctionCallingConfig, GenerateContentConfig

        system = "\n\n".join(turn.text for turn in request.messages if turn.role == "system")
        config = GenerateContentConfig(
            **request.settings.given(),
            system_instruction=system or None,
            candidate_count=n if n > 1 else None,
            # Functions are not used. Without this option, the SDK logs a line about them.
            automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        )
        contents = [_content(turn, request.picture) for turn in request.messages if turn.role != "system"]

        async def call() -> Generated:
            return _generated(await models.generate_content(model=model, contents=contents, config=config))

        return await self._call(call)

    async def embed(self, model: str, texts: Sequence[str], task_type: str | None) -> Any:
        """Send one request for all texts, and return their vectors without checking them."""
        models = self._client().aio.models
        from google.genai.types import Content, EmbedContentConfig, Part

        # Some models treat a list of strings as the parts of one text.
        contents = [Content(parts=[Part(text=text)]) for text in texts]
        config = EmbedContentConfig(task_type=task_type.upper()) if task_type else None

        async def call() -> Any:
            response = await models.embed_content(model=model, contents=contents, config=config)
            return [embedding.values for embedding in response.embeddings or ()]

        return await self._call(call)

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()
        if self._sdk_client is not None:
            # The client for calls without asyncio, which the SDK always creates.
            self._sdk_client.close()

    def _client(self) -> Any:
        """Return the SDK's client. The first call creates the client, because importing the SDK takes seconds."""
        key = self.key()
        if self._sdk_client is None:
            from google.genai import Client
            from google.genai.types import HttpOptions

            self._http = _Client(self._access, self._responses)
            options = HttpOptions(
                base_url=self.endpoint or HOME, api_version=API_VERSION, httpx_async_client=self._http
            )
            self._sdk_client = Client(vertexai=False, api_key=key, http_options=options)
        # The SDK warns about values that are newer than itself, and keeps them.
        warnings.filterwarnings("ignore", message=".* is not a valid ", module=r"google\.genai\._common")
        return self._sdk_client

    async def _call(self, call: Callable[[], Awaitable[Found]]) -> Found:
        try:
            async with asyncio.timeout(self._access.timeout):
                return await call()
        except TimeoutError:
            raise self._responses.out_of_time(self._access.timeout) from None
        except httpx.RequestError as error:
            raise self._not_reached(error) from None
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            # The SDK reads fields of a response before it validates the response.
            raise self._responses.malformed(describe_error(error)) from None


class _Client(httpx.AsyncClient):
    """An HTTP client that passes only successful JSON objects to the SDK, and raises provider errors for failures."""

    def __init__(self, access: Access, responses: Responses) -> None:
        limits = httpx.Limits(max_connections=access.concurrency, max_keepalive_connections=access.concurrency)
        accepted = {"accept-encoding": ", ".join(ENCODINGS)}
        super().__init__(headers=accepted, limits=limits, timeout=None, follow_redirects=False)
        self._responses = responses

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        response = await super().send(request, **{**options, "stream": True})
        try:
            body = (await received(response, self._responses)).read()
        finally:
            await response.aclose()
        headers = {"content-type": "application/json"}
        try:
            return httpx.Response(200, headers=headers, content=readable(body), request=request)
        except RecursionError:
            raise self._responses.malformed("objects or lists are nested too deeply") from None


def _content(message: Message, picture: Picture) -> Content:
    from google.genai.types import Content, Part

    parts = [Part.from_bytes(data=picture.data, mime_type=picture.media_type)] if message.picture else []
    return Content(role=_ROLES[message.role], parts=[*parts, Part(text=message.text)])


def _generated(response: GenerateContentResponse) -> Generated:
    candidates = sorted(response.candidates or (), key=lambda candidate: candidate.index or 0)
    feedback, usage = response.prompt_feedback, response.usage_metadata
    return Generated(
        candidates=tuple(
            Candidate(
                "".join(part.text or "" for part in (candidate.content and candidate.content.parts) or ()),
                _name(candidate.finish_reason),
            )
            for candidate in candidates
        ),
        block_reason=_name(feedback.block_reason) if feedback else "",
        model=response.model_version or "",
        prompt_tokens=(usage and usage.prompt_token_count) or 0,
        candidate_tokens=(usage and usage.candidates_token_count) or 0,
        total_tokens=(usage and usage.total_token_count) or 0,
    )


def _name(value: Any) -> str:
    """Return an enumeration's value as the API names it, or an empty string if it is not set."""
    return str(value.value) if value is not None else ""
