"""Build request bodies for the Responses API, and read their responses. This module does not use HTTP.

Some OpenAI models are not available through chat completions. The Responses API returns one reply per request and does
not support a seed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.chat_completions import MalformedReplyError
from spotball_adapters.providers.protocol import Answer, Finish, Message, Picture, Reply, Request, Settings, refuse
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
