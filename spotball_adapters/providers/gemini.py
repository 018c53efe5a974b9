"""`gemini`: Google's generative AI SDK. The key is GEMINI_API_KEY.

The SDK's maker has ended its support for it. The same models can be asked with `openai` and the maker's compatible
endpoint, without the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spotball_adapters.providers.gemini_sdk import GeminiSdk
from spotball_adapters.providers.image_tokens import gemini_tokens
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Finish,
    Message,
    Picture,
    Provider,
    Reply,
    Request,
    Settings,
    TransientError,
)
from spotball_adapters.providers.ranges import check_ranges, refuse
from spotball_adapters.providers.responses import RejectedError
from spotball_adapters.providers.server_messages import writable

if TYPE_CHECKING:
    from google.ai.generativelanguage import Candidate, GenerateContentResponse

MAX_SAMPLES = 8
"""The most that the candidate count of a model may be."""

_FINISH: Mapping[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
}
_ROLES = {"user": "user", "assistant": "model"}


class Gemini:
    """One Gemini model, over REST.

    `max_samples` starts at eight. Some models give one candidate only, and refuse to be asked for more: the provider
    asks them for one at a time from then on.

    Raises:
        OptionError: for an address that cannot be used.
        PermanentError: for a key that no header can hold.
        MissingExtraError: without the SDK.
    """

    name = "gemini"

    def __init__(self, access: Access) -> None:
        self._sdk = GeminiSdk(access)
        self.model = access.model
        self.max_samples = MAX_SAMPLES

    def check(self, settings: Settings) -> None:
        """Refuse a seed, which the SDK does not have, and what is out of range."""
        refuse(settings, "seed", why="the SDK of gemini takes no seed")
        check_ranges(settings, self.name, max_temperature=2.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """By Google's published rule, where there is one."""
        return gemini_tokens(self.model, width, height)

    def versions(self) -> Mapping[str, str]:
        """The SDK's."""
        return self._sdk.versions()

    def ready(self) -> None:
        """See that the key is set."""
        self._sdk.key()

    async def ask(self, request: Request) -> Answer:
        """Ask once, for all samples of the request or as many as the model gives."""
        n = len(request.samples)
        try:
            response = await self._generate(request, n)
        except RejectedError as error:
            if n == 1 or not error.is_about_samples:
                raise
            self.max_samples = n = 1
            response = await self._generate(request, n)
        if block_reason := _name(response.prompt_feedback, "block_reason"):
            replies: tuple[Reply, ...] = (Reply("", "filtered", block_reason),) * n
        else:
            replies = tuple(
                _reply(candidate) for candidate in sorted(response.candidates, key=lambda candidate: candidate.index)
            )
        if not 1 <= len(replies) <= n:
            raise TransientError(f"gemini: {len(replies)} candidates where {n} were asked for")
        if len(replies) < n:
            self.max_samples = min(self.max_samples, len(replies))
        usage = response.usage_metadata
        # What a model thinks is in the total alone: the SDK is older than models that do.
        output = max(usage.total_token_count - usage.prompt_token_count, usage.candidates_token_count)
        has_usage = usage.total_token_count > 0
        return Answer(
            replies,
            model=response.model_version or None,
            input_tokens=usage.prompt_token_count if has_usage else None,
            output_tokens=output if has_usage else None,
        )

    async def close(self) -> None:
        """Close the connections."""
        self._sdk.close()

    async def _generate(self, request: Request, n: int) -> GenerateContentResponse:
        client = self._sdk.client
        from google.generativeai import GenerativeModel

        system = "\n\n".join(turn.text for turn in request.messages if turn.role == "system")
        model = GenerativeModel(self.model, system_instruction=system or None)
        # The SDK has one client for the whole process; this model is to use ours.
        model._client = client
        generation_config = {**request.settings.given(), **({"candidate_count": n} if n > 1 else {})}
        contents = [_content(turn, request.picture) for turn in request.messages if turn.role != "system"]
        options = self._sdk.request_options
        response = await self._sdk.call(
            lambda: model.generate_content(contents, generation_config=generation_config, request_options=options)
        )
        return response._result


def provider(access: Access) -> Provider:
    """The entry point."""
    return Gemini(access)


def _content(message: Message, picture: Picture) -> dict[str, Any]:
    parts: list[Any] = [{"mime_type": picture.media_type, "data": picture.data}] if message.picture else []
    return {"role": _ROLES[message.role], "parts": [*parts, message.text]}


def _reply(candidate: Candidate) -> Reply:
    finish_reason = _name(candidate, "finish_reason")
    text = "".join(part.text for part in candidate.content.parts)
    return Reply(writable(text), _FINISH.get(finish_reason, "other"), finish_reason)


def _name(message: Any, field: str) -> str:
    """An enum's name; its number where the SDK is too old to know it, and nothing where it is not set."""
    # Below the SDK's own objects, which warn of a number that they do not know.
    raw = type(message).pb(message)
    number = getattr(raw, field)
    values_by_number = raw.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return (values_by_number[number].name if number in values_by_number else str(number)) if number else ""
