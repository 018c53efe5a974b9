"""`openai`: chat completions, as OpenAI and many other servers take them.

With a base URL it reaches vLLM, Ollama, LM Studio, OpenRouter, Gemini's compatible endpoint and whatever else speaks
the protocol. The key is OPENAI_API_KEY, for each of them; servers of one's own may need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spotball_adapters.providers.chat_completions import (
    HostFailedError,
    MalformedReplyError,
    chat_answer,
    chat_body,
    check_body_fields,
)
from spotball_adapters.providers.http import Server
from spotball_adapters.providers.image_tokens import openai_tokens
from spotball_adapters.providers.keys import key_from, missing
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Provider,
    Reply,
    Request,
    Settings,
    TransientError,
)
from spotball_adapters.providers.ranges import check_ranges
from spotball_adapters.providers.responses import RejectedError
from spotball_core.errors import OptionError

HOME = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"

MAX_SAMPLES = 128
"""The most that `n` may be."""

_OPENAI = "api.openai.com"
_OPENROUTER = "openrouter.ai"
_GEMINI = "generativelanguage.googleapis.com"

# Codes of requests that a filter stopped before the model saw them.
_FILTERS = frozenset({"content_filter", "content_policy_violation"})

_REFUSES_SEVERAL, _FAILS_WITH_SEVERAL = frozenset({400, 422}), frozenset({500, 501})
"""Statuses with which servers refuse several samples, as Groq and llama.cpp do, or fail, as llama.cpp does."""


class OpenAI:
    """One model behind an OpenAI-compatible server.

    `max_samples` starts at what the protocol allows. Servers that know no `n` ignore it and give one reply
    (Ollama), or refuse it; either way the provider asks for one at a time from then on.

    Raises:
        OptionError: for an address that cannot be used.
        PermanentError: for a key that no header can hold.
    """

    name = "openai"

    def __init__(self, access: Access) -> None:
        key = key_from(KEY)
        self._keyless = key is None and not access.base_url
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.model = access.model
        self._server = Server(access, home=HOME, key=key, headers=headers)
        self.max_samples = 8 if self._server.host == _GEMINI else MAX_SAMPLES
        self._gave_several = self._fails_with_one = False
        self._worked_with_one = 0

    def check(self, settings: Settings) -> None:
        """Refuse what is out of the protocol's range. A server may take less, and then refuses the first request."""
        check_ranges(settings, self.name, max_temperature=2.0, has_request_fields=True)
        check_body_fields(settings)
        routing = (settings.extra_body or {}).get("provider", {})
        if self._server.host == _OPENROUTER and not isinstance(routing, dict):
            raise OptionError("--extra-body: 'provider' is not an object, which OpenRouter requires")

    def image_tokens(self, width: int, height: int) -> int | None:
        """By OpenAI's published rule, for its models whose rule is certain."""
        return openai_tokens(self.model, width, height) if self._server.host == _OPENAI else None

    def versions(self) -> Mapping[str, str]:
        """The HTTP client's."""
        return self._server.versions()

    def ready(self) -> None:
        """See that the key is set, where one is needed."""
        if self._keyless:
            raise missing(KEY, self.name)

    async def ask(self, request: Request) -> Answer:
        """Send one request for all samples, or for as many as the server gives.

        If a server that never gave several samples refuses a request for several, in whatever words, one is requested.
        """
        self.ready()
        n = len(request.samples)
        try:
            answer = await self._ask(request, n)
        except (RejectedError, TransientError) as error:
            if n == 1 or not self._may_refuse_several(error):
                raise
            try:
                answer = await self._ask(request, 1)
            except TransientError:
                # The server fails whatever the number of samples, so it is not tried again with one.
                self._fails_with_one = True
                raise
            # A server may fail once for another reason.
            self._worked_with_one += 1
            if isinstance(error, RejectedError) or self._worked_with_one > 1:
                self.max_samples = 1
            return answer
        self._gave_several = self._gave_several or len(answer.replies) > 1
        if len(answer.replies) < n:
            self.max_samples = min(self.max_samples, len(answer.replies))
        return answer

    def _may_refuse_several(self, error: RejectedError | TransientError) -> bool:
        if isinstance(error, RejectedError):
            unnamed = not error.field and error.status in _REFUSES_SEVERAL
            return error.is_about_samples or (unnamed and not self._gave_several)
        return not self._gave_several and not self._fails_with_one and error.status in _FAILS_WITH_SEVERAL

    async def _ask(self, request: Request, n: int) -> Answer:
        try:
            body = await self._server.post("/chat/completions", self._body(request, n))
        except RejectedError as error:
            if error.code not in _FILTERS:
                raise
            return Answer((Reply("", "filtered", error.code),) * n, model=None, input_tokens=None, output_tokens=None)
        answer = self._answer(body)
        if len(answer.replies) > n:
            raise self._server.malformed(f"{len(answer.replies)} choices where {n} were asked for")
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _body(self, request: Request, n: int) -> dict[str, Any]:
        # OpenAI's newer models refuse the old name, and the servers of others ignore the new one.
        length = "max_completion_tokens" if self._server.host == _OPENAI else "max_tokens"
        body = chat_body(self.model, replace(request, samples=request.samples[:n]), length=length)
        if self._server.host == _OPENROUTER:
            # Otherwise it may choose a host that drops settings without a word.
            body["provider"] = {"require_parameters": True, **body.get("provider", {})}
        return body

    def _answer(self, body: dict[str, Any]) -> Answer:
        try:
            return chat_answer(body)
        except MalformedReplyError as error:
            raise self._server.malformed(str(error)) from None
        except HostFailedError as error:
            raise TransientError(f"{self._server.host}: {error}") from None


def provider(access: Access) -> Provider:
    """The entry point."""
    return OpenAI(access)
