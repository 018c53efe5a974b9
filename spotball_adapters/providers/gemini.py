"""Provider `gemini`: Google's models, through `google-genai` or the older SDK that the paper used.

The API key is read from GEMINI_API_KEY. If both SDKs are installed, `google-genai` is used. The provider `openai` with
Google's compatible endpoint reaches the same models without an SDK.
"""

from __future__ import annotations

from collections.abc import Mapping

from spotball_adapters.providers.gemini_sdk import Candidate, open_sdk
from spotball_adapters.providers.image_tokens import gemini_tokens
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Finish,
    Provider,
    ProviderError,
    Reply,
    Request,
    Settings,
    TransientError,
    check_ranges,
    refuse,
)
from spotball_adapters.providers.responses import RejectedError
from spotball_adapters.providers.server_messages import writable

MAX_SAMPLES = 8
"""The highest candidate count of any Gemini model."""

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


class Gemini:
    """Send requests to one Gemini model over REST.

    `max_samples` starts at 8. Some models return only one candidate and reject requests for more. The provider then
    requests one candidate at a time.

    Raises:
        OptionError: if the address is invalid.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
        MissingExtraError: if no SDK is installed.
    """

    name = "gemini"

    def __init__(self, access: Access) -> None:
        self._sdk = open_sdk(access)
        self.model = access.model
        self.max_samples = MAX_SAMPLES

    def check(self, settings: Settings) -> None:
        """Raise OptionError for values out of range, for unsupported settings, and for a seed if the SDK has none."""
        if not self._sdk.takes_seed:
            refuse(settings, "seed", why="the package google-generativeai does not support a seed; google-genai does")
        check_ranges(settings, self.name, max_temperature=2.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the image's number of tokens by Google's published rule, or None if no rule applies."""
        return gemini_tokens(self.model, width, height)

    def versions(self) -> Mapping[str, str]:
        """Return the version of the SDK."""
        return self._sdk.versions()

    def ready(self) -> None:
        """Check that the API key is set."""
        self._sdk.key()

    async def ask(self, request: Request) -> Answer:
        """Send one request for all samples, and return the answer, which may contain fewer replies than requested."""
        n, requests = len(request.samples), 1
        try:
            response = await self._sdk.generate(self.model, request, n)
        except RejectedError as error:
            if n == 1 or not error.is_about_samples:
                raise
            self.max_samples = n = 1
            requests = 2
            try:
                response = await self._sdk.generate(self.model, request, n)
            except ProviderError as failure:
                failure.requests = requests
                raise
        if response.block_reason:
            replies: tuple[Reply, ...] = (Reply("", "filtered", response.block_reason),) * n
        else:
            replies = tuple(map(_reply, response.candidates))
        if not 1 <= len(replies) <= n:
            raise TransientError(
                f"gemini: the response is malformed: {len(replies)} candidates, but the requested number is {n}"
            )
        if len(replies) < n:
            self.max_samples = min(self.max_samples, len(replies))
        # The SDK of the paper is older than reasoning models: it counts reasoning tokens only in the total.
        output = max(response.total_tokens - response.prompt_tokens, response.candidate_tokens)
        has_usage = response.total_tokens > 0
        return Answer(
            replies,
            model=response.model or None,
            input_tokens=response.prompt_tokens if has_usage else None,
            output_tokens=output if has_usage else None,
            requests=requests,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()


def provider(access: Access) -> Provider:
    """Create the provider. The entry point `gemini` refers to this function."""
    return Gemini(access)


def _reply(candidate: Candidate) -> Reply:
    finish_reason = candidate.finish_reason
    return Reply(writable(candidate.text), _FINISH.get(finish_reason, "other"), finish_reason)
