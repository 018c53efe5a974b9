"""Chat completions as data: the body of a request, and the answer that a body holds. How they travel is another's."""

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
    """A body that is not as the protocol says."""


class HostFailedError(ValueError):
    """An answer that says that the model's host failed while it was made."""


def chat_body(model: str, request: Request, *, length: str) -> dict[str, Any]:
    """The body of a request for its samples, each with its own reply.

    Args:
        length: what the server calls the longest reply.
    """
    settings = request.settings.given()
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, request.picture) for message in request.messages],
    }
    if len(request.samples) > 1:
        body["n"] = len(request.samples)
    if "seed" in settings:
        # Requests for other samples of one question must not draw the same replies again.
        settings["seed"] += request.samples[0] - 1
    if "max_output_tokens" in settings:
        body[length] = settings.pop("max_output_tokens")
    extra_body = settings.pop("extra_body", {})
    return {**extra_body, **body, **settings}


_OPTIONS = {
    "model": "--model",
    "messages": "--prompt",
    "n": "--samples and --samples-per-request",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "seed": "--seed",
    "reasoning_effort": "--reasoning-effort",
}
"""Fields of a body that options set."""

_LENGTHS = ("max_tokens", "max_completion_tokens")


def check_body_fields(settings: Settings) -> None:
    """Refuse fields in `extra_body` that are set in another way.

    Servers differ in what they call the longest reply, so `extra_body` may name it if `max_output_tokens` is not set.

    Raises:
        OptionError: naming the field.

    Examples:
        >>> check_body_fields(Settings(extra_body={"top_k": 20}))
        >>> check_body_fields(Settings(extra_body={"n": 4}))
        Traceback (most recent call last):
        spotball_core.errors.OptionError: --extra-body must not set 'n'. Use --samples and --samples-per-request instead
    """
    for name in settings.extra_body or ():
        if name in _OPTIONS:
            raise OptionError(f"--extra-body must not set {name!r}. Use {_OPTIONS[name]} instead")
        if name == "stream":
            raise OptionError("--extra-body must not set 'stream': replies are read as a whole. Remove it")
        if name in _LENGTHS and settings.max_output_tokens is not None:
            raise OptionError(f"--extra-body sets {name!r} and --max-output-tokens is given. Remove one of them")


def chat_answer(body: Mapping[str, Any]) -> Answer:
    """The answer that a body holds.

    Raises:
        MalformedError: saying what is wrong with the body.
        HostFailedError: where a choice says so.
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
        raise MalformedReplyError("a message whose refusal is not text")
    finish_reason = word(choice.get("finish_reason"))
    if not text and not refusal and finish_reason == "stop":
        # Servers whose reasoning parser finds no end of the reasoning put the whole reply there.
        text = next((part for key in _REASONING if isinstance(part := message.get(key), str)), "")
    if finish_reason == "error":
        raise HostFailedError("the model's host failed while it answered")
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
