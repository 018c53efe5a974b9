"""Provider `openai`: chat completions and the Responses API, for OpenAI and compatible servers.

With a base URL, it reaches vLLM, Ollama, LM Studio, OpenRouter, Gemini's compatible endpoint and other servers that
implement the protocol. The API key is read from OPENAI_API_KEY for all servers. Your own server may not need a key.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from spotball_adapters.providers.chat_completions import (
    HostFailedError,
    MalformedReplyError,
    chat_answer,
    chat_body,
    check_body_fields,
)
from spotball_adapters.providers.http import API_VERSION, Server
from spotball_adapters.providers.image_tokens import openai_tokens
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Finish,
    Message,
    PermanentError,
    Picture,
    Provider,
    ProviderError,
    Reply,
    Request,
    Settings,
    TransientError,
    check_ranges,
    key_from,
    missing,
    refuse,
)
from spotball_adapters.providers.responses import RejectedError
from spotball_adapters.providers.server_messages import count, word, writable
from spotball_core.errors import OptionError

_NAMES = {"temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_output_tokens"}

_OPTIONS = {
    "model": "--model",
    "input": "--prompt",
    "instructions": "--prompt",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "max_output_tokens": "--max-output-tokens",
}
"""The command-line option for each body field that has one."""

_UNREADABLE = {"stream": "streamed replies are not supported", "background": "background replies are not supported"}

_INCOMPLETE: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "filtered"}


def check_response_fields(settings: Settings) -> None:
    """Raise an error for a seed, and for fields in `extra_body` that have their own option or are not supported.

    Raises:
        OptionError: if the seed or such a field is set. The message names the setting or the field.

    Examples:
        >>> check_response_fields(Settings(extra_body={"input": "?"}))
        Traceback (most recent call last):
        spotball_core.errors.OptionError: --extra-body: must not set 'input'. Use --prompt instead
    """
    refuse(settings, "seed", why="the Responses API does not support a seed")
    for name in settings.extra_body or ():
        if name in _OPTIONS:
            raise OptionError(
                f"must not set {name!r}. Use {_OPTIONS[name]} instead", code="conflicting-options", field="--extra-body"
            )
        if name in _UNREADABLE:
            raise OptionError(
                f"must not set {name!r}: {_UNREADABLE[name]}. Remove it",
                code="conflicting-options",
                field="--extra-body",
            )
        if name == "reasoning" and settings.reasoning_effort is not None:
            raise OptionError(
                "sets 'reasoning' and --reasoning-effort is given. Remove one of them",
                code="conflicting-options",
                field="--extra-body",
            )


def response_body(model: str, request: Request) -> dict[str, Any]:
    """Return the request body for one reply.

    By default, the body asks the server not to store the reply, because chat completions are not stored either.
    """
    settings = request.settings.given()
    body: dict[str, Any] = {
        "store": False,
        # False is the default of the protocol, but not of every server.
        "stream": False,
        **(request.settings.extra_body or {}),
        "model": model,
        "input": [_message(message, request.picture) for message in request.messages],
        **{field: settings[name] for name, field in _NAMES.items() if name in settings},
    }
    if request.settings.reasoning_effort is not None:
        body["reasoning"] = {"effort": request.settings.reasoning_effort}
    return body


def response_answer(body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response body, with one reply.

    Raises:
        MalformedReplyError: if the body does not follow the protocol.
    """
    output = body.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise MalformedReplyError("no output")
    status = word(body.get("status"))
    messages = [item for item in output if item.get("type") == "message"]
    if not messages and status != "incomplete":
        raise MalformedReplyError("no message in the output")
    parts = [part for message in messages for part in _parts(message)]
    texts = [_text(part, "text") for part in parts if part.get("type") == "output_text"]
    refusals = [_text(part, "refusal") for part in parts if part.get("type") == "refusal"]
    details = body.get("incomplete_details")
    reason = word(details.get("reason")) if isinstance(details, dict) else ""
    finish: Finish = "stop" if status == "completed" else _INCOMPLETE.get(reason, "other")
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    model = body.get("model")
    return Answer(
        (Reply(writable("".join(texts or refusals)), "refused" if refusals else finish, reason or status),),
        model=model if isinstance(model, str) and model else None,
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
    )


