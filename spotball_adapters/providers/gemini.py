"""`gemini`: Google's generative AI SDK, all of it here. The key is GEMINI_API_KEY.

The SDK's maker has ended its support for it. The same models can be asked with `openai` and the maker's compatible
endpoint, without the SDK.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from spotball_adapters.providers.http import checked_url
from spotball_adapters.providers.image_tokens import gemini_tokens
from spotball_adapters.providers.keys import hidden, key_from, missing
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Finish,
    Message,
    PermanentError,
    Picture,
    Provider,
    Reply,
    Request,
    Settings,
    TransientError,
)
from spotball_adapters.providers.ranges import check_ranges, refuse
from spotball_adapters.providers.said import retry_after, said_by, shortened, writable
from spotball_core.errors import MissingExtraError

if TYPE_CHECKING:
    from google.ai.generativelanguage import Candidate, GenerateContentResponse
    from google.api_core.exceptions import GoogleAPICallError

Found = TypeVar("Found")

KEY = "GEMINI_API_KEY"

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
_PASSING = frozenset({408, 409, 425, 429})
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
        if not _installed():
            raise MissingExtraError("Gemini", "adapters")
        self._key = key_from(KEY)
        self.model = access.model
        self.max_samples = MAX_SAMPLES
        self._access = access
        self._endpoint = str(checked_url(access.base_url)).rstrip("/") if access.base_url else None
        self._made: Any = None

    def check(self, settings: Settings) -> None:
        """Refuse a seed, which the SDK does not have, and what is out of range."""
        refuse(settings, "seed", why="the SDK of gemini takes no seed")
        check_ranges(settings, self.name, max_temperature=2.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """By Google's published rule, where there is one."""
        return gemini_tokens(self.model, width, height)

    def versions(self) -> Mapping[str, str]:
        """The SDK's."""
        return {name: version(name) for name in ("google-generativeai", "google-ai-generativelanguage")}

    async def ask(self, request: Request) -> Answer:
        """Ask once, for all samples of the request or as many as the model gives."""
        n = len(request.samples)
        try:
            response = await self._generate(request, n)
        except PermanentError as error:
            if n == 1 or "candidate" not in str(error).lower():
                raise
            self.max_samples = n = 1
            response = await self._generate(request, n)
        if said := _name(response.prompt_feedback, "block_reason"):
            replies: tuple[Reply, ...] = (Reply("", "filtered", said),) * n
        else:
            replies = tuple(_reply(candidate) for candidate in sorted(response.candidates, key=lambda one: one.index))
        if not 1 <= len(replies) <= n:
            raise TransientError(f"gemini: {len(replies)} candidates where {n} were asked for")
        if len(replies) < n:
            self.max_samples = min(self.max_samples, len(replies))
        usage = response.usage_metadata
        # What a model thinks is in the total alone: the SDK is older than models that do.
        output = max(usage.total_token_count - usage.prompt_token_count, usage.candidates_token_count)
        counted = usage.total_token_count > 0
        return Answer(
            replies,
            model=response.model_version or None,
            input_tokens=usage.prompt_token_count if counted else None,
            output_tokens=output if counted else None,
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.transport.close()

    @property
    def _client(self) -> Any:
        """The SDK's client, made when it is first needed: to load it takes seconds."""
        if self._key is None:
            raise missing(KEY, self.name)
        if self._made is None:
            self._made = _client(self._key, self._endpoint, self._access.concurrency)
        return self._made

    async def _generate(self, request: Request, n: int) -> GenerateContentResponse:
        client = self._client
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError
        from google.generativeai import GenerativeModel
        from google.protobuf.json_format import ParseError
        from requests import RequestException

        system = "\n\n".join(turn.text for turn in request.messages if turn.role == "system")
        model = GenerativeModel(self.model, system_instruction=system or None)
        # The SDK has one client for the whole process; this model is to use ours.
        model._client = client
        given = {**request.settings.given(), **({"candidate_count": n} if n > 1 else {})}
        contents = [_content(turn, request.picture) for turn in request.messages if turn.role != "system"]
        # The runner asks again, not the SDK.
        options = {"retry": None, "timeout": self._access.timeout}
        try:
            async with asyncio.timeout(self._access.timeout):
                response = await _in_thread(
                    lambda: model.generate_content(contents, generation_config=given, request_options=options)
                )
        except TimeoutError:
            raise TransientError(f"gemini: no answer within {self._access.timeout:g} s") from None
        except GoogleAPICallError as error:
            # None with its cause: that holds the request, and the request the key.
            raise self._failure(error) from None
        except ParseError as error:
            raise TransientError(self._clean(f"gemini: the answer is malformed: {error}")) from None
        except (RequestException, GoogleAuthError) as error:
            raise TransientError(self._clean(f"gemini: {said_by(error)}")) from None
        return response._result

    def _failure(self, error: GoogleAPICallError) -> TransientError | PermanentError:
        status = int(error.code or 500)
        # Without the address, which the SDK puts before what the server says.
        shown = self._clean(f"gemini: HTTP {status}: {error.message.split(': ', 1)[-1]}")
        if status in _PASSING or status >= 500:
            return TransientError(shown, status=status, retry_after=_wait(error))
        return PermanentError(shown)

    def _clean(self, text: str) -> str:
        return shortened(hidden(text, self._key))


def provider(access: Access) -> Provider:
    """The entry point."""
    return Gemini(access)


def _installed() -> bool:
    """Whether the SDK is there, without loading it."""
    try:
        return find_spec("google.generativeai") is not None
    except ModuleNotFoundError:
        return False


def _client(key: str, endpoint: str | None, connections: int) -> Any:
    """A client of our own: over REST, as many connections as requests at a time, and none to where a redirect leads."""
    with warnings.catch_warnings():
        # That the SDK's support has ended is said in the documentation, once.
        for said in (
            r"\s*All support for the `google.generativeai` package has ended",
            "You are using a Python version",
        ):
            warnings.filterwarnings("ignore", message=said, category=FutureWarning)
        import google.generativeai  # noqa: F401
        from google.ai.generativelanguage import GenerativeServiceClient
        from google.api_core.client_options import ClientOptions
        from requests.adapters import HTTPAdapter
    options = ClientOptions(api_key=key, api_endpoint=endpoint)
    client = GenerativeServiceClient(transport="rest", client_options=options)
    session = client.transport._session
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=connections, max_retries=0))
    session.max_redirects = 0
    # It would ask again with the same key.
    session._refresh_status_codes = ()
    return client


