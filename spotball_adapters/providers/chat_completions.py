"""Build request bodies for chat completions, and read their responses. This module does not use HTTP."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.protocol import Answer, Finish, Message, Picture, Reply, Request, Settings
from spotball_adapters.providers.server_messages import count, word, writable
from spotball_core.errors import OptionError

_REASONING = ("reasoning_content", "reasoning")

_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "filtered"}


class MalformedReplyError(ValueError):
    """A response body does not follow the protocol."""


class HostFailedError(ValueError):
    """The response reports that the model's server failed while it generated the reply."""


def chat_body(model: str, request: Request, *, length: str) -> dict[str, Any]:
    """Return the request body that asks for all samples of the request.

    Args:
        length: the name of the body field that limits the reply length. It depends on the server.
    """
    settings = request.settings.given()
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, request.picture) for message in request.messages],
    }
    if len(request.samples) > 1:
        body["n"] = len(request.samples)
    if "seed" in settings:
        # Requests for further samples of the same question must not return the same replies.
        settings["seed"] += request.samples[0] - 1
    if "max_output_tokens" in settings:
        body[length] = settings.pop("max_output_tokens")
    extra_body = settings.pop("extra_body", {})
    return {**extra_body, **body, **settings}


_OPTIONS = {
    "model": "--model",
    "messages": "--prompt",
    "n": "--samples",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "seed": "--seed",
    "reasoning_effort": "--reasoning-effort",
}
"""The command-line option for each body field that has one."""

_LENGTHS = ("max_tokens", "max_completion_tokens")


def check_body_fields(settings: Settings) -> None:
    """Raise an error for fields in `extra_body` that have their own command-line option, and for `stream`.

    Servers use different names for the maximum reply length, so `extra_body` may set it if `max_output_tokens` is not
    set.

    Raises:
        OptionError: if `extra_body` sets such a field. The message names the field.

    Examples:
        >>> check_body_fields(Settings(extra_body={"top_k": 20}))
        >>> check_body_fields(Settings(extra_body={"n": 4}))
        Traceback (most recent call last):
        spotball_core.errors.OptionError: --extra-body: must not set 'n'. Use --samples...
    """
    for name in settings.extra_body or ():
        if name in _OPTIONS:
            raise OptionError(
                f"must not set {name!r}. Use {_OPTIONS[name]} instead", code="conflicting-options", field="--extra-body"
            )
        if name == "stream":
            raise OptionError(
                "must not set 'stream': streamed replies are not supported. Remove it",
                code="conflicting-options",
                field="--extra-body",
            )
        if name in _LENGTHS and settings.max_output_tokens is not None:
            raise OptionError(
                f"sets {name!r} and --max-output-tokens is given. Remove one of them",
                code="conflicting-options",
                field="--extra-body",
            )


def chat_answer(body: Mapping[str, Any]) -> Answer:
    """Return the answer in a response body.

    Raises:
        MalformedReplyError: if the body does not follow the protocol.
        HostFailedError: if a choice reports that the server that runs the model failed.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise MalformedReplyError("no choices")
    if all(isinstance(choice.get("index"), int) for choice in choices):
        choices = sorted(choices, key=lambda choice: choice["index"])
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    model = body.get("model")
    return Answer(
        tuple(_reply(choice) for choice in choices),
        model=model if isinstance(model, str) and model else None,
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
    )


def _reply(choice: dict[str, Any]) -> Reply:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise MalformedReplyError("a choice without a message")
    text, refusal = _text(message.get("content")), message.get("refusal")
    if not isinstance(refusal, str | None):
        raise MalformedReplyError("a message whose `refusal` is not text")
    finish_reason = word(choice.get("finish_reason"))
    if not text and not refusal and finish_reason == "stop":
        # A server whose reasoning parser finds no end of the reasoning puts the whole reply into this field.
        text = next((part for key in _REASONING if isinstance(part := message.get(key), str)), "")
    if finish_reason == "error":
        raise HostFailedError("the server that runs the model failed while it answered")
    finish = "refused" if refusal else _FINISH.get(finish_reason, "other")
    return Reply(writable(text or refusal or ""), finish, finish_reason)


def _text(content: Any) -> str:
    """Return the text of a message's content, which some servers send in parts."""
    if isinstance(content, str):
        return content
    parts = [] if content is None else content
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise MalformedReplyError("a message whose content is not text")
    texts = [part.get("text", "") for part in parts if part.get("type") in (None, "text", "output_text")]
    if not all(isinstance(text, str) for text in texts):
        raise MalformedReplyError("a message whose content is not text")
    return "".join(texts)


def _message(message: Message, picture: Picture) -> dict[str, Any]:
    if not message.picture:
        return {"role": message.role, "content": message.text}
    url = f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": message.text}]
    return {"role": message.role, "content": parts}