def _message(message: Message, picture: Picture) -> dict[str, Any]:
    if not message.picture:
        return {"role": message.role, "content": message.text}
    url = f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
    parts = [{"type": "input_image", "image_url": url}, {"type": "input_text", "text": message.text}]
    return {"role": message.role, "content": parts}


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = message.get("content")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise MalformedReplyError("a message whose content is not a list of parts")
    return parts


def _text(part: Mapping[str, Any], name: str) -> str:
    text = part.get(name)
    if not isinstance(text, str):
        raise MalformedReplyError("a message whose content is not text")
    return text


HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"

MAX_SAMPLES = 128
"""The highest `n` that the protocol allows."""

_OPENAI = "api.openai.com"
_OPENROUTER = "openrouter.ai"
_GEMINI = "generativelanguage.googleapis.com"

# Error codes of requests that a content filter stopped before the model saw them.
_FILTERS = frozenset({"content_filter", "content_policy_violation"})

_REFUSES_SEVERAL, _FAILS_WITH_SEVERAL = frozenset({400, 422}), frozenset({500, 501})
"""HTTP statuses of servers that reject requests for several samples (Groq, llama.cpp) or fail at them (llama.cpp)."""

_REFUSES_CHAT = frozenset({400, 404, 422})
"""HTTP statuses with which servers reject chat completions for a model."""