async def _in_thread(call: Callable[[], Found]) -> Found:
    """What a call returns that would block, made in a thread that nobody waits for when the program ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Found] = loop.create_future()

    def settle(result: Found | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except BaseException as error:
            failure = error
        # The loop may be gone, and with it whoever asked.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True).start()
    return await done


def _content(message: Message, picture: Picture) -> dict[str, Any]:
    parts: list[Any] = [{"mime_type": picture.media_type, "data": picture.data}] if message.picture else []
    return {"role": _ROLES[message.role], "parts": [*parts, message.text]}


def _reply(candidate: Candidate) -> Reply:
    said = _name(candidate, "finish_reason")
    text = "".join(part.text for part in candidate.content.parts)
    return Reply(writable(text), _FINISH.get(said, "other"), said)


def _name(message: Any, field: str) -> str:
    """An enum's name; its number where the SDK is too old to know it, and nothing where it is not set."""
    # Below the SDK's own objects, which warn of a number that they do not know.
    raw = type(message).pb(message)
    number = getattr(raw, field)
    known = raw.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return (known[number].name if number in known else str(number)) if number else ""


def _wait(error: GoogleAPICallError) -> float | None:
    """Seconds to wait, from the headers or from what Google puts into the body."""
    headers: Mapping[str, str] = getattr(error.response, "headers", {})
    if (seconds := retry_after(headers)) is not None:
        return seconds
    details: Sequence[Any] = error.details
    for detail in details:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return retry_after({"retry-after": delay[:-1]})
    return None