class OpenAI:
    """Send requests to one model behind an OpenAI-compatible server.

    `max_samples` starts at the protocol's limit. Servers that do not support `n` ignore it and return one reply
    (Ollama), or reject the request. In both cases the provider then requests one reply at a time.

    The provider uses chat completions. It switches to the Responses API when the server says that the model requires
    it. If `Access.api` is set, the provider uses only that API.

    Raises:
        OptionError: if the address is invalid.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """

    name = "openai"

    def __init__(self, access: Access) -> None:
        key = key_from(KEY)
        self._keyless = key is None and not access.base_url
        self.model = access.model
        self._server = Server(access, home=HOME, key=key, headers=authorization(access.base_url, key))
        self.max_samples = 8 if self._server.host == _GEMINI else MAX_SAMPLES
        self._may_switch, self._uses_responses = access.api is None, False
        if access.api == "responses":
            self._use_responses()
        self._gave_several = self._fails_with_one = False
        self._worked_with_one = 0

    def check(self, settings: Settings) -> None:
        """Raise OptionError for settings that the protocol does not allow. A server may reject further settings."""
        check_ranges(settings, self.name, max_temperature=2.0, has_request_fields=True)
        if self._uses_responses:
            check_response_fields(settings)
            return
        check_body_fields(settings)
        routing = (settings.extra_body or {}).get("provider", {})
        if self._server.host == _OPENROUTER and not isinstance(routing, dict):
            raise OptionError(
                f"'provider': found {routing!r:.80}, expected a JSON object, as OpenRouter requires",
                field="--extra-body",
            )

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the image's number of tokens by OpenAI's published rule, or None for other models and servers."""
        return openai_tokens(self.model, width, height) if self._server.host == _OPENAI else None

    def versions(self) -> Mapping[str, str]:
        """Return the version of the HTTP client."""
        return self._server.versions()

    def ready(self) -> None:
        """Check that the API key is set, if the server needs one."""
        if self._keyless:
            raise missing(KEY, self.name)

    async def ask(self, request: Request) -> Answer:
        """Send one request for all samples, and return the answer, which may contain fewer replies than requested.

        If the server rejects a request for several samples, or fails to answer it, the provider requests one sample
        instead, provided that the error is about the number of samples or the server has never returned several.

        Raises:
            PermanentError: if the model requires the Responses API, which does not support a setting of the request.
        """
        self.ready()
        if self._uses_responses:
            return await self._ask_responses(request)
        try:
            return await self._ask_chat(request)
        except RejectedError as error:
            if not (self._may_switch and _names_responses(error)):
                raise
        # Another request may have switched the API while this one was in progress.
        self._use_responses()
        try:
            check_response_fields(request.settings)
        except OptionError as error:
            raise PermanentError(f"{self._server.host}: {self.model} requires the Responses API: {error}") from None
        return await self._again(self._ask_responses(request))

    async def _ask_chat(self, request: Request) -> Answer:
        n = len(request.samples)
        try:
            answer = await self._ask(request, n)
        except (RejectedError, TransientError) as error:
            if n == 1 or not self._may_refuse_several(error):
                raise
            try:
                answer = await self._again(self._ask(request, 1))
            except TransientError:
                # The server fails for any number of samples, so a retry with one sample is useless.
                self._fails_with_one = True
                raise
            # A server may fail once for an unrelated reason.
            self._worked_with_one += 1
            if isinstance(error, RejectedError) or self._worked_with_one > 1:
                self.max_samples = 1
            return answer
        self._gave_several = self._gave_several or len(answer.replies) > 1
        if len(answer.replies) < n:
            self.max_samples = min(self.max_samples, len(answer.replies))
        return answer

    async def _ask_responses(self, request: Request) -> Answer:
        body = await self._post("/responses", response_body(self.model, request))
        return body if isinstance(body, Answer) else self._answer(response_answer, body)

    async def _again(self, asking: Awaitable[Answer]) -> Answer:
        """Return the answer to a second request, or raise its error; the first request is counted, too."""
        try:
            answer = await asking
        except ProviderError as error:
            error.requests += 1
            raise
        return replace(answer, requests=answer.requests + 1)

    def _use_responses(self) -> None:
        self._uses_responses, self.max_samples = True, 1

    def _may_refuse_several(self, error: RejectedError | TransientError) -> bool:
        if isinstance(error, RejectedError):
            if self._may_switch and _names_responses(error):
                return False
            unnamed = not error.server_field and error.status in _REFUSES_SEVERAL
            return error.is_about_samples or (unnamed and not self._gave_several)
        return not self._gave_several and not self._fails_with_one and error.status in _FAILS_WITH_SEVERAL

    async def _ask(self, request: Request, n: int) -> Answer:
        body = await self._post("/chat/completions", self._body(request, n), n)
        if isinstance(body, Answer):
            return body
        answer = self._answer(chat_answer, body)
        if len(answer.replies) > n:
            raise self._server.malformed(f"{len(answer.replies)} choices, but the requested number is {n}")
        return answer

    async def _post(self, path: str, body: Mapping[str, Any], n: int = 1) -> dict[str, Any] | Answer:
        """Return the server's answer, or a filtered answer if a content filter stopped the request."""
        try:
            return await self._server.post(path, body)
        except RejectedError as error:
            if error.server_code not in _FILTERS:
                raise
            return Answer(
                (Reply("", "filtered", error.server_code),) * n, model=None, input_tokens=None, output_tokens=None
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _body(self, request: Request, n: int) -> dict[str, Any]:
        # OpenAI's newer models reject the old name, and other servers ignore the new one.
        length = "max_completion_tokens" if self._server.host == _OPENAI else "max_tokens"
        body = chat_body(self.model, replace(request, samples=request.samples[:n]), length=length)
        if self._server.host == _OPENROUTER:
            # Otherwise OpenRouter may choose a host that silently drops settings.
            body["provider"] = {"require_parameters": True, **body.get("provider", {})}
        return body

    def _answer(self, read: Callable[[Mapping[str, Any]], Answer], body: dict[str, Any]) -> Answer:
        try:
            return read(body)
        except MalformedReplyError as error:
            raise self._server.malformed(str(error)) from None
        except HostFailedError as error:
            raise TransientError(f"{self._server.host}: {error}") from None


def authorization(base_url: str | None, key: str | None) -> dict[str, str]:
    """Return the HTTP header with the key, as the server expects it, or an empty dictionary without a key.

    Examples:
        >>> authorization("http://localhost:8000/v1", "sk-1")
        {'Authorization': 'Bearer sk-1'}
        >>> authorization("https://me.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21", "123")
        {'api-key': '123'}
    """
    if key is None:
        return {}
    # These are Azure addresses. Azure would treat a bearer token as an Entra token.
    if base_url and API_VERSION in parse_qs(urlsplit(base_url).query):
        return {"api-key": key}
    return {"Authorization": f"Bearer {key}"}


def _names_responses(error: RejectedError) -> bool:
    """Return whether a server rejects chat completions because the model requires the Responses API."""
    return error.status in _REFUSES_CHAT and "v1/responses" in str(error)


def provider(access: Access) -> Provider:
    """Create the provider. The entry point `openai` refers to this function."""
    return OpenAI(access)
